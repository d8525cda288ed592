//! Items that were read lately, whole: a repeated point read asks the store for nothing.
//!
//! What lies here is what the newest durable state has, at any moment at which somebody looks.
//! A round of the committer takes the items that it is about to write out ([`RecentItems::begin`])
//! and lets nobody put them back before its commit is visible; a reader who asked the store before
//! the round ended finds that it did and keeps nothing ([`Ticket`]).
//!
//! Point reads keep what they find by a hint ([`super::hints`]), so from the second read on: readers
//! that visit every item once push nothing out and pay no copy.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_model::ids::DocId;
use orrery_storage::{PartId, Writes};
use rustc_hash::FxHashMap;

use crate::layout::keys;
use crate::partition::StoredItem;

/// Items lie on shelves, each with a lock of its own.
const SHELVES: usize = 256;
/// Bytes of items on one shelf: 32 MiB in all, and nothing before the first read.
const SHELF_BYTES: usize = 128 << 10;
/// Longest item: for longer ones the lookup is a small part of the read.
const LONGEST: usize = 16 << 10;

/// An item's name in the store.
type Place = (PartId, DocId);

/// See the module.
#[derive(Debug)]
pub(crate) struct RecentItems {
    shelves: Box<[Mutex<Shelf>]>,
}

#[derive(Debug, Default)]
struct Shelf {
    /// Rounds under way that write items of this shelf.
    writing: usize,
    /// How often such rounds have begun or ended.
    turns: u64,
    items: FxHashMap<Place, Kept>,
    /// The items in the order in which they came, and maybe some that are gone.
    order: VecDeque<Place>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    item: StoredItem,
    /// Read since it came or since it was spared last.
    is_used: bool,
}

/// What a reader takes before it asks the store, to tell afterwards that nobody wrote meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    turns: u64,
}

impl Default for RecentItems {
    fn default() -> Self {
        Self {
            shelves: (0..SHELVES).map(|_| Mutex::default()).collect(),
        }
    }
}

impl RecentItems {
    /// The item, if it lies here; else a ticket to keep it with.
    pub fn find(&self, part: PartId, docid: DocId) -> Result<StoredItem, Ticket> {
        let mut shelf = self.shelf((part, docid));
        let turns = shelf.turns;
        let kept = shelf.items.get_mut(&(part, docid));
        kept.map(|kept| {
            kept.is_used = true;
            kept.item.clone()
        })
        .ok_or(Ticket { turns })
    }

    /// Keeps what the store had after the ticket was taken.
    pub fn keep(&self, part: PartId, docid: DocId, ticket: Ticket, item: &StoredItem) {
        let place = (part, docid);
        let bytes = item.value().len();
        if bytes > LONGEST {
            return;
        }
        let mut shelf = self.shelf(place);
        if shelf.writing > 0 || shelf.turns != ticket.turns {
            return;
        }
        shelf.make_room(bytes);
        let kept = Kept {
            item: item.detached(),
            is_used: false,
        };
        shelf.bytes += bytes;
        if let Some(twin) = shelf.items.insert(place, kept) {
            shelf.bytes -= twin.item.value().len();
        } else {
            shelf.order.push_back(place);
        }
    }

    /// Takes out the items of a commit that is about to be made. They come back after what this
    /// answers is dropped, which must be after the commit can be seen.
    pub fn begin(self: &Arc<Self>, part: PartId, writes: &Writes) -> Writing {
        let docids = writes
            .iter()
            .filter_map(|(key, _)| keys::docid_of_item(key));
        let mut shelves = Vec::new();
        for docid in docids {
            let place = (part, docid);
            let number = number(place);
            let mut shelf = self.lock(number);
            shelf.writing += 1;
            shelf.turns += 1;
            shelf.remove(place);
            shelves.push(number);
        }
        Writing {
            items: Arc::clone(self),
            shelves,
        }
    }

