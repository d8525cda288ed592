//! Copying a parent that is split: its rows go to the children as they are, in the order of their
//! keys. Nothing is parsed and no index term made anew, and a store that takes sorted rows at once
//! ([`orrery_storage::Store::import`]) is spared most of its work.
//!
//! A first pass over the key entries notes which child each item belongs to; a second one over all
//! rows of the same snapshot hands them out. Every row but those of the history names its item.

use orrery_model::ids::DocId;
use orrery_storage::{Row, Scan};
use rustc_hash::FxHashMap;

use super::child::{Child, child_of};
use crate::committer::Environment;
use crate::error::Error;
use crate::layout::entries::{Counters, HistoryEntry};
use crate::layout::{family, keys};
use crate::partition::PartitionSnapshot;

/// Rows that one step reads at least and at most, and their bytes: no more than 4 MB.
const LEAST_ROWS: usize = 16;
const PAGE_ROWS: usize = 32_768;
const PAGE_BYTES: usize = 4 << 20;
/// Bytes for each row of a page that is not full.
const BYTES_OF_ROW: usize = 256;
/// Items whose owners lie together in memory.
const CHUNK: usize = 4_096;

/// See the module.
pub struct RowCopy {
    snapshot: PartitionSnapshot,
    owners: Owners,
    sums: Vec<Sums>,
    pass: Pass,
    resume: Option<Vec<u8>>,
    last_history: Option<Vec<u8>>,
}

enum Pass {
    Owners,
    Rows,
}

/// What a child has got.
#[derive(Clone, Copy, Default)]
struct Sums {
    items: u64,
    item_bytes: u64,
    /// Items and their terms.
    bytes: u64,
    /// Items with terms.
    indexed: u64,
}

impl RowCopy {
    /// Of everything in a snapshot.
    pub fn new(snapshot: PartitionSnapshot, children: usize) -> Self {
        Self {
            snapshot,
            owners: Owners::default(),
            sums: vec![Sums::default(); children],
            pass: Pass::Owners,
            resume: None,
            last_history: None,
        }
    }

    /// The last row of the history that was copied.
    pub fn last_history(&self) -> Option<&[u8]> {
        self.last_history.as_deref()
    }

    /// Does a page of about so many rows; answers how many items it copied, and whether more is to
    /// be done.
    pub fn step(
        &mut self,
        environment: &Environment,
        children: &mut [Child],
        rows: usize,
    ) -> Result<(usize, bool), Error> {
        let rows = rows.clamp(LEAST_ROWS, PAGE_ROWS);
        match self.pass {
            Pass::Owners => {
                if !self.note_owners(children, rows)? {
                    self.pass = Pass::Rows;
                    self.resume = None;
                }
                Ok((0, true))
            }
            Pass::Rows => {
                let (copied, goes_on) = self.copy_rows(environment, children, rows)?;
                if !goes_on {
                    for (child, sums) in children.iter_mut().zip(&self.sums) {
                        child.end_import()?;
                        child.counters = sums.counters();
                    }
                }
                Ok((copied, goes_on))
            }
        }
    }

    fn note_owners(&mut self, children: &[Child], rows: usize) -> Result<bool, Error> {
        let mut scan = Scan::prefix([family::KEY]).max_rows(rows);
        scan.resume = self.resume.take();
        let page = self.snapshot.reader().scan(&scan)?;
        for row in &page.rows {
            let (epk, docid) = keys::parts_of_key(&row.key).ok_or(Error::Damaged("key entry"))?;
            self.owners.set(docid, child_of(children, epk)?);
        }
        self.resume = page.resume.map(|key| key.to_vec());
        Ok(self.resume.is_some())
    }

