//! Writing many items over HTTP: bulk batches, one range each, refused operations tried again.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;
use orrery_model::value::Value;

use super::account::{Account, ContainerInfo, ContainerName, refusal};

/// Most operations of a batch (protocol: section 10.1).
const MAX_OPERATIONS: usize = 100;
/// Most bytes of a batch; the service takes 2 MB, one item over that travels alone.
const MAX_BYTES: usize = 1 << 20;
/// How long operations that are refused for now are tried again.
const PATIENCE: Duration = Duration::from_secs(60);

/// The fate of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its status.
    pub status: u16,
    /// Why, when it failed.
    pub message: String,
}

/// An operation that waits for its batch; `tag` is the caller's name for it.
struct Operation<T> {
    tag: T,
    epk: EffectivePartitionKey,
    text: Vec<u8>,
}

/// Collects operations by range and sends full batches.
pub struct BulkWriter<T> {
    account: Account,
    name: ContainerName,
    info: ContainerInfo,
    /// As many as ranges, in their order.
    pending: Vec<Vec<Operation<T>>>,
    /// Request charge of everything sent.
    pub charge: f64,
}

impl<T> BulkWriter<T> {
    /// A writer with its own connection.
    pub fn new(account: Account, name: ContainerName, info: ContainerInfo) -> Self {
        let pending = info.ranges.iter().map(|_| Vec::new()).collect();
        Self {
            account,
            name,
            info,
            pending,
            charge: 0.0,
        }
    }

    /// Adds a `Create` or `Upsert`; a batch that is full with it is sent and its operations'
    /// fates go to `done`.
    pub fn add(
        &mut self,
        verb: &str,
        body: &[u8],
        key: &PartitionKey,
        tag: T,
        done: &mut dyn FnMut(T, Outcome),
    ) -> Result<()> {
        let mut text = Vec::with_capacity(body.len() + 96);
        text.extend_from_slice(b"{\"operationType\":\"");
        text.extend_from_slice(verb.as_bytes());
        text.extend_from_slice(b"\",\"minimalReturnPreference\":true,\"partitionKey\":");
        json::write_string(&key.to_json(), &mut text);
        text.extend_from_slice(b",\"resourceBody\":");
        text.extend_from_slice(body);
        text.push(b'}');
        let operation = Operation {
            tag,
            epk: self.info.spec.partition_key.effective(key),
            text,
        };
        let range = self.range_of(&operation.epk)?;
        let bytes: usize = self.pending[range]
            .iter()
            .map(|operation| operation.text.len())
            .sum();
        if bytes + operation.text.len() > MAX_BYTES && !self.pending[range].is_empty() {
            self.send(range, done)?;
        }
        self.pending[range].push(operation);
        if self.pending[range].len() >= MAX_OPERATIONS {
            self.send(range, done)?;
        }
        Ok(())
    }

    /// Sends what is left.
    pub fn flush(&mut self, done: &mut dyn FnMut(T, Outcome)) -> Result<()> {
        for range in 0..self.pending.len() {
            self.send(range, done)?;
        }
        // A range that is gone hands its operations to other places.
        while let Some(range) = self.pending.iter().position(|pending| !pending.is_empty()) {
            self.send(range, done)?;
        }
        Ok(())
    }

    fn range_of(&self, epk: &EffectivePartitionKey) -> Result<usize> {
        let after = self.info.ranges.partition_point(|range| range.min <= *epk);
        after
            .checked_sub(1)
            .context("the container's ranges do not cover all keys")
    }

    fn send(&mut self, range: usize, done: &mut dyn FnMut(T, Outcome)) -> Result<()> {
        let mut operations = std::mem::take(&mut self.pending[range]);
        let until = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(5);
        while !operations.is_empty() {
            let body = batch(&operations);
            let id = self.info.ranges[range].id.clone();
            let response = self.account.bulk(&self.name, &id, &body)?;
            self.charge += response.charge();
            match response.status {
                200 | 207 => {}
                410 => return self.regroup(operations),
                429 if Instant::now() < until => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_secs(1));
                    continue;
                }
                _ => return Err(refusal("writing a batch", response)),
            }
            let results = json::parse(&response.body)?;
            let results = results
                .as_array()
                .context("a batch was not answered by an array")?;
            if results.len() != operations.len() {
                bail!(
                    "{} operations were answered by {} results",
                    operations.len(),
                    results.len()
                );
            }
            let mut again = Vec::new();
            for (operation, result) in operations.into_iter().zip(results) {
                let outcome = outcome(result);
                if matches!(outcome.status, 429 | 449) && Instant::now() < until {
                    again.push(operation);
                } else {
                    done(operation.tag, outcome);
                }
            }
            operations = again;
            if !operations.is_empty() {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        }
        Ok(())
    }

    /// The range was split: reads the ranges again and sorts all waiting operations anew.
    fn regroup(&mut self, operations: Vec<Operation<T>>) -> Result<()> {
        self.info.ranges = self.account.ranges(&self.name)?;
        let waiting: Vec<Operation<T>> =
            self.pending.drain(..).flatten().chain(operations).collect();
        self.pending = self.info.ranges.iter().map(|_| Vec::new()).collect();
        for operation in waiting {
            let range = self.range_of(&operation.epk)?;
            self.pending[range].push(operation);
        }
        Ok(())
    }
}

fn batch<T>(operations: &[Operation<T>]) -> Vec<u8> {
    let bytes: usize = operations
        .iter()
        .map(|operation| operation.text.len() + 1)
        .sum();
    let mut body = Vec::with_capacity(bytes + 2);
    body.push(b'[');
    for operation in operations {
        if body.len() > 1 {
            body.push(b',');
        }
        body.extend_from_slice(&operation.text);
    }
    body.push(b']');
    body
}

fn outcome(result: &Value<'_>) -> Outcome {
    let status = result
        .member("statusCode")
        .as_i64()
        .and_then(|code| u16::try_from(code).ok())
        .unwrap_or(0);
    let message = match result.member("message").as_str() {
        Some(text) => text.lines().next().unwrap_or_default().to_owned(),
        None => match result.member("subStatusCode").as_i64() {
            Some(sub) if sub != 0 => format!("status {status}/{sub}"),
            _ => format!("status {status}"),
        },
    };
    Outcome { status, message }
}
