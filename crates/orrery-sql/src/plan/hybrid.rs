//! ORDER BY RANK: a query for statistics and one for each score (protocol: section 8.7).

use super::{DistinctType, Features, Planner, QueryInfo};
use crate::analysis::Scores;
use crate::ast::{Expr, ExprKind};
use crate::printer::Printer;
use std::fmt::Write as _;

/// The fewest rows that each score's query asks for.
const LEAST_ROWS: u64 = 120;

/// What the client does for ORDER BY RANK.
#[derive(Debug, Clone, PartialEq)]
pub struct HybridInfo {
    /// Counts documents and words, over all ranges.
    pub global_statistics_query: String,
    /// One for each score.
    pub components: Vec<QueryInfo>,
    /// The weights of RRF.
    pub weights: Option<Vec<f64>>,
    /// OFFSET.
    pub skip: Option<u64>,
    /// TOP or LIMIT.
    pub take: Option<u64>,
    /// Whether any score needs the statistics.
    pub requires_global_statistics: bool,
}

/// A score of the clause.
struct Component {
    /// The expression in component queries.
    text: String,
    /// Value of a row without a score.
    missing: &'static str,
    /// Whether the best rows have the greatest values.
    descending: bool,
}

impl Planner<'_> {
    pub(super) fn hybrid(&self, scores: &Scores<'_>) -> HybridInfo {
        let mut statistics: Vec<String> = Vec::new();
        let mut components: Vec<Component> = Vec::new();
        for (place, score) in scores.components.iter().enumerate() {
            let mut component = self.component(score, &mut statistics);
            // A negative weight asks for the worst rows first.
            let reversed = scores
                .weights
                .as_ref()
                .is_some_and(|weights| weights[place] < 0.0);
            component.descending ^= reversed;
            components.push(component);
        }
        let requires_global_statistics = !statistics.is_empty();
        // Clients put the rows of several scores in order themselves; those of a single one only
        // by the ORDER BY of their pipeline.
        let skips_rewrite = components.len() > 1
            && self
                .context
                .features
                .is_some_and(|set| set.has(Features::HYBRID_SEARCH_SKIP_ORDER_BY_REWRITE));
        HybridInfo {
            global_statistics_query: format!(
                "SELECT COUNT(1) AS documentCount, [{}] AS fullTextStatistics{}",
                statistics.join(", "),
                self.sources_clause()
            ),
            components: components
                .iter()
                .map(|component| self.component_info(component, &components, skips_rewrite))
                .collect(),
            weights: scores.weights.clone(),
            skip: self.counts.offset,
            take: self.counts.limit.or(self.counts.top),
            requires_global_statistics,
        }
    }

    fn component(&self, score: &Expr, statistics: &mut Vec<String>) -> Component {
        let ExprKind::Call { args, .. } = &score.kind else {
            return Component {
                text: Printer::expr_text(self.text, score),
                missing: "-1",
                descending: true,
            };
        };
        if super::is_vector_distance(score) {
            let ascending = self.distance_function(score).ascending();
            // Farther than anything that can be measured.
            let missing = if ascending {
                "1.7976931348623157e+308"
            } else {
                "-1.7976931348623157e+308"
            };
            return Component {
                text: Printer::expr_text(self.text, score),
                missing,
                descending: !ascending,
            };
        }
        let path = args
            .first()
            .map(|path| Printer::expr_text(self.text, path))
            .unwrap_or_default();
        let terms: Vec<String> = terms(args)
            .map(|term| Printer::expr_text(self.text, term))
            .collect();
        let hits: Vec<String> = terms
            .iter()
            .map(|term| format!("COUNTIF(FullTextContains({path}, {term}))"))
            .collect();
        let place = statistics.len();
        statistics.push(format!(
            "{{\"totalWordCount\": SUM(_FullTextWordCount({path})), \"hitCounts\": [{}]}}",
            hits.join(", ")
        ));
        let placeholder =
            |name: &str| format!("{{documentdb-formattablehybridsearchquery-{name}}}");
        let text = format!(
            "_FullTextScore({path}, [{}], {}, {}, {})",
            terms.join(", "),
            placeholder("totaldocumentcount"),
            placeholder(&format!("totalwordcount-{place}")),
            placeholder(&format!("hitcountsarray-{place}"))
        );
        Component {
            text,
            missing: "-1",
            descending: true,
        }
    }

    fn component_info(
        &self,
        component: &Component,
        all: &[Component],
        skips_rewrite: bool,
    ) -> QueryInfo {
        // Twice what is asked for, in 32 bits like the service's planner: it wraps around.
        let rows = |count: u64| u64::from((2 * count).max(LEAST_ROWS) as u32);
        let top = self.counts.top.map(rows);
        let limit = self
            .counts
            .limit
            .map(|limit| rows(limit + self.counts.offset.unwrap_or(0)));
        let mut text = String::from("SELECT ");
        if let Some(top) = top {
            let _ = write!(text, "TOP {top} ");
        }
        let scores: Vec<String> = all
            .iter()
            .map(|one| format!("({} ?? {})", one.text, one.missing))
            .collect();
        let (root, payload, scores) = (self.root(), self.payload(), scores.join(", "));
        let direction = if component.descending { " DESC" } else { "" };
        let score = &component.text;
        let _ = if skips_rewrite {
            write!(
                text,
                "{root}._rid, {payload} AS payload, [{scores}] AS componentScores{}{}",
                self.sources_clause(),
                self.existing_clause(),
            )
        } else {
            write!(
                text,
                "{root}._rid, [{{\"item\": {score}}}] AS orderByItems, \
                 {{\"payload\": {payload}, \"componentScores\": [{scores}]}} AS payload{}{}",
                self.sources_clause(),
                self.filtered_clause(),
            )
        };
        let _ = write!(text, "\nORDER BY {score}{direction}");
        if let Some(limit) = limit {
            let _ = write!(text, "\nOFFSET 0 LIMIT {limit}");
        }
        let key = (score.clone(), component.descending);
        QueryInfo {
            distinct: DistinctType::None,
            // Without an order of its own the client must not cut the rows of all ranges.
            top: top.filter(|_| !skips_rewrite),
            offset: limit.filter(|_| !skips_rewrite).map(|_| 0),
            limit: limit.filter(|_| !skips_rewrite),
            order_by: if skips_rewrite { Vec::new() } else { vec![key] },
            group_by_expressions: Vec::new(),
            group_by_aliases: Vec::new(),
            aggregates: Vec::new(),
            rewritten: text,
            has_select_value: false,
            distinct_count_alias: None,
            non_streaming: !skips_rewrite,
        }
    }
}

/// The terms of FullTextScore: its arguments after the path, or the elements of an array of them
/// as an older preview had it.
fn terms(args: &[Expr]) -> impl Iterator<Item = &Expr> {
    args.iter()
        .skip(1)
        .flat_map(|argument| match &argument.kind {
            ExprKind::Array(terms) => terms.as_slice(),
            _ => std::slice::from_ref(argument),
        })
}
