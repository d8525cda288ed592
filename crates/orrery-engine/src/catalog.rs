//! Everything of the account but items: databases, containers, users, permissions, scripts, keys
//! and offers. Kept whole in memory ([`tree`]), durable in the account's part.
//!
//! One change at a time: it is checked against the tree, committed, and only then visible. What
//! a change needs to be whole (a container, its offer and its partitions; a database and all
//! below it) is in one commit, so a crash leaves either the old catalog or the new one.

mod buckets;
mod containers;
pub mod feeds;
mod kinds;
mod offers;
mod record;
mod tree;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use orrery_model::charge::{Charge, Profile};
use orrery_model::ids::Etag;
use orrery_model::json;
use orrery_model::resource_path::{ResourceKind, ResourcePath};
use orrery_model::rid::{ResourceId, RidKind};
use orrery_model::throughput::Throughput;
use orrery_model::value::{Object, Value};
use orrery_storage::Writes;

use crate::account::Account;
use crate::answer::{Answer, Failure, Meta};
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;
use record::{RECORD, Record};
use tree::Tree;

pub use feeds::{QuerySpec, ResourceFeed};
pub use offers::OfferMigration;

/// The headers of a metadata request that matter here.
#[derive(Debug, Clone, Default)]
pub struct MetadataOptions {
    /// `x-ms-offer-throughput`.
    pub throughput: Option<i64>,
    /// `x-ms-cosmos-offer-autopilot-settings`, JSON text.
    pub autoscale_settings: Option<String>,
    /// A change between manual and autoscale throughput.
    pub migration: Option<OfferMigration>,
    /// `If-Match`.
    pub if_match: Option<String>,
}

/// What became of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceOutcome {
    /// It was read, or replaced.
    Found,
    /// It is new.
    Created,
    /// It is gone; the body is empty.
    Deleted,
}

/// A resource as answered.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The resource id.
    pub rid: ResourceId,
    /// The etag, quotes included.
    pub etag: Etag,
    /// The JSON body with system properties.
    pub body: Vec<u8>,
    /// The path by names, `dbs/a/colls/b`.
    pub alt_path: String,
    /// What happened.
    pub outcome: ResourceOutcome,
    /// Throughput facts of an offer, for response headers.
    pub offer: Option<OfferFacts>,
}

/// What the headers of an offer's answer tell (protocol: section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferFacts {
    /// The least throughput that a replace may ask for.
    pub minimum: u64,
    /// Whether partitions are still being added.
    pub replace_pending: bool,
}

/// What an engine keeps for its catalog.
#[derive(Debug)]
pub(crate) struct CatalogState {
    tree: RwLock<Tree>,
    /// Held from the check of a change until it is visible.
    writer: Mutex<()>,
}

impl CatalogState {
    /// Reads the resources from the account's part.
    pub fn load(account: &Account) -> Result<Self, Error> {
        let mut tree = Tree::default();
        for (key, value) in account.scan(&[RECORD])? {
            tree.put(Arc::new(Record::decode(&key, &value)?));
        }
        Ok(Self {
            tree: RwLock::new(tree),
            writer: Mutex::new(()),
        })
    }
}

/// What one operation does to the catalog.
#[derive(Debug, Default)]
struct Change {
    /// New or changed resources.
    puts: Vec<Arc<Record>>,
    /// Resources that go.
    deletes: Vec<ResourceId>,
}

impl Change {
    fn put(record: Arc<Record>) -> Self {
        Self {
            puts: vec![record],
            deletes: Vec::new(),
        }
    }

    fn writes(&self) -> Writes {
        let mut writes = Writes::new();
        for rid in &self.deletes {
            writes.delete(&record::record_key(*rid));
        }
        for record in &self.puts {
            writes.put(&record.key(), &record.encode());
        }
        writes
    }
}

/// The catalog of an account: what [`Engine::catalog`] gives.
#[derive(Clone, Copy)]
pub struct Catalog<'e> {
    engine: &'e Engine,
    state: &'e CatalogState,
}

impl<'e> Catalog<'e> {
    pub(crate) fn new(engine: &'e Engine, state: &'e CatalogState) -> Self {
        Self { engine, state }
    }

    /// Creates a resource in a feed.
    pub fn create(
        &self,
        feed: &ResourcePath,
        body: &[u8],
        options: &MetadataOptions,
    ) -> Result<Answer<Resource>, Failure> {
        let _turn = self.turn();
        self.create_in_turn(feed, body, options)
    }

