//! One pattern while it is observed.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, BuildHasherDefault};

use rustc_hash::FxHasher;

use super::{Deed, Event, text};
use crate::scenario::{PatternSpec, Placement};

/// Different key values that are counted.
const MOST_VALUES: usize = 20_000;
/// Values with less than this share of the requests are like the others.
const HOT: f64 = 0.01;
/// Hot values that a workload names.
const MOST_HOT: usize = 20;
/// Fewer requests than this say nothing about single values.
const FEW: u64 = 200;
/// A peak is told from this many minutes on.
const MINUTES: usize = 10;

/// The requests of one shape.
#[derive(Debug, Default)]
pub(super) struct Seen {
    requests: u64,
    /// Requests to one partition each, further pages aside.
    visits: u64,
    charge: f64,
    items: u64,
    operations: u64,
    /// The first text, and whether others differ from it.
    text: Option<String>,
    differs: bool,
    /// Queries that were seen, so that their requests to several partitions count once.
    queries: BTreeSet<u64>,
    minutes: BTreeMap<u64, u64>,
    /// By level of the key: how often each value was named.
    values: Vec<BTreeMap<String, u64>>,
}

impl Seen {
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    pub(super) fn add(&mut self, event: &Event<'_>) {
        self.charge += event.charge * event.count as f64;
        self.items += event.items * event.count;
        self.operations += event.operations * event.count;
        match (&self.text, event.text) {
            (None, Some(text)) => self.text = Some(text.to_owned()),
            (Some(known), Some(text)) if !self.differs => self.differs = known != text,
            _ => {}
        }
        if event.goes_on {
            return;
        }
        self.visits += event.count;
        if let Some(query) = event.query {
            let hash = BuildHasherDefault::<FxHasher>::default().hash_one(query);
            if !self.queries.insert(hash) {
                return;
            }
        }
        self.requests += event.count;
        if let Some(time) = event.time_us {
            *self.minutes.entry(time / 60_000_000).or_default() += event.count;
        }
        for (level, value) in event.key.iter().flatten().enumerate() {
            if self.values.len() <= level {
                self.values.push(BTreeMap::new());
            }
            let values = &mut self.values[level];
            if let Some(value) = value
                && (values.len() < MOST_VALUES || values.contains_key(value))
            {
                *values.entry(value.clone()).or_default() += event.count;
            }
        }
    }

    /// The pattern, as a workload file has it.
    pub(super) fn spec(
        &self,
        deed: Deed,
        is_keyed: bool,
        key_paths: &[String],
        seconds: f64,
        first_us: Option<u64>,
    ) -> PatternSpec {
        let filter = self.filter(deed, is_keyed, key_paths);
        let name = filter
            .as_deref()
            .filter(|_| deed == Deed::Query)
            .map_or_else(|| deed.word().to_owned(), str::to_owned);
        let visits = self.visits.max(1) as f64;
        let batch = self.operations / self.requests.max(1);
        PatternSpec {
            name,
            op: deed.operation(),
            rate: rounded(self.requests as f64 / seconds),
            peak: self.peak(seconds, first_us),
            filter,
            params: BTreeMap::new(),
            charge: Some(rounded(self.charge / visits)),
            loads: None,
            returns: (self.items as f64 / visits).round().max(1.0) as u64,
            sets: Vec::new(),
            at: self.hot(key_paths),
            atomic_over: if deed == Deed::Batch {
                key_paths.to_vec()
            } else {
                Vec::new()
            },
            batch: (deed == Deed::Batch).then_some(batch.max(1)),
        }
    }

    /// What the caller knew.
    fn filter(&self, deed: Deed, is_keyed: bool, key_paths: &[String]) -> Option<String> {
        match deed {
            Deed::Query => {
                let text = self.text.as_deref().unwrap_or("SELECT * FROM c");
                let text = if self.differs || text.contains('?') {
                    text::parameterised(text)
                } else {
                    text.to_owned()
                };
                Some(if is_keyed {
                    text::with_key(&text, key_paths)
                } else {
                    text
                })
            }
            Deed::Read => {
                let key = key_paths.iter().filter(|path| *path != "id");
                let mut known: Vec<String> = key.map(|path| text::equality("c", path)).collect();
                known.push("c.id = @id".to_owned());
                Some(known.join(" AND "))
            }
            _ => None,
        }
    }

    /// How much more there was in the busiest minute than on average; whole minutes count only.
    fn peak(&self, seconds: f64, first_us: Option<u64>) -> f64 {
        let first = first_us.map_or(0, |time| time / 60_000_000);
        let whole = self.minutes.iter().filter(|(minute, _)| **minute > first);
        let most = whole.map(|(_, count)| *count).max().unwrap_or(0);
        let mean = self.requests as f64 / seconds * 60.0;
        if self.minutes.len() < MINUTES || mean <= 0.0 {
            return 1.0;
        }
        rounded((most as f64 / mean).max(1.0))
    }

    /// Values that requests name far more often than others.
    fn hot(&self, key_paths: &[String]) -> BTreeMap<String, Placement> {
        let mut hot = BTreeMap::new();
        if self.requests < FEW {
            return hot;
        }
        for (path, values) in key_paths.iter().zip(&self.values) {
            let share = |count: u64| count as f64 / self.requests as f64;
            let mut shares: Vec<(&String, f64)> = values
                .iter()
                .map(|(value, count)| (value, share(*count)))
                .filter(|(_, share)| *share >= HOT)
                .collect();
            shares.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(right.0)));
            shares.truncate(MOST_HOT);
            if !shares.is_empty() {
                let shares = shares
                    .into_iter()
                    .map(|(value, share)| (value.clone(), rounded(share)))
                    .collect();
                hot.insert(path.clone(), Placement::Shares(shares));
            }
        }
        hot
    }
}

/// Four digits that count: more is noise in a file that people read.
fn rounded(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let unit = 10_f64.powi(3 - value.log10().floor() as i32);
    (value * unit).round() / unit
}
