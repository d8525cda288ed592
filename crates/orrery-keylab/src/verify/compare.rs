//! Predicted beside measured, each with its tolerance (method: section 14.1).

use serde::Serialize;

use super::{Measurement, Prediction, Subject};
use crate::error::KeylabError;
use crate::evidence::Interval;
use crate::gate::{Finding, GateAnswer};
use crate::gates;
use crate::outcome::Outcome;
use crate::report::text::{amount, gigabytes, percent};
use crate::verdict::Verdict;

/// Gigabytes of a partition and of the largest key may differ by this part.
const STORED: f64 = 0.05;
/// Shares of request units may differ by this much beyond chance.
const SHARES: f64 = 0.01;
/// The refused share may differ by this much, or by this part of it.
const REFUSED: (f64, f64) = (0.005, 0.15);
/// The throughput that is needed may differ by this part.
const NEEDED: f64 = 0.10;
/// Standard deviations that chance is given in the demand of one partition.
const NEEDED_DEVIATIONS: f64 = 3.0;
/// Standard deviations that it is given in the largest of many keys.
const LARGEST_DEVIATIONS: f64 = 4.0;

/// A quantity.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What.
    pub quantity: String,
    /// What was predicted, for people.
    pub predicted: String,
    /// What was measured.
    pub measured: String,
    /// How much they differ, in the unit of the tolerance.
    pub difference: f64,
    /// How much they may.
    pub tolerance: f64,
    /// The tolerance for people.
    pub allowed: String,
    /// Whether it is kept.
    pub passed: bool,
    /// The predicted numbers by partition, where there are such.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicted_by_partition: Vec<f64>,
    /// The measured ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured_by_partition: Vec<f64>,
}

impl Check {
    fn new(
        quantity: impl Into<String>,
        (predicted, measured): (String, String),
        (difference, tolerance): (f64, f64),
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            quantity: quantity.into(),
            predicted,
            measured,
            difference,
            tolerance,
            allowed: allowed.into(),
            passed: difference <= tolerance,
            predicted_by_partition: Vec::new(),
            measured_by_partition: Vec::new(),
        }
    }

    fn by_partition(mut self, predicted: Vec<f64>, measured: Vec<f64>) -> Self {
        (self.predicted_by_partition, self.measured_by_partition) = (predicted, measured);
        self
    }
}

/// Compares all that was measured with what was predicted.
pub fn compare(
    subject: &Subject<'_>,
    prediction: &Prediction,
    measurement: &Measurement,
) -> Result<Vec<Check>, KeylabError> {
    let mut checks = vec![
        placement(measurement),
        stored(subject, measurement),
        largest(subject, prediction, measurement),
        shares(prediction, measurement),
    ];
    checks.extend(measurement.patterns.iter().map(visits));
    let seen = seen(subject, prediction, measurement);
    checks.push(refused(prediction, measurement));
    checks.push(needed(prediction, &seen, measurement));
    checks.push(verdict(subject, prediction, measurement, &seen)?);
    Ok(checks)
}

fn placement(measurement: &Measurement) -> Check {
    let wrong = measurement.items - measurement.placed_right;
    Check::new(
        "items on the predicted partition",
        (
            amount(measurement.items as f64),
            amount(measurement.placed_right as f64),
        ),
        (wrong as f64, 0.0),
        "exact",
    )
}

fn stored(subject: &Subject<'_>, measurement: &Measurement) -> Check {
    let in_gb = |bytes: &[u64]| -> Vec<f64> {
        let total = bytes.iter().sum::<u64>().max(1) as f64;
        bytes
            .iter()
            .map(|&bytes| bytes as f64 / total * subject.gb())
            .collect()
    };
    let (predicted, measured) = (
        in_gb(&measurement.expected_bytes),
        in_gb(&measurement.stored_bytes),
    );
    let difference = predicted
        .iter()
        .zip(&measured)
        .map(|(predicted, measured)| {
            (measured - predicted).abs() / predicted.max(f64::MIN_POSITIVE)
        })
        .filter(|difference| difference.is_finite())
        .fold(0.0, f64::max);
    let most = |values: &[f64]| gigabytes(values.iter().copied().fold(0.0, f64::max));
    Check::new(
        "GB of the fullest partition",
        (most(&predicted), most(&measured)),
        (difference, STORED),
        "each partition 5 %",
    )
    .by_partition(predicted, measured)
}

fn largest(subject: &Subject<'_>, prediction: &Prediction, measurement: &Measurement) -> Check {
    let predicted = prediction.outcome.largest_gb.estimate;
    let measured = largest_gb(subject, measurement);
    let tolerance = largest_tolerance(subject, prediction, measurement);
    Check::new(
        "GB of the largest key",
        (gigabytes(predicted), gigabytes(measured)),
        ((measured - predicted).abs(), tolerance),
        "5 % and chance",
    )
}

/// So many items of one value are there by chance, the largest of many values being looked at.
fn largest_tolerance(
    subject: &Subject<'_>,
    prediction: &Prediction,
    measurement: &Measurement,
) -> f64 {
    let predicted = prediction.outcome.largest_gb.estimate;
    let items = measurement.items.max(1) as f64;
    let expected = predicted / subject.gb().max(f64::MIN_POSITIVE) * items;
    STORED * predicted + LARGEST_DEVIATIONS * (expected.sqrt() + 1.0) / items * subject.gb()
}

