//! One connection of a load: draws operations, sends them, times them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::histogram::Histogram;
use super::keys::{Keys, Random};
use super::mix::{Mix, OPERATIONS, Operation};
use crate::client::account::ContainerName;
use crate::client::{Connection, Request};

/// What every worker of a run shares.
#[derive(Debug)]
pub struct Run {
    /// Where the items are.
    pub name: ContainerName,
    /// What to do.
    pub mix: Mix,
    /// Which items.
    pub keys: Keys,
    /// How many logical partitions the loaded items have.
    pub partitions: u64,
    /// Size of an item's filling, in bytes.
    pub filling: usize,
    /// Operations of a batch.
    pub batch: usize,
    /// Open loop: how long after the last one a request is due. `None` is the closed loop.
    pub interval: Option<Duration>,
    /// Requests to measure at most.
    pub requests: Option<u64>,
    /// When requests begin to count.
    pub measured_from: Instant,
    /// When the run ends.
    pub until: Instant,
    /// When the run began.
    pub started: Instant,
    /// The next request's number.
    pub next: AtomicU64,
    /// Requests that were begun while measuring.
    pub measured: AtomicU64,
    /// Distinguishes the new items of this run from those of others.
    pub stamp: String,
}

/// What one kind of operation did.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    /// Latencies of everything answered, refusals included.
    pub latency: Histogram,
    /// Answers by status, where it was no success.
    pub refused: BTreeMap<u16, u64>,
    /// Requests without an answer.
    pub broken: u64,
    /// Request charge.
    pub charge: f64,
}

impl Tally {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        for (status, count) in &other.refused {
            *self.refused.entry(*status).or_default() += count;
        }
        self.broken += other.broken;
        self.charge += other.charge;
    }
}

/// The text of a loaded item.
pub fn item(number: u64, partitions: u64, filling: usize) -> Vec<u8> {
    let mut text = String::with_capacity(filling + 96);
    let _ = write!(
        text,
        "{{\"id\":\"item-{number}\",\"pk\":\"key-{}\",",
        number % partitions.max(1)
    );
    fill(&mut text, number, filling);
    text.into_bytes()
}

/// Members beside the keys, numbers and strings by turns, so that an item has about as many index
/// terms as those of real applications.
const MEMBERS: usize = 12;

/// Ends an item: its number, a count, some members and the filling.
fn fill(text: &mut String, number: u64, filling: usize) {
    let _ = write!(text, "\"n\":{number},\"count\":0,");
    let mut random = Random::new(number);
    for member in 0..MEMBERS {
        let value = random.below(10_000);
        let _ = if member % 2 == 0 {
            write!(text, "\"number{member}\":{value},")
        } else {
            write!(text, "\"text{member}\":\"value {value}\",")
        };
    }
    text.push_str("\"filling\":\"");
    let end = text.len() + filling;
    while text.len() < end {
        let _ = write!(text, "{:016x}", random.next());
    }
    text.truncate(end);
    text.push_str("\"}");
}

/// A worker.
pub struct Worker {
    run: Arc<Run>,
    connection: Connection,
    random: Random,
    label: usize,
    created: u64,
    body: String,
    path: String,
    docs: String,
    link: String,
    /// By operation, in the order of [`OPERATIONS`].
    pub tallies: Vec<Tally>,
    /// First failure to get an answer.
    pub failure: Option<String>,
}

impl Worker {
    /// A worker that is not connected yet.
    pub fn new(run: Arc<Run>, connection: Connection, label: usize, seed: u64) -> Self {
        let docs = format!("{}/docs", run.name.path());
        let link = run.name.link();
        Self {
            run,
            connection,
            random: Random::new(seed ^ (label as u64 + 1).wrapping_mul(0xA076_1D64_78BD_642F)),
            label,
            created: 0,
            body: String::new(),
            path: String::new(),
            docs,
            link,
            tallies: vec![Tally::default(); OPERATIONS.len()],
            failure: None,
        }
    }

