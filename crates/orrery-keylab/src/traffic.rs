//! Traffic: requests that were observed, put together to the patterns of a workload.
//!
//! Sources hand in one [`Event`] at a time ([`trace`], [`query_log`], [`diagnostics`] read them
//! from text); [`Traffic`] keeps a bounded amount of each pattern: how many requests, what they
//! cost, in which minutes, and which key values they named.

pub mod diagnostics;
mod pattern;
pub mod query_log;
pub mod text;
pub mod trace;

use std::collections::BTreeMap;

use crate::error::KeylabError;
use crate::report::text::shortened;
use crate::routing::Filter;
use crate::scenario::{Container, Horizon, Operation, PatternSpec};
use crate::workload::Workload;
use pattern::Seen;

/// Different patterns that are kept; further ones are counted as left out.
const MOST_PATTERNS: usize = 1_000;
/// Patterns below this part of all requests are left out of a workload.
const LEAST_SHARE: f64 = 0.000_1;

/// What a request did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// Read one item by id.
    Read,
    /// Ran a query, or read all items.
    Query,
    /// Made an item.
    Create,
    /// Replaced an item.
    Replace,
    /// Changed members of an item.
    Patch,
    /// Ended an item.
    Delete,
    /// A transaction.
    Batch,
}

impl Deed {
    fn operation(self) -> Operation {
        match self {
            Self::Read => Operation::Point,
            Self::Query => Operation::Query,
            Self::Create => Operation::Create,
            Self::Replace => Operation::Replace,
            Self::Patch => Operation::Patch,
            Self::Delete => Operation::Delete,
            Self::Batch => Operation::Batch,
        }
    }

    /// The name of a pattern that has no text.
    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Query => "read all",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Batch => "batch",
        }
    }
}

/// One observed request to one physical partition, or so many equal ones.
#[derive(Debug, Clone)]
pub struct Event<'e> {
    /// When, in microseconds since 1970.
    pub time_us: Option<u64>,
    /// What it did.
    pub deed: Deed,
    /// Refused for its rate: it comes again, and is no demand of its own.
    pub is_refused: bool,
    /// Request units.
    pub charge: f64,
    /// The query's text.
    pub text: Option<&'e str>,
    /// What several requests of one query have in common.
    pub query: Option<&'e str>,
    /// Whether it goes on after an earlier page of the same query.
    pub goes_on: bool,
    /// Items returned.
    pub items: u64,
    /// The key values that it was sent to, strings only; `None` when it named no key.
    pub key: Option<Vec<Option<String>>>,
    /// Operations of a batch.
    pub operations: u64,
    /// How many such requests this stands for.
    pub count: u64,
}

impl Event<'_> {
    /// A request that cost this.
    pub fn new(deed: Deed, charge: f64) -> Self {
        Self {
            time_us: None,
            deed,
            is_refused: false,
            charge,
            text: None,
            query: None,
            goes_on: false,
            items: 0,
            key: None,
            operations: 0,
            count: 1,
        }
    }
}

/// What is known of the container.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// `dbs/a/colls/b`, where told.
    pub container: Option<String>,
    /// The paths of its partition key, without the leading slash.
    pub key_paths: Vec<String>,
    /// Its throughput.
    pub rate: Option<f64>,
    /// Whether that follows the load.
    pub is_autoscale: bool,
    /// Its physical partitions.
    pub partitions: Option<u32>,
}

/// Requests put together.
#[derive(Debug, Default)]
pub struct Traffic {
    observed: Observed,
    patterns: BTreeMap<(Deed, bool, String), Seen>,
    first_us: Option<u64>,
    last_us: Option<u64>,
    requests: u64,
    refused: u64,
    left_out: u64,
    /// Requests of kinds that no key changes: plans, change feeds.
    indifferent: u64,
}

impl Traffic {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing reads or writes items.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// What is known of the container.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// Tells about the container; what is told later counts.
    pub fn tell(&mut self, observed: Observed) {
        self.observed = observed;
    }

    /// Counts a request that no key changes.
    pub fn skip(&mut self) {
        self.indifferent += 1;
    }