fn largest_gb(subject: &Subject<'_>, measurement: &Measurement) -> f64 {
    let total = measurement.stored_bytes.iter().sum::<u64>().max(1) as f64;
    measurement.largest_bytes as f64 / total * subject.gb()
}

fn shares(prediction: &Prediction, measurement: &Measurement) -> Check {
    let of_total = |values: &[f64]| -> Vec<f64> {
        let total = values.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        values.iter().map(|value| value / total).collect()
    };
    let (predicted, measured) = (
        of_total(&prediction.outcome.demands),
        of_total(&measurement.asked),
    );
    let distance = predicted
        .iter()
        .zip(&measured)
        .map(|(predicted, measured)| (predicted - measured).abs())
        .sum::<f64>()
        / 2.0;
    let requests: u64 = measurement
        .patterns
        .iter()
        .map(|pattern| pattern.requests)
        .sum();
    let tolerance = 3.0 * (predicted.len() as f64 / (4.0 * requests.max(1) as f64)).sqrt() + SHARES;
    let most = |values: &[f64]| percent(values.iter().copied().fold(0.0, f64::max));
    Check::new(
        "RU share of the busiest partition",
        (most(&predicted), most(&measured)),
        (distance, tolerance),
        format!("total variation {}", percent(tolerance)),
    )
    .by_partition(predicted, measured)
}

fn visits(pattern: &super::PatternCount) -> Check {
    let mean = |visits: u64| format!("{:.2}", visits as f64 / pattern.requests.max(1) as f64);
    Check::new(
        format!("ranges visited: {}", pattern.name),
        (mean(pattern.expected_visits), mean(pattern.visits)),
        (pattern.astray as f64, 0.0),
        "exact, each request",
    )
}

/// The outcome as it was measured, at the size of production.
fn seen(subject: &Subject<'_>, prediction: &Prediction, measurement: &Measurement) -> Outcome {
    let at_production = measurement.seconds * measurement.scale;
    let demands: Vec<f64> = measurement
        .asked
        .iter()
        .map(|ru| ru / at_production)
        .collect();
    let total: f64 = measurement.asked.iter().sum();
    let highest = demands.iter().copied().fold(0.0, f64::max);
    Outcome {
        total: demands.iter().sum(),
        needed: highest * demands.len() as f64,
        throttled: if total > 0.0 {
            measurement.refused / total
        } else {
            0.0
        },
        largest_gb: Interval::exact(largest_gb(subject, measurement)),
        demands,
        ..prediction.outcome.clone()
    }
}

fn refused(prediction: &Prediction, measurement: &Measurement) -> Check {
    let asked: f64 = measurement.asked.iter().sum();
    let predicted = prediction.outcome.throttled;
    let measured = measurement.refused / asked.max(f64::MIN_POSITIVE);
    let (points, part) = REFUSED;
    Check::new(
        "429 share",
        (percent(predicted), percent(measured)),
        ((predicted - measured).abs(), points.max(part * predicted)),
        "0.5 points or 15 %",
    )
}

fn needed(prediction: &Prediction, seen: &Outcome, measurement: &Measurement) -> Check {
    let predicted = prediction.outcome.needed;
    let difference = (seen.needed - predicted).abs() / predicted.max(f64::MIN_POSITIVE);
    // So many visits of the busiest partition tell its demand only so well.
    let busiest = measurement.asked.iter().copied().fold(0.0, f64::max);
    let visits = busiest / prediction.outcome.visit_charge.max(f64::MIN_POSITIVE);
    let by_chance = NEEDED_DEVIATIONS / visits.max(1.0).sqrt();
    Check::new(
        "RU/s needed",
        (amount(predicted), amount(seen.needed)),
        (difference, NEEDED + by_chance),
        "10 % and chance",
    )
}

/// Whether the gates say the same of both. A number so near a threshold that its tolerance reaches
/// over it may fall on either side.
fn verdict(
    subject: &Subject<'_>,
    prediction: &Prediction,
    measurement: &Measurement,
    seen: &Outcome,
) -> Result<Check, KeylabError> {
    let facts = subject.facts();
    let demands = subject.origin.demands(None)?;
    let ask = |outcome: &Outcome| gates::ask(&facts, &demands, outcome, None, &subject.rule);
    let text = |answers: &[GateAnswer]| {
        let failing = answers
            .iter()
            .find(|answer| answer.finding == Finding::Fail);
        let verdict = Verdict::of(answers).word();
        failing.map_or_else(
            || verdict.to_owned(),
            |answer| format!("{verdict} ({:?})", answer.gate),
        )
    };
    let (predicted, measured) = (text(&ask(&prediction.outcome)), text(&ask(seen)));
    let (points, part) = REFUSED;
    let refused = prediction.outcome.throttled;
    let largest = prediction.outcome.largest_gb.estimate;
    let limit = subject.rule.value_gb();
    let reaches = |value: f64, room: f64, threshold: f64| (value - threshold).abs() <= room;
    let room = points.max(part * refused);
    let size = largest_tolerance(subject, prediction, measurement);
    let on_the_edge = reaches(refused, room, gates::THROTTLED_WARN)
        || reaches(refused, room, gates::THROTTLED_FAIL)
        || reaches(largest, size, limit)
        || reaches(largest, size, gates::ALERT * limit);
    let differs = predicted != measured && !on_the_edge;
    let allowed = if on_the_edge {
        "either side of a threshold"
    } else {
        "identical"
    };
    Ok(Check::new(
        "verdict with these charges",
        (predicted, measured),
        (f64::from(u8::from(differs)), 0.0),
        allowed,
    ))
}
