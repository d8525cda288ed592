//! What each kind of resource must look like, apart from containers and offers (protocol:
//! section 1.4).

use orrery_model::ids::ResourceName;
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;
use orrery_model::resource_path::{ResourceKind, ResourcePath};
use orrery_model::value::{Object, Value};

use super::record::user_members;
use crate::error::Error;

/// Reads a body that must be a JSON object.
pub(super) fn parse_body(body: &[u8]) -> Result<Object<'static>, Error> {
    let value = json::parse(body).map_err(|error| {
        Error::bad_request(format!(
            "The input content is invalid because it is not a JSON object: {error}"
        ))
    })?;
    match value {
        Value::Object(object) => Ok(user_members(object)),
        _ => Err(Error::bad_request(
            "The input content is invalid because it is not a JSON object.",
        )),
    }
}

/// Checks a body and fills in what the service fills in.
pub(super) fn check(kind: ResourceKind, object: Object<'static>) -> Result<Object<'static>, Error> {
    require(&object, required(kind))?;
    match object.get("id") {
        Some(Value::String(id)) => {
            ResourceName::new(id.as_ref())
                .map_err(|error| Error::bad_request(error.to_string()))?;
        }
        _ => {
            return Err(Error::bad_request(
                "The input content is invalid because the property 'id' is not a string.",
            ));
        }
    }
    match kind {
        ResourceKind::Permission => check_permission(&object)?,
        ResourceKind::Trigger => check_trigger(&object)?,
        ResourceKind::StoredProcedure | ResourceKind::UserDefinedFunction => {
            require_string(&object, "body")?;
        }
        _ => {}
    }
    Ok(object)
}

fn required(kind: ResourceKind) -> &'static [&'static str] {
    match kind {
        ResourceKind::Permission => &["id", "permissionMode", "resource"],
        ResourceKind::StoredProcedure | ResourceKind::UserDefinedFunction => &["id", "body"],
        ResourceKind::Trigger => &["id", "body", "triggerType", "triggerOperation"],
        ResourceKind::ClientEncryptionKey => &[
            "id",
            "encryptionAlgorithm",
            "wrappedDataEncryptionKey",
            "keyWrapMetadata",
        ],
        _ => &["id"],
    }
}

fn require(object: &Object<'_>, names: &[&str]) -> Result<(), Error> {
    let missing = names.iter().filter(|name| !object.contains(name));
    let missing: String = missing.flat_map(|name| [*name, "; "]).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "The input content is invalid because the required properties - '{missing}' - are missing"
    )))
}

fn require_string<'o>(object: &'o Object<'_>, name: &str) -> Result<&'o str, Error> {
    object.get(name).and_then(Value::as_str).ok_or_else(|| {
        Error::bad_request(format!(
            "The input content is invalid because the property '{name}' is not a string."
        ))
    })
}

fn one_of(object: &Object<'_>, name: &str, allowed: &[&str]) -> Result<(), Error> {
    let value = require_string(object, name)?;
    if allowed
        .iter()
        .any(|choice| choice.eq_ignore_ascii_case(value))
    {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "The value '{value}' specified for the property '{name}' is invalid."
    )))
}

fn check_permission(object: &Object<'_>) -> Result<(), Error> {
    one_of(object, "permissionMode", &["Read", "All"])?;
    let resource = require_string(object, "resource")?;
    let named = ResourcePath::from_link(resource).ok().filter(|path| {
        !path.is_feed() && !matches!(path.kind(), ResourceKind::Account | ResourceKind::Offer)
    });
    if named.is_none() {
        return Err(Error::bad_request(
            "The value specified for the property 'resource' is invalid.",
        ));
    }
    let key = object.get("resourcePartitionKey").unwrap_or(&Value::Null);
    if key.is_null() || PartitionKey::from_value(key).is_some_and(|key| !key.is_empty()) {
        return Ok(());
    }
    Err(Error::bad_request(
        "The value specified for the property 'resourcePartitionKey' is invalid.",
    ))
}

/// Where the resource of a permission is: itself, or what it lies in and is certain to be in the
/// catalog.
pub(super) fn scope_of(permission: &Object<'_>) -> Option<ResourcePath> {
    let resource = permission.get("resource").and_then(Value::as_str)?;
    let mut path = ResourcePath::from_link(resource).ok()?;
    while matches!(
        path.kind(),
        ResourceKind::Item | ResourceKind::Attachment | ResourceKind::PartitionKeyRange
    ) {
        path = path.parent()?;
    }
    Some(path)
}

fn check_trigger(object: &Object<'_>) -> Result<(), Error> {
    require_string(object, "body")?;
    one_of(object, "triggerType", &["Pre", "Post"])?;
    one_of(
        object,
        "triggerOperation",
        &["All", "Create", "Update", "Delete", "Replace"],
    )
}

/// Whether a replace may change the id (protocol: section 1.4).
pub(super) fn may_rename(kind: ResourceKind) -> bool {
    matches!(kind, ResourceKind::User | ResourceKind::Permission)
}

/// What a replace that changes the id is told.
pub(super) fn rename_refusal(kind: ResourceKind) -> Error {
    Error::bad_request(match kind {
        ResourceKind::StoredProcedure
        | ResourceKind::Trigger
        | ResourceKind::UserDefinedFunction => {
            "Changing id of a script in collections with multiple partitions is not supported."
        }
        _ => "The id of a resource cannot be changed by a replace.",
    })
}
