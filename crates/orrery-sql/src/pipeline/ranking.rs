//! ORDER BY RANK inside one range: full text scores and their fusion (query-language: 9.2).
//!
//! Statistics cover every item of the range, so scores are known only when all items were seen.

use crate::eval::{Frame, Run, eval};
use crate::functions::fulltext::{Phrase, Words, bm25};
use crate::program::node::Node;
use std::cmp::Ordering;

/// The constant of reciprocal rank fusion.
pub(crate) const FUSION: f64 = 60.0;

/// A score to rank by.
#[derive(Debug, Clone)]
pub(crate) enum Component {
    /// FULLTEXTSCORE
    FullText { text: Node, phrases: Vec<Phrase> },
    /// VECTORDISTANCE
    Vector { node: Node, ascending: bool },
}

/// ORDER BY RANK.
#[derive(Debug, Clone)]
pub(crate) struct Ranking {
    pub(crate) components: Vec<Component>,
    /// One per component.
    pub(crate) weights: Vec<f64>,
}

/// What a component needs of an item.
#[derive(Debug, Clone)]
enum Input {
    /// How often each phrase occurs, and the number of words.
    Words {
        counts: Vec<usize>,
        length: usize,
    },
    Score(f64),
    Absent,
}

/// A row that waits for its rank.
struct Candidate {
    doc: u64,
    inputs: Vec<Input>,
    row: Vec<u8>,
}

/// Statistics of one full text component.
#[derive(Clone, Default)]
struct Statistics {
    words: f64,
    hits: Vec<f64>,
}

/// A ranking under way.
pub(crate) struct RankingState<'p> {
    ranking: &'p Ranking,
    documents: f64,
    statistics: Vec<Statistics>,
    candidates: Vec<Candidate>,
    inputs: Vec<Input>,
    bytes: usize,
}

impl<'p> RankingState<'p> {
    pub(crate) fn new(ranking: &'p Ranking) -> Self {
        let statistics = ranking.components.iter().map(|component| match component {
            Component::FullText { phrases, .. } => Statistics {
                words: 0.0,
                hits: vec![0.0; phrases.len()],
            },
            Component::Vector { .. } => Statistics::default(),
        });
        Self {
            ranking,
            documents: 0.0,
            statistics: statistics.collect(),
            candidates: Vec::new(),
            inputs: Vec::new(),
            bytes: 0,
        }
    }

    /// Counts an item, whether WHERE keeps it or not.
    pub(crate) fn count<'e>(&mut self, item: &'e Frame<'e>, run: &Run<'_>)
    where
        'p: 'e,
    {
        self.documents += 1.0;
        self.inputs.clear();
        let ranking: &'p Ranking = self.ranking;
        for (component, statistics) in ranking.components.iter().zip(&mut self.statistics) {
            self.inputs.push(match component {
                Component::Vector { node, .. } => eval(node, item, run)
                    .as_f64()
                    .map_or(Input::Absent, Input::Score),
                Component::FullText { text, phrases } => match eval(text, item, run).as_str() {
                    None => Input::Absent,
                    Some(text) => {
                        run.spend(text.len() as u64 / 8);
                        let words = Words::of(text);
                        let counts: Vec<usize> =
                            phrases.iter().map(|phrase| words.count(phrase)).collect();
                        statistics.words += words.len() as f64;
                        for (hits, count) in statistics.hits.iter_mut().zip(&counts) {
                            *hits += f64::from(u8::from(*count > 0));
                        }
                        Input::Words {
                            counts,
                            length: words.len(),
                        }
                    }
                },
            });
        }
    }

    /// Keeps a row of the item that was counted last.
    pub(crate) fn keep(&mut self, doc: u64, row: Vec<u8>) {
        self.bytes += row.len() + 64 * (1 + self.inputs.len());
        self.candidates.push(Candidate {
            doc,
            inputs: self.inputs.clone(),
            row,
        });
    }

    /// Bytes held, roughly.
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    fn scores(&self, place: usize) -> Vec<Option<f64>> {
        let statistics = &self.statistics[place];
        let score = |candidate: &Candidate| match &candidate.inputs[place] {
            Input::Absent => None,
            Input::Score(score) => Some(*score),
            Input::Words { counts, length } => {
                let terms = counts.iter().zip(&statistics.hits);
                Some(
                    terms
                        .map(|(count, hits)| {
                            bm25(*count, *length, self.documents, statistics.words, *hits)
                        })
                        .sum(),
                )
            }
        };
        self.candidates.iter().map(score).collect()
    }

    /// The rows, best first; ties and rows without a score by document.
    pub(crate) fn finish(self) -> Vec<Vec<u8>> {
        let mut totals = vec![0.0; self.candidates.len()];
        let mut lacking = vec![false; self.candidates.len()];
        for (place, component) in self.ranking.components.iter().enumerate() {
            let scores = self.scores(place);
            let ascending = matches!(
                component,
                Component::Vector {
                    ascending: true,
                    ..
                }
            );
            if self.ranking.components.len() == 1 {
                for (index, score) in scores.iter().enumerate() {
                    lacking[index] = score.is_none();
                    totals[index] =
                        score.map_or(0.0, |score| if ascending { -score } else { score });
                }
                continue;
            }
            let weight = self.ranking.weights[place];
            for (index, rank) in dense_ranks(&scores, ascending, weight < 0.0)
                .into_iter()
                .enumerate()
            {
                totals[index] += weight.abs() / (FUSION + rank as f64);
            }
        }
        let mut order: Vec<usize> = (0..totals.len()).collect();
        order.sort_by(|left, right| {
            lacking[*left]
                .cmp(&lacking[*right])
                .then(totals[*right].total_cmp(&totals[*left]))
                .then(self.candidates[*left].doc.cmp(&self.candidates[*right].doc))
        });
        let mut rows: Vec<Vec<u8>> = self
            .candidates
            .into_iter()
            .map(|candidate| candidate.row)
            .collect();
        order
            .into_iter()
            .map(|index| std::mem::take(&mut rows[index]))
            .collect()
    }
}

/// Ranks from 1, best first; equal scores share one. Absent scores count as -1, as the clients
/// have it; `reversed` turns the order around.
pub(crate) fn dense_ranks(scores: &[Option<f64>], ascending: bool, reversed: bool) -> Vec<usize> {
    let value = |index: usize| match scores[index] {
        Some(score) if ascending => -score,
        Some(score) => score,
        None if ascending => f64::NEG_INFINITY,
        None => -1.0,
    };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|left, right| {
        let best_first = value(*right).total_cmp(&value(*left));
        if reversed {
            best_first.reverse()
        } else {
            best_first
        }
    });
    let mut ranks = vec![0; scores.len()];
    let mut rank = 0;
    let mut previous: Option<f64> = None;
    for index in order {
        if previous.is_none_or(|previous| previous.total_cmp(&value(index)) != Ordering::Equal) {
            rank += 1;
        }
        previous = Some(value(index));
        ranks[index] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::dense_ranks;

    #[test]
    fn equal_scores_share_a_rank() {
        assert_eq!(
            dense_ranks(&[Some(1.0), Some(3.0), Some(3.0), None], false, false),
            [2, 1, 1, 3]
        );
        assert_eq!(
            dense_ranks(&[Some(1.0), Some(3.0), Some(3.0), None], false, true),
            [2, 3, 3, 1]
        );
        assert_eq!(
            dense_ranks(&[Some(1.0), Some(3.0), None], true, false),
            [1, 2, 3]
        );
    }
}
