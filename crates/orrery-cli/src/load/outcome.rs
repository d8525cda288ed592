//! What a load run found: as a table and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::mix::{Mix, OPERATIONS};
use super::worker::{Tally, Worker};
use crate::report::{align, count, span};

/// The percentiles of the report.
const QUANTILES: [(f64, &str); 5] = [
    (0.5, "p50"),
    (0.9, "p90"),
    (0.99, "p99"),
    (0.999, "p99.9"),
    (1.0, "max"),
];

/// A run's figures.
pub struct Outcome {
    mix: Mix,
    clients: usize,
    rate: Option<f64>,
    elapsed: Duration,
    by_operation: Vec<(&'static str, Tally)>,
    total: Tally,
    /// The first request without an answer, in words.
    pub failure: Option<String>,
}

impl Outcome {
    /// Sums the workers up.
    pub fn new(
        mix: Mix,
        clients: usize,
        rate: Option<f64>,
        elapsed: Duration,
        workers: &[Worker],
    ) -> Self {
        let mut by_operation = Vec::new();
        let mut total = Tally::default();
        for (operation, name) in OPERATIONS {
            if !mix.has(operation) {
                continue;
            }
            let mut sum = Tally::default();
            for worker in workers {
                sum.merge(&worker.tallies[operation.place()]);
            }
            total.merge(&sum);
            by_operation.push((name, sum));
        }
        let failure = workers.iter().find_map(|worker| worker.failure.clone());
        Self {
            mix,
            clients,
            rate,
            elapsed,
            by_operation,
            total,
            failure,
        }
    }

    /// Requests that were answered.
    pub fn answered(&self) -> u64 {
        self.total.latency.len()
    }

    /// Requests answered per second.
    pub fn rate(&self) -> f64 {
        self.per_second(self.answered() as f64)
    }

    /// The latency that half of the requests did not exceed, in nanoseconds.
    pub fn median(&self) -> u64 {
        self.total.latency.quantile(0.5)
    }

    /// The request charge of a request, on average.
    pub fn charge(&self) -> f64 {
        self.total.charge / (self.answered() as f64).max(1.0)
    }

    /// Requests that failed or were refused.
    pub fn failed(&self) -> u64 {
        self.total.broken + self.total.refused.values().sum::<u64>()
    }

    fn per_second(&self, number: f64) -> f64 {
        number / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The figures for programs; latencies in microseconds.
    pub fn to_json(&self) -> Json {
        let operations: serde_json::Map<String, Json> = self
            .by_operation
            .iter()
            .map(|(name, tally)| ((*name).to_owned(), self.tally_json(tally)))
            .collect();
        json!({
            "mix": self.mix.to_string(),
            "loop": if self.rate.is_some() { "open" } else { "closed" },
            "clients": self.clients,
            "rateWanted": self.rate,
            "seconds": self.elapsed.as_secs_f64(),
            "total": self.tally_json(&self.total),
            "operations": operations,
            "failure": self.failure,
        })
    }

    fn tally_json(&self, tally: &Tally) -> Json {
        let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
        let latency: serde_json::Map<String, Json> = QUANTILES
            .iter()
            .map(|(share, name)| {
                (
                    (*name).to_owned(),
                    json!(microseconds(tally.latency.quantile(*share))),
                )
            })
            .chain([("mean".to_owned(), json!(microseconds(tally.latency.mean())))])
            .collect();
        let refused: serde_json::Map<String, Json> = tally
            .refused
            .iter()
            .map(|(status, count)| (status.to_string(), json!(count)))
            .collect();
        json!({
            "requests": tally.latency.len(),
            "requestsPerSecond": self.per_second(tally.latency.len() as f64),
            "latencyMicroseconds": latency,
            "refused": refused,
            "throttled": tally.refused.get(&429).copied().unwrap_or(0),
            "broken": tally.broken,
            "requestCharge": tally.charge,
        })
    }

    /// The figures for people.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let way = match self.rate {
            Some(rate) => format!(
                "open loop, {rate} requests/s due, up to {} under way",
                self.clients
            ),
            None => format!("closed loop, {} connections", self.clients),
        };
        let _ = writeln!(
            text,
            "{} for {:.1} s: {way}\n",
            self.mix,
            self.elapsed.as_secs_f64()
        );
        let mut header = vec![
            "operation".to_owned(),
            "requests".to_owned(),
            "per second".to_owned(),
        ];
        header.extend(QUANTILES.iter().map(|(_, name)| (*name).to_owned()));
        header.extend(["refused".to_owned(), "RU".to_owned()]);
        let mut rows = vec![header];
        rows.extend(
            self.by_operation
                .iter()
                .map(|(name, tally)| self.row(name, tally)),
        );
        if self.by_operation.len() > 1 {
            rows.push(self.row("all", &self.total));
        }
        text.push_str(&align(&rows));
        for (status, number) in &self.total.refused {
            let meaning = match status {
                404 => " (not found: is the container filled?)",
                409 => " (the item exists)",
                429 => " (throttled)",
                _ => "",
            };
            let _ = writeln!(text, "{} answered {status}{meaning}", count(*number));
        }
        if self.total.broken > 0 {
            let first = self.failure.as_deref().unwrap_or_default();
            let _ = writeln!(
                text,
                "{} without an answer; the first: {first}",
                count(self.total.broken)
            );
        }
        let achieved = self.per_second(self.answered() as f64);
        if let Some(rate) = self.rate
            && achieved < rate * 0.95
        {
            let _ = writeln!(
                text,
                "the server kept up with {achieved:.0} of {rate} requests/s; latencies include the growing wait"
            );
        }
        text
    }

    fn row(&self, name: &str, tally: &Tally) -> Vec<String> {
        let mut row = vec![
            name.to_owned(),
            count(tally.latency.len()),
            count(self.per_second(tally.latency.len() as f64).round() as u64),
        ];
        row.extend(
            QUANTILES
                .iter()
                .map(|(share, _)| span(tally.latency.quantile(*share))),
        );
        row.push(count(tally.refused.values().sum()));
        row.push(format!("{:.0}", tally.charge));
        row
    }
}
