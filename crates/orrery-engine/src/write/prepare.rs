//! From bodies and headers to operations that need nothing but the stored state.

use std::borrow::Cow;

use orrery_model::container::item_ttl;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{DocId, IdError, ItemId};
use orrery_model::index::Terms;
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::partition_key::{KeyComponent, PartitionKey, PartitionKeyDefinition};
use orrery_model::rid::{ResourceId, RidKind};
use orrery_model::value::Value;

use super::{BatchKind, BatchOperation, Conditions, IndexingDirective, ItemRef, WriteKind};
use crate::container::ContainerState;
use crate::error::Error;
use crate::index::IndexPlan;
use crate::layout::record::SYSTEM_PROPERTIES;
use crate::patch::PatchDocument;
use crate::throughput::claim::Claim;

/// Everything about a new version of an item that does not depend on what is stored.
#[derive(Debug, Clone)]
pub struct PreparedItem {
    /// Its id.
    pub id: String,
    /// Its place.
    pub epk: EffectivePartitionKey,
    /// The canonical text of the user's members, without the closing brace.
    pub members: Vec<u8>,
    /// Its terms, if it is written in second `ts`.
    pub terms: Terms,
    /// The `_ts` that the terms have.
    pub ts: u64,
    /// What it occupies, see [`super::unique`].
    pub unique: Vec<Vec<u8>>,
    /// Its own time to live; 0 for none.
    pub ttl: i32,
    /// Whether it is indexed.
    pub indexing: IndexingDirective,
    /// Version of the plan that made the terms.
    pub policy: u32,
}

impl PreparedItem {
    /// Bytes of the user's JSON, for the charge.
    pub fn user_bytes(&self) -> usize {
        self.members.len() + 1
    }

    /// The canonical text of the user's members as an object.
    pub fn text(&self) -> Vec<u8> {
        [self.members.as_slice(), b"}"].concat()
    }
}

/// An item as an operation names it, in terms of the store.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// By id.
    Id(String),
    /// By docid.
    DocId(DocId),
}

/// What to do with one item.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are of the large kind, and a box would be an allocation for each"
)]
#[derive(Debug, Clone)]
pub enum Action {
    /// See [`WriteKind::Create`].
    Create(PreparedItem),
    /// See [`WriteKind::Upsert`].
    Upsert(PreparedItem),
    /// See [`WriteKind::Replace`].
    Replace(Place, PreparedItem),
    /// See [`WriteKind::Patch`].
    Patch(Place, PatchDocument),
    /// See [`WriteKind::Delete`].
    Delete(Place),
    /// See [`BatchKind::Read`].
    Read(Place),
}

/// One operation, ready for the partition's write order.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The logical partition.
    pub epk: EffectivePartitionKey,
    /// What to do.
    pub action: Action,
    /// If-Match and its kin.
    pub conditions: Conditions,
    /// Whether to index.
    pub indexing: IndexingDirective,
    /// Whether the answer to a write leaves out the item.
    pub minimal: bool,
    /// How its request stands to others.
    pub claim: Claim,
}

/// Makes operations of requests for one container.
pub struct Preparation<'c> {
    /// The container as it is now.
    pub state: &'c ContainerState,
    /// Its rid, to check items named by rid.
    pub container: ResourceId,
    /// The limits that apply.
    pub limits: &'c Limits,
    /// The second of the write, as far as it can be known.
    pub now: u64,
}

