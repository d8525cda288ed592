//! What a commit in the making sees and adds: the store under everything the commit has already
//! decided. Transactions that fail are taken back without a trace.

use orrery_model::epk::EffectivePartitionKey;
use orrery_storage::{Reader, Scan, StoreError, StoredBytes, Writes};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::layout::entries::Counters;
use crate::layout::keys;

/// Key entries that are read at once to learn the size of a logical partition.
const SIZES_PAGE: usize = 10_000;

/// The state of a commit in the making.
///
/// Only entries that later operations of the same commit may look up (items, ids, unique keys)
/// pass through the cache; terms and feed entries are written blindly.
pub struct Overlay<'t> {
    below: &'t dyn Reader,
    cache: FxHashMap<Vec<u8>, Option<StoredBytes>>,
    undo: Vec<(Vec<u8>, Before)>,
    /// Sizes of logical partitions in the store, as far as they had to be known.
    sizes: FxHashMap<Vec<u8>, u64>,
    growths: Vec<(Vec<u8>, i64)>,
    /// The changes so far.
    pub writes: Writes,
    /// The partition's sums after them.
    pub counters: Counters,
}

/// What the cache said of an entry before it was changed.
enum Before {
    Unknown,
    Known(Option<StoredBytes>),
}

/// A point to come back to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    undo: usize,
    growths: usize,
    writes: usize,
    counters: Counters,
}

impl<'t> Overlay<'t> {
    /// Nothing changed yet.
    pub fn new(below: &'t dyn Reader, counters: Counters, sizes: FxHashMap<Vec<u8>, u64>) -> Self {
        Self {
            below,
            cache: FxHashMap::default(),
            undo: Vec::new(),
            sizes,
            growths: Vec::new(),
            writes: Writes::new(),
            counters,
        }
    }

    /// What the store holds, without this commit's changes.
    pub fn below(&self) -> &'t dyn Reader {
        self.below
    }

    /// Makes known what has been read already.
    pub fn remember(&mut self, key: Vec<u8>, value: Option<StoredBytes>) {
        self.cache.entry(key).or_insert(value);
    }

    /// Reads many entries at once that `get` will ask for.
    pub fn prefetch(&mut self, mut keys: Vec<Vec<u8>>) -> Result<(), StoreError> {
        keys.retain(|key| !self.cache.contains_key(key));
        if keys.is_empty() {
            return Ok(());
        }
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let values = self.below.get_many(&slices)?;
        for (key, value) in keys.into_iter().zip(values) {
            self.remember(key, value);
        }
        Ok(())
    }

    /// The value of an entry as this commit leaves it so far.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<StoredBytes>, StoreError> {
        if let Some(known) = self.cache.get(key) {
            return Ok(known.clone());
        }
        let value = self.below.get(key)?;
        self.cache.insert(key.to_vec(), value.clone());
        Ok(value)
    }

    /// Sets an entry that may be looked up again.
    pub fn put(&mut self, key: Vec<u8>, value: StoredBytes) {
        self.writes.put(&key, &value);
        self.change(key, Some(value));
    }

    /// Removes an entry that may be looked up again.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.writes.delete(&key);
        self.change(key, None);
    }

    fn change(&mut self, key: Vec<u8>, value: Option<StoredBytes>) {
        let before = self.cache.insert(key.clone(), value);
        self.undo
            .push((key, before.map_or(Before::Unknown, Before::Known)));
    }

    /// Notes that a logical partition grew or shrank.
    pub fn resize(&mut self, epk: &[u8], by: i64) {
        self.growths.push((epk.to_vec(), by));
    }

    /// Bytes of a logical partition as this commit leaves it so far. The first question about
    /// one walks over its key entries; nobody asks before the physical partition is that big.
    pub fn logical_size(&mut self, epk: &[u8]) -> Result<u64, Error> {
        let stored = if let Some(&size) = self.sizes.get(epk) {
            size
        } else {
            let size = self.sum_sizes(epk)?;
            self.sizes.insert(epk.to_vec(), size);
            size
        };
        let growth = self
            .growths
            .iter()
            .filter(|(of, _)| of == epk)
            .map(|(_, by)| by)
            .sum();
        Ok(stored.saturating_add_signed(growth))
    }

    fn sum_sizes(&self, epk: &[u8]) -> Result<u64, Error> {
        let epk = EffectivePartitionKey::from_bytes(epk.to_vec());
        let (from, to) = keys::logical_partition(&epk);
        let mut scan = Scan::range(from, Some(to)).max_rows(SIZES_PAGE);
        let mut sum = 0_u64;
        loop {
            let page = self.below.scan(&scan)?;
            for row in &page.rows {
                let size = row
                    .value
                    .as_ref()
                    .try_into()
                    .map_err(|_| Error::Damaged("key entry"))?;
                sum = sum.saturating_add(u64::from_be_bytes(size));
            }
            match page.resume {
                Some(resume) => scan.resume = Some(resume.to_vec()),
                None => return Ok(sum),
            }
        }
    }

    /// Whether anything was written since `mark`.
    pub fn has_changed_since(&self, mark: Mark) -> bool {
        self.writes.len() > mark.writes
    }

    /// The changes, the sums after them, and the sizes of logical partitions after them.
    pub fn into_parts(mut self) -> (Writes, Counters, FxHashMap<Vec<u8>, u64>) {
        for (epk, by) in self.growths {
            if let Some(size) = self.sizes.get_mut(&epk) {
                *size = size.saturating_add_signed(by);
            }
        }
        (self.writes, self.counters, self.sizes)
    }

    /// Remembers this point.
    pub fn mark(&self) -> Mark {
        Mark {
            undo: self.undo.len(),
            growths: self.growths.len(),
            writes: self.writes.len(),
            counters: self.counters,
        }
    }

    /// Takes back everything since `mark`.
    pub fn roll_back(&mut self, mark: Mark) {
        for (key, before) in self.undo.drain(mark.undo..).rev() {
            match before {
                Before::Known(value) => self.cache.insert(key, value),
                Before::Unknown => self.cache.remove(&key),
            };
        }
        self.growths.truncate(mark.growths);
        self.writes.truncate(mark.writes);
        self.counters = mark.counters;
    }
}
