//! Point reads: two lookups and no parsing.

use std::sync::Arc;

use orrery_model::charge;
use orrery_model::ids::{Etag, Lsn};
use orrery_model::partition_key::PartitionKey;
use orrery_model::session::SessionToken;

use crate::answer::{Answer, Failure, Meta};
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;
use crate::layout::keys;
use crate::partition::{Partition, StoredItem};
use crate::write::prepare::Place;
use crate::write::{ItemBody, ItemRef};

/// How often a read that lost a race against a delete and a create of the same id is repeated.
const ATTEMPTS: usize = 8;

/// The headers of a read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// `If-None-Match`.
    pub if_none_match: Option<String>,
    /// The session position that the answer must include.
    pub session: Vec<SessionToken>,
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
            .effective(&preparation.full_key(key)?);
        let place = preparation.place(item)?;
        let partition = container.partition_of(&epk)?;
        let cost = self.environment().read_cost;
        let meta = |lsn, charge| Meta {
            charge,
            range: Some(partition.id()),
            lsn,
            item_lsn: None,
        };
        let nothing = charge::read_nothing(cost);
        let refuse = |error| Failure {
            error,
            meta: meta(partition.lsn(), nothing),
        };
        partition.check_session(&options.session).map_err(refuse)?;
        let (lsn, found) = self.look_up(&partition, &epk, &place).map_err(refuse)?;
        let now = self.environment().clock.now_seconds();
        let Some(stored) = found.filter(|stored| stored.is_live(now, state.default_ttl())) else {
            return Err(Failure {
                error: Error::NotFound,
                meta: meta(lsn, nothing),
            });
        };
        let header = *stored.header();
        let etag = header.tag.to_etag();
        let known = options.if_none_match.as_deref();
        let (value, charge) = if known.is_some_and(|known| etag.matches(known)) {
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

    /// The item at a place, and the position at which that was true.
    fn look_up(
        &self,
        partition: &Arc<Partition>,
        epk: &orrery_model::epk::EffectivePartitionKey,
        place: &Place,
    ) -> Result<(Lsn, Option<StoredItem>), Error> {
        let store = &self.environment().store;
        let part = partition.part();
        for _ in 0..ATTEMPTS {
            let docid = match place {
                Place::DocId(docid) => *docid,
                Place::Id(id) => {
                    let (head, values) = store.get_many(part, &[&keys::id(epk, id)])?;
                    match values.into_iter().next().flatten() {
                        None => return Ok((Lsn(head.lsn), None)),
                        Some(value) => {
                            keys::docid_of_value(&value).ok_or(Error::Damaged("id entry"))?
                        }
                    }
                }
            };
            let (head, values) = store.get_many(part, &[&keys::item(docid)])?;
            let stored = match values.into_iter().next().flatten() {
                Some(value) => Some(StoredItem::decode(value)?),
                // Deleted between the two lookups; maybe created again under another docid.
                None if matches!(place, Place::Id(_)) => continue,
                None => None,
            };
            let stored = stored.filter(|stored| stored.epk() == epk.as_bytes());
            return Ok((Lsn(head.lsn), stored));
        }
        Ok((partition.lsn(), None))
    }
}
