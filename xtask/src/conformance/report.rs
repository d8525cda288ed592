//! The figures of a run of an SDK's tests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::expected::Expected;

/// Tests by outcome.
pub struct Report<'a> {
    outcomes: BTreeMap<&'a str, usize>,
    senders: usize,
    senders_passed: usize,
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
            senders: 0,
            senders_passed: 0,
            by_cause: BTreeMap::new(),
            unexpected: Vec::new(),
            recovered: Vec::new(),
        };
        for (test, record) in results {
            let outcome = record["outcome"].as_str().unwrap_or("error");
            *report.outcomes.entry(outcome).or_default() += 1;
            let sends = record["requests"].as_u64().unwrap_or(0) > 0;
            if sends && outcome != "skipped" {
                report.senders += 1;
                report.senders_passed += usize::from(outcome == "passed");
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

    /// Of the tests that send requests, the share that passes.
    pub fn sender_share(&self) -> f64 {
        if self.senders == 0 {
            return 0.0;
        }
        self.senders_passed as f64 / self.senders as f64
    }

    /// The figures for machines.
    pub fn figures(&self) -> Value {
        json!({
            "outcomes": self.outcomes,
            "tests_that_send_requests": self.senders,
            "of_these_passed": self.senders_passed,
            "share": self.sender_share(),
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
        println!(
            "of {} tests that send requests {} pass: {:.1} %",
            self.senders,
            self.senders_passed,
            self.sender_share() * 100.0
        );
        println!(
            "{} passed, {} failed, {} skipped",
            of("passed"),
            of("failed") + of("error"),
            of("skipped")
        );
    }
}