impl Preparation<'_> {
    fn definition(&self) -> &PartitionKeyDefinition {
        self.state.key_definition()
    }

    /// The full key that a header gives.
    pub fn full_key<'k>(&self, key: &'k PartitionKey) -> Result<Cow<'k, PartitionKey>, Error> {
        let definition = self.definition();
        let values = key.components().iter().all(KeyComponent::is_value);
        if !definition.is_full(key) || !values {
            return Err(Error::PartitionKeyMismatch);
        }
        key.check_length()
            .map_err(|error| Error::bad_request(error.to_string()))?;
        Ok(if key.is_empty() {
            Cow::Owned(definition.complete(PartitionKey::default()))
        } else {
            Cow::Borrowed(key)
        })
    }

    fn effective(&self, key: Option<&PartitionKey>) -> Result<EffectivePartitionKey, Error> {
        let key = self.full_key(key.ok_or(Error::PartitionKeyMissing)?)?;
        Ok(self.definition().effective(&key))
    }

    /// One operation of a write request.
    pub fn write(
        &self,
        kind: &WriteKind,
        key: Option<&PartitionKey>,
        conditions: Conditions,
        indexing: IndexingDirective,
    ) -> Result<Operation, Error> {
        let (epk, action) = match kind {
            WriteKind::Create { body } => {
                let item = self.item(body, key, indexing)?;
                (item.epk.clone(), Action::Create(item))
            }
            WriteKind::Upsert { body } => {
                let item = self.item(body, key, indexing)?;
                (item.epk.clone(), Action::Upsert(item))
            }
            WriteKind::Replace { item, body } => {
                let place = self.place(item)?;
                self.replace(place, body, key, indexing)?
            }
            WriteKind::Patch { item, body } => {
                let epk = self.effective(key)?;
                (epk, Action::Patch(self.place(item)?, self.patch(body)?))
            }
            WriteKind::Delete { item } => (self.effective(key)?, Action::Delete(self.place(item)?)),
            WriteKind::Batch { .. } | WriteKind::DeletePartitionKey => {
                return Err(Error::bad_request("A batch cannot hold a batch"));
            }
        };
        Ok(Operation {
            epk,
            action,
            conditions,
            indexing,
            minimal: false,
            claim: Claim::default(),
        })
    }

    /// One operation of a batch under the given key.
    pub fn batch_operation(
        &self,
        operation: &BatchOperation,
        key: Option<&PartitionKey>,
    ) -> Result<Operation, Error> {
        let indexing = operation.indexing;
        let (epk, action) = match &operation.kind {
            BatchKind::Create { body } => {
                let item = self.item(body, key, indexing)?;
                (item.epk.clone(), Action::Create(item))
            }
            BatchKind::Upsert { body } => {
                let item = self.item(body, key, indexing)?;
                (item.epk.clone(), Action::Upsert(item))
            }
            BatchKind::Replace { id, body } => {
                self.replace(Place::Id(id.clone()), body, key, indexing)?
            }
            BatchKind::Patch { id, body } => (
                self.effective(key)?,
                Action::Patch(Place::Id(id.clone()), self.patch(body)?),
            ),
            BatchKind::Delete { id } => {
                (self.effective(key)?, Action::Delete(Place::Id(id.clone())))
            }
            BatchKind::Read { id } => (self.effective(key)?, Action::Read(Place::Id(id.clone()))),
        };
        Ok(Operation {
            epk,
            action,
            conditions: operation.conditions.clone(),
            indexing,
            minimal: operation.minimal,
            claim: Claim::default(),
        })
    }

    fn replace(
        &self,
        place: Place,
        body: &[u8],
        key: Option<&PartitionKey>,
        indexing: IndexingDirective,
    ) -> Result<(EffectivePartitionKey, Action), Error> {
        let item = self.item(body, key, indexing)?;
        Ok((item.epk.clone(), Action::Replace(place, item)))
    }

    /// What the store knows of an item's name.
    pub fn place(&self, item: &ItemRef) -> Result<Place, Error> {
        match item {
            ItemRef::Id(id) => Ok(Place::Id(id.clone())),
            ItemRef::Rid(rid) => Ok(Place::DocId(self.docid(rid)?)),
        }
    }

    /// The docid in an item's rid; items of other containers are not found.
    pub fn docid(&self, rid: &ResourceId) -> Result<DocId, Error> {
        match (rid.kind(), rid.number()) {
            (RidKind::Document, Some(number)) if rid.container_id() == Some(self.container) => {
                Ok(DocId(number))
            }
            _ => Err(Error::NotFound),
        }
    }

    fn patch(&self, body: &[u8]) -> Result<PatchDocument, Error> {
        self.check_size(body.len())?;
        let document = PatchDocument::parse(body)?;
        document.check_paths(self.state.key_segments().iter().map(Vec::as_slice))?;
        Ok(document)
    }

    fn check_size(&self, bytes: usize) -> Result<(), Error> {
        if bytes > self.limits.item_bytes {
            return Err(Error::TooLarge("Request size is too large".to_owned()));
        }
        Ok(())
    }

    /// A new version of an item from its JSON text.
    pub fn item(
        &self,
        body: &[u8],
        key: Option<&PartitionKey>,
        indexing: IndexingDirective,
    ) -> Result<PreparedItem, Error> {
        self.check_size(body.len())?;
        let item = json::parse(body).map_err(|error| {
            Error::bad_request(format!("The input content is invalid: {error}"))
        })?;
        self.value(item, key, indexing)
    }

    /// A new version of an item from its value.
    pub fn value(
        &self,
        item: Value<'_>,
        key: Option<&PartitionKey>,
        indexing: IndexingDirective,
    ) -> Result<PreparedItem, Error> {
        let Value::Object(mut members) = item else {
            return Err(Error::bad_request(
                "The input content is invalid: an item is an object.",
            ));
        };
        for name in SYSTEM_PROPERTIES {
            members.remove(name);
        }
        let id = members
            .get("id")
            .and_then(Value::as_str)
            .ok_or_else(|| Error::bad_request(IdError::Missing.to_string()))?
            .to_owned();
        ItemId::check(&id).map_err(|error| Error::bad_request(error.to_string()))?;
        let mut text = Vec::with_capacity(1024);
        let item = Value::Object(members);
        json::write(&item, &mut text);
        self.check_size(text.len())?;
        text.pop();
        let own_key = self.own_key(&item)?;
        if let Some(key) = key
            && *self.full_key(key)? != own_key
        {
            return Err(Error::PartitionKeyMismatch);
        }
        let ttl = item_ttl(&item).map_err(|error| Error::bad_request(error.to_string()))?;
        let plan = self.state.index();
        Ok(PreparedItem {
            id,
            epk: self.definition().effective(&own_key),
            members: text,
            unique: self.state.unique().of(&item),
            terms: terms_at(plan, item, self.now, indexing),
            ts: self.now,
            ttl: ttl.unwrap_or_default(),
            indexing,
            policy: plan.version(),
        })
    }

    fn own_key(&self, item: &Value<'_>) -> Result<PartitionKey, Error> {
        self.definition()
            .extract(item)
            .map_err(|error| Error::bad_request(error.to_string()))
    }
}

/// The terms of an item that is written in that second.
fn terms_at(plan: &IndexPlan, mut item: Value<'_>, ts: u64, indexing: IndexingDirective) -> Terms {
    if let Some(members) = item.as_object_mut() {
        members.insert("_ts", ts);
    }
    plan.terms(&item, indexing)
}

impl PreparedItem {
    /// Moves the item to another second or indexing policy: the clock went on, or the container
    /// changed, since it was prepared.
    pub fn move_to(&mut self, ts: u64, plan: &IndexPlan) -> Result<(), Error> {
        self.ts = ts;
        self.policy = plan.version();
        let text = [self.members.as_slice(), b"}"].concat();
        // We wrote the text ourselves.
        let item = json::parse(&text).map_err(|_| Error::Damaged("prepared item"))?;
        self.terms = terms_at(plan, item, ts, self.indexing);
        Ok(())
    }
}
