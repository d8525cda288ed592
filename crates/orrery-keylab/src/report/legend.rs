//! What the words and numbers of a table mean, in a line each, for who sees them first.

use crate::gate::{Finding, GateName};
use crate::simulate::Row;

/// The columns of the ranked table.
pub const RANKED: [&str; 4] = [
    "score: what an ideal key would use as a share of what this one needs, at the worst horizon; 100 is best",
    "RU/s needed: what the fullest partition is asked for, times the partitions",
    "429 %: share of the demand that is refused; max GB: the largest key value (limit 20)",
    "Accept: no gate objects; Conditional: it holds on a condition; Reject: a gate fails",
];

/// The columns of the table without a workload.
pub const SPREAD: [&str; 2] = [
    "effective: so many equally large values would spread as well",
    "max/mean: the fullest partition against the mean, by stored items; 1.00 is best",
];

/// The gates that object to some of these rows, in order, with what they ask.
pub fn gates(rows: &[&Row]) -> Vec<String> {
    let mut found: Vec<GateName> = rows
        .iter()
        .flat_map(|row| &row.horizons)
        .flat_map(|at| &at.gates)
        .filter(|answer| answer.finding != Finding::Pass)
        .map(|answer| answer.gate)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|gate| format!("{gate:?} {}: {}", gate.subject(), gate.asks()))
        .collect()
}
