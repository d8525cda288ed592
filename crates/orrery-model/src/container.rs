//! What a container promises: the container resource, parsed, checked, defaulted and echoed
//! (protocol: section 11).

mod indexing;
mod policies;
mod search;

use crate::ids::{IdError, ResourceName};
use crate::limits::Limits;
use crate::partition_key::{PartitionKeyDefinition, PartitionKeyError, PartitionKeyKind};
use crate::value::{Object, Value};

pub use indexing::{CompositePath, IndexingMode, IndexingPolicy, SpatialIndex, SpatialType};
pub use policies::{
    ComputedProperty, ConflictResolution, GeospatialType, MAX_TTL, TtlError, UniqueKey, item_ttl,
};
pub use search::{
    DistanceFunction, FullTextPath, FullTextPolicy, VectorDataType, VectorEmbedding, VectorIndex,
    VectorIndexKind,
};

/// Why a container body is refused; always a bad request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// The id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The partition key definition.
    #[error(transparent)]
    PartitionKey(#[from] PartitionKeyError),
    /// A time to live.
    #[error(transparent)]
    Ttl(#[from] TtlError),
    /// A member of the wrong type; the service says no more.
    #[error("One of the specified inputs is invalid")]
    InvalidInput,
    /// A policy that contradicts itself, another one, or a limit.
    #[error("{0}")]
    Policy(String),
}

impl ContainerError {
    fn policy(message: impl Into<String>) -> Self {
        Self::Policy(message.into())
    }
}

/// Members that are kept and echoed as they came: nothing here acts on them yet.
const ECHOED: [&str; 5] = [
    "clientEncryptionPolicy",
    "materializedViewDefinition",
    "globalSecondaryIndexDefinition",
    "materializedViews",
    "materializedViewsProperties",
];

/// A container's definition, without its system properties.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerSpec {
    /// Its name.
    pub id: ResourceName,
    /// Where items go.
    pub partition_key: PartitionKeyDefinition,
    /// What is indexed.
    pub indexing_policy: IndexingPolicy,
    /// What is unique in each logical partition; `None` when never given.
    pub unique_keys: Option<Vec<UniqueKey>>,
    /// Who wins among regions.
    pub conflict_resolution: ConflictResolution,
    /// Names that stand for expressions over the item.
    pub computed_properties: Option<Vec<ComputedProperty>>,
    /// Seconds that items live; -1 is on without a default; `None` is off.
    pub default_ttl: Option<i32>,
    /// Seconds in the analytical store; only echoed.
    pub analytical_ttl: Option<i32>,
    /// Minutes that the feed of all versions and deletes is kept; `None` is off.
    pub change_feed_retention_minutes: Option<u32>,
    /// How coordinates are read.
    pub geospatial: GeospatialType,
    /// Which paths hold vectors.
    pub vector_embeddings: Option<Vec<VectorEmbedding>>,
    /// Which paths hold text to search in.
    pub full_text: Option<FullTextPolicy>,
    /// The members that are echoed as they came, in their order.
    echoed: Object<'static>,
}

impl ContainerSpec {
    /// Reads the body of a create and fills in the service's defaults. A body without a
    /// partition key makes a container of the system key.
    pub fn parse(body: &Value<'_>, limits: &Limits) -> Result<Self, ContainerError> {
        let object = body.as_object().ok_or(ContainerError::InvalidInput)?;
        let partition_key = match object.get("partitionKey") {
            None | Some(Value::Null) => {
                PartitionKeyDefinition::new(["/_partitionKey"], PartitionKeyKind::Hash, 2)?
                    .with_system_key()
            }
            Some(definition) => PartitionKeyDefinition::from_value(definition)?,
        };
        Self::parse_with_key(object, partition_key, limits)
    }