    fn create_in_turn(
        &self,
        feed: &ResourcePath,
        body: &[u8],
        options: &MetadataOptions,
    ) -> Result<Answer<Resource>, Failure> {
        let kind = feed.kind();
        let owner = self.read_tree(|tree| tree.resolve_owner(feed))?;
        let parent = owner.map(|record| record.rid);
        let object = kinds::parse_body(body)?;
        let offer = self.requested_throughput(options)?;
        let record = match kind {
            ResourceKind::Container => {
                let database = parent.ok_or(Error::OwnerNotFound)?;
                self.create_container(database, object, offer)?
            }
            ResourceKind::Database => self.create_database(object, offer)?,
            ResourceKind::User
            | ResourceKind::Permission
            | ResourceKind::StoredProcedure
            | ResourceKind::Trigger
            | ResourceKind::UserDefinedFunction
            | ResourceKind::ClientEncryptionKey => {
                let content = kinds::check(kind, object)?;
                self.check_counts(kind, parent)?;
                self.check_permission(kind, parent, None, &content)?;
                let record = self.new_record(kind, parent, content, Value::Null)?;
                self.commit(&Change::put(record.clone()))?;
                record
            }
            _ => return Err(Error::MethodNotAllowed.into()),
        };
        Ok(self.answer(&record, ResourceOutcome::Created))
    }

    /// Reads a resource.
    pub fn read(&self, path: &ResourcePath) -> Result<Answer<Resource>, Failure> {
        let record = self.read_tree(|tree| tree.resolve(path))?;
        Ok(self.answer(&record, ResourceOutcome::Found))
    }

    /// Replaces a resource.
    pub fn replace(
        &self,
        path: &ResourcePath,
        body: &[u8],
        options: &MetadataOptions,
    ) -> Result<Answer<Resource>, Failure> {
        let _turn = self.turn();
        self.replace_in_turn(path, body, options)
    }

    fn replace_in_turn(
        &self,
        path: &ResourcePath,
        body: &[u8],
        options: &MetadataOptions,
    ) -> Result<Answer<Resource>, Failure> {
        let old = self.read_tree(|tree| tree.resolve(path))?;
        check_match(&old, options)?;
        let object = kinds::parse_body(body)?;
        let record = match old.kind {
            ResourceKind::Container => self.replace_container(&old, object)?,
            ResourceKind::Offer => {
                offers::check_identity(&old, body)?;
                self.engine.admit_throughput_change()?;
                self.replace_offer(&old, &object, options)?
            }
            ResourceKind::Database => return Err(Error::MethodNotAllowed.into()),
            kind => {
                let content = kinds::check(kind, object)?;
                let id = content
                    .get("id")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                if id != old.name() {
                    if !kinds::may_rename(kind) {
                        return Err(kinds::rename_refusal(kind).into());
                    }
                    self.check_name_free(kind, old.parent(), id)?;
                }
                self.check_permission(kind, old.parent(), Some(old.rid), &content)?;
                let record = self.changed(&old, content, Value::Null);
                self.commit(&Change::put(record.clone()))?;
                record
            }
        };
        Ok(self.answer(&record, ResourceOutcome::Found))
    }

    /// Creates a resource, or replaces the one of that id.
    pub fn upsert(
        &self,
        feed: &ResourcePath,
        body: &[u8],
        options: &MetadataOptions,
    ) -> Result<Answer<Resource>, Failure> {
        match feed.kind() {
            ResourceKind::StoredProcedure
            | ResourceKind::Trigger
            | ResourceKind::UserDefinedFunction => {
                return Err(Error::bad_request(
                    "Upserts for scripts in collections with multiple partitions are not supported.",
                )
                .into());
            }
            ResourceKind::User | ResourceKind::Permission => {}
            _ => return Err(Error::MethodNotAllowed.into()),
        }
        let _turn = self.turn();
        let owner = self.read_tree(|tree| tree.resolve_owner(feed))?;
        let object = kinds::parse_body(body)?;
        let id = object.get("id").and_then(Value::as_str).unwrap_or_default();
        let parent = owner.map(|record| record.rid);
        let found = self.read_tree(|tree| tree.named(parent, feed.kind(), id).cloned());
        match found.map(|record| ResourcePath::of_rid(record.rid)) {
            Some(Some(path)) => self.replace_in_turn(&path, body, options),
            _ => self.create_in_turn(feed, body, options),
        }
    }

