//! The catalog in memory: every resource by rid and by name. Accounts hold hundreds of resources,
//! not millions, so all of it fits; reads never touch the disk.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use orrery_model::resource_path::{ResourceKind, ResourcePath};
use orrery_model::rid::ResourceId;
use rustc_hash::FxHashMap;

use super::record::Record;
use crate::error::Error;

/// Who owns a name: names are unique among the children of one kind of one parent.
type Owner = (Option<ResourceId>, ResourceKind);

/// Resources by rid, by name, and by parent in order of creation.
#[derive(Debug, Default)]
pub(super) struct Tree {
    records: FxHashMap<ResourceId, Arc<Record>>,
    /// The inner keys are the user's, so only they are hashed against collisions.
    names: FxHashMap<Owner, HashMap<String, ResourceId>>,
    children: FxHashMap<Owner, BTreeMap<u64, ResourceId>>,
}

fn owner(record: &Record) -> Owner {
    (record.parent(), record.kind)
}

impl Tree {
    /// Adds or replaces a resource.
    pub fn put(&mut self, record: Arc<Record>) {
        self.remove(record.rid);
        let owner = owner(&record);
        self.names
            .entry(owner)
            .or_default()
            .insert(record.name().to_owned(), record.rid);
        self.children
            .entry(owner)
            .or_default()
            .insert(record.sequence, record.rid);
        self.records.insert(record.rid, record);
    }

    /// Takes a resource out; its children stay.
    pub fn remove(&mut self, rid: ResourceId) {
        let Some(record) = self.records.remove(&rid) else {
            return;
        };
        let owner = owner(&record);
        if let Some(names) = self.names.get_mut(&owner) {
            names.remove(record.name());
        }
        if let Some(children) = self.children.get_mut(&owner) {
            children.remove(&record.sequence);
        }
    }

    /// By rid.
    pub fn get(&self, rid: ResourceId) -> Option<&Arc<Record>> {
        self.records.get(&rid)
    }

    /// By name under a parent.
    pub fn named(
        &self,
        parent: Option<ResourceId>,
        kind: ResourceKind,
        name: &str,
    ) -> Option<&Arc<Record>> {
        let rid = self.names.get(&(parent, kind))?.get(name)?;
        self.records.get(rid)
    }

    /// The children of one kind in order of creation, after a sequence number.
    pub fn children(
        &self,
        parent: Option<ResourceId>,
        kind: ResourceKind,
        after: Option<u64>,
    ) -> impl Iterator<Item = &Arc<Record>> {
        let from = after.map_or(0, |after| after.saturating_add(1));
        let members = self.children.get(&(parent, kind));
        let rids = members
            .into_iter()
            .flat_map(move |map| map.range(from..).map(|(_, rid)| rid));
        rids.filter_map(|rid| self.records.get(rid))
    }

    /// A resource and everything below it, parents first.
    pub fn subtree(&self, rid: ResourceId) -> Vec<Arc<Record>> {
        let below = |record: &&Arc<Record>| {
            let mut next = Some(record.rid);
            while let Some(current) = next {
                if current == rid {
                    return true;
                }
                next = current.parent();
            }
            false
        };
        let mut found: Vec<_> = self.records.values().filter(below).cloned().collect();
        found.sort_by_key(|record| (record.rid.as_bytes().len(), record.sequence));
        found
    }

    /// All resources of a kind in order of creation.
    pub fn all(&self, kind: ResourceKind) -> Vec<Arc<Record>> {
        let mut found: Vec<_> = self
            .records
            .values()
            .filter(|record| record.kind == kind)
            .cloned()
            .collect();
        found.sort_by_key(|record| record.sequence);
        found
    }

    /// The resource that a path names.
    pub fn resolve(&self, path: &ResourcePath) -> Result<Arc<Record>, Error> {
        let mut found: Option<&Arc<Record>> = None;
        let mut ids = path.ids().peekable();
        while let Some((kind, id)) = ids.next() {
            let parent = found.map(|record| record.rid);
            let next = if path.is_rid_based() {
                let rid =
                    ResourceId::parse(id).map_err(|error| Error::bad_request(error.to_string()))?;
                self.get(rid)
                    .filter(|record| record.kind == kind && record.parent() == parent)
            } else {
                self.named(parent, kind, id)
            };
            found = Some(next.ok_or_else(|| {
                if ids.peek().is_some() {
                    Error::OwnerNotFound
                } else {
                    Error::NotFound
                }
            })?);
        }
        found.cloned().ok_or(Error::NotFound)
    }

    /// The rid of the container that a path names or lies in: on the way of every item request,
    /// so it clones nothing.
    pub fn container_rid(&self, path: &ResourcePath) -> Result<ResourceId, Error> {
        let (Some(database), Some(container)) = (path.database(), path.container()) else {
            return Err(Error::OwnerNotFound);
        };
        let found = if path.is_rid_based() {
            let rid = ResourceId::parse(container)
                .map_err(|error| Error::bad_request(error.to_string()))?;
            self.get(rid)
                .filter(|record| record.kind == ResourceKind::Container)
        } else {
            self.named(None, ResourceKind::Database, database)
                .and_then(|database| {
                    self.named(Some(database.rid), ResourceKind::Container, container)
                })
        };
        found.map(|record| record.rid).ok_or(Error::OwnerNotFound)
    }

    /// The owner of a feed; `None` for the feeds of the account.
    pub fn resolve_owner(&self, feed: &ResourcePath) -> Result<Option<Arc<Record>>, Error> {
        match feed.parent() {
            Some(parent) if parent.kind() != ResourceKind::Account => {
                let owner = self.resolve(&parent).map_err(|error| match error {
                    Error::NotFound => Error::OwnerNotFound,
                    other => other,
                })?;
                Ok(Some(owner))
            }
            _ => Ok(None),
        }
    }

    /// The path by names, as in `dbs/a/colls/b`.
    pub fn alt_path(&self, record: &Record) -> String {
        let own = match record.kind {
            ResourceKind::Offer => format!("offers/{}", record.rid),
            kind => format!("{}/{}", kind.segment(), record.name()),
        };
        match record.parent().and_then(|parent| self.get(parent)) {
            Some(parent) => format!("{}/{own}", self.alt_path(parent)),
            None => own,
        }
    }
}
