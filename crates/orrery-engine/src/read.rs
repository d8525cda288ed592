//! Point reads: two lookups and no parsing.

use orrery_model::charge;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::Etag;
use orrery_model::partition_key::PartitionKey;
use orrery_model::session::SessionToken;

use crate::answer::{Answer, Failure, Meta};
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;
use crate::partition::{PartitionSnapshot, StoredItem};
use crate::write::prepare::Place;
use crate::write::{ItemBody, ItemRef};

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
        let snapshot = partition.snapshot(&**self.store()).map_err(refuse)?;
        let lsn = snapshot.lsn();
        let found = look_up(&snapshot, &epk, &place).map_err(refuse)?;
        let now = self.environment().clock.now_seconds();
        let Some(stored) = found.filter(|stored| stored.is_live(now, state.default_ttl())) else {
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
}

/// The item at a place. Id and item come from one snapshot, so a delete in between is not seen
/// by half.
fn look_up(
    snapshot: &PartitionSnapshot,
    epk: &EffectivePartitionKey,
    place: &Place,
) -> Result<Option<StoredItem>, Error> {
    let docid = match place {
        Place::DocId(docid) => Some(*docid),
        Place::Id(id) => snapshot.docid(epk, id)?,
    };
    let Some(docid) = docid else { return Ok(None) };
    let stored = snapshot.item(docid)?;
    Ok(stored.filter(|stored| stored.epk() == epk.as_bytes()))
}
