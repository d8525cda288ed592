//! The entries that follow from a version of an item, and their removal.

use std::sync::Arc;

use orrery_model::charge::Charge;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{DocId, Lsn};
use orrery_model::index::Terms;
use orrery_model::json;
use orrery_model::rid::ResourceId;
use orrery_storage::StoredBytes;

use super::Transaction;
use crate::error::Error;
use crate::layout::entries::{ChangeEntry, Counters, HistoryEntry, HistoryKind};
use crate::layout::keys::{self, Ordinal};
use crate::layout::record::{self, Header, ItemTag};
use crate::layout::term;
use crate::partition::StoredItem;
use crate::write::ItemBody;
use crate::write::overlay::Overlay;
use crate::write::prepare::PreparedItem;

/// An item that is being replaced or removed.
pub(super) struct Old {
    pub stored: StoredItem,
    pub terms: Terms,
    pub unique: Vec<Vec<u8>>,
    pub id: String,
}

impl Transaction<'_> {
    fn ordinal(&mut self) -> Ordinal {
        let ordinal = self.next_ordinal;
        self.next_ordinal += 1;
        ordinal
    }

    /// Writes a version of an item and everything that follows from it.
    pub(super) fn put(
        &mut self,
        overlay: &mut Overlay<'_>,
        docid: DocId,
        item: &PreparedItem,
        old: Option<&Old>,
    ) -> Result<ItemBody, Error> {
        let ordinal = self.ordinal();
        let header = Header {
            lsn: self.lsn,
            ordinal,
            ts: self.ts,
            ttl: item.ttl,
            tag: ItemTag::new(self.salt, self.lsn, ordinal),
            policy: item.policy,
            user_bytes: item.user_bytes() as u32,
            indexing: item.indexing,
        };
        let rid = ResourceId::document(
            self.container.database_number(),
            self.container.owner_number().unwrap_or_default(),
            docid.0,
        );
        let epk = item.epk.as_bytes();
        let value = record::encode(
            &header,
            epk,
            &item.members,
            &rid.to_string(),
            &rid.self_link(),
        );
        let offset = record::json_offset(epk);
        let value = StoredBytes::from(Arc::<[u8]>::from(value));
        let index_bytes = index_bytes(&item.terms);
        let size = value.len() as u64 + index_bytes;
        let (old_value, old_index) = old.map_or((0, 0), Old::sizes);
        self.check_logical_size(overlay, epk, size, old_value + old_index)?;

        overlay.put(keys::item(docid), value.clone());
        let renamed = old.filter(|old| old.id != item.id);
        if let Some(old) = renamed {
            overlay.delete(keys::id(&item.epk, &old.id));
        }
        if old.is_none() || renamed.is_some() {
            overlay.put(
                keys::id(&item.epk, &item.id),
                keys::docid_value(docid).as_slice().into(),
            );
        }
        if old.is_none() {
            overlay.counters.items += 1;
        }
        overlay
            .writes
            .put(&keys::key(&item.epk, docid), &size.to_be_bytes());
        self.put_feeds(overlay, docid, epk, &value[offset..], &header, old);
        put_expiry(overlay, docid, &header, old);
        put_unique(overlay, docid, item, old);
        put_terms(overlay, docid, &item.terms, old);
        let counters = &mut overlay.counters;
        counters.item_bytes = (counters.item_bytes + value.len() as u64).saturating_sub(old_value);
        counters.index_bytes = (counters.index_bytes + index_bytes).saturating_sub(old_index);
        count_unindexed(counters, Some(&item.terms), old.map(|old| &old.terms));
        overlay.resize(epk, size as i64 - (old_value + old_index) as i64);
        Ok(ItemBody::new(value, offset, header.tag))
    }

    fn put_feeds(
        &self,
        overlay: &mut Overlay<'_>,
        docid: DocId,
        epk: &[u8],
        json: &[u8],
        header: &Header,
        old: Option<&Old>,
    ) {
        if let Some(old) = old {
            let old = old.stored.header();
            overlay
                .writes
                .delete(&keys::change(old.lsn, old.ordinal, docid));
        }
        let entry = ChangeEntry {
            docid,
            ts: self.ts,
            epk,
        };
        overlay.writes.put(
            &keys::change(header.lsn, header.ordinal, docid),
            &entry.encode(),
        );
        if self.state.keeps_history() {
            let entry = HistoryEntry {
                kind: if old.is_some() {
                    HistoryKind::Replace
                } else {
                    HistoryKind::Create
                },
                docid,
                ts: self.ts,
                previous: old.map_or(Lsn(0), |old| old.stored.header().lsn),
                epk,
                json,
            };
            overlay.writes.put(
                &keys::history(header.lsn, header.ordinal, docid),
                &entry.encode(),
            );
        }
    }

    /// Removes an item and everything that points to it.
    pub(super) fn remove(
        &mut self,
        overlay: &mut Overlay<'_>,
        docid: DocId,
        old: &Old,
        kind: HistoryKind,
    ) {
        let ordinal = self.ordinal();
        let epk = EffectivePartitionKey::from_bytes(old.stored.epk().to_vec());
        let header = old.stored.header();
        overlay.delete(keys::item(docid));
        overlay.delete(keys::id(&epk, &old.id));
        overlay.writes.delete(&keys::key(&epk, docid));
        overlay
            .writes
            .delete(&keys::change(header.lsn, header.ordinal, docid));
        if self.state.keeps_history() {
            let entry = HistoryEntry {
                kind,
                docid,
                ts: self.ts,
                previous: header.lsn,
                epk: epk.as_bytes(),
                json: old.stored.json(),
            };
            overlay
                .writes
                .put(&keys::history(self.lsn, ordinal, docid), &entry.encode());
        }
        if header.ttl > 0 {
            overlay.writes.delete(&keys::expiry(own_end(header), docid));
        }
        for (constraint, values) in old.unique.iter().enumerate() {
            overlay.delete(keys::unique(constraint as u8, &epk, values));
        }
        for term in old.terms.iter() {
            overlay
                .writes
                .delete_with(|key| term::write_key(key, term, docid));
        }
        let (value_bytes, index_bytes) = old.sizes();
        let counters = &mut overlay.counters;
        counters.items = counters.items.saturating_sub(1);
        counters.item_bytes = counters.item_bytes.saturating_sub(value_bytes);
        counters.index_bytes = counters.index_bytes.saturating_sub(index_bytes);
        count_unindexed(counters, None, Some(&old.terms));
        overlay.resize(epk.as_bytes(), -((value_bytes + index_bytes) as i64));
    }

    /// Removes an item whatever conditions say; for expiry and delete by partition key.
    pub fn remove_item(
        &mut self,
        overlay: &mut Overlay<'_>,
        docid: DocId,
        kind: HistoryKind,
    ) -> Result<Charge, Error> {
        let Some(value) = overlay.get(&keys::item(docid))? else {
            return Ok(Charge::ZERO);
        };
        let old = self.old(StoredItem::decode(value)?)?;
        if kind == HistoryKind::Expire && self.is_live(&old.stored) {
            return Ok(Charge::ZERO);
        }
        let bytes = old.stored.header().user_bytes as usize;
        let charge = self.profile.delete(bytes, old.terms.charged());
        self.remove(overlay, docid, &old, kind);
        Ok(charge)
    }

    /// Gives an item the terms of the current policy; answers whether it had others. Its version
    /// stays, for its text does.
    pub fn reindex(
        &self,
        overlay: &mut Overlay<'_>,
        docid: DocId,
        value: &StoredBytes,
    ) -> Result<bool, Error> {
        let old = self.old(StoredItem::decode(value.clone())?)?;
        let plan = self.state.index();
        let mut header = *old.stored.header();
        if header.policy == plan.version() {
            return Ok(false);
        }
        let item = json::parse(old.stored.json()).map_err(|_| Error::Damaged("item"))?;
        let terms = plan.terms(&item, header.indexing);
        header.policy = plan.version();
        overlay.put(
            keys::item(docid),
            record::with_header(value, &header).as_slice().into(),
        );
        put_terms(overlay, docid, &terms, Some(&old));
        let (before, after) = (index_bytes(&old.terms), index_bytes(&terms));
        let epk = EffectivePartitionKey::from_bytes(old.stored.epk().to_vec());
        let size = old.stored.stored_bytes() + after;
        overlay
            .writes
            .put(&keys::key(&epk, docid), &size.to_be_bytes());
        let counters = &mut overlay.counters;
        counters.index_bytes = (counters.index_bytes + after).saturating_sub(before);
        count_unindexed(counters, Some(&terms), Some(&old.terms));
        overlay.resize(epk.as_bytes(), after as i64 - before as i64);
        Ok(true)
    }

    fn check_logical_size(
        &self,
        overlay: &mut Overlay<'_>,
        epk: &[u8],
        new: u64,
        old: u64,
    ) -> Result<(), Error> {
        let limit = self.limits.logical_partition_bytes;
        // A logical partition cannot be full in a partition that holds less than its limit.
        if overlay.counters.total_bytes().saturating_add(new) <= limit || new <= old {
            return Ok(());
        }
        if overlay
            .logical_size(epk)?
            .saturating_sub(old)
            .saturating_add(new)
            > limit
        {
            return Err(Error::LogicalPartitionFull { limit_bytes: limit });
        }
        Ok(())
    }
}