    /// Deletes a resource and everything below it.
    pub fn delete(
        &self,
        path: &ResourcePath,
        options: &MetadataOptions,
    ) -> Result<Answer<Resource>, Failure> {
        let _turn = self.turn();
        let record = self.read_tree(|tree| tree.resolve(path))?;
        if record.kind == ResourceKind::Offer {
            return Err(Error::MethodNotAllowed.into());
        }
        check_match(&record, options)?;
        let mut answer = self.answer(&record, ResourceOutcome::Deleted);
        answer.value.body = Vec::new();
        let mut gone: Vec<Arc<Record>> = self.read_tree(|tree| tree.subtree(record.rid));
        let offers: Vec<_> = gone
            .iter()
            .filter_map(|record| self.offer_of(record.rid))
            .collect();
        gone.extend(offers);
        let containers: Vec<_> = gone
            .iter()
            .filter_map(|record| self.serving(record))
            .collect();
        let deletes = gone.iter().map(|record| record.rid).collect();
        let change = Change {
            puts: Vec::new(),
            deletes,
        };
        self.engine.drop_containers(&containers, change.writes())?;
        self.show(&change);
        Ok(answer)
    }

    /// The container that a path names or lies in.
    pub fn container(&self, path: &ResourcePath) -> Result<Arc<Container>, Error> {
        let rid = self.read_tree(|tree| tree.container_rid(path))?;
        let number = rid.owner_number().unwrap_or_default();
        let container = self
            .engine
            .container_by_number(rid.database_number(), number);
        container.ok_or(Error::OwnerNotFound)
    }

    /// What serves the items of a container's record.
    fn serving(&self, record: &Record) -> Option<Arc<Container>> {
        let number = record.rid.owner_number()?;
        let is_container = record.kind == ResourceKind::Container;
        is_container
            .then(|| {
                self.engine
                    .container_by_number(record.rid.database_number(), number)
            })
            .flatten()
    }

