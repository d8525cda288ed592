//! What must hold after a restart.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::ITEMS;
use super::http::{Answer, Connection};
use super::writer::{Address, Writer};

/// Keeps its place in the change feed from one restart to the next.
#[derive(Default)]
pub struct Verifier {
    /// Parts of the key space, each with the continuation of its change feed.
    continuations: Vec<(Space, String)>,
    /// The last operation of each writer at the previous check.
    watermarks: BTreeMap<u64, u64>,
}

/// A part of the key space, as hex: from, and up to without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    min: String,
    max: String,
}

impl Space {
    fn intersect(&self, other: &Self) -> Option<Self> {
        let min = self.min.clone().max(other.min.clone());
        let max = self.max.clone().min(other.max.clone());
        (min < max).then_some(Self { min, max })
    }
}

/// A change as the feed told it.
struct Change {
    address: Address,
    version: u64,
    lsn: u64,
}

impl Verifier {
    /// Checks items and change feed against what the writers know; settles their open operations.
    pub fn check(&mut self, connection: &mut Connection, writers: &mut [Writer]) -> Result<String> {
        let (mut happened, mut vanished, mut items) = (0, 0, 0);
        for writer in writers.iter_mut() {
            match settle(connection, writer)? {
                Some(true) => happened += 1,
                Some(false) => vanished += 1,
                None => {}
            }
            items += writer.items.len();
        }
        let live: BTreeMap<Address, u64> = writers
            .iter()
            .flat_map(|writer| {
                writer
                    .items
                    .iter()
                    .map(|(key, value)| (key.clone(), *value))
            })
            .collect();
        let whole = whole_feed(connection)?;
        compare("the change feed from its beginning", &live, &whole)?;
        let since = self.feed_since(connection)?;
        let fresh = live
            .iter()
            .filter(|(address, version)| **version > self.watermark(address))
            .map(|(address, version)| (address.clone(), *version))
            .collect();
        compare("the change feed since the last check", &fresh, &since)?;
        self.watermarks = writers
            .iter()
            .map(|writer| (writer.number, writer.sequence))
            .collect();
        Ok(format!(
            "{items} items, {} changes since; unanswered: {happened} happened, {vanished} did not",
            since.len()
        ))
    }

    fn watermark(&self, (owner, _): &Address) -> u64 {
        owner
            .trim_start_matches('w')
            .split('-')
            .next()
            .and_then(|number| number.parse().ok())
            .and_then(|number: u64| self.watermarks.get(&number).copied())
            .unwrap_or(0)
    }

    /// A range may have become others: its part of the key space goes on where it was.
    fn feed_since(&mut self, connection: &mut Connection) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        let mut continuations = Vec::new();
        let whole = Space {
            min: String::new(),
            max: "FF".to_owned(),
        };
        let known: Vec<(Space, Option<String>)> = if self.continuations.is_empty() {
            vec![(whole, None)]
        } else {
            let known = self.continuations.drain(..);
            known.map(|(space, from)| (space, Some(from))).collect()
        };
        for (id, range) in ranges(connection)? {
            for (space, from) in &known {
                if let Some(space) = space.intersect(&range) {
                    let (new, continuation) = feed(connection, &id, &space, from.clone())?;
                    changes.extend(new);
                    continuations.push((space, continuation));
                }
            }
        }
        self.continuations = continuations;
        Ok(changes)
    }
}

fn whole_feed(connection: &mut Connection) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (id, space) in ranges(connection)? {
        changes.extend(feed(connection, &id, &space, None)?.0);
    }
    Ok(changes)
}

/// Compares the stored items of a writer with its map. The operation without an answer may have
/// happened or not, but wholly; tells which.
fn settle(connection: &mut Connection, writer: &mut Writer) -> Result<Option<bool>> {
    let mut stored = BTreeMap::new();
    for key in writer.keys() {
        for item in read_partition(connection, &key)? {
            let (address, version) = identify(&item)?;
            stored.insert(address, version);
        }
    }
    let verdict = match &writer.pending {
        None => None,
        Some(effects) => {
            let after = effects
                .iter()
                .filter(|(address, version)| stored.get(address) == version.as_ref())
                .count();
            let before = effects
                .iter()
                .filter(|(address, _)| stored.get(address) == writer.items.get(address))
                .count();
            if after == effects.len() {
                Some(true)
            } else if before == effects.len() {
                Some(false)
            } else {
                bail!(
                    "half an operation is stored ({after} of {} effects): {effects:?}",
                    effects.len()
                );
            }
        }
    };
    writer.settle(verdict == Some(true));
    if stored != writer.items {
        let lost: Vec<_> = writer
            .items
            .iter()
            .filter(|(address, version)| stored.get(*address) != Some(version))
            .take(5)
            .collect();
        let extra: Vec<_> = stored
            .iter()
            .filter(|(address, version)| writer.items.get(*address) != Some(version))
            .take(5)
            .collect();
        bail!("acknowledged writes are lost: acknowledged {lost:?}, stored {extra:?}");
    }
    Ok(verdict)
}

