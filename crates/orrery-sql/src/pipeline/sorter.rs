//! Sorting without an index, in bounded memory.

use super::ExecutionError;
use super::accumulator::size;
use crate::program::node::SortKey;
use orrery_model::value::Value;
use std::cmp::Ordering;

/// A row that waits for its place.
pub(crate) struct Entry {
    pub(crate) keys: Vec<Value<'static>>,
    pub(crate) doc: u64,
    /// Order of arrival, which decides among rows of one item.
    pub(crate) arrival: u64,
    pub(crate) hash: u128,
    pub(crate) row: Vec<u8>,
}

/// Rows under way.
pub(crate) struct Sorter<'p> {
    order: &'p [SortKey],
    entries: Vec<Entry>,
    /// How many rows from the front can be needed; the rest is dropped now and then.
    keep: usize,
    bytes: usize,
    memory: usize,
    /// So many of the first entries are the sorted front: what is not before the last of them is
    /// not needed.
    front: usize,
}

/// The order of two values under one key.
pub(crate) fn compare_key(key: &SortKey, left: &Value<'_>, right: &Value<'_>) -> Ordering {
    if key.undefined_last && (left.is_undefined() || right.is_undefined()) {
        return left.is_undefined().cmp(&right.is_undefined());
    }
    let order = left.order(right);
    if key.descending {
        order.reverse()
    } else {
        order
    }
}

/// The order of two rows: keys, then documents in the direction of the first key.
fn compare(order: &[SortKey], left: &Entry, right: &Entry) -> Ordering {
    let keys = order.iter().zip(left.keys.iter().zip(&right.keys));
    let by_keys = keys
        .map(|(key, (left, right))| compare_key(key, left, right))
        .find(|order| order.is_ne());
    by_keys.unwrap_or_else(|| {
        let by_doc = left.doc.cmp(&right.doc);
        let descending = order.first().is_some_and(|key| key.descending);
        (if descending { by_doc.reverse() } else { by_doc }).then(left.arrival.cmp(&right.arrival))
    })
}

impl<'p> Sorter<'p> {
    pub(crate) fn new(order: &'p [SortKey], keep: u64, memory: usize) -> Self {
        Self {
            order,
            entries: Vec::new(),
            keep: usize::try_from(keep).unwrap_or(usize::MAX),
            bytes: 0,
            memory,
            front: 0,
        }
    }

    /// True when a row with these keys would be dropped anyway.
    pub(crate) fn refuses(&self, keys: &[Value<'_>]) -> bool {
        let Some(last) = self
            .front
            .checked_sub(1)
            .and_then(|place| self.entries.get(place))
        else {
            return false;
        };
        let pairs = self.order.iter().zip(keys.iter().zip(&last.keys));
        // Ties are left to the full comparison.
        pairs
            .map(|(key, (new, last))| compare_key(key, new, last))
            .find(|order| order.is_ne())
            .is_some_and(Ordering::is_gt)
    }

    pub(crate) fn take(&mut self, entry: Entry) -> Result<(), ExecutionError> {
        self.bytes +=
            entry.row.len() + size_of::<Entry>() + entry.keys.iter().map(size).sum::<usize>();
        self.entries.push(entry);
        if self.entries.len() >= self.keep.saturating_mul(2).saturating_add(1_024)
            || self.bytes > self.memory
        {
            self.shrink();
            if self.bytes > self.memory {
                return Err(ExecutionError::TooMuchMemory);
            }
        }
        Ok(())
    }

    /// Bytes held, roughly.
    pub(crate) fn held(&self) -> usize {
        self.bytes
    }

    fn shrink(&mut self) {
        if self.entries.len() <= self.keep {
            return;
        }
        let order = self.order;
        self.entries
            .sort_unstable_by(|left, right| compare(order, left, right));
        self.entries.truncate(self.keep);
        self.front = self.entries.len();
        self.bytes = self
            .entries
            .iter()
            .map(|entry| {
                entry.row.len() + size_of::<Entry>() + entry.keys.iter().map(size).sum::<usize>()
            })
            .sum();
    }

    /// The rows in order.
    pub(crate) fn finish(mut self) -> Vec<Entry> {
        let order = self.order;
        self.entries
            .sort_unstable_by(|left, right| compare(order, left, right));
        self.entries
    }
}