    /// Works until the run ends.
    pub fn work(&mut self) {
        loop {
            let Some(start) = self.next_start() else {
                return;
            };
            let operation = self.run.mix.draw(&mut self.random);
            let key = self.run.keys.next(&mut self.random);
            let answer = self.perform(operation, key);
            let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            if start < self.run.measured_from {
                continue;
            }
            let tally = &mut self.tallies[operation.place()];
            match answer {
                Ok((status, charge)) => {
                    tally.latency.record(elapsed);
                    tally.charge += charge;
                    if status >= 300 {
                        *tally.refused.entry(status).or_default() += 1;
                    }
                }
                Err(error) => {
                    tally.broken += 1;
                    self.failure.get_or_insert_with(|| format!("{error:#}"));
                    // A server that is gone must not be hammered.
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    /// When the next request is due: now in the closed loop, at its place in the schedule in the
    /// open loop. Latency counts from there, so waiting behind a slow answer is not forgotten.
    fn next_start(&mut self) -> Option<Instant> {
        let number = self.run.next.fetch_add(1, Ordering::Relaxed);
        let Some(interval) = self.run.interval else {
            let now = Instant::now();
            return (now < self.run.until && !self.is_enough(now)).then_some(now);
        };
        let due = self.run.started
            + Duration::from_nanos((interval.as_nanos() as f64 * number as f64) as u64);
        if due >= self.run.until || self.is_enough(due) {
            return None;
        }
        let now = Instant::now();
        // A backlog that lasts beyond the end is cut off: the report shows the rate as missed.
        if now >= self.run.until + Duration::from_secs(10) {
            return None;
        }
        std::thread::sleep(due.saturating_duration_since(now));
        Some(due)
    }

    /// Counts a request that will be measured; true when there are enough of them without it.
    fn is_enough(&self, start: Instant) -> bool {
        let Some(requests) = self.run.requests else {
            return false;
        };
        start >= self.run.measured_from
            && self.run.measured.fetch_add(1, Ordering::Relaxed) >= requests
    }

    fn perform(&mut self, operation: Operation, key: u64) -> Result<(u16, f64)> {
        let partition = format!("[\"key-{}\"]", key % self.run.partitions.max(1));
        self.body.clear();
        self.path.clear();
        self.path.push_str(&self.docs);
        let owner = self.link.clone();
        let item_link = format!("{owner}/docs/item-{key}");
        let routed = ("x-ms-documentdb-partitionkey", partition.as_str());
        let json = ("content-type", "application/json");
        let headers: &[(&str, &str)] = match operation {
            Operation::Read => &[routed],
            Operation::Create | Operation::Replace => &[routed, json],
            Operation::Upsert => &[routed, json, ("x-ms-documentdb-is-upsert", "True")],
            Operation::Patch => &[routed, ("content-type", "application/json-patch+json")],
            Operation::Query => &[
                routed,
                ("content-type", "application/query+json"),
                ("x-ms-documentdb-isquery", "True"),
            ],
            Operation::Batch => &[
                routed,
                json,
                ("x-ms-cosmos-is-batch-request", "True"),
                ("x-ms-cosmos-batch-atomic", "True"),
            ],
        };
        let addressed = matches!(
            operation,
            Operation::Read | Operation::Replace | Operation::Patch
        );
        if addressed {
            let _ = write!(self.path, "/item-{key}");
        }
        self.write_body(operation, key);
        let request = Request {
            verb: match operation {
                Operation::Read => "GET",
                Operation::Replace => "PUT",
                Operation::Patch => "PATCH",
                _ => "POST",
            },
            path: &self.path,
            resource_type: "docs",
            link: if addressed { &item_link } else { &owner },
            headers,
            body: self.body.as_bytes(),
        };
        let response = self.connection.send(&request)?;
        Ok((response.status, response.charge()))
    }

    fn write_body(&mut self, operation: Operation, key: u64) {
        let partition = key % self.run.partitions.max(1);
        let filling = self.run.filling;
        match operation {
            Operation::Read => {}
            Operation::Create => {
                let id = self.new_id();
                let _ = write!(self.body, "{{\"id\":\"{id}\",\"pk\":\"key-{partition}\",");
                fill(&mut self.body, key, filling);
            }
            Operation::Upsert | Operation::Replace => {
                let _ = write!(
                    self.body,
                    "{{\"id\":\"item-{key}\",\"pk\":\"key-{partition}\","
                );
                fill(&mut self.body, key, filling);
            }
            Operation::Patch => {
                self.body.push_str(
                    "{\"operations\":[{\"op\":\"incr\",\"path\":\"/count\",\"value\":1}]}",
                );
            }
            Operation::Query => {
                let _ = write!(
                    self.body,
                    "{{\"query\":\"SELECT * FROM c WHERE c.n = @n\",\"parameters\":[{{\"name\":\"@n\",\"value\":{key}}}]}}"
                );
            }
            Operation::Batch => {
                for at in 0..self.run.batch {
                    let separator = if at == 0 { '[' } else { ',' };
                    let id = self.new_id();
                    let _ = write!(
                        self.body,
                        "{separator}{{\"operationType\":\"Create\",\"resourceBody\":{{\"id\":\"{id}\",\"pk\":\"key-{partition}\","
                    );
                    fill(&mut self.body, key, filling);
                    self.body.push('}');
                }
                self.body.push(']');
            }
        }
    }

    fn new_id(&mut self) -> String {
        self.created += 1;
        format!("new-{}-{}-{}", self.run.stamp, self.label, self.created)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_json_of_about_the_wanted_size() {
        let text = item(12, 5, 1000);
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            (value["id"].as_str(), value["pk"].as_str()),
            (Some("item-12"), Some("key-2"))
        );
        assert_eq!(value["filling"].as_str().unwrap().len(), 1000);
    }
}
