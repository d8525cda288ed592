//! The largest logical partitions of a physical one, from its list of keys. The list is in the
//! order of keys, so one walk finds the exact sizes; the answer is kept for a while, since the
//! service's is not of this moment either (request units: section 12).

use std::sync::{Mutex, PoisonError};

use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;
use orrery_storage::Scan;

use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;
use crate::layout::entries::Counters;
use crate::layout::{family, keys};
use crate::partition::{Partition, PartitionSnapshot};

/// Key entries of one read of the store.
const PAGE: usize = 5_000;
/// Logical partitions that are kept.
pub const MOST_KEPT: usize = 16;
/// An answer lives so many times as long as it took to find.
const LIFE_FACTOR: u64 = 50;
/// And at least this long while the partition is written to.
const LEAST_LIFE_US: u64 = 2_000_000;

/// Logical partitions that statistics name of one physical partition, and the share of its items
/// that each has at least, as a divisor (request units: section 12).
const MOST_NAMED: usize = 3;
const LEAST_SHARE: u64 = 100;

/// What statistics tell of one physical partition.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeSizes {
    /// Its partition key range.
    pub id: PartitionKeyRangeId,
    /// Items and bytes.
    pub counters: Counters,
    /// How many logical partitions there are.
    pub distinct: u64,
    /// The few that stand out, largest first.
    pub named: Vec<NamedKey>,
}

/// A logical partition that stands out by its size.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedKey {
    /// Its key.
    pub key: PartitionKey,
    /// Bytes of items and index.
    pub bytes: u64,
    /// Items.
    pub items: u64,
}

/// One logical partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeKey {
    /// Its key; `None` if nothing in it could tell.
    pub key: Option<PartitionKey>,
    /// Its effective partition key.
    pub epk: EffectivePartitionKey,
    /// Bytes of items and index.
    pub bytes: u64,
    /// Items.
    pub items: u64,
}

/// The sizes within one physical partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySizes {
    /// The largest, largest first.
    pub largest: Vec<LargeKey>,
    /// How many logical partitions there are.
    pub distinct: u64,
    lsn: Lsn,
    found_us: u64,
    until_us: u64,
}

/// What was found last.
#[derive(Debug, Default)]
pub struct KeySizesCache {
    sizes: Mutex<Option<KeySizes>>,
}

impl Engine {
    /// The physical partitions of a container, each with the logical ones that stand out: at most
    /// three, and only those with a hundredth of the items or more.
    pub fn partition_statistics(&self, container: &Container) -> Result<Vec<RangeSizes>, Error> {
        let state = container.state();
        let map = container.ranges();
        let ranges = map.partitions().iter();
        ranges
            .map(|partition| {
                let counters = partition.statistics();
                let sizes = self.key_sizes(&state, partition)?;
                let least = counters.items.div_ceil(LEAST_SHARE);
                let named = sizes.largest.into_iter().filter_map(|large| {
                    (large.items >= least).then_some(NamedKey {
                        key: large.key?,
                        bytes: large.bytes,
                        items: large.items,
                    })
                });
                Ok(RangeSizes {
                    id: partition.id(),
                    counters,
                    distinct: sizes.distinct,
                    named: named.take(MOST_NAMED).collect(),
                })
            })
            .collect()
    }