fn compare(what: &str, expected: &BTreeMap<Address, u64>, changes: &[Change]) -> Result<()> {
    let mut told = BTreeMap::new();
    for change in changes {
        if told
            .insert(change.address.clone(), change.version)
            .is_some()
        {
            bail!("{what} tells {:?} twice", change.address);
        }
    }
    if let Some((address, version)) = expected
        .iter()
        .find(|(address, version)| told.get(*address) != Some(version))
    {
        bail!(
            "{what} lacks version {version} of {address:?}; it has {:?}",
            told.get(address)
        );
    }
    if let Some(address) = told.keys().find(|address| !expected.contains_key(*address)) {
        bail!("{what} tells {address:?}, which is not new or not there");
    }
    Ok(())
}

/// The ranges, which must tile the key space.
pub fn ranges(connection: &mut Connection) -> Result<Vec<(String, Space)>> {
    let answer = connection.send("GET", "/dbs/crash/colls/items/pkranges", &[], "")?;
    let body = json(&answer, 200)?;
    let mut ranges = Vec::new();
    for range in body["PartitionKeyRanges"]
        .as_array()
        .context("no partition key ranges")?
    {
        let text = |name: &str| {
            let text = range[name].as_str().map(ToOwned::to_owned);
            text.with_context(|| format!("a range without {name}"))
        };
        let space = Space {
            min: text("minInclusive")?,
            max: text("maxExclusive")?,
        };
        ranges.push((text("id")?, space));
    }
    ranges.sort_by(|a, b| a.1.min.cmp(&b.1.min));
    let mut end = String::new();
    for (id, space) in &ranges {
        if space.min != end {
            bail!(
                "range {id} begins at {}, but the one before ends at {end}",
                space.min
            );
        }
        end.clone_from(&space.max);
    }
    if end != "FF" {
        bail!("the ranges end at {end}");
    }
    Ok(ranges)
}

fn read_partition(connection: &mut Connection, key: &str) -> Result<Vec<Value>> {
    let key = serde_json::json!([key]).to_string();
    let mut items = Vec::new();
    let mut continuation: Option<String> = None;
    loop {
        let mut headers = vec![
            ("x-ms-documentdb-partitionkey", key.as_str()),
            ("x-ms-max-item-count", "500"),
        ];
        if let Some(token) = &continuation {
            headers.push(("x-ms-continuation", token));
        }
        let answer = connection.send("GET", ITEMS, &headers, "")?;
        let page = json(&answer, 200)?;
        items.extend(
            page["Documents"]
                .as_array()
                .context("no items")?
                .iter()
                .cloned(),
        );
        continuation = answer.header("x-ms-continuation").map(ToOwned::to_owned);
        if continuation.is_none() {
            return Ok(items);
        }
    }
}

/// The changes of a range after a continuation, and the next continuation.
fn feed(
    connection: &mut Connection,
    range: &str,
    space: &Space,
    from: Option<String>,
) -> Result<(Vec<Change>, String)> {
    let mut changes: Vec<Change> = Vec::new();
    let mut continuation = from;
    loop {
        let mut headers = vec![
            ("a-im", "Incremental Feed"),
            ("x-ms-documentdb-partitionkeyrangeid", range),
            ("x-ms-read-key-type", "EffectivePartitionKeyRange"),
            ("x-ms-start-epk", space.min.as_str()),
            ("x-ms-end-epk", space.max.as_str()),
            ("x-ms-max-item-count", "300"),
        ];
        if let Some(token) = &continuation {
            headers.push(("if-none-match", token));
        }
        let answer = connection.send("GET", ITEMS, &headers, "")?;
        let next = answer
            .header("etag")
            .context("a feed page without etag")?
            .to_owned();
        if answer.status == 304 {
            in_order(&changes)?;
            return Ok((changes, next));
        }
        let page = json(&answer, 200)?;
        for item in page["Documents"].as_array().context("no items")? {
            let (address, version) = identify(item)?;
            let lsn = item["_lsn"].as_u64().context("a change without _lsn")?;
            changes.push(Change {
                address,
                version,
                lsn,
            });
        }
        continuation = Some(next);
    }
}

/// Changes come by ascending LSN, and those of one writer in the order of its operations.
fn in_order(changes: &[Change]) -> Result<()> {
    let mut last_lsn = 0;
    let mut last_version: BTreeMap<&str, u64> = BTreeMap::new();
    for change in changes {
        if change.lsn < last_lsn {
            bail!("LSN {} comes after {last_lsn}", change.lsn);
        }
        last_lsn = change.lsn;
        let owner = change.address.0.as_str();
        let last = last_version.entry(owner).or_default();
        if change.version < *last {
            bail!("{owner}: operation {} is told after {last}", change.version);
        }
        *last = change.version;
    }
    Ok(())
}

fn identify(item: &Value) -> Result<(Address, u64)> {
    let text = |name: &str| item[name].as_str().map(ToOwned::to_owned);
    let address = (
        text("owner").context("an item without owner")?,
        text("id").context("an item without id")?,
    );
    let version = item["version"]
        .as_u64()
        .context("an item without version")?;
    if item["padding"].as_str().map(str::len) != Some((version % 700) as usize) {
        bail!("the content of {address:?} is damaged");
    }
    Ok((address, version))
}

fn json(answer: &Answer, status: u16) -> Result<Value> {
    if answer.status != status {
        bail!(
            "status {} instead of {status}: {}",
            answer.status,
            answer.body
        );
    }
    Ok(serde_json::from_str(&answer.body)?)
}
