//! The smaller policies: unique keys, conflicts, computed properties, time to live, change feed,
//! geography.

use super::{ContainerError, array_of, elements, object_of, present, required_text, text_of};
use crate::limits::Limits;
use crate::path::{ItemPath, PathEnd};
use crate::value::{Object, Value};

/// Longest time to live, in seconds.
pub const MAX_TTL: i64 = i32::MAX as i64;
/// Most computed properties of a container.
const MAX_COMPUTED_PROPERTIES: usize = 20;
/// Longest retention of the feed of all versions and deletes: a month.
const MAX_RETENTION_MINUTES: i64 = 31 * 24 * 60;

/// A time to live that is neither positive seconds nor -1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "The input ttl '{ttl}' is invalid. Ensure to provide a nonzero positive integer less than or equal to '{MAX_TTL}', or '-1' which means never expire."
)]
pub struct TtlError {
    /// The value as written.
    pub ttl: String,
}

fn ttl(value: &Value<'_>) -> Result<i32, TtlError> {
    let seconds = value
        .as_i64()
        .filter(|&seconds| seconds == -1 || seconds > 0);
    seconds
        .and_then(|seconds| i32::try_from(seconds).ok())
        .ok_or_else(|| TtlError {
            ttl: crate::json::to_string(value).chars().take(40).collect(),
        })
}

/// The `ttl` of an item: seconds, -1 for never, `None` where the container's default counts.
pub fn item_ttl(item: &Value<'_>) -> Result<Option<i32>, TtlError> {
    match item.member("ttl") {
        Value::Undefined => Ok(None),
        value => ttl(value).map(Some),
    }
}

pub(super) fn container_ttl(value: Option<&Value<'_>>) -> Result<Option<i32>, ContainerError> {
    Ok(value.map(ttl).transpose()?)
}

pub(super) fn analytical_ttl(value: Option<&Value<'_>>) -> Result<Option<i32>, ContainerError> {
    match value {
        Some(value) if value.as_i64() == Some(0) => Ok(Some(0)),
        value => container_ttl(value),
    }
}

pub(super) fn retention(value: Option<&Value<'_>>) -> Result<Option<u32>, ContainerError> {
    let Some(policy) = value else { return Ok(None) };
    let Some(minutes) = present(object_of(policy)?, "retentionDuration") else {
        return Ok(None);
    };
    let minutes = minutes.as_i64().ok_or(ContainerError::InvalidInput)?;
    if !(0..=MAX_RETENTION_MINUTES).contains(&minutes) {
        return Err(ContainerError::policy(format!(
            "The change feed policy's retentionDuration '{minutes}' is out of range. The allowed range is between 0 and {MAX_RETENTION_MINUTES} minutes."
        )));
    }
    Ok(Some(minutes as u32).filter(|&minutes| minutes > 0))
}

pub(super) fn retention_value(minutes: u32) -> Value<'static> {
    Value::Object(Object::from_iter([("retentionDuration", minutes)]))
}

/// How coordinates are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GeospatialType {
    /// On the globe, in degrees.
    #[default]
    Geography,
    /// On a plane.
    Geometry,
}

impl GeospatialType {
    /// The word in `geospatialConfig`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Geography => "Geography",
            Self::Geometry => "Geometry",
        }
    }

    pub(super) fn to_value(self) -> Value<'static> {
        Value::Object(Object::from_iter([("type", self.as_str())]))
    }
}

pub(super) fn geospatial(value: Option<&Value<'_>>) -> Result<GeospatialType, ContainerError> {
    let Some(config) = value else {
        return Ok(GeospatialType::default());
    };
    match text_of(object_of(config)?, "type")? {
        None | Some("Geography") => Ok(GeospatialType::Geography),
        Some("Geometry") => Ok(GeospatialType::Geometry),
        Some(other) => Err(ContainerError::policy(format!(
            "The geospatial config type '{other}' is invalid. Supported types are Geography and Geometry."
        ))),
    }
}

