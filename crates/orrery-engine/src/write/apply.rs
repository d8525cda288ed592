//! One operation against what is stored: checks, then the entries that change.

use std::borrow::Cow;

use orrery_model::charge::{self, Charge, Profile, ReadCost};
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{DocId, Lsn};
use orrery_model::index::Terms;
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::rid::ResourceId;
use orrery_storage::StoredBytes;

use super::overlay::Overlay;
use super::prepare::{Action, Operation, Place, Preparation, PreparedItem};
use super::{ItemBody, ItemOutcome};
use crate::container::ContainerState;
use crate::error::Error;
use crate::layout::entries::{ChangeEntry, HistoryEntry, HistoryKind};
use crate::layout::keys::{self, Ordinal};
use crate::layout::record::{self, Header, ItemTag};
use crate::layout::term;
use crate::partition::StoredItem;
use crate::write::patching;

/// What all operations of a transaction share.
pub struct Transaction<'c> {
    /// The container's definition.
    pub state: &'c ContainerState,
    /// The container.
    pub container: ResourceId,
    /// The range's id, which prefixes docids.
    pub range: u32,
    /// The limits that apply.
    pub limits: &'c Limits,
    /// How to charge.
    pub profile: Profile,
    /// What reads cost.
    pub read_cost: ReadCost,
    /// Position of the transaction.
    pub lsn: Lsn,
    /// `_ts` of everything that it writes.
    pub ts: u64,
    /// Part of the etags of everything that it writes.
    pub salt: u64,
    /// The place of the next write in the transaction.
    pub next_ordinal: Ordinal,
}

/// A decided operation.
pub struct Applied {
    /// What became of the item.
    pub outcome: ItemOutcome,
    /// What it costs.
    pub charge: Charge,
    /// Position of the item's last write.
    pub item_lsn: Lsn,
}

/// An operation that was refused, and what it costs all the same.
pub struct Refused {
    /// Why.
    pub error: Error,
    /// What it costs.
    pub charge: Charge,
}

/// An item that is being replaced or removed.
struct Old {
    stored: StoredItem,
    terms: Terms,
    unique: Vec<Vec<u8>>,
    id: String,
}

