//! ORDER BY RANK over several ranges (protocol: section 8.7).

use super::MergeError;
use crate::pipeline::ranking::{FUSION, dense_ranks};
use crate::plan::HybridInfo;
use orrery_model::json;
use orrery_model::value::Value;
use std::collections::BTreeMap;

const DOCUMENTS: &str = "{documentdb-formattablehybridsearchquery-totaldocumentcount}";
const FILTER: &str = "{documentdb-formattableorderbyquery-filter}";

/// Answers the rows of a text over all ranges.
pub type RunText<'r, E> = dyn FnMut(&str) -> Result<Vec<Vec<u8>>, E> + 'r;

/// The scores of a row, one per component, and its text.
type Scored = (Vec<Option<f64>>, Vec<u8>);

/// Runs a hybrid plan; `run` answers the rows of a text over all ranges.
pub fn merge_hybrid<E>(
    info: &HybridInfo,
    run: &mut RunText<'_, E>,
) -> Result<Vec<Vec<u8>>, MergeError<E>> {
    let statistics = if info.requires_global_statistics {
        Statistics::sum(&run(&info.global_statistics_query).map_err(MergeError::Range)?)?
    } else {
        Statistics::default()
    };
    // Rows by `_rid`, which also removes what several components found.
    let mut found: BTreeMap<String, Scored> = BTreeMap::new();
    for component in &info.components {
        for row in run(&statistics.fill(&component.rewritten)).map_err(MergeError::Range)? {
            let row = json::parse(&row).map_err(|_| MergeError::Row)?;
            let rid = row
                .member("_rid")
                .as_str()
                .ok_or(MergeError::Row)?
                .to_owned();
            let outer = row.member("payload");
            // With HybridSearchSkipOrderByRewrite the scores stand beside the payload.
            let own = row.member("componentScores");
            let (scores, payload) = if own.is_undefined() {
                (outer.member("componentScores"), outer.member("payload"))
            } else {
                (own, outer)
            };
            let scores = scores
                .as_array()
                .ok_or(MergeError::Row)?
                .iter()
                .map(Value::as_f64)
                .collect();
            let mut text = Vec::new();
            if !payload.is_undefined() {
                json::write(payload, &mut text);
            }
            found.entry(rid).or_insert((scores, text));
        }
    }
    let skip = info.skip.unwrap_or(0);
    let take = info.take.unwrap_or(u64::MAX);
    let ranked = rank(info, found.into_values().collect());
    // A row whose VALUE is undefined is none.
    let rows = ranked.into_iter().filter(|row| !row.is_empty());
    Ok(rows
        .skip(usize::try_from(skip).unwrap_or(usize::MAX))
        .take(usize::try_from(take).unwrap_or(usize::MAX))
        .collect())
}

fn rank(info: &HybridInfo, rows: Vec<Scored>) -> Vec<Vec<u8>> {
    let mut totals = vec![0.0; rows.len()];
    for (place, component) in info.components.iter().enumerate() {
        let scores: Vec<Option<f64>> = rows
            .iter()
            .map(|(scores, _)| scores.get(place).copied().flatten())
            .collect();
        let weight = info
            .weights
            .as_ref()
            .and_then(|weights| weights.get(place))
            .copied()
            .unwrap_or(1.0);
        // The plan turned the order of a negative weight around already, and gave rows without a
        // score a value behind all others.
        let descending = component
            .order_by
            .first()
            .is_none_or(|(_, descending)| *descending);
        let ranks = dense_ranks(&scores, !descending, false);
        for (total, rank) in totals.iter_mut().zip(ranks) {
            *total += weight.abs() / (FUSION + rank as f64);
        }
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|left, right| totals[*right].total_cmp(&totals[*left]));
    let mut rows: Vec<Vec<u8>> = rows.into_iter().map(|(_, row)| row).collect();
    order
        .into_iter()
        .map(|place| std::mem::take(&mut rows[place]))
        .collect()
}

/// Statistics of the container.
#[derive(Default)]
struct Statistics {
    documents: f64,
    /// Words and hits for each full text component.
    texts: Vec<(f64, Vec<f64>)>,
}

impl Statistics {
    fn sum<E>(rows: &[Vec<u8>]) -> Result<Self, MergeError<E>> {
        let mut sum = Self::default();
        for row in rows {
            let row = json::parse(row).map_err(|_| MergeError::Row)?;
            sum.documents += row.member("documentCount").as_f64().unwrap_or(0.0);
            let texts = row
                .member("fullTextStatistics")
                .as_array()
                .ok_or(MergeError::Row)?;
            for (place, text) in texts.iter().enumerate() {
                if sum.texts.len() <= place {
                    sum.texts.push((0.0, Vec::new()));
                }
                let (words, hits) = &mut sum.texts[place];
                *words += text.member("totalWordCount").as_f64().unwrap_or(0.0);
                let counts = text.member("hitCounts").as_array().unwrap_or_default();
                hits.resize(hits.len().max(counts.len()), 0.0);
                for (hit, count) in hits.iter_mut().zip(counts) {
                    *hit += count.as_f64().unwrap_or(0.0);
                }
            }
        }
        Ok(sum)
    }

    fn fill(&self, text: &str) -> String {
        let mut text = text
            .replace(FILTER, "true")
            .replace(DOCUMENTS, &self.documents.to_string());
        for (place, (words, hits)) in self.texts.iter().enumerate() {
            let hits: Vec<String> = hits.iter().map(f64::to_string).collect();
            text = text
                .replace(
                    &format!("{{documentdb-formattablehybridsearchquery-totalwordcount-{place}}}"),
                    &words.to_string(),
                )
                .replace(
                    &format!("{{documentdb-formattablehybridsearchquery-hitcountsarray-{place}}}"),
                    &format!("[{}]", hits.join(",")),
                );
        }
        text
    }
}
