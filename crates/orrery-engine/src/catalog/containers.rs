//! Containers as resources: their definition, and the partitions that the engine makes for them.

use std::sync::Arc;

use orrery_model::container::ContainerSpec;
use orrery_model::resource_path::ResourceKind;
use orrery_model::rid::ResourceId;
use orrery_model::throughput::Throughput;
use orrery_model::value::{Object, Value};
use orrery_sql::ast::Projection;

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
        check_computed(&spec)?;
        self.check_name_free(ResourceKind::Container, Some(database), spec.id.as_str())?;
        self.check_counts(ResourceKind::Container, Some(database))?;
        let shared = self.offer_of(database).is_some();
        if shared && offer.is_none() {
            self.check_shared_count(database)?;
        }
        // Without a word about throughput a container gets the least there is, unless the
        // database shares its own.
        let is_free = shared || self.engine.metering().serverless;
        let offer = offer.or((!is_free).then_some(Throughput::Manual(limits.min_manual_rate)));
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
        check_computed(&spec)?;
        let record = self.changed(old, definition(&spec)?, Value::Null);
        let change = Change::put(record.clone());
        self.engine
            .redefine_container(&container, spec, change.writes())?;
        self.show(&change);
        Ok(record)
    }
}

/// A computed property is `SELECT VALUE <expression> FROM <alias>` and nothing else (query
/// language: section 10); one that is not would break every query over the container.
fn check_computed(spec: &ContainerSpec) -> Result<(), Error> {
    for property in spec.computed_properties.iter().flatten() {
        let refused = |why: String| {
            Error::bad_request(format!(
                "One of the specified inputs is invalid: the query of the computed property '{}' {why}",
                property.name
            ))
        };
        let query = orrery_sql::parser::parse(&property.query)
            .and_then(|query| {
                let limits = orrery_sql::analysis::QueryLimits::default();
                orrery_sql::analysis::analyze(&property.query, &query, &limits).map(|()| query)
            })
            .map_err(|errors| refused(format!("cannot be read: {errors}")))?;
        let plain = matches!(query.select.projection, Projection::Value(_))
            && query
                .from
                .as_ref()
                .is_some_and(|from| from.sources.len() == 1)
            && !query.select.distinct
            && query.select.top.is_none()
            && query.filter.is_none()
            && query.group_by.is_empty()
            && query.order_by.is_none()
            && query.page.is_none();
        if !plain {
            return Err(refused(
                "must be of the form SELECT VALUE <expression> FROM <alias>.".to_owned(),
            ));
        }
    }
    Ok(())
}

fn definition(spec: &ContainerSpec) -> Result<Object<'static>, Error> {
    match spec.to_value() {
        Value::Object(object) => Ok(object.into_owned()),
        _ => Err(Error::Damaged("container definition")),
    }
}