    /// Adds a request; one with a text that is no query, or a charge that cannot be, is refused with
    /// the reason.
    pub fn add(&mut self, event: &Event<'_>) -> Result<(), String> {
        /// Request units of one request that nobody ever pays.
        const MOST_CHARGE: f64 = 1e12;
        if !(0.0..=MOST_CHARGE).contains(&event.charge) {
            let charge = shortened(&event.charge.to_string(), 24);
            return Err(format!("{charge} is no request charge"));
        }
        if let Some(time) = event.time_us {
            self.first_us = Some(self.first_us.map_or(time, |first| first.min(time)));
            self.last_us = Some(self.last_us.map_or(time, |last| last.max(time)));
        }
        if event.is_refused {
            self.refused += event.count;
            return Ok(());
        }
        let shape = event.text.map_or_else(String::new, text::shape);
        let name = (event.deed, event.key.is_some(), shape);
        if !self.patterns.contains_key(&name) {
            if let Some(text) = event.text {
                // Texts of one shape differ in their literals only.
                Filter::parse(text, &BTreeMap::new())?;
            }
            if self.patterns.len() >= MOST_PATTERNS {
                self.requests += event.count;
                self.left_out += event.count;
                return Ok(());
            }
        }
        self.requests += event.count;
        self.patterns.entry(name).or_default().add(event);
        Ok(())
    }

    /// Seconds from the first request to the last.
    pub fn seconds(&self) -> Option<f64> {
        let span = self.last_us?.checked_sub(self.first_us?)?;
        (span > 0).then(|| span as f64 / 1e6)
    }

    /// The workload; `seconds` says how long the recording took where requests carry no time.
    pub fn workload(&self, seconds: Option<f64>, gb: f64) -> Result<Workload, KeylabError> {
        let invalid = |message: &str| KeylabError::Data {
            origin: "requests".to_owned(),
            message: message.to_owned(),
        };
        if self.patterns.is_empty() {
            return Err(invalid("no request in it that reads or writes items"));
        }
        let seconds = seconds.or_else(|| self.seconds()).ok_or_else(|| {
            invalid("no two times in it, so rates are unknown: say --seconds, how long it took")
        })?;
        let requests: u64 = self.patterns.values().map(Seen::requests).sum();
        let least = requests as f64 * LEAST_SHARE;
        let mut patterns: Vec<PatternSpec> = self
            .patterns
            .iter()
            .filter(|(_, seen)| seen.requests() as f64 >= least)
            .map(|((deed, is_keyed, _), seen)| {
                seen.spec(
                    *deed,
                    *is_keyed,
                    &self.observed.key_paths,
                    seconds,
                    self.first_us,
                )
            })
            .collect();
        patterns.sort_by(|left, right| {
            right
                .rate
                .total_cmp(&left.rate)
                .then_with(|| left.name.cmp(&right.name))
        });
        name_apart(&mut patterns);
        let observed = &self.observed;
        Ok(Workload {
            workload: patterns,
            horizons: vec![Horizon {
                name: "now".to_owned(),
                gb,
                ru: observed
                    .rate
                    .filter(|rate| (400.0..=1_000_000.0).contains(rate)),
                rates: 1.0,
                partitions: None,
                counts: BTreeMap::new(),
            }],
            container: Container {
                autoscale: observed.is_autoscale,
                ..Container::default()
            },
            ..Workload::default()
        })
    }

    /// What is to be known beside the patterns.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!(
                    "{} {what}",
                    crate::report::text::amount(count as f64)
                ));
            }
        };
        note(
            self.refused,
            "requests were refused for their rate and are no demand of their own: what was wanted may be more than what came",
        );
        note(self.left_out, "requests have rare shapes and are left out");
        note(
            self.indifferent,
            "requests (query plans, change feeds) are left out: no key changes what they do",
        );
        let has_replace = self
            .patterns
            .keys()
            .any(|(deed, ..)| *deed == Deed::Replace);
        if has_replace {
            notes.push(
                "which members a replace changes is not recorded: say it with `sets`".to_owned(),
            );
        }
        notes
    }
}

/// Equal names get numbers.
fn name_apart(patterns: &mut [PatternSpec]) {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for pattern in patterns {
        let time = times.entry(pattern.name.clone()).or_default();
        *time += 1;
        if *time > 1 {
            pattern.name = format!("{} ({time})", pattern.name);
        }
    }
}