    /// Reads the body of a replace and checks what must not change. Absent optional members are
    /// cleared, an absent partition key stays.
    pub fn parse_replacement(
        &self,
        body: &Value<'_>,
        limits: &Limits,
    ) -> Result<Self, ContainerError> {
        let object = body.as_object().ok_or(ContainerError::InvalidInput)?;
        let partition_key = match object.get("partitionKey") {
            None | Some(Value::Null) => self.partition_key.clone(),
            Some(definition) => self.same_key(definition)?,
        };
        let mut new = Self::parse_with_key(object, partition_key, limits)?;
        if new.unique_keys.is_none() {
            new.unique_keys.clone_from(&self.unique_keys);
        }
        if !object.contains("conflictResolutionPolicy") {
            new.conflict_resolution
                .clone_from(&self.conflict_resolution);
        }
        self.check_replace(&new)?;
        Ok(new)
    }

    /// A definition in a replace may leave out what the server filled in.
    fn same_key(&self, definition: &Value<'_>) -> Result<PartitionKeyDefinition, ContainerError> {
        let given = PartitionKeyDefinition::from_value(definition)?;
        let version_given = definition
            .as_object()
            .is_some_and(|object| object.contains("version"));
        let own = &self.partition_key;
        let same = given.item_paths() == own.item_paths()
            && given.kind() == own.kind()
            && (!version_given || given.version() == own.version());
        if same {
            Ok(own.clone())
        } else {
            Err(Self::key_changed())
        }
    }

    fn key_changed() -> ContainerError {
        ContainerError::policy(
            "Updating partition key is not currently supported. The partition key definition cannot be changed by a collection replace operation.",
        )
    }

    fn parse_with_key(
        object: &Object<'_>,
        partition_key: PartitionKeyDefinition,
        limits: &Limits,
    ) -> Result<Self, ContainerError> {
        let id = match present(object, "id") {
            Some(Value::String(id)) => ResourceName::new(id.as_ref())?,
            Some(_) => return Err(ContainerError::InvalidInput),
            None => return Err(IdError::Missing.into()),
        };
        let geospatial = policies::geospatial(present(object, "geospatialConfig"))?;
        let vector_embeddings = search::embeddings(present(object, "vectorEmbeddingPolicy"))?;
        let full_text = search::full_text(present(object, "fullTextPolicy"))?;
        let indexing_policy =
            IndexingPolicy::parse(present(object, "indexingPolicy"), geospatial, limits)?;
        let embeddings = vector_embeddings.as_deref().unwrap_or(&[]);
        search::check_vector_indexes(indexing_policy.vector_indexes(), embeddings)?;
        search::check_full_text_indexes(indexing_policy.full_text_indexes(), full_text.as_ref())?;
        let mut echoed = Object::new();
        for name in ECHOED {
            match present(object, name) {
                Some(value @ (Value::Object(_) | Value::Array(_))) => {
                    echoed.insert(name, value.clone().into_owned());
                }
                Some(_) => return Err(ContainerError::InvalidInput),
                None => {}
            }
        }
        if let Some(Value::String(path)) = present(object, "ttlPropertyPath") {
            echoed.insert("ttlPropertyPath", path.clone().into_owned());
        }
        policies::check_encryption(echoed.get("clientEncryptionPolicy"))?;
        Ok(Self {
            id,
            partition_key,
            indexing_policy,
            unique_keys: policies::unique_keys(present(object, "uniqueKeyPolicy"), limits)?,
            conflict_resolution: ConflictResolution::parse(present(
                object,
                "conflictResolutionPolicy",
            ))?,
            computed_properties: policies::computed_properties(present(
                object,
                "computedProperties",
            ))?,
            default_ttl: policies::container_ttl(present(object, "defaultTtl"))?,
            analytical_ttl: policies::analytical_ttl(present(object, "analyticalStorageTtl"))?,
            change_feed_retention_minutes: policies::retention(present(
                object,
                "changeFeedPolicy",
            ))?,
            geospatial,
            vector_embeddings,
            full_text,
            echoed,
        })
    }