/// Values that no two items of a logical partition may share; an absent one counts as null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKey {
    /// The paths as written.
    pub paths: Vec<String>,
    /// The paths as steps.
    pub parsed: Vec<ItemPath>,
}

pub(super) fn unique_keys(
    value: Option<&Value<'_>>,
    limits: &Limits,
) -> Result<Option<Vec<UniqueKey>>, ContainerError> {
    let Some(policy) = value else { return Ok(None) };
    let keys = elements(object_of(policy)?, "uniqueKeys")?;
    if keys.len() > limits.unique_keys {
        return Err(ContainerError::policy(format!(
            "The number of unique keys {} exceeds the maximum: {}.",
            keys.len(),
            limits.unique_keys
        )));
    }
    let keys = keys.iter().map(|key| unique_key(key, limits));
    let keys: Vec<UniqueKey> = keys.collect::<Result<_, _>>()?;
    for (place, key) in keys.iter().enumerate() {
        let is_same = |other: &UniqueKey| {
            other.parsed.len() == key.parsed.len()
                && other.parsed.iter().all(|path| key.parsed.contains(path))
        };
        if keys[..place].iter().any(is_same) {
            return Err(ContainerError::policy(format!(
                "The unique key with the paths '{}' is specified twice.",
                key.paths.join(", ")
            )));
        }
    }
    Ok(Some(keys))
}

fn unique_key(key: &Value<'_>, limits: &Limits) -> Result<UniqueKey, ContainerError> {
    let given = elements(object_of(key)?, "paths")?;
    if given.is_empty() || given.len() > limits.unique_key_paths {
        return Err(ContainerError::policy(format!(
            "A unique key must have between 1 and {} paths, not {}.",
            limits.unique_key_paths,
            given.len()
        )));
    }
    let mut paths = Vec::with_capacity(given.len());
    let mut parsed = Vec::with_capacity(given.len());
    for path in given {
        let path = path.as_str().ok_or(ContainerError::InvalidInput)?;
        let invalid = |position| {
            ContainerError::policy(format!(
                "Error parsing the unique key path '{path}' at position {position}. Make sure the unique key path does not contain wildcards and invalid characters."
            ))
        };
        let steps = ItemPath::parse(path).map_err(|error| invalid(error.position))?;
        let plain = steps.end() == PathEnd::Exact && steps.properties().is_some();
        if !plain || steps.steps().is_empty() {
            return Err(invalid(path.len()));
        }
        if parsed.contains(&steps) {
            return Err(ContainerError::policy(format!(
                "The unique key path '{path}' is specified twice."
            )));
        }
        paths.push(path.to_owned());
        parsed.push(steps);
    }
    Ok(UniqueKey { paths, parsed })
}

pub(super) fn unique_keys_value(keys: &[UniqueKey]) -> Value<'static> {
    let key = |key: &UniqueKey| Object::from_iter([("paths", key.paths.clone())]);
    let keys: Vec<Object<'static>> = keys.iter().map(key).collect();
    Value::Object(Object::from_iter([("uniqueKeys", keys)]))
}

/// Who wins when two regions wrote the same item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictResolution {
    /// The greater value at the path.
    LastWriterWins {
        /// A path to a number.
        path: String,
    },
    /// A stored procedure, or the conflicts feed where it is empty.
    Custom {
        /// Link of the procedure.
        procedure: String,
    },
}