    fn copy_rows(
        &mut self,
        environment: &Environment,
        children: &mut [Child],
        rows: usize,
    ) -> Result<(usize, bool), Error> {
        let bytes = PAGE_BYTES.min(rows * BYTES_OF_ROW);
        let mut scan = Scan::all().max_rows(rows).max_bytes(bytes);
        scan.resume = self.resume.take();
        let page = self.snapshot.reader().scan(&scan)?;
        self.resume = page.resume.map(|key| key.to_vec());
        let mut shares: Vec<Vec<Row>> = children.iter().map(|_| Vec::new()).collect();
        let mut copied = 0;
        for row in page.rows {
            let letter = row.key.first().copied().unwrap_or_default();
            let child = match letter {
                // Of the partition, not of an item.
                family::COUNTERS | family::REBUILD => continue,
                family::HISTORY => {
                    self.last_history = Some(row.key.to_vec());
                    child_of(children, HistoryEntry::decode(&row.key, &row.value)?.epk)?
                }
                _ => self.count(letter, &row)?,
            };
            copied += usize::from(letter == family::ITEM);
            shares[child].push(row);
        }
        for (child, rows) in children.iter_mut().zip(shares) {
            child.put_rows(environment, rows)?;
        }
        Ok((copied, self.resume.is_some()))
    }

    /// The child of a row's item; takes the row into its sums.
    fn count(&mut self, letter: u8, row: &Row) -> Result<usize, Error> {
        const WHAT: Error = Error::Damaged("entry of an item");
        let docid = match letter {
            family::ID | family::UNIQUE => keys::docid_of_value(&row.value),
            _ => keys::docid_at_end(&row.key),
        };
        let docid = docid.ok_or(WHAT)?;
        let child = self.owners.child_of(docid).ok_or(WHAT)?;
        let sums = self.sums.get_mut(child).ok_or(WHAT)?;
        match letter {
            family::ITEM => {
                sums.items += 1;
                sums.item_bytes += row.value.len() as u64;
            }
            family::KEY => sums.bytes += keys::size_of_value(&row.value).ok_or(WHAT)?,
            family::TERM => sums.indexed += u64::from(self.owners.note_term(docid)),
            _ => {}
        }
        Ok(child)
    }
}

impl Sums {
    fn counters(self) -> Counters {
        Counters {
            items: self.items,
            item_bytes: self.item_bytes,
            index_bytes: self.bytes.saturating_sub(self.item_bytes),
            unindexed: self.items.saturating_sub(self.indexed),
            ..Counters::empty()
        }
    }
}

/// The child of each item, in a byte: items of one parent have numbers close to each other.
#[derive(Default)]
struct Owners {
    chunks: FxHashMap<u64, Box<[u8; CHUNK]>>,
}

/// Marks an item that has a term.
const INDEXED: u8 = 0x80;

impl Owners {
    fn set(&mut self, docid: DocId, child: usize) {
        let chunk = self.chunks.entry(docid.0 / CHUNK as u64);
        let chunk = chunk.or_insert_with(|| Box::new([0; CHUNK]));
        // 64 children at most: 0 is none.
        chunk[(docid.0 % CHUNK as u64) as usize] = child as u8 + 1;
    }

    fn child_of(&self, docid: DocId) -> Option<usize> {
        let chunk = self.chunks.get(&(docid.0 / CHUNK as u64))?;
        let byte = chunk[(docid.0 % CHUNK as u64) as usize];
        usize::from(byte & !INDEXED).checked_sub(1)
    }

    /// Whether this is the first term of the item.
    fn note_term(&mut self, docid: DocId) -> bool {
        let Some(chunk) = self.chunks.get_mut(&(docid.0 / CHUNK as u64)) else {
            return false;
        };
        let byte = &mut chunk[(docid.0 % CHUNK as u64) as usize];
        let is_first = *byte & INDEXED == 0;
        *byte |= INDEXED;
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_found_again() {
        let mut owners = Owners::default();
        for (docid, child) in [(1, 0), (4_095, 63), (4_096, 1), (u64::MAX, 2)] {
            owners.set(DocId(docid), child);
            assert_eq!(owners.child_of(DocId(docid)), Some(child));
            assert!(owners.note_term(DocId(docid)));
            assert!(!owners.note_term(DocId(docid)));
            assert_eq!(owners.child_of(DocId(docid)), Some(child));
        }
        assert_eq!(owners.child_of(DocId(2)), None);
        assert_eq!(owners.child_of(DocId(1 << 40)), None);
        assert!(!owners.note_term(DocId(1 << 40)));
    }
}
