//! Single items (protocol: sections 1.3, 10.2, 10.5 and 10.6).

use bytes::Bytes;
use http::StatusCode;
use orrery_engine::read::{ReadOptions, ReadOutcome};
use orrery_engine::write::{ItemBody, ItemOutcome, ItemRef, WriteKind, WriteOutcome, WriteRequest};
use orrery_engine::{Answer, Error};
use orrery_model::partition_key::PartitionKey;
use orrery_model::rid::ResourceId;

use super::ContainerCall;
use crate::request::Operation;
use crate::respond::errors::{GatewayError, Problem};
use crate::respond::{Reply, names};

/// Reads one item.
pub(super) fn read(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let headers = call.headers;
    let key = call.partition_key()?.ok_or(Error::PartitionKeyMissing)?;
    let item = item_ref(call)?;
    let options = ReadOptions {
        if_none_match: headers
            .text(&http::header::IF_NONE_MATCH)?
            .map(str::to_owned),
        session: headers.session()?,
        claim: headers.claim()?,
    };
    let Answer { value, meta } = call
        .engine
        .read_item(&call.container, key, &item, &options)?;
    Ok(match value {
        ReadOutcome::Item(body) => with_item(StatusCode::OK, body),
        ReadOutcome::NotModified(etag) => {
            Reply::empty(StatusCode::NOT_MODIFIED).etag(etag.into_string())
        }
    }
    .meta(meta))
}

/// Creates, upserts, replaces, patches or deletes one item.
pub(super) async fn write(
    call: &ContainerCall<'_>,
    operation: Operation,
) -> Result<Reply, Problem> {
    let headers = call.headers;
    refuse_triggers(call)?;
    let body = || call.body.to_vec();
    let kind = match operation {
        Operation::Create => WriteKind::Create { body: body() },
        Operation::Upsert => WriteKind::Upsert { body: body() },
        Operation::Replace => WriteKind::Replace {
            item: item_ref(call)?,
            body: body(),
        },
        Operation::Patch => WriteKind::Patch {
            item: item_ref(call)?,
            body: body(),
        },
        Operation::Delete => WriteKind::Delete {
            item: item_ref(call)?,
        },
        _ => return Err(GatewayError::MethodNotAllowed.into()),
    };
    let mut request = WriteRequest::new(kind, partition_key(call, operation)?);
    request.conditions = headers.conditions()?;
    request.indexing = headers.indexing_directive()?;
    request.claim = headers.claim()?;
    let Answer { value, meta } = call.submit(request).await?;
    let reply = match value {
        WriteOutcome::Item(outcome) => item_reply(outcome),
        // Only writes of one item were handed in.
        _ => Reply::empty(StatusCode::OK),
    };
    let reply = reply.meta(meta);
    Ok(if headers.prefers_minimal() {
        reply.without_body()
    } else {
        reply
    })
}

/// Deletes all items of a logical partition.
pub(super) async fn delete_partition_key(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let key = call
        .headers
        .partition_key()?
        .ok_or(Error::PartitionKeyMissing)?;
    let answer = call
        .submit(WriteRequest::new(WriteKind::DeletePartitionKey, Some(key)))
        .await?;
    Ok(Reply::empty(StatusCode::OK).meta(answer.meta))
}

/// Point operations need a key; creating takes it from the body when the header is
/// missing.
fn partition_key(
    call: &ContainerCall<'_>,
    operation: Operation,
) -> Result<Option<PartitionKey>, Problem> {
    let key = call.headers.partition_key()?;
    if key.is_none() && matches!(operation, Operation::Patch | Operation::Delete) {
        return Err(Error::PartitionKeyMissing.into());
    }
    Ok(key)
}

fn item_ref(call: &ContainerCall<'_>) -> Result<ItemRef, Problem> {
    let id = call.path.id().unwrap_or_default();
    if !call.path.is_rid_based() {
        return Ok(ItemRef::Id(id.to_owned()));
    }
    match ResourceId::parse(id) {
        Ok(rid) => Ok(ItemRef::Rid(rid)),
        Err(_) => Err(GatewayError::Path("it ends with an invalid resource id".to_owned()).into()),
    }
}

/// Scripts do not run yet, and a write without its trigger would be another write.
fn refuse_triggers(call: &ContainerCall<'_>) -> Result<(), Problem> {
    for name in [names::PRE_TRIGGER_INCLUDE, names::POST_TRIGGER_INCLUDE] {
        if let Some(trigger) = call
            .headers
            .text(&name)?
            .filter(|text| !text.trim().is_empty())
        {
            return Err(GatewayError::Unsupported(format!(
                "The trigger '{trigger}' cannot be executed: this account does not run scripts."
            ))
            .into());
        }
    }
    Ok(())
}

fn item_reply(outcome: ItemOutcome) -> Reply {
    match outcome {
        ItemOutcome::Created(body) => with_item(StatusCode::CREATED, body),
        ItemOutcome::Replaced(body) | ItemOutcome::Read(body) => with_item(StatusCode::OK, body),
        ItemOutcome::NotModified(etag) => {
            Reply::empty(StatusCode::NOT_MODIFIED).etag(etag.into_string())
        }
        ItemOutcome::Deleted => Reply::empty(StatusCode::NO_CONTENT),
    }
}

/// The stored text goes out as it is, without a copy.
fn with_item(status: StatusCode, body: ItemBody) -> Reply {
    let etag = body.etag().into_string();
    Reply::json(status, Bytes::from_owner(body)).etag(etag)
}
