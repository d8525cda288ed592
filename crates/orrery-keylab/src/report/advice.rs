//! The sentences of a report: why a key, what would make it wrong, how to see whether it was right.

use super::text::{amount, gigabytes, percent};
use crate::analysis::Analysis;
use crate::gate::Finding;
use crate::routing::Reach;
use crate::simulate::{AtHorizon, Row};
use crate::verdict::Verdict;

/// A conditional key with so many points more deserves to be named beside an accepted one.
const MUCH_BETTER: f64 = 20.0;

/// What is to be said of a workload that nobody has looked at yet.
const GUESSED: &str = "The patterns and rates are guesses of `keylab init`, and so is this answer: put yours into the workload file and delete `guessedRates` there.";

/// The key that is recommended, if any can be.
pub fn winner(analysis: &Analysis) -> Option<&Row> {
    analysis
        .rows
        .first()
        .filter(|row| row.verdict != Verdict::Reject)
}

/// The two or three facts that decided.
pub fn why(analysis: &Analysis) -> Vec<String> {
    let mut facts = Vec::new();
    if analysis.guessed_rates && !analysis.rows.is_empty() {
        facts.push(GUESSED.to_owned());
    }
    let Some(row) = winner(analysis) else {
        facts.extend(survivors(analysis));
        return facts;
    };
    let Some(last) = row.horizons.last() else {
        return facts;
    };
    facts.push(format!(
        "{}: {} of the requests name one key value; at {} the workload needs {} RU/s, {} would do if everything were aligned and even.",
        row.key,
        percent(routed(row)),
        last.name,
        amount(last.outcome.needed.round()),
        amount(last.outcome.ideal.round())
    ));
    facts.push(format!(
        "Its largest value, {}, holds {} GB at {} (limit 20), and the fullest of {} partitions is asked for {:.2} times the mean.",
        row.largest_name,
        gigabytes(last.outcome.largest_gb.estimate),
        last.name,
        last.outcome.partitions,
        last.outcome.max_over_mean()
    ));
    let better = analysis.rows.iter().find(|other| {
        other.verdict == Verdict::Conditional && other.score > row.score + MUCH_BETTER
    });
    if let (Verdict::Accept, Some(other)) = (row.verdict, better) {
        let wanted: Vec<String> = conditions(other)
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        facts.push(format!(
            "{} would score {:.0} against {:.0}, on a condition: {}.",
            other.key,
            other.score,
            row.score,
            wanted.join("; ")
        ));
    }
    let rejected = analysis
        .rows
        .iter()
        .filter(|other| other.verdict == Verdict::Reject && other.complexity == 0)
        .max_by(|left, right| left.score.total_cmp(&right.score));
    if let Some(other) = rejected
        && let Some(failure) = &other.first_failure
    {
        facts.push(format!(
            "{} fails {:?} ({}) at {}: {}.",
            other.key,
            failure.gate,
            failure.gate.subject(),
            failure.horizon,
            failure.reason
        ));
    }
    if row.horizons.iter().all(|at| at.outcome.partitions == 1) {
        facts.push(
            "With one physical partition every key will do: the choice only matters if the container grows, so give a horizon at which it has."
                .to_owned(),
        );
    }
    if let Some(young) = row.young.filter(|share| *share > 0.01) {
        facts.push(format!(
            "While the container is young, all of a first-level value lies on one partition and {} of the demand is refused: put a small suffix on the first level, redistribute throughput, or accept it until 50 GB.",
            percent(young)
        ));
    }
    for (at, answer) in conditions(row) {
        facts.push(format!("Condition at {}: {}.", at.name, answer));
    }
    facts
}

/// What to say when every key is rejected: the two that last longest.
fn survivors(analysis: &Analysis) -> Vec<String> {
    let mut rows: Vec<&Row> = analysis.rows.iter().collect();
    let held = |row: &Row| {
        row.horizons
            .iter()
            .take_while(|at| at.verdict != Verdict::Reject)
            .count()
    };
    rows.sort_by(|left, right| {
        held(right)
            .cmp(&held(left))
            .then(right.score.total_cmp(&left.score))
    });
    let mut facts = vec!["No key passes every gate.".to_owned()];
    for (row, place) in rows.into_iter().zip(["lasts longest", "comes next"]) {
        if let Some(failure) = &row.first_failure {
            facts.push(format!(
                "{} {place} among them: it fails {:?} ({}) at {}: {}.",
                row.key,
                failure.gate,
                failure.gate.subject(),
                failure.horizon,
                failure.reason
            ));
        }
    }
    facts.extend(too_little(analysis));
    if facts.len() > 1 {
        facts.push("Replicate or cache the values that are too hot, or divide the data over several containers.".to_owned());
    }
    facts
}

