//! Point reads: two lookups in the store, one where a hint is good, none where the item was read
//! lately, and no parsing.

pub(crate) mod hints;
pub(crate) mod recent;

use orrery_model::charge;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{DocId, Etag, Lsn};
use orrery_model::partition_key::PartitionKey;
use orrery_model::session::SessionToken;

use crate::answer::{Answer, Failure, Meta};
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;
use crate::layout::keys;
use crate::partition::{Partition, StoredItem};
use crate::throughput::claim::Claim;
use crate::write::{ItemBody, ItemRef};
use hints::ItemName;

/// The headers of a read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// `If-None-Match`.
    pub if_none_match: Option<String>,
    /// The session position that the answer must include.
    pub session: Vec<SessionToken>,
    /// How the request stands to others.
    pub claim: Claim,
}

/// What a read found.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadOutcome {
    /// The item: 200.
    Item(ItemBody),
    /// The version that the client knows: 304.
    NotModified(Etag),
}

impl Engine {
    /// Reads one item.
    pub fn read_item(
        &self,
        container: &Container,
        key: &PartitionKey,
        item: &ItemRef,
        options: &ReadOptions,
    ) -> Result<Answer<ReadOutcome>, Failure> {
        let state = container.state();
        let preparation = self.preparation(container, &state);
        let epk = state
            .key_definition()
            .effective(&*preparation.full_key(key)?);
        let place = match item {
            ItemRef::Id(id) => Place::Id(id),
            ItemRef::Rid(rid) => Place::DocId(preparation.docid(rid)?),
        };
        let partition = container.partition_of(&epk)?;
        let (claim, bytes) = (options.claim, Some(epk.as_bytes()));
        self.admit(container, &partition, claim, bytes)?;
        let default_ttl = state.default_ttl();
        let is_live = |stored: &StoredItem| stored.is_live(preparation.now, default_ttl);
        let answer = self.read_there(&partition, &epk, place, options, is_live);
        self.settled(container, &partition, claim, bytes, answer)
    }

    /// The item at a place of a partition, as the request wants it.
    fn read_there(
        &self,
        partition: &Partition,
        epk: &EffectivePartitionKey,
        place: Place<'_>,
        options: &ReadOptions,
        is_live: impl Fn(&StoredItem) -> bool,
    ) -> Result<Answer<ReadOutcome>, Failure> {
        let cost = self.environment().read_cost;
        let meta = |lsn, charge| Meta::at(partition, lsn, charge);
        let nothing = charge::read_nothing(cost);
        let refuse = |error| Failure {
            error,
            meta: meta(partition.lsn(), nothing),
        };
        self.check_session(partition, &options.session)
            .map_err(refuse)?;
        let (lsn, found) = self
            .look_up(partition, epk, place, is_live)
            .map_err(refuse)?;
        let Some(stored) = found else {
            return Err(Failure {
                error: Error::NotFound,
                meta: meta(lsn, nothing),
            });
        };
        let header = *stored.header();
        let known = options.if_none_match.as_deref();
        let known = known.map(|known| (header.tag.to_etag(), known));
        let (value, charge) =
            if let Some((etag, _)) = known.filter(|(etag, known)| etag.matches(known)) {
                (ReadOutcome::NotModified(etag), nothing)
            } else {
                let charge = charge::read(header.user_bytes as usize, cost);
                (ReadOutcome::Item(stored.into_body()), charge)
            };
        Ok(Answer {
            value,
            meta: Meta {
                item_lsn: Some(header.lsn),
                ..meta(lsn, charge)
            },
        })
    }

    /// The live item at a place and the position at which it is there.
    fn look_up(
        &self,
        partition: &Partition,
        epk: &EffectivePartitionKey,
        place: Place<'_>,
        is_live: impl Fn(&StoredItem) -> bool,
    ) -> Result<(Lsn, Option<StoredItem>), Error> {
        let is_good = |stored: &StoredItem| stored.epk() == epk.as_bytes() && is_live(stored);
        let id = match place {
            Place::Id(id) => id,
            Place::DocId(docid) => {
                let (lsn, stored) = self.item_at(partition, docid)?;
                return Ok((lsn, stored.filter(is_good)));
            }
        };
        let name = ItemName {
            part: partition.part(),
            epk,
            id,
        };
        if let Some(docid) = self.hints().find(name) {
            let (lsn, stored) = self.item_at(partition, docid)?;
            // An expired item may wait here for its removal while its id is in use again.
            let stored = stored.filter(|stored| is_good(stored) && stored.has_id(id));
            if stored.is_some() {
                return Ok((lsn, stored));
            }
        }
        // Id and item come from one snapshot, so a delete in between is not seen by half.
        let snapshot = self.snapshot(partition)?;
        let stored = match snapshot.docid(epk, id)? {
            Some(docid) => {
                self.hints().note(name, docid);
                snapshot.item(docid)?.filter(is_good)
            }
            None => None,
        };
        Ok((snapshot.lsn(), stored))
    }

    fn item_at(
        &self,
        partition: &Partition,
        docid: DocId,
    ) -> Result<(Lsn, Option<StoredItem>), Error> {
        if self.is_read_region() {
            let snapshot = self.snapshot(partition)?;
            return Ok((snapshot.lsn(), snapshot.item(docid)?));
        }
        let part = partition.part();
        let recent = &self.environment().recent;
        // Before the look: what the item has been since then may be newer than this.
        let lsn = partition.lsn();
        let ticket = match recent.find(part, docid) {
            Ok(stored) => return Ok((lsn.max(stored.header().lsn), Some(stored))),
            Err(ticket) => ticket,
        };
        let (head, values) = self.store().get_many(part, &[&keys::item_key(docid)])?;
        let value = values.into_iter().next().flatten();
        let stored = value.map(StoredItem::decode).transpose()?;
        if let Some(stored) = &stored {
            recent.keep(part, docid, ticket, stored);
        }
        Ok((Lsn(head.lsn), stored))
    }
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
enum Place<'p> {
    Id(&'p str),
    DocId(DocId),
}
