//! The sorted set of an item's index entries.

use std::cmp::Ordering;

use super::{PathHash, STRING_LIMIT};
use crate::geo::Cell;
use crate::ordered::{self, Tag};
use crate::value::Value;

/// The index entries of one item: sorted, distinct. Reusable, to save allocations.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    buffer: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The first eight bytes: most comparisons end there.
    hash: PathHash,
    start: u32,
    end: u32,
    /// Whether request units count it; the entries of arrays and objects are our own.
    charged: bool,
}

impl Terms {
    /// No entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all entries, keeping the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.entries.clear();
    }

    /// The entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.entries.iter().map(|entry| self.bytes(*entry))
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many of them are charged.
    pub fn charged(&self) -> usize {
        self.entries.iter().filter(|entry| entry.charged).count()
    }

    /// What a change from these entries to others removes and adds, each in order, and how many
    /// of both are charged.
    pub fn difference<'t>(&'t self, new: &'t Self) -> Difference<'t> {
        let mut difference = Difference::default();
        let (mut old_at, mut new_at) = (0, 0);
        loop {
            let order = match (self.entries.get(old_at), new.entries.get(new_at)) {
                (None, None) => return difference,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(&a), Some(&b)) => self.bytes(a).cmp(new.bytes(b)),
            };
            if order == Ordering::Less {
                let entry = self.entries[old_at];
                difference.removed.push(self.bytes(entry));
                difference.charged += usize::from(entry.charged);
            } else if order == Ordering::Greater {
                let entry = new.entries[new_at];
                difference.added.push(new.bytes(entry));
                difference.charged += usize::from(entry.charged);
            }
            old_at += usize::from(order != Ordering::Greater);
            new_at += usize::from(order != Ordering::Less);
        }
    }

    fn bytes(&self, entry: Entry) -> &[u8] {
        &self.buffer[entry.start as usize..entry.end as usize]
    }

    fn push(&mut self, hash: PathHash, charged: bool, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&hash.to_bytes());
        encode(&mut self.buffer);
        // An item is at most a few MB, its entries a small multiple.
        let place = |at: usize| u32::try_from(at).expect("entries of one item fit 4 GB");
        let (start, end) = (place(start), place(self.buffer.len()));
        self.entries.push(Entry {
            hash,
            start,
            end,
            charged,
        });
    }

    pub(super) fn push_scalar(&mut self, hash: PathHash, value: &Value<'_>) {
        self.push(hash, true, |out| ordered::encode(value, STRING_LIMIT, out));
    }

    pub(super) fn push_node(&mut self, hash: PathHash, tag: Tag) {
        self.push(hash, false, |out| out.push(tag as u8));
    }

    pub(super) fn push_cell(&mut self, hash: PathHash, cell: Cell) {
        self.push(hash, true, |out| out.extend_from_slice(&cell.to_bytes()));
    }

    pub(super) fn push_composite(&mut self, hash: PathHash, encode: impl FnOnce(&mut Vec<u8>)) {
        self.push(hash, true, encode);
    }

    /// Sorts the entries and drops repeated ones.
    pub(super) fn finish(&mut self) {
        let buffer = &self.buffer;
        let bytes = |entry: &Entry| &buffer[entry.start as usize..entry.end as usize];
        self.entries
            .sort_unstable_by(|a, b| a.hash.cmp(&b.hash).then_with(|| bytes(a).cmp(bytes(b))));
        self.entries.dedup_by(|a, b| bytes(a) == bytes(b));
    }
}

/// What a write does to the index.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Difference<'t> {
    /// Entries that go, in order.
    pub removed: Vec<&'t [u8]>,
    /// Entries that come, in order.
    pub added: Vec<&'t [u8]>,
    /// How many of both are charged.
    pub charged: usize,
}