    /// The body that the service answers, without system properties.
    pub fn to_value(&self) -> Value<'static> {
        let mut object = Object::with_capacity(12);
        object.insert("id", self.id.as_str().to_owned());
        object.insert("indexingPolicy", self.indexing_policy.to_value());
        object.insert("partitionKey", self.partition_key.to_value());
        object.insert("defaultTtl", self.default_ttl);
        object.insert("analyticalStorageTtl", self.analytical_ttl);
        object.insert(
            "uniqueKeyPolicy",
            self.unique_keys.as_deref().map(policies::unique_keys_value),
        );
        object.insert(
            "conflictResolutionPolicy",
            self.conflict_resolution.to_value(),
        );
        object.insert("geospatialConfig", self.geospatial.to_value());
        object.insert(
            "computedProperties",
            self.computed_properties
                .as_deref()
                .map(policies::computed_properties_value),
        );
        object.insert(
            "vectorEmbeddingPolicy",
            self.vector_embeddings
                .as_deref()
                .map(search::embeddings_value),
        );
        object.insert(
            "fullTextPolicy",
            self.full_text.as_ref().map(FullTextPolicy::to_value),
        );
        object.insert(
            "changeFeedPolicy",
            self.change_feed_retention_minutes
                .map(policies::retention_value),
        );
        for (name, value) in self.echoed.iter() {
            object.insert(name.to_owned(), value.clone());
        }
        Value::Object(object)
    }

    /// Checks a replacement: id, partition key, unique keys, encryption, and existing vector
    /// paths stay.
    pub fn check_replace(&self, new: &Self) -> Result<(), ContainerError> {
        if new.id != self.id {
            return Err(ContainerError::policy(
                "Changing the id of a collection is not supported by a collection replace operation.",
            ));
        }
        if new.partition_key != self.partition_key {
            return Err(Self::key_changed());
        }
        if new.unique_keys.as_deref().unwrap_or(&[]) != self.unique_keys.as_deref().unwrap_or(&[]) {
            return Err(ContainerError::policy(
                "The unique key policy cannot be changed by a collection replace operation.",
            ));
        }
        if new.conflict_resolution.mode() != self.conflict_resolution.mode() {
            return Err(ContainerError::policy(
                "The conflict resolution mode cannot be changed by a collection replace operation.",
            ));
        }
        let encryption = |spec: &Self| spec.echoed.get("clientEncryptionPolicy").cloned();
        match (encryption(self), encryption(new)) {
            (None, None) => {}
            (Some(old), Some(new)) if old.equals(&new) => {}
            _ => {
                return Err(ContainerError::policy(
                    "'clientEncryptionPolicy' cannot be changed as part of collection replace operation.",
                ));
            }
        }
        search::check_replace(
            (
                self.indexing_policy.vector_indexes(),
                self.vector_embeddings.as_deref(),
            ),
            (
                new.indexing_policy.vector_indexes(),
                new.vector_embeddings.as_deref(),
            ),
        )
    }

    /// A member that is kept as it came, for example `clientEncryptionPolicy`.
    pub fn echoed(&self, name: &str) -> Option<&Value<'static>> {
        self.echoed.get(name)
    }
}

/// The member, unless it is absent or null, which SDKs send alike.
fn present<'o, 'a>(object: &'o Object<'a>, name: &str) -> Option<&'o Value<'a>> {
    object.get(name).filter(|value| !value.is_null())
}

fn object_of<'v, 'a>(value: &'v Value<'a>) -> Result<&'v Object<'a>, ContainerError> {
    value.as_object().ok_or(ContainerError::InvalidInput)
}

fn array_of<'v, 'a>(value: &'v Value<'a>) -> Result<&'v [Value<'a>], ContainerError> {
    value.as_array().ok_or(ContainerError::InvalidInput)
}

/// The elements of an optional array member; an absent one has none.
fn elements<'o, 'a>(object: &'o Object<'a>, name: &str) -> Result<&'o [Value<'a>], ContainerError> {
    present(object, name).map_or(Ok(&[]), array_of)
}

fn text_of<'o>(object: &'o Object<'_>, name: &str) -> Result<Option<&'o str>, ContainerError> {
    match present(object, name) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or(ContainerError::InvalidInput),
    }
}

fn required_text<'o>(object: &'o Object<'_>, name: &str) -> Result<&'o str, ContainerError> {
    text_of(object, name)?.ok_or(ContainerError::InvalidInput)
}