impl Transaction<'_> {
    /// Decides one operation and adds its changes. On an error the overlay may hold changes: the
    /// caller rolls back.
    pub fn apply(
        &mut self,
        overlay: &mut Overlay<'_>,
        operation: &Operation,
    ) -> Result<Applied, Refused> {
        self.decide(overlay, operation).map_err(|error| Refused {
            error,
            charge: charge::read_nothing(self.read_cost),
        })
    }

    fn decide(
        &mut self,
        overlay: &mut Overlay<'_>,
        operation: &Operation,
    ) -> Result<Applied, Error> {
        match &operation.action {
            Action::Create(item) => self.create(overlay, operation, item),
            Action::Upsert(item) => match self.find_by_id(overlay, &item.epk, &item.id)? {
                // The precondition of an upsert that creates is ignored (protocol: section 1.3).
                None => self.insert(overlay, item),
                Some(found) => {
                    check_if_match(operation, &found.1)?;
                    self.exchange(overlay, found, item, None)
                }
            },
            Action::Replace(place, item) => {
                let found = self.find(overlay, &operation.epk, place)?;
                check_if_match(operation, &found.1)?;
                self.exchange(overlay, found, item, None)
            }
            Action::Patch(place, document) => {
                let found = self.find(overlay, &operation.epk, place)?;
                check_if_match(operation, &found.1)?;
                let preparation = Preparation {
                    state: self.state,
                    container: self.container,
                    limits: self.limits,
                    now: self.ts,
                };
                let indexing = found.1.header().indexing;
                let item = patching::patched(&preparation, found.1.json(), indexing, document)?;
                if item.epk != operation.epk {
                    return Err(Error::PartitionKeyMismatch);
                }
                self.exchange(overlay, found, &item, Some(document.operations.len()))
            }
            Action::Delete(place) => {
                let (docid, stored) = self.find(overlay, &operation.epk, place)?;
                check_if_match(operation, &stored)?;
                let old = self.old(stored)?;
                let bytes = old.stored.header().user_bytes as usize;
                let charge = self.profile.delete(bytes, old.terms.charged());
                self.remove(overlay, docid, &old, HistoryKind::Delete);
                Ok(Applied {
                    outcome: ItemOutcome::Deleted,
                    charge,
                    item_lsn: self.lsn,
                })
            }
            Action::Read(place) => {
                let (_, stored) = self.find(overlay, &operation.epk, place)?;
                Ok(self.read(operation, stored))
            }
        }
    }

    fn read(&self, operation: &Operation, stored: StoredItem) -> Applied {
        let header = *stored.header();
        let etag = header.tag.to_etag();
        let known = operation.conditions.if_none_match.as_deref();
        let (outcome, charge) = if known.is_some_and(|known| etag.matches(known)) {
            (
                ItemOutcome::NotModified(etag),
                charge::read_nothing(self.read_cost),
            )
        } else {
            let charge = charge::read(header.user_bytes as usize, self.read_cost);
            (ItemOutcome::Read(stored.into_body()), charge)
        };
        Applied {
            outcome,
            charge,
            item_lsn: header.lsn,
        }
    }

    fn create(
        &mut self,
        overlay: &mut Overlay<'_>,
        operation: &Operation,
        item: &PreparedItem,
    ) -> Result<Applied, Error> {
        if let Some((_, stored)) = self.find_by_id(overlay, &item.epk, &item.id)? {
            check_if_match(operation, &stored)?;
            return Err(Error::conflict());
        }
        self.insert(overlay, item)
    }

    /// A live item or 404.
    fn find(
        &mut self,
        overlay: &mut Overlay<'_>,
        epk: &EffectivePartitionKey,
        place: &Place,
    ) -> Result<(DocId, StoredItem), Error> {
        match place {
            Place::Id(id) => self.find_by_id(overlay, epk, id)?.ok_or(Error::NotFound),
            Place::DocId(docid) => {
                let value = overlay.get(&keys::item(*docid))?.ok_or(Error::NotFound)?;
                let stored = StoredItem::decode(value)?;
                if stored.epk() != epk.as_bytes() || !self.is_live(&stored) {
                    return Err(Error::NotFound);
                }
                Ok((*docid, stored))
            }
        }
    }

    /// The live item of that id. An expired one is removed on the way: for uniqueness it is gone.
    fn find_by_id(
        &mut self,
        overlay: &mut Overlay<'_>,
        epk: &EffectivePartitionKey,
        id: &str,
    ) -> Result<Option<(DocId, StoredItem)>, Error> {
        let Some(docid) = overlay.get(&keys::id(epk, id))? else {
            return Ok(None);
        };
        let docid = keys::docid_of_value(&docid).ok_or(Error::Damaged("id entry"))?;
        self.live(overlay, docid)
    }

    fn live(
        &mut self,
        overlay: &mut Overlay<'_>,
        docid: DocId,
    ) -> Result<Option<(DocId, StoredItem)>, Error> {
        let value = overlay
            .get(&keys::item(docid))?
            .ok_or(Error::Damaged("id entry"))?;
        let stored = StoredItem::decode(value)?;
        if self.is_live(&stored) {
            return Ok(Some((docid, stored)));
        }
        let old = self.old(stored)?;
        self.remove(overlay, docid, &old, HistoryKind::Expire);
        Ok(None)
    }

    fn is_live(&self, stored: &StoredItem) -> bool {
        stored.is_live(self.ts, self.state.default_ttl())
    }

    fn old(&self, stored: StoredItem) -> Result<Old, Error> {
        let item = json::parse(stored.json()).map_err(|_| Error::Damaged("item"))?;
        let id = item
            .member("id")
            .as_str()
            .ok_or(Error::Damaged("item"))?
            .to_owned();
        let header = stored.header();
        let plan = self.state.index_of(header.policy);
        let terms = plan.terms(&item, header.indexing);
        let unique = self.state.unique().of(&item);
        drop(item);
        Ok(Old {
            stored,
            terms,
            unique,
            id,
        })
    }

    fn insert(&mut self, overlay: &mut Overlay<'_>, item: &PreparedItem) -> Result<Applied, Error> {
        self.check_unique(overlay, item, None)?;
        let item = &*self.at_this_second(item)?;
        let docid = record::docid(self.range, overlay.counters.next_sequence);
        overlay.counters.next_sequence += 1;
        let body = self.put(overlay, docid, item, None)?;
        let charge = self.profile.create(item.user_bytes(), item.terms.charged());
        Ok(Applied {
            outcome: ItemOutcome::Created(body),
            charge,
            item_lsn: self.lsn,
        })
    }

    fn exchange(
        &mut self,
        overlay: &mut Overlay<'_>,
        (docid, stored): (DocId, StoredItem),
        item: &PreparedItem,
        patched: Option<usize>,
    ) -> Result<Applied, Error> {
        let old = self.old(stored)?;
        if old.id != item.id {
            return Err(Error::bad_request(
                "One of the specified inputs is invalid: the id of an item cannot be changed.",
            ));
        }
        self.check_unique(overlay, item, Some(docid))?;
        let item = &*self.at_this_second(item)?;
        // That every write changes `_ts` is part of its price.
        let same_second = old.stored.header().ts == self.ts;
        let own_terms = if same_second {
            0
        } else {
            usize::from(!old.terms.is_empty()) + usize::from(!item.terms.is_empty())
        };
        let changed = old
            .terms
            .difference(&item.terms)
            .charged
            .saturating_sub(own_terms);
        let before = old.stored.header().user_bytes as usize;
        let charge = match patched {
            None => self.profile.replace(before, item.user_bytes(), changed),
            Some(count) => self
                .profile
                .patch(before, item.user_bytes(), changed, count),
        };
        let body = self.put(overlay, docid, item, Some(&old))?;
        Ok(Applied {
            outcome: ItemOutcome::Replaced(body),
            charge,
            item_lsn: self.lsn,
        })
    }

    /// The item with the terms of the second and the policy by which it is really written.
    fn at_this_second<'i>(&self, item: &'i PreparedItem) -> Result<Cow<'i, PreparedItem>, Error> {
        if item.ts == self.ts && item.policy == self.state.index().version() {
            return Ok(Cow::Borrowed(item));
        }
        let mut item = item.clone();
        item.move_to(self.ts, self.state.index())?;
        Ok(Cow::Owned(item))
    }

    fn check_unique(
        &mut self,
        overlay: &mut Overlay<'_>,
        item: &PreparedItem,
        own: Option<DocId>,
    ) -> Result<(), Error> {
        for (constraint, values) in item.unique.iter().enumerate() {
            let key = keys::unique(constraint as u8, &item.epk, values);
            let Some(holder) = overlay.get(&key)? else {
                continue;
            };
            let holder = keys::docid_of_value(&holder).ok_or(Error::Damaged("unique entry"))?;
            if Some(holder) != own && self.live(overlay, holder)?.is_some() {
                return Err(Error::Conflict(
                    "Unique index constraint violation. Resource with specified id, name, or \
                     unique index already exists."
                        .to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn ordinal(&mut self) -> Ordinal {
        let ordinal = self.next_ordinal;
        self.next_ordinal += 1;
        ordinal
    }

    /// Writes a version of an item and everything that follows from it.
    fn put(
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
        let value = StoredBytes::from(std::sync::Arc::<[u8]>::from(value));
        let index_bytes = index_bytes(&item.terms);
        let size = value.len() as u64 + index_bytes;
        let (old_value, old_index) = old.map_or((0, 0), Old::sizes);
        self.check_logical_size(overlay, epk, size, old_value + old_index)?;

        overlay.put(keys::item(docid), value.clone());
        if old.is_none() {
            overlay.put(
                keys::id(&item.epk, &item.id),
                keys::docid_value(docid).as_slice().into(),
            );
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
            overlay.writes.delete(&keys::change(old.lsn, old.ordinal));
        }
        let entry = ChangeEntry {
            docid,
            ts: self.ts,
            epk,
        };
        overlay
            .writes
            .put(&keys::change(header.lsn, header.ordinal), &entry.encode());
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
            overlay
                .writes
                .put(&keys::history(header.lsn, header.ordinal), &entry.encode());
        }
    }

    /// Removes an item and everything that points to it.
    fn remove(&mut self, overlay: &mut Overlay<'_>, docid: DocId, old: &Old, kind: HistoryKind) {
        let ordinal = self.ordinal();
        let epk = EffectivePartitionKey::from_bytes(old.stored.epk().to_vec());
        let header = old.stored.header();
        overlay.delete(keys::item(docid));
        overlay.delete(keys::id(&epk, &old.id));
        overlay.writes.delete(&keys::key(&epk, docid));
        overlay
            .writes
            .delete(&keys::change(header.lsn, header.ordinal));
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
                .put(&keys::history(self.lsn, ordinal), &entry.encode());
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
            return Err(Error::LogicalPartitionFull {
                limit_gb: limit >> 30,
            });
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

/// Bytes of the keys of all terms of an item.
fn index_bytes(terms: &Terms) -> u64 {
    terms.iter().map(|term| term::key_length(term.len())).sum()
}

fn own_end(header: &Header) -> u64 {
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

fn check_if_match(operation: &Operation, stored: &StoredItem) -> Result<(), Error> {
    let etag = || stored.header().tag.to_etag();
    match operation.conditions.if_match.as_deref() {
        Some(condition) if !etag().matches(condition) => Err(Error::PreconditionFailed),
        _ => Ok(()),
    }
}