    /// The sizes of a partition's logical partitions. Walks over its key entries if what is known
    /// is old.
    pub fn key_sizes(
        &self,
        state: &ContainerState,
        partition: &Partition,
    ) -> Result<KeySizes, Error> {
        let cache = partition.key_sizes();
        // Held over the walk: who asks meanwhile waits for the answer instead of walking too.
        let mut known = cache.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let started = self.clock().now_us();
        if let Some(sizes) = &*known {
            let is_current = sizes.lsn == partition.lsn();
            let is_young = (sizes.found_us..sizes.until_us).contains(&started);
            if is_current || is_young {
                return Ok(sizes.clone());
            }
        }
        let snapshot = partition.snapshot(&**self.store())?;
        let mut walk = Walk::default();
        walk.go(&snapshot)?;
        let mut sizes = KeySizes {
            largest: walk.largest,
            distinct: walk.distinct,
            lsn: snapshot.lsn(),
            found_us: self.clock().now_us(),
            until_us: 0,
        };
        for large in &mut sizes.largest {
            large.key = key_of(&snapshot, state, &large.epk)?;
        }
        let took = sizes.found_us.saturating_sub(started);
        let life = took.saturating_mul(LIFE_FACTOR).max(LEAST_LIFE_US);
        sizes.until_us = sizes.found_us.saturating_add(life);
        *known = Some(sizes.clone());
        Ok(sizes)
    }

    /// The key of a logical partition, from any item in it.
    pub fn key_of(
        &self,
        state: &ContainerState,
        partition: &Partition,
        epk: &EffectivePartitionKey,
    ) -> Result<Option<PartitionKey>, Error> {
        key_of(&partition.snapshot(&**self.store())?, state, epk)
    }
}

fn key_of(
    snapshot: &PartitionSnapshot,
    state: &ContainerState,
    epk: &EffectivePartitionKey,
) -> Result<Option<PartitionKey>, Error> {
    let (from, to) = keys::logical_partition(epk);
    let page = snapshot
        .reader()
        .scan(&Scan::range(from, Some(to)).max_rows(1))?;
    let first = page.rows.first();
    let Some((_, docid)) = first.and_then(|row| keys::parts_of_key(&row.key)) else {
        return Ok(None);
    };
    let Some(item) = snapshot.item(docid)? else {
        return Ok(None);
    };
    let value = json::parse(item.json()).map_err(|_| Error::Damaged("item"))?;
    Ok(state.key_definition().extract(&value).ok())
}

/// One walk over the key entries.
#[derive(Default)]
struct Walk {
    largest: Vec<LargeKey>,
    distinct: u64,
    epk: Vec<u8>,
    bytes: u64,
    items: u64,
}

impl Walk {
    fn go(&mut self, snapshot: &PartitionSnapshot) -> Result<(), Error> {
        let mut scan = Scan::prefix([family::KEY]).max_rows(PAGE);
        loop {
            let page = snapshot.reader().scan(&scan)?;
            for row in &page.rows {
                let (epk, _) = keys::parts_of_key(&row.key).ok_or(Error::Damaged("key entry"))?;
                let size: [u8; 8] = row
                    .value
                    .as_ref()
                    .try_into()
                    .map_err(|_| Error::Damaged("key entry"))?;
                if epk != self.epk.as_slice() {
                    self.end_key();
                    self.epk.clear();
                    self.epk.extend_from_slice(epk);
                }
                self.bytes += u64::from_be_bytes(size);
                self.items += 1;
            }
            match page.resume {
                Some(resume) => scan.resume = Some(resume.to_vec()),
                None => break,
            }
        }
        self.end_key();
        self.largest
            .sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.epk.cmp(&b.epk)));
        Ok(())
    }

    fn end_key(&mut self) {
        let (bytes, items) = (
            std::mem::take(&mut self.bytes),
            std::mem::take(&mut self.items),
        );
        if items == 0 {
            return;
        }
        self.distinct += 1;
        let at = if self.largest.len() < MOST_KEPT {
            None
        } else {
            let smallest = (0..MOST_KEPT).min_by_key(|&at| self.largest[at].bytes);
            match smallest {
                Some(at) if self.largest[at].bytes < bytes => Some(at),
                _ => return,
            }
        };
        let large = LargeKey {
            key: None,
            epk: EffectivePartitionKey::from_bytes(self.epk.clone()),
            bytes,
            items,
        };
        match at {
            Some(at) => self.largest[at] = large,
            None => self.largest.push(large),
        }
    }
}