    fn turn(&self) -> MutexGuard<'e, ()> {
        self.state
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn read_tree<T>(&self, read: impl FnOnce(&Tree) -> T) -> T {
        read(
            &self
                .state
                .tree
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn commit(&self, change: &Change) -> Result<(), Error> {
        self.engine.account().commit(change.writes())?;
        self.show(change);
        Ok(())
    }

    /// Makes a committed change visible.
    fn show(&self, change: &Change) {
        let mut tree = self
            .state
            .tree
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for rid in &change.deletes {
            tree.remove(*rid);
        }
        for record in &change.puts {
            tree.put(record.clone());
        }
        drop(tree);
        let is_rate = |record: &Arc<Record>| {
            matches!(record.kind, ResourceKind::Offer | ResourceKind::Container)
        };
        if !change.deletes.is_empty() || change.puts.iter().any(is_rate) {
            self.engine.provision();
        }
    }

    fn create_database(
        &self,
        object: Object<'static>,
        offer: Option<Throughput>,
    ) -> Result<Arc<Record>, Error> {
        self.check_counts(ResourceKind::Database, None)?;
        let content = kinds::check(ResourceKind::Database, object)?;
        let record = self.new_record(ResourceKind::Database, None, content, Value::Null)?;
        let mut change = Change::put(record.clone());
        if let Some(offer) = offer {
            change.puts.push(self.new_offer(&record, offer)?);
        }
        self.commit(&change)?;
        Ok(record)
    }

    /// A resource with a fresh rid, after its name was found free.
    fn new_record(
        &self,
        kind: ResourceKind,
        parent: Option<ResourceId>,
        content: Object<'static>,
        internal: Value<'static>,
    ) -> Result<Arc<Record>, Error> {
        let id = content
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        self.check_name_free(kind, parent, id)?;
        let sequence = self.engine.account().take_numbers("resource", 1)?;
        let rid = self.fresh_rid(kind, parent, sequence)?;
        Ok(Arc::new(Record {
            kind,
            rid,
            sequence,
            etag: self.fresh_etag(),
            ts: self.engine.clock().now_seconds(),
            content,
            internal,
        }))
    }

    /// The same resource after a write.
    fn changed(
        &self,
        old: &Record,
        content: Object<'static>,
        internal: Value<'static>,
    ) -> Arc<Record> {
        Arc::new(Record {
            etag: self.fresh_etag(),
            ts: self.engine.clock().now_seconds(),
            content,
            internal,
            ..old.clone()
        })
    }

    fn fresh_etag(&self) -> Etag {
        let bits = u128::from(self.engine.entropy().next_u64()) << 64
            | u128::from(self.engine.entropy().next_u64());
        Etag::from_bits(bits)
    }

    /// Databases, containers and users get random numbers, so that a name used again never has an
    /// old rid; all else counts up.
    fn fresh_rid(
        &self,
        kind: ResourceKind,
        parent: Option<ResourceId>,
        sequence: u64,
    ) -> Result<ResourceId, Error> {
        let database = parent.map_or(0, |parent| parent.database_number());
        let owner = parent.and_then(|parent| parent.owner_number()).unwrap_or(0);
        let child = |kind| parent.and_then(|parent| parent.child(kind, sequence));
        let rid = match kind {
            ResourceKind::Database => Some(self.unused(ResourceId::database)),
            ResourceKind::Container => {
                Some(self.unused(|number| ResourceId::container(database, number)))
            }
            ResourceKind::User => Some(self.unused(|number| ResourceId::user(database, number))),
            ResourceKind::Permission => Some(ResourceId::permission(database, owner, sequence)),
            ResourceKind::StoredProcedure => child(RidKind::StoredProcedure),
            ResourceKind::Trigger => child(RidKind::Trigger),
            ResourceKind::UserDefinedFunction => child(RidKind::UserDefinedFunction),
            ResourceKind::ClientEncryptionKey => child(RidKind::ClientEncryptionKey),
            _ => None,
        };
        rid.ok_or(Error::MethodNotAllowed)
    }

    fn unused(&self, make: impl Fn(u32) -> ResourceId) -> ResourceId {
        loop {
            let number = (self.engine.entropy().next_u64() >> 33) as u32;
            let rid = make(number);
            // Zero as an owner's number would read as "no owner".
            if number != 0 && self.read_tree(|tree| tree.get(rid).is_none()) {
                return rid;
            }
        }
    }

    fn check_name_free(
        &self,
        kind: ResourceKind,
        parent: Option<ResourceId>,
        name: &str,
    ) -> Result<(), Error> {
        if self.read_tree(|tree| tree.named(parent, kind, name).is_some()) {
            return Err(Error::conflict());
        }
        Ok(())
    }

    /// The counts of the service's limits (request units: section 9).
    fn check_counts(&self, kind: ResourceKind, parent: Option<ResourceId>) -> Result<(), Error> {
        let siblings = || self.read_tree(|tree| tree.children(parent, kind, None).count());
        let (count, limit) = match kind {
            ResourceKind::StoredProcedure => (siblings(), self.engine.limits().stored_procedures),
            ResourceKind::Trigger => (siblings(), self.engine.limits().triggers),
            ResourceKind::UserDefinedFunction => {
                (siblings(), self.engine.limits().user_defined_functions)
            }
            ResourceKind::Database | ResourceKind::Container => {
                let all = |kind| self.read_tree(|tree| tree.all(kind).len());
                (
                    all(ResourceKind::Database) + all(ResourceKind::Container),
                    self.engine.limits().databases_and_containers,
                )
            }
            _ => return Ok(()),
        };
        if count >= limit {
            return Err(Error::Forbidden(format!(
                "The number of resources of this kind has reached its limit of {limit}."
            )));
        }
        Ok(())
    }

    /// A permission is for something that is there, and a user has one for a resource and key
    /// (protocol: section 1.4).
    fn check_permission(
        &self,
        kind: ResourceKind,
        user: Option<ResourceId>,
        own: Option<ResourceId>,
        content: &Object<'_>,
    ) -> Result<(), Error> {
        if kind != ResourceKind::Permission {
            return Ok(());
        }
        if let Some(path) = kinds::scope_of(content) {
            self.read_tree(|tree| tree.resolve(&path))
                .map_err(|_| Error::NotFound)?;
        }
        let scope = |object: &Object<'_>| {
            let member = |name: &str| object.get(name).map(json::to_string);
            (member("resource"), member("resourcePartitionKey"))
        };
        let taken = self.read_tree(|tree| {
            tree.children(user, kind, None)
                .any(|other| Some(other.rid) != own && scope(&other.content) == scope(content))
        });
        if taken {
            Err(Error::conflict())
        } else {
            Ok(())
        }
    }

    fn answer(&self, record: &Record, outcome: ResourceOutcome) -> Answer<Resource> {
        let mut body = Vec::new();
        json::write(&Value::Object(record.wire()), &mut body);
        let charge = match outcome {
            ResourceOutcome::Found => Charge::ONE,
            // `id` and `_ts` are the indexed terms of a metadata resource.
            _ => Profile::default().create(body.len(), 2),
        };
        let resource = Resource {
            rid: record.rid,
            etag: record.etag.clone(),
            body,
            alt_path: self.read_tree(|tree| tree.alt_path(record)),
            outcome,
            offer: self.offer_facts(record),
        };
        Answer {
            value: resource,
            meta: Meta::of_charge(charge),
        }
    }
}

fn check_match(record: &Record, options: &MetadataOptions) -> Result<(), Error> {
    match &options.if_match {
        Some(condition) if !record.etag.matches(condition) => Err(Error::PreconditionFailed),
        _ => Ok(()),
    }
}
