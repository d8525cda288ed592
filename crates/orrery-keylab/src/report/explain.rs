//! One key by itself: what speaks for it and against it, in sentences.

use std::fmt::Write as _;

use super::advice::{self, routed};
use super::text::{amount, gigabytes, percent};
use crate::analysis::Analysis;
use crate::gate::Finding;
use crate::routing::Reach;
use crate::simulate::Row;
use crate::verdict::Verdict;

/// The row of a key by its name, whose leading slash may be left out.
pub fn find<'a>(analysis: &'a Analysis, key: &str) -> Option<&'a Row> {
    let is_it = |row: &&Row| row.key == key || row.key.strip_prefix('/') == Some(key);
    analysis.rows.iter().find(is_it)
}

/// What is to be said of a row.
pub fn render(analysis: &Analysis, row: &Row) -> String {
    let mut text = format!("{}: {}", row.key, row.verdict.word());
    // Writing to a string cannot fail.
    let _ = writeln!(text, ", score {:.0}", row.score);
    let mut say = |sentence: String| {
        let _ = writeln!(text, "  - {sentence}");
    };
    say(format!(
        "It has {} values, which spread like {} equally large ones; the largest is {}.",
        amount(row.distinct.round()),
        amount(row.effective_values.round().max(1.0)),
        row.largest_name
    ));
    let everywhere: Vec<&str> = row
        .routes
        .iter()
        .filter(|route| route.reach == Reach::FanOut)
        .map(|route| route.pattern.as_str())
        .collect();
    say(if everywhere.is_empty() {
        format!(
            "{} of the requests name one key value; none visits every partition.",
            percent(routed(row))
        )
    } else {
        format!(
            "{} of the requests name one key value; every partition is visited by '{}'.",
            percent(routed(row)),
            everywhere.join("', '")
        )
    });
    for at in &row.horizons {
        let outcome = &at.outcome;
        say(format!(
            "At {}: {} RU/s are needed where an ideal key would need {}; the fullest of {} partitions is asked for {:.2} times the mean, and the largest value holds {} GB.",
            at.name,
            amount(outcome.needed.round()),
            amount(outcome.ideal.round()),
            outcome.partitions,
            outcome.max_over_mean(),
            gigabytes(outcome.largest_gb.estimate)
        ));
    }
    let mut told = Vec::new();
    for at in &row.horizons {
        for answer in at
            .gates
            .iter()
            .filter(|answer| answer.finding == Finding::Fail)
        {
            if !told.contains(&answer.gate) {
                told.push(answer.gate);
                say(format!(
                    "It fails {:?} ({}) at {}: {}.",
                    answer.gate,
                    answer.gate.subject(),
                    at.name,
                    answer.reason
                ));
            }
        }
    }
    for (at, condition) in advice::conditions(row) {
        say(format!("Condition at {}: {condition}.", at.name));
    }
    match advice::winner(analysis) {
        Some(best) if best.key == row.key => say("It is the key that is recommended.".to_owned()),
        Some(best) => say(format!(
            "Recommended is {} ({}, score {:.0}).",
            best.key,
            best.verdict.word(),
            best.score
        )),
        None => say("No key passes every gate.".to_owned()),
    }
    if row.verdict == Verdict::Accept && told.is_empty() {
        say("No gate objects to it.".to_owned());
    }
    text
}