    fn shelf(&self, place: Place) -> MutexGuard<'_, Shelf> {
        self.lock(number(place))
    }

    fn lock(&self, number: usize) -> MutexGuard<'_, Shelf> {
        self.shelves[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The shelf of an item: docids count up, so neighbours lie on different ones.
fn number((part, docid): Place) -> usize {
    (docid.0 ^ part.0.rotate_left(4)) as usize % SHELVES
}

impl Shelf {
    fn remove(&mut self, place: Place) {
        if let Some(gone) = self.items.remove(&place) {
            self.bytes -= gone.item.value().len();
        }
    }

    /// Takes the oldest out until so many bytes fit; those that are in use get another round.
    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > SHELF_BYTES || self.order.len() > 2 * self.items.len() + 1 {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            match self.items.get_mut(&oldest) {
                Some(kept) if kept.is_used => {
                    kept.is_used = false;
                    self.order.push_back(oldest);
                }
                _ => self.remove(oldest),
            }
        }
    }
}

/// A commit under way: its items stay away until this is dropped.
#[derive(Debug)]
pub(crate) struct Writing {
    items: Arc<RecentItems>,
    /// Shelf by shelf, one for each item.
    shelves: Vec<usize>,
}

impl Drop for Writing {
    fn drop(&mut self) {
        for &number in &self.shelves {
            let mut shelf = self.items.lock(number);
            shelf.writing -= 1;
            shelf.turns += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use orrery_model::ids::Lsn;
    use orrery_storage::StoredBytes;

    use super::*;
    use crate::index::IndexingDirective;
    use crate::layout::record::{Header, ItemTag, encode};

    const PART: PartId = PartId(7);
    const DOCID: DocId = DocId(1);

    fn item(version: u64, bytes: usize) -> StoredItem {
        let header = Header {
            lsn: Lsn(version),
            ordinal: 0,
            ts: 1,
            ttl: 0,
            tag: ItemTag(1),
            policy: 1,
            user_bytes: 1,
            indexing: IndexingDirective::Default,
        };
        let members = format!("{{\"id\":\"1\",\"filling\":\"{}\"", "x".repeat(bytes));
        let value = encode(&header, &[1; 16], members.as_bytes(), "rid", "self");
        StoredItem::decode(StoredBytes::from(&value[..])).expect("a whole item")
    }

    fn version(found: Result<StoredItem, Ticket>) -> Option<u64> {
        found.ok().map(|item| item.header().lsn.0)
    }

    #[test]
    fn what_is_read_beside_a_write_is_not_kept() {
        let recent = Arc::new(RecentItems::default());
        let find = || recent.find(PART, DOCID);
        let keep = |ticket, version| recent.keep(PART, DOCID, ticket, &item(version, 10));
        let first = find().expect_err("nothing was read yet");
        keep(first, 1);
        assert_eq!(version(find()), Some(1));
        let mut writes = Writes::new();
        writes.put(&keys::item_key(DOCID), b"the next version");
        let writing = recent.begin(PART, &writes);
        let during = find().expect_err("the write took it out");
        keep(during, 1);
        assert_eq!(version(find()), None, "the write may be visible by now");
        drop(writing);
        keep(first, 1);
        keep(during, 1);
        assert_eq!(version(find()), None, "the store was asked before the end");
        let after = find().expect_err("nothing was kept");
        keep(after, 2);
        assert_eq!(version(find()), Some(2));
        assert_eq!(version(recent.find(PartId(8), DOCID)), None);
    }

    #[test]
    fn shelves_hold_so_much_and_items_in_use_stay() {
        let recent = RecentItems::default();
        let docid = |at: usize| DocId((at * SHELVES) as u64);
        let keep = |at: usize, bytes: usize| {
            if let Err(ticket) = recent.find(PART, docid(at)) {
                recent.keep(PART, docid(at), ticket, &item(1, bytes));
            }
        };
        for at in 0..200 {
            keep(at, 2_000);
            // Read again and again.
            keep(0, 2_000);
        }
        let is_there = |at: &usize| recent.find(PART, docid(*at)).is_ok();
        assert!(is_there(&0) && is_there(&199) && !is_there(&1));
        let there = (0..200).filter(is_there).count();
        assert!((40..=SHELF_BYTES / 2_000).contains(&there), "{there}");
        keep(300, LONGEST);
        assert!(!is_there(&300));
    }
}