impl Old {
    /// Bytes of the item and of its terms.
    fn sizes(&self) -> (u64, u64) {
        (self.stored.stored_bytes(), index_bytes(&self.terms))
    }
}

/// Keeps count of the items that no index finds.
fn count_unindexed(counters: &mut Counters, new: Option<&Terms>, old: Option<&Terms>) {
    let is_bare = |terms: Option<&Terms>| u64::from(terms.is_some_and(Terms::is_empty));
    counters.unindexed = (counters.unindexed + is_bare(new)).saturating_sub(is_bare(old));
}

/// Bytes of the keys of all terms of an item.
pub(crate) fn index_bytes(terms: &Terms) -> u64 {
    terms.iter().map(|term| term::key_length(term.len())).sum()
}

/// The second at which an item with a time to live of its own is gone.
pub(crate) fn own_end(header: &Header) -> u64 {
    header
        .ts
        .saturating_add(u64::from(header.ttl.max(0).unsigned_abs()))
}

fn put_expiry(overlay: &mut Overlay<'_>, docid: DocId, header: &Header, old: Option<&Old>) {
    if let Some(old) = old.map(|old| old.stored.header()).filter(|old| old.ttl > 0) {
        overlay.writes.delete(&keys::expiry(own_end(old), docid));
    }
    if header.ttl > 0 {
        overlay
            .writes
            .put(&keys::expiry(own_end(header), docid), &[]);
    }
}

fn put_unique(overlay: &mut Overlay<'_>, docid: DocId, item: &PreparedItem, old: Option<&Old>) {
    for (constraint, values) in item.unique.iter().enumerate() {
        let before = old.and_then(|old| old.unique.get(constraint));
        if before == Some(values) {
            continue;
        }
        if let Some(before) = before {
            overlay.delete(keys::unique(constraint as u8, &item.epk, before));
        }
        let key = keys::unique(constraint as u8, &item.epk, values);
        overlay.put(key, keys::docid_value(docid).as_slice().into());
    }
}

fn put_terms(overlay: &mut Overlay<'_>, docid: DocId, terms: &Terms, old: Option<&Old>) {
    let nothing = Terms::new();
    let difference = old.map_or(&nothing, |old| &old.terms).difference(terms);
    for term in difference.removed {
        overlay
            .writes
            .delete_with(|key| term::write_key(key, term, docid));
    }
    for term in difference.added {
        overlay
            .writes
            .put_with(|key| term::write_key(key, term, docid), &[]);
    }
}
