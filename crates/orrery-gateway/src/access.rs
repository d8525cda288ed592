//! What a resource token allows: its permission's resource and what is below it, and
//! what SDKs have to read on the way there (protocol: section 2.2).

use orrery_engine::Engine;
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;
use orrery_model::resource_path::{ResourceKind, ResourcePath};
use orrery_model::rid::ResourceId;
use orrery_model::value::Value;

use crate::auth::AuthFailure;
use crate::request::{Operation, RequestHeaders};
use crate::respond::errors::{GatewayError, Problem};

/// Refuses what the permission does not cover.
pub(crate) fn check(
    engine: &Engine,
    permission: ResourceId,
    path: &ResourcePath,
    operation: Operation,
    headers: RequestHeaders<'_>,
) -> Result<(), Problem> {
    let grant = Grant::read(engine, permission)?;
    let denied = || Err(GatewayError::NotPermitted.into());
    if path.kind() == ResourceKind::Account {
        return Ok(());
    }
    if !operation.is_read() && !grant.may_write {
        return denied();
    }
    let (asked, granted) = (chain(engine, path), chain(engine, &grant.resource));
    if !asked.starts_with(&granted) {
        // Not below the resource: at most the container that it is in, and its ranges.
        let on_the_way = matches!(
            path.kind(),
            ResourceKind::Container | ResourceKind::PartitionKeyRange
        ) && operation.is_read()
            && granted.starts_with(&asked);
        return if on_the_way { Ok(()) } else { denied() };
    }
    match &grant.key {
        Some(key)
            if path.kind() == ResourceKind::Item
                && headers.partition_key()?.as_ref() != Some(key) =>
        {
            denied()
        }
        _ => Ok(()),
    }
}

/// A permission as it stands now.
struct Grant {
    resource: ResourcePath,
    may_write: bool,
    key: Option<PartitionKey>,
}

impl Grant {
    fn read(engine: &Engine, permission: ResourceId) -> Result<Self, Problem> {
        let unknown = || Problem::from(AuthFailure::UnknownToken);
        let path = ResourcePath::of_rid(permission).ok_or_else(unknown)?;
        let answer = engine.catalog().read(&path).map_err(|_| unknown())?;
        let value = json::parse(&answer.value.body).map_err(|_| unknown())?;
        let link = value.member("resource").as_str().ok_or_else(unknown)?;
        Ok(Self {
            resource: ResourcePath::from_link(link).map_err(|_| unknown())?,
            may_write: value.member("permissionMode").as_str() == Some("All"),
            key: match value.member("resourcePartitionKey") {
                Value::Undefined | Value::Null => None,
                key => Some(PartitionKey::from_value(key).ok_or_else(unknown)?),
            },
        })
    }
}

/// A path from the top, with the container by rid whichever way the path names it. A
/// database or item named both ways does not compare equal, which errs on the safe side.
fn chain(engine: &Engine, path: &ResourcePath) -> Vec<(ResourceKind, String)> {
    let container = path
        .container()
        .and_then(|_| engine.catalog().container(path).ok())
        .map(|container| container.rid());
    path.ids()
        .map(|(kind, id)| {
            let rid = match kind {
                ResourceKind::Database => container.and_then(|rid| rid.database_id()),
                ResourceKind::Container => container,
                _ => None,
            };
            (
                kind,
                rid.map_or_else(|| id.to_owned(), |rid| rid.to_string()),
            )
        })
        .collect()
}