impl ConflictResolution {
    pub(super) fn parse(value: Option<&Value<'_>>) -> Result<Self, ContainerError> {
        let default = || Self::LastWriterWins {
            path: "/_ts".to_owned(),
        };
        let Some(policy) = value else {
            return Ok(default());
        };
        let policy = object_of(policy)?;
        let path = text_of(policy, "conflictResolutionPath")?.filter(|path| !path.is_empty());
        let procedure = text_of(policy, "conflictResolutionProcedure")?.unwrap_or_default();
        let mode = text_of(policy, "mode")?.unwrap_or("LastWriterWins");
        if mode.eq_ignore_ascii_case("LastWriterWins") {
            let path = path.unwrap_or("/_ts");
            ItemPath::parse(path).map_err(|error| ContainerError::policy(error.to_string()))?;
            Ok(Self::LastWriterWins {
                path: path.to_owned(),
            })
        } else if mode.eq_ignore_ascii_case("Custom") {
            Ok(Self::Custom {
                procedure: procedure.to_owned(),
            })
        } else {
            Err(ContainerError::policy(format!(
                "The conflict resolution mode '{mode}' is invalid. Supported modes are LastWriterWins and Custom."
            )))
        }
    }

    /// The word in the policy.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::LastWriterWins { .. } => "LastWriterWins",
            Self::Custom { .. } => "Custom",
        }
    }

    pub(super) fn to_value(&self) -> Value<'static> {
        let (path, procedure) = match self {
            Self::LastWriterWins { path } => (path.as_str(), ""),
            Self::Custom { procedure } => ("", procedure.as_str()),
        };
        Value::Object(Object::from_iter([
            ("mode", self.mode().to_owned()),
            ("conflictResolutionPath", path.to_owned()),
            ("conflictResolutionProcedure", procedure.to_owned()),
        ]))
    }
}

/// A name that stands for an expression over the item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputedProperty {
    /// The name in queries.
    pub name: String,
    /// `SELECT VALUE … FROM c`; that it parses is the engine's matter.
    pub query: String,
}

pub(super) fn computed_properties(
    value: Option<&Value<'_>>,
) -> Result<Option<Vec<ComputedProperty>>, ContainerError> {
    let Some(value) = value else { return Ok(None) };
    let given = array_of(value)?;
    if given.len() > MAX_COMPUTED_PROPERTIES {
        return Err(ContainerError::policy(format!(
            "The number of computed properties {} exceeds the maximum: {MAX_COMPUTED_PROPERTIES}.",
            given.len()
        )));
    }
    let mut properties: Vec<ComputedProperty> = Vec::with_capacity(given.len());
    for property in given {
        let property = object_of(property)?;
        let name = required_text(property, "name")?.to_owned();
        let query = required_text(property, "query")?.to_owned();
        let taken = properties.iter().any(|other| other.name == name);
        if name.is_empty() || taken || is_system_property(&name) {
            return Err(ContainerError::policy(format!(
                "The computed property name '{name}' is invalid: it must be unique, not empty and not the name of a system property."
            )));
        }
        properties.push(ComputedProperty { name, query });
    }
    Ok(Some(properties))
}

fn is_system_property(name: &str) -> bool {
    matches!(
        name,
        "id" | "_rid" | "_ts" | "_self" | "_etag" | "_attachments"
    )
}

pub(super) fn computed_properties_value(properties: &[ComputedProperty]) -> Value<'static> {
    let property = |property: &ComputedProperty| {
        Object::from_iter([
            ("name", property.name.clone()),
            ("query", property.query.clone()),
        ])
    };
    let properties: Vec<Object<'static>> = properties.iter().map(property).collect();
    Value::from(properties)
}

/// The policy is echoed; its paths must name something that the SDKs can encrypt.
pub(super) fn check_encryption(value: Option<&Value<'static>>) -> Result<(), ContainerError> {
    let Some(policy) = value else { return Ok(()) };
    for path in elements(object_of(policy)?, "includedPaths")? {
        let path = object_of(path)?;
        let text = required_text(path, "path")?;
        required_text(path, "clientEncryptionKeyId")?;
        required_text(path, "encryptionType")?;
        required_text(path, "encryptionAlgorithm")?;
        let top_level = ItemPath::parse(text)
            .is_ok_and(|path| path.steps().len() == 1 && path.end() == PathEnd::Exact);
        if !top_level {
            return Err(ContainerError::policy(format!(
                "The client encryption policy contains an invalid path: {text}."
            )));
        }
    }
    Ok(())
}
