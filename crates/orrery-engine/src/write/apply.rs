//! One operation against what is stored: what is found decides; [`entries`] writes.

pub(crate) mod entries;

use std::borrow::Cow;

use orrery_model::charge::{self, Charge, Profile, ReadCost};
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{DocId, Lsn};
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::rid::ResourceId;

use super::ItemOutcome;
use super::overlay::Overlay;
use super::prepare::{Action, Operation, Place, Preparation, PreparedItem};
use crate::container::ContainerState;
use crate::error::Error;
use crate::layout::entries::HistoryKind;
use crate::layout::keys::{self, Ordinal};
use crate::layout::record;
use crate::partition::StoredItem;
use crate::write::patching;
use entries::Old;

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
            Action::Create(item) => self.create(overlay, item),
            Action::Upsert(item) => match self.find_by_id(overlay, &item.epk, &item.id)? {
                // The precondition of an upsert that creates is ignored (protocol: section 1.3).
                None => self.insert(overlay, item),
                Some(found) => {
                    self.check_same_key(&found.1, item)?;
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

    fn create(&mut self, overlay: &mut Overlay<'_>, item: &PreparedItem) -> Result<Applied, Error> {
        // A precondition speaks of an item that is there: a create has none.
        if let Some((_, stored)) = self.find_by_id(overlay, &item.epk, &item.id)? {
            self.check_same_key(&stored, item)?;
            return Err(Error::conflict());
        }
        self.insert(overlay, item)
    }

    /// Refuses to take one item for another whose key only begins like its own.
    fn check_same_key(&self, stored: &StoredItem, item: &PreparedItem) -> Result<(), Error> {
        let definition = self.state.key_definition();
        if !definition.cuts_keys() {
            return Ok(());
        }
        let key_of = |text: &[u8]| {
            let value = json::project(text, &definition.path_tree());
            definition.extract(&value)
        };
        match (key_of(stored.json()), key_of(&item.text())) {
            (Ok(stored), Ok(own)) if stored != own => Err(Error::KeyCollision),
            _ => Ok(()),
        }
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

    /// A replacement may carry another id, as long as it is free; a patch may not change the id
    /// (the SDKs' own tests replace items under new ids).
    fn check_rename(
        &mut self,
        overlay: &mut Overlay<'_>,
        item: &PreparedItem,
        patched: bool,
    ) -> Result<(), Error> {
        if patched {
            return Err(Error::bad_request(
                "One of the specified inputs is invalid: the id of an item cannot be changed.",
            ));
        }
        match self.find_by_id(overlay, &item.epk, &item.id)? {
            Some(_) => Err(Error::conflict()),
            None => Ok(()),
        }
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
            self.check_rename(overlay, item, patched.is_some())?;
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
                return Err(Error::UniqueKey);
            }
        }
        Ok(())
    }
}

fn check_if_match(operation: &Operation, stored: &StoredItem) -> Result<(), Error> {
    let etag = || stored.header().tag.to_etag();
    match operation.conditions.if_match.as_deref() {
        Some(condition) if !etag().matches(condition) => Err(Error::PreconditionFailed),
        _ => Ok(()),
    }
}
