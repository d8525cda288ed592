//! Where items were found last: with a good hint a point read is one lookup, not two.
//!
//! A hint may be wrong at any time: the item may be gone or renamed, another id may have the same
//! slot, two threads may have written half a slot each. So whoever follows one checks that what
//! lies there has the wanted key and id. Docids are never used again, so an item that has both is
//! the one; that is also why nobody has to take hints back.

use std::hash::Hasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::DocId;
use orrery_storage::PartId;
use rustc_hash::FxHasher;

/// Of 16 bytes each: 2 MB for the whole account, and nothing before the first read.
const SLOTS: usize = 1 << 17;

/// The docids of items that were read lately; a newer one takes the slot of an older one.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    slots: OnceLock<Box<[Slot]>>,
}

#[derive(Debug, Default)]
struct Slot {
    /// Hash of the item's name. Names that collide on purpose only cost each other their hints.
    name: AtomicU64,
    docid: AtomicU64,
}

impl Hints {
    /// Where the item was found last.
    pub fn find(&self, name: ItemName<'_>) -> Option<DocId> {
        let hash = name.hash();
        let slot = &self.slots.get()?[hash as usize % SLOTS];
        (slot.name.load(Ordering::Relaxed) == hash)
            .then(|| DocId(slot.docid.load(Ordering::Relaxed)))
    }

    /// Notes where an item was found.
    pub fn note(&self, name: ItemName<'_>, docid: DocId) {
        let hash = name.hash();
        let slots = self
            .slots
            .get_or_init(|| (0..SLOTS).map(|_| Slot::default()).collect());
        let slot = &slots[hash as usize % SLOTS];
        slot.name.store(hash, Ordering::Relaxed);
        slot.docid.store(docid.0, Ordering::Relaxed);
    }
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

impl ItemName<'_> {
    fn hash(self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u64(self.part.0);
        hasher.write(self.epk.as_bytes());
        hasher.write(self.id.as_bytes());
        hasher.finish()
    }
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
    fn names_spread_over_all_slots_and_never_beyond() {
        let hints = Hints::default();
        let epk = EffectivePartitionKey::from_bytes(vec![7; 16]);
        let ids: Vec<String> = (0..4 * SLOTS).map(|n| format!("item-{n}")).collect();
        let kept = |ids: &[String]| {
            let names = ids.iter().map(|id| ItemName {
                part: PartId(3),
                epk: &epk,
                id,
            });
            let docids = (0..).map(DocId);
            for (name, docid) in names.clone().zip(docids.clone()) {
                hints.note(name, docid);
            }
            let found = |(name, docid): &(ItemName<'_>, DocId)| hints.find(*name) == Some(*docid);
            names.zip(docids).filter(found).count()
        };
        // Thrown at random, n names of n slots fill 1 - 1/e of them.
        assert!(kept(&ids[..SLOTS / 16]) > SLOTS / 16 * 9 / 10);
        let all = kept(&ids);
        assert!(all > SLOTS * 9 / 10 && all <= SLOTS, "{all}");
    }
}
