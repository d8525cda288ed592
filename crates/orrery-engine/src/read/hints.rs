//! Where items were found or written last: with a good hint a point read is one lookup, not two.
//!
//! A hint may be wrong at any time: the item may be gone or renamed, another id may have the same
//! slot, two threads may have written half a slot each, a write may have failed. So whoever follows
//! one checks that what lies there has the wanted key and id. Docids are never used again, so an
//! item that has both is the one; that is also why nobody has to take hints back.
//!
//! The table doubles while it fills. What was noted before a doubling stays where it was, so a
//! search looks at the places of earlier sizes too.

use std::hash::Hasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::DocId;
use orrery_storage::PartId;
use rustc_hash::FxHasher;

/// Slots of one piece of the table: half a megabyte.
const PIECE: usize = 1 << 15;
/// Most pieces: 32 MB for the whole account, once it has been asked for a million items.
const PIECES: usize = 1 << 6;
/// Sizes that a search looks at: what was noted earlier is worth no more time.
const SIZES: usize = 3;

/// The docids of items that were read or written lately; a newer one takes the slot of an older
/// one.
#[derive(Debug)]
pub(crate) struct Hints {
    pieces: [OnceLock<Box<[Slot]>>; PIECES],
    /// Pieces in use, a power of two.
    size: AtomicUsize,
    /// Slots that have something.
    filled: AtomicUsize,
}

#[derive(Debug, Default)]
struct Slot {
    /// Hash of the item's name. Names that collide on purpose only cost each other their hints.
    name: AtomicU64,
    docid: AtomicU64,
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            pieces: std::array::from_fn(|_| OnceLock::new()),
            size: AtomicUsize::new(1),
            filled: AtomicUsize::new(0),
        }
    }
}

impl Hints {
    /// Where the item was found last.
    pub fn find(&self, name: ItemName<'_>) -> Option<DocId> {
        let hash = name.hash();
        let size = self.size.load(Ordering::Relaxed);
        let sizes = std::iter::successors(Some(size), |size| Some(size / 2));
        sizes
            .take(SIZES)
            .take_while(|&size| size > 0)
            .filter_map(|size| self.pieces[piece(hash, size)].get())
            .map(|piece| &piece[hash as usize % PIECE])
            .find(|slot| slot.name.load(Ordering::Relaxed) == hash)
            .map(|slot| DocId(slot.docid.load(Ordering::Relaxed)))
    }

    /// Notes where an item was found.
    pub fn note(&self, name: ItemName<'_>, docid: DocId) {
        self.put(name.hash(), docid);
    }

    /// Notes where an item is written; `key` is that of its id entry without the family.
    pub fn note_written(&self, part: PartId, key: &[u8], docid: DocId) {
        if key.len() <= SHORT {
            self.put(hash(part, key), docid);
        }
    }

    fn put(&self, hash: u64, docid: DocId) {
        let size = self.size.load(Ordering::Relaxed);
        let slots = self.pieces[piece(hash, size)]
            .get_or_init(|| (0..PIECE).map(|_| Slot::default()).collect());
        let slot = &slots[hash as usize % PIECE];
        let before = slot.name.swap(hash, Ordering::Relaxed);
        slot.docid.store(docid.0, Ordering::Relaxed);
        if before != 0 {
            return;
        }
        let filled = self.filled.fetch_add(1, Ordering::Relaxed);
        if filled > size * PIECE / 2 && size < PIECES {
            let doubled = 2 * size;
            // Whoever comes second finds it done.
            let _ = self
                .size
                .compare_exchange(size, doubled, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// The piece of a name in a table of so many; the lower bits choose the slot.
fn piece(hash: u64, size: usize) -> usize {
    (hash as usize / PIECE) & (size - 1)
}

/// An item as point reads name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemName<'n> {
    /// The partition.
    pub part: PartId,
    /// The key.
    pub epk: &'n EffectivePartitionKey,
    /// The id.
    pub id: &'n str,
}

/// Key and id together, up to which names are hashed as they stand in the key of the id entry.
const SHORT: usize = 96;

impl ItemName<'_> {
    fn hash(self) -> u64 {
        let (epk, id) = (self.epk.as_bytes(), self.id.as_bytes());
        let (middle, end) = (epk.len(), epk.len() + id.len());
        if end > SHORT {
            return hash(self.part, id);
        }
        let mut joined = [0; SHORT];
        joined[..middle].copy_from_slice(epk);
        joined[middle..end].copy_from_slice(id);
        hash(self.part, &joined[..end])
    }
}

fn hash(part: PartId, name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(part.0);
    hasher.write(name);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_what_was_noted_last() {
        let hints = Hints::default();
        let epk = EffectivePartitionKey::from_bytes(vec![1; 16]);
        let name = |part, id| ItemName {
            part: PartId(part),
            epk: &epk,
            id,
        };
        assert_eq!(hints.find(name(1, "a")), None);
        hints.note(name(1, "a"), DocId(5));
        assert_eq!(hints.find(name(1, "a")), Some(DocId(5)));
        assert_eq!(hints.find(name(2, "a")), None);
        assert_eq!(hints.find(name(1, "b")), None);
        hints.note(name(1, "a"), DocId(6));
        assert_eq!(hints.find(name(1, "a")), Some(DocId(6)));
    }

    #[test]
    fn a_write_leaves_the_hint_that_a_read_looks_for() {
        let hints = Hints::default();
        let epk = EffectivePartitionKey::from_bytes(vec![1; 16]);
        for id in ["a".to_owned(), "long".repeat(30)] {
            let name = ItemName {
                part: PartId(1),
                epk: &epk,
                id: &id,
            };
            let key = [epk.as_bytes(), id.as_bytes()].concat();
            hints.note_written(PartId(1), &key, DocId(5));
            let is_short = key.len() <= SHORT;
            assert_eq!(hints.find(name), is_short.then_some(DocId(5)));
            hints.note(name, DocId(6));
            assert_eq!(hints.find(name), Some(DocId(6)));
        }
    }

    #[test]
    fn the_table_grows_with_the_names_and_keeps_most_of_them() {
        let hints = Hints::default();
        let epk = EffectivePartitionKey::from_bytes(vec![7; 16]);
        let ids: Vec<String> = (0..8 * PIECE).map(|n| format!("item-{n}")).collect();
        let names = ids.iter().map(|id| ItemName {
            part: PartId(3),
            epk: &epk,
            id,
        });
        let mut sizes = Vec::new();
        for (name, docid) in names.clone().zip((0..).map(DocId)) {
            hints.note(name, docid);
            sizes.push(hints.size.load(Ordering::Relaxed));
        }
        assert_eq!(sizes.first(), Some(&1));
        assert!(sizes.last().is_some_and(|&last| (8..=32).contains(&last)));
        let docids = (0..).map(DocId);
        let found = |(name, docid): &(ItemName<'_>, DocId)| hints.find(*name) == Some(*docid);
        let kept = names.zip(docids).filter(found).count();
        assert!(kept > ids.len() / 2 && kept <= ids.len(), "{kept}");
    }
}