/// The throughput that the least demanding key would do with, where a horizon has less than any.
fn too_little(analysis: &Analysis) -> Option<String> {
    let horizons = &analysis.rows.first()?.horizons;
    (0..horizons.len()).find_map(|place| {
        let (row, at) = analysis
            .rows
            .iter()
            .filter_map(|row| Some((row, row.horizons.get(place)?)))
            .min_by(|left, right| left.1.outcome.needed.total_cmp(&right.1.outcome.needed))?;
        let outcome = &at.outcome;
        (outcome.needed > outcome.provisioned).then(|| {
            format!(
                "{} RU/s at {} are too few for every key: {} needs {}. Raise `ru` there, or leave it out to have it found.",
                amount(outcome.provisioned.round()),
                at.name,
                row.key,
                amount(outcome.needed.ceil())
            )
        })
    })
}

/// What gates warn of, by horizon; each warning once, where it first appears.
pub fn conditions(row: &Row) -> Vec<(&AtHorizon, String)> {
    let mut found: Vec<(&AtHorizon, String)> = Vec::new();
    let mut gates = Vec::new();
    for at in &row.horizons {
        for answer in &at.gates {
            let is_condition = matches!(answer.finding, Finding::Warn | Finding::SampleTooSmall);
            if is_condition && !gates.contains(&answer.gate) {
                gates.push(answer.gate);
                found.push((at, answer.reason.clone()));
            }
        }
    }
    found
}

/// The first gate that fails, else the conditions; empty when nothing speaks against a key.
pub fn objection(row: &Row) -> String {
    if let Some(failure) = &row.first_failure {
        return format!(
            "{:?} at {}: {}",
            failure.gate, failure.horizon, failure.reason
        );
    }
    let wanted: Vec<String> = conditions(row)
        .into_iter()
        .map(|(at, text)| format!("condition at {}: {text}", at.name))
        .collect();
    wanted.join("; ")
}

/// The share of the requests that name one value of the key, or of its first level.
pub fn routed(row: &Row) -> f64 {
    let total: f64 = row.routes.iter().map(|route| route.rate).sum();
    let routed: f64 = row
        .routes
        .iter()
        .filter(|route| match route.reach {
            Reach::Point | Reach::Single => true,
            Reach::Prefix(values) => values <= 1.0,
            Reach::Values(_) | Reach::FanOut => false,
        })
        .map(|route| route.rate)
        .sum();
    if total > 0.0 { routed / total } else { 1.0 }
}

/// What would change the answer.
pub fn what_would_change(analysis: &Analysis) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(row) = winner(analysis) {
        if let Some(headroom) = &row.headroom {
            sentences.push(match headroom.gate {
                Some(gate) => format!(
                    "Growth: with {} times the data, requests and throughput of now, {} fails {gate:?} ({}).",
                    amount((headroom.factor * 10.0).round() / 10.0),
                    row.key,
                    gate.subject()
                ),
                None => format!(
                    "Growth: up to {} times the data, requests and throughput of now no gate fails for {}.",
                    amount(headroom.factor),
                    row.key
                ),
            });
        }
        sentences.extend(break_even(row));
    }
    sentences.extend(analysis.sensitivities.iter().cloned());
    sentences
}

/// When a second copy of the data under another key is cheaper than fan-out (method: section 9).
pub fn break_even(row: &Row) -> Option<String> {
    /// Reading a change from the feed.
    const READ_CHANGE: f64 = 1.0;
    /// What a visited partition costs at least.
    const VISIT: f64 = 2.7;
    let fan_out = row.fan_out();
    if fan_out <= 0.0 {
        return None;
    }
    let copies: f64 = row
        .routes
        .iter()
        .filter(|route| route.is_write)
        .map(|route| route.rate * (route.charge + READ_CHANGE))
        .sum();
    let partitions = 1.0 + copies / (fan_out * VISIT);
    let last = row.horizons.last()?.outcome.partitions;
    let verb = if last as f64 > partitions {
        "is"
    } else {
        "would be"
    };
    Some(format!(
        "Fan-out: above {partitions:.0} partitions (there are {last} at the last horizon) a second copy under another key {verb} cheaper than {} queries a second to every partition.",
        amount(fan_out)
    ))
}

/// How to see after deployment whether the answer was right.
pub const VERIFY: [&str; 3] = [
    "Storage of every physical partition lies within 20 % of the mean (metric PhysicalPartitionSizeInfo).",
    "Normalised RU consumption is alike for all partition key ranges (metric NormalizedRUConsumption).",
    "The charges of the three main queries stay flat from today's data to ten times as much.",
];

/// How to move a container that exists.
pub const MIGRATE: [&str; 5] = [
    "Create the new container with the recommended key and throughput.",
    "Copy with the change feed from its beginning, and keep it running.",
    "Read from both and compare.",
    "Switch writers, then readers.",
    "Compare counts and hashes by key range, then delete the old container.",
];
