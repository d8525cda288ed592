//! Comparison of a simulation with the rows that its scenario expects.

use crate::scenario::{ExpectedHorizon, Scenario};
use crate::simulate::{AtHorizon, Row, Simulation};

/// Request units may differ by this share.
const UNITS: f64 = 0.05;
/// The throttled share may differ by so many points of percent.
const POINTS: f64 = 1.0;

/// Every difference between what was computed and what was expected, one a line; empty when all
/// rows agree.
pub fn differences(scenario: &Scenario, simulation: &Simulation) -> Vec<String> {
    let mut found = Vec::new();
    for row in &simulation.rows {
        let Some(expected) = &scenario.candidates[row.place].expect else {
            continue;
        };
        if row.verdict != expected.verdict {
            found.push(format!(
                "{}: verdict {} instead of {}{}",
                row.key,
                row.verdict.word(),
                expected.verdict.word(),
                why(row)
            ));
        }
        let gate = row.first_failure.as_ref().map(|failure| failure.gate);
        if gate != expected.gate {
            found.push(format!(
                "{}: first failing gate {gate:?} instead of {:?}{}",
                row.key,
                expected.gate,
                why(row)
            ));
        }
        for (name, expected) in &expected.horizons {
            match row.horizons.iter().find(|at| at.name == *name) {
                Some(at) => compare(&row.key, at, expected, &mut found),
                None => found.push(format!("{}: not computed at {name}", row.key)),
            }
        }
    }
    found
}

fn why(row: &Row) -> String {
    row.first_failure
        .as_ref()
        .map_or_else(String::new, |failure| format!(" ({})", failure.reason))
}

fn compare(key: &str, at: &AtHorizon, expected: &ExpectedHorizon, found: &mut Vec<String>) {
    let name = &at.name;
    let outcome = &at.outcome;
    if let Some(verdict) = expected.verdict
        && verdict != at.verdict
    {
        let (is, should) = (at.verdict.letter(), verdict.letter());
        found.push(format!("{key} at {name}: verdict {is} instead of {should}"));
    }
    let units = [
        ("total", outcome.total, expected.total),
        ("needed", outcome.needed, expected.needed),
    ];
    for (what, value, wanted) in units {
        if let Some(wanted) = wanted
            && (value - wanted).abs() > UNITS * wanted
        {
            found.push(format!(
                "{key} at {name}: RU/s {what} {value:.0} instead of {wanted:.0} ({:+.1} %)",
                (value / wanted - 1.0) * 100.0
            ));
        }
    }
    if let Some(wanted) = expected.throttled {
        let value = outcome.throttled * 100.0;
        if (value - wanted).abs() > POINTS {
            found.push(format!(
                "{key} at {name}: throttled {value:.2} % instead of {wanted:.1} %"
            ));
        }
    }
    if let Some(wanted) = &expected.max_gb
        && !is_same_size(outcome.largest_gb.estimate, wanted)
    {
        let value = outcome.largest_gb.estimate;
        found.push(format!(
            "{key} at {name}: largest value {value:.3} GB instead of {wanted}"
        ));
    }
    if let Some(wanted) = expected.partitions
        && outcome.partitions != wanted as usize
    {
        let value = outcome.partitions;
        found.push(format!(
            "{key} at {name}: {value} partitions instead of {wanted}"
        ));
    }
}

/// Whether a size reads as written: `<0.1` is anything below a tenth, a number holds in the digits
/// that it has.
fn is_same_size(gb: f64, written: &str) -> bool {
    if let Some(bound) = written.strip_prefix('<') {
        return bound.trim().parse::<f64>().is_ok_and(|bound| gb < bound);
    }
    let digits = written
        .split_once('.')
        .map_or(0, |(_, behind)| behind.len());
    format!("{gb:.digits$}") == written
}

#[cfg(test)]
mod tests {
    use super::is_same_size;

    #[test]
    fn sizes_hold_in_their_digits() {
        assert!(is_same_size(440.3, "440") && !is_same_size(440.6, "440"));
        assert!(is_same_size(0.68, "0.7") && !is_same_size(0.64, "0.7"));
        assert!(is_same_size(0.05, "<0.1") && !is_same_size(0.1, "<0.1"));
        assert!(is_same_size(0.04, "0.0") && !is_same_size(0.06, "0.0"));
    }
}
