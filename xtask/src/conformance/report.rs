//! The figures of a run of an SDK's tests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::expected::Expected;

/// Tests by outcome.
pub struct Report<'a> {
    outcomes: BTreeMap<&'a str, usize>,
    /// By mark, the tests that send requests, and how many of them pass. A test may have several.
    senders: BTreeMap<&'a str, (usize, usize)>,
    /// Failures by cause.
    by_cause: BTreeMap<&'a str, usize>,
    /// Failures that the list does not have: test and reason.
    pub unexpected: Vec<(&'a str, &'a str)>,
    /// Tests of the list that pass.
    recovered: Vec<&'a str>,
}

impl<'a> Report<'a> {
    /// Counts the records.
    pub fn new(results: &'a BTreeMap<String, Value>, expected: &'a Expected) -> Self {
        let mut report = Self {
            outcomes: BTreeMap::new(),
            senders: BTreeMap::new(),
            by_cause: BTreeMap::new(),
            unexpected: Vec::new(),
            recovered: Vec::new(),
        };
        for (test, record) in results {
            let outcome = record["outcome"].as_str().unwrap_or("error");
            *report.outcomes.entry(outcome).or_default() += 1;
            let sends = record["requests"].as_u64().unwrap_or(0) > 0;
            if sends && outcome != "skipped" {
                for mark in record["marks"].as_array().into_iter().flatten() {
                    let mark = mark.as_str().unwrap_or_default();
                    let (sent, passed) = report.senders.entry(mark).or_default();
                    *sent += 1;
                    *passed += usize::from(outcome == "passed");
                }
            }
            let cause = expected.cause(test);
            match (outcome, cause) {
                ("passed", Some(_)) => report.recovered.push(test),
                ("passed" | "skipped", _) => {}
                (_, Some(cause)) => *report.by_cause.entry(cause).or_default() += 1,
                (_, None) => {
                    let why = record["why"].as_str().unwrap_or_default();
                    report.unexpected.push((test, why));
                }
            }
        }
        report
    }

    /// By mark, of the tests that send requests, the share that passes.
    pub fn shares(&self) -> Vec<(&'a str, f64)> {
        self.senders
            .iter()
            .map(|(mark, (sent, passed))| (*mark, *passed as f64 / *sent as f64))
            .collect()
    }

    /// The figures for machines.
    pub fn figures(&self) -> Value {
        let marks: BTreeMap<&str, Value> = self
            .senders
            .iter()
            .map(|(mark, (sent, passed))| {
                let figures =
                    json!({ "tests_that_send_requests": sent, "of_these_passed": passed });
                (*mark, figures)
            })
            .collect();
        json!({
            "outcomes": self.outcomes,
            "marks": marks,
            "expected_failures_by_cause": self.by_cause,
            "unexpected_failures": self.unexpected.len(),
        })
    }

    /// The figures for people.
    pub fn print(&self) {
        for (test, why) in &self.unexpected {
            println!("UNEXPECTED {test}\n    {why}");
        }
        for test in &self.recovered {
            println!("passes now, take it off the list: {test}");
        }
        for (cause, count) in &self.by_cause {
            println!("{count:>5} expected failures: {cause}");
        }
        let of = |outcome| self.outcomes.get(outcome).copied().unwrap_or(0);
        for (mark, (sent, passed)) in &self.senders {
            println!(
                "{mark}: of {sent} tests that send requests {passed} pass: {:.1} %",
                *passed as f64 / *sent as f64 * 100.0
            );
        }
        println!(
            "{} passed, {} failed, {} skipped",
            of("passed"),
            of("failed") + of("error"),
            of("skipped")
        );
    }
}
