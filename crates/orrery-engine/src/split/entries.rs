//! The entries of an item in a child: the same as in its parent, made again from the item, for
//! index terms do not name the key space that they belong to.

use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::DocId;
use orrery_model::index::Terms;
use orrery_model::json;
use orrery_storage::{Reader, StoreError, Writes};

use crate::container::ContainerState;
use crate::error::Error;
use crate::layout::entries::{ChangeEntry, Counters};
use crate::layout::{keys, term};
use crate::partition::StoredItem;
use crate::write::apply::entries::{index_bytes, own_end};

/// A commit of a child in the making.
pub struct Batch {
    /// The changes.
    pub writes: Writes,
    /// The child's sums after them.
    pub counters: Counters,
}

/// What the entries of an item follow from.
struct Derived {
    id: String,
    terms: Terms,
    unique: Vec<Vec<u8>>,
}

impl Derived {
    fn of(state: &ContainerState, stored: &StoredItem) -> Result<Self, Error> {
        let item = json::parse(stored.json()).map_err(|_| Error::Damaged("item"))?;
        let id = item.member("id").as_str().ok_or(Error::Damaged("item"))?;
        let header = stored.header();
        let plan = state.index_of(header.policy);
        Ok(Self {
            id: id.to_owned(),
            terms: plan.terms(&item, header.indexing),
            unique: state.unique().of(&item),
        })
    }
}

impl Batch {
    /// Adds an item that the child does not have.
    pub fn insert(
        &mut self,
        state: &ContainerState,
        docid: DocId,
        stored: &StoredItem,
    ) -> Result<(), Error> {
        let derived = Derived::of(state, stored)?;
        let header = stored.header();
        let epk = EffectivePartitionKey::from_bytes(stored.epk().to_vec());
        let index_bytes = index_bytes(&derived.terms);
        let size = stored.stored_bytes() + index_bytes;
        let writes = &mut self.writes;
        writes.put(&keys::item(docid), stored.value());
        writes.put(&keys::id(&epk, &derived.id), &keys::docid_value(docid));
        writes.put(&keys::key(&epk, docid), &size.to_be_bytes());
        let change = ChangeEntry {
            docid,
            ts: header.ts,
            epk: epk.as_bytes(),
        };
        writes.put(
            &keys::change(header.lsn, header.ordinal, docid),
            &change.encode(),
        );
        if header.ttl > 0 {
            writes.put(&keys::expiry(own_end(header), docid), &[]);
        }
        for (constraint, values) in derived.unique.iter().enumerate() {
            let key = keys::unique(constraint as u8, &epk, values);
            writes.put(&key, &keys::docid_value(docid));
        }
        for term in derived.terms.iter() {
            writes.put_with(|key| term::write_key(key, term, docid), &[]);
        }
        let counters = &mut self.counters;
        counters.items += 1;
        counters.item_bytes += stored.stored_bytes();
        counters.index_bytes += index_bytes;
        counters.unindexed += u64::from(derived.terms.is_empty());
        Ok(())
    }

    /// Takes out an item that the child has. Id and unique values may have gone to another item
    /// meanwhile, which came first: only what still points to this one goes.
    pub fn remove(
        &mut self,
        below: &dyn Reader,
        state: &ContainerState,
        docid: DocId,
        stored: &StoredItem,
    ) -> Result<(), Error> {
        let derived = Derived::of(state, stored)?;
        let header = stored.header();
        let epk = EffectivePartitionKey::from_bytes(stored.epk().to_vec());
        let writes = &mut self.writes;
        writes.delete(&keys::item(docid));
        writes.delete(&keys::key(&epk, docid));
        writes.delete(&keys::change(header.lsn, header.ordinal, docid));
        if header.ttl > 0 {
            writes.delete(&keys::expiry(own_end(header), docid));
        }
        let mut pointers = vec![keys::id(&epk, &derived.id)];
        let unique = derived.unique.iter().enumerate();
        pointers.extend(unique.map(|(at, values)| keys::unique(at as u8, &epk, values)));
        for key in pointers {
            if points_to(below, &key, docid)? {
                writes.delete(&key);
            }
        }
        for term in derived.terms.iter() {
            writes.delete_with(|key| term::write_key(key, term, docid));
        }
        let index_bytes = index_bytes(&derived.terms);
        let counters = &mut self.counters;
        counters.items = counters.items.saturating_sub(1);
        counters.item_bytes = counters.item_bytes.saturating_sub(stored.stored_bytes());
        counters.index_bytes = counters.index_bytes.saturating_sub(index_bytes);
        let bare = u64::from(derived.terms.is_empty());
        counters.unindexed = counters.unindexed.saturating_sub(bare);
        Ok(())
    }
}

fn points_to(below: &dyn Reader, key: &[u8], docid: DocId) -> Result<bool, StoreError> {
    let value = below.get(key)?;
    Ok(value.and_then(|value| keys::docid_of_value(&value)) == Some(docid))
}
