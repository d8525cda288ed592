//! Containers as resources: their definition, and the partitions that the engine makes for them.

use std::sync::Arc;

use orrery_model::container::ContainerSpec;
use orrery_model::resource_path::ResourceKind;
use orrery_model::rid::ResourceId;
use orrery_model::throughput::Throughput;
use orrery_model::value::{Object, Value};

use super::record::Record;
use super::{Catalog, Change};
use crate::engine::ContainerDraft;
use crate::error::Error;

impl Catalog<'_> {
    /// Creates a container with its offer and its partitions.
    pub(super) fn create_container(
        &self,
        database: ResourceId,
        object: Object<'static>,
        offer: Option<Throughput>,
    ) -> Result<Arc<Record>, Error> {
        let limits = self.engine.limits();
        let spec = ContainerSpec::parse(&Value::Object(object), limits)
            .map_err(|error| Error::bad_request(error.to_string()))?;
        self.check_name_free(ResourceKind::Container, Some(database), spec.id.as_str())?;
        self.check_counts(ResourceKind::Container, Some(database))?;
        let shared = self.offer_of(database).is_some();
        if shared && offer.is_none() {
            self.check_shared_count(database)?;
        }
        // Without a word about throughput a container gets the least there is, unless the
        // database shares its own.
        let offer = offer.or((!shared).then_some(Throughput::Manual(limits.min_manual_rate)));
        let content = definition(&spec)?;
        let record = self.new_record(
            ResourceKind::Container,
            Some(database),
            content,
            Value::Null,
        )?;
        let mut change = Change::put(record.clone());
        if let Some(offer) = offer {
            change.puts.push(self.new_offer(&record, offer)?);
        }
        let draft = ContainerDraft {
            database: record.rid.database_number(),
            number: record
                .rid
                .owner_number()
                .ok_or(Error::Damaged("container id"))?,
            alt_path: self.read_tree(|tree| tree.alt_path(&record)),
            spec,
            ranges: offer.map_or(1, |offer| offer.initial_partitions(false, limits)),
        };
        self.engine.add_container(draft, change.writes())?;
        self.show(&change);
        Ok(record)
    }

    /// Containers with throughput of their own do not count (request units: section 7).
    fn check_shared_count(&self, database: ResourceId) -> Result<(), Error> {
        let siblings: Vec<_> = self.read_tree(|tree| {
            tree.children(Some(database), ResourceKind::Container, None)
                .map(|record| record.rid)
                .collect()
        });
        let sharing = siblings
            .into_iter()
            .filter(|rid| self.offer_of(*rid).is_none())
            .count();
        let limit = self.engine.limits().shared_database_containers;
        if sharing >= limit {
            return Err(Error::SharedThroughputFull { limit });
        }
        Ok(())
    }

    /// Replaces a definition; items are served by the new one from now on.
    pub(super) fn replace_container(
        &self,
        old: &Record,
        object: Object<'static>,
    ) -> Result<Arc<Record>, Error> {
        let container = self.serving(old).ok_or(Error::NotFound)?;
        let spec = container
            .state()
            .spec()
            .parse_replacement(&Value::Object(object), self.engine.limits())
            .map_err(|error| Error::bad_request(error.to_string()))?;
        let record = self.changed(old, definition(&spec)?, Value::Null);
        let change = Change::put(record.clone());
        self.engine
            .redefine_container(&container, spec, change.writes())?;
        self.show(&change);
        Ok(record)
    }
}

fn definition(spec: &ContainerSpec) -> Result<Object<'static>, Error> {
    match spec.to_value() {
        Value::Object(object) => Ok(object.into_owned()),
        _ => Err(Error::Damaged("container definition")),
    }
}
