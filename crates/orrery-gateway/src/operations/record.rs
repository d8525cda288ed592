//! From a request to items and its answer to a record of the trace.

use std::borrow::Cow;
use std::sync::OnceLock;

use orrery_engine::write::{BatchKind, BatchOperation, BatchOutcome};
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;

use super::{ContainerCall, batch};
use crate::request::{Operation, QueryBody, RequestHeaders};
use crate::respond::{ActivityId, Reply, names};
use crate::trace::{Part, Query, Record, Recorder};

/// The operation by the name that the service's logs have for it (request units: section 12).
pub(super) fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "Read",
        Operation::ReadFeed => "ReadFeed",
        Operation::Query => "Query",
        Operation::QueryPlan => "QueryPlan",
        Operation::Batch => "Batch",
        Operation::Upsert => "Upsert",
        Operation::Create => "Create",
        Operation::Replace => "Replace",
        Operation::Patch => "Patch",
        Operation::Delete => "Delete",
        Operation::Execute => "ExecuteJavaScript",
        Operation::DeletePartitionKey => "DeletePartitionKey",
        Operation::Truncate => "Truncate",
    }
}

/// When a request came and when its answer was ready, in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub started_us: u64,
    pub ended_us: u64,
}

/// Hands a request and its answer to a recorder.
pub(super) fn hand_over(
    recorder: &dyn Recorder,
    call: &ContainerCall<'_>,
    operation: Operation,
    reply: &Reply,
    activity: &ActivityId,
    times: Times,
) {
    let headers = call.headers;
    let key = key(call, operation);
    let is_query = matches!(operation, Operation::Query | Operation::QueryPlan);
    let query = is_query.then(|| QueryBody::parse(call.body).ok()).flatten();
    let parts = call.parts.get();
    let meta = reply.measured();
    recorder.record(&Record {
        started_us: times.started_us,
        took_us: times.ended_us.saturating_sub(times.started_us),
        operation: if headers.contains(&names::A_IM) {
            "ReadChangeFeed"
        } else {
            name(operation)
        },
        container: &call.container,
        range: meta.range,
        key: key.as_deref(),
        id: call.path.id().filter(|_| !call.path.is_feed()),
        query: query.as_ref().map(|query| Query {
            text: &query.text,
            parameters: &query.parameters,
        }),
        parts: parts.map(Vec::as_slice).unwrap_or_default(),
        status: reply.status().as_u16(),
        sub_status: reply.number(&names::SUB_STATUS).unwrap_or(0),
        charge: meta.charge,
        request_bytes: call.body.len(),
        response_bytes: reply.body_bytes(),
        items: reply.number(&names::ITEM_COUNT),
        is_continued: headers.contains(&names::CONTINUATION),
        activity: activity.as_str(),
        correlated: text(headers, &names::CORRELATED_ACTIVITY_ID),
        user_agent: text(headers, &http::header::USER_AGENT),
    });
}

fn text<'h>(headers: RequestHeaders<'h>, name: &http::HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// The key of the header, or else of the item in the body.
fn key<'c>(call: &'c ContainerCall<'_>, operation: Operation) -> Option<Cow<'c, PartitionKey>> {
    if let Ok(Some(key)) = call.partition_key() {
        return Some(Cow::Borrowed(key));
    }
    match operation {
        Operation::Create | Operation::Upsert | Operation::Replace => {
            key_of_body(call, call.body).map(Cow::Owned)
        }
        _ => None,
    }
}

fn key_of_body(call: &ContainerCall<'_>, body: &[u8]) -> Option<PartitionKey> {
    let item = json::parse(body).ok()?;
    let state = call.container.state();
    state.key_definition().extract(&item).ok()
}

/// What a batch asks for, kept until its answer is there.
pub(super) fn parts_asked(call: &ContainerCall<'_>, operations: &[BatchOperation]) -> Vec<Part> {
    let part = |operation: &BatchOperation| {
        let (name, id, body) = match &operation.kind {
            BatchKind::Create { body } => ("Create", None, Some(body)),
            BatchKind::Upsert { body } => ("Upsert", None, Some(body)),
            BatchKind::Replace { id, body } => ("Replace", Some(id), Some(body)),
            BatchKind::Read { id } => ("Read", Some(id), None),
            BatchKind::Patch { id, .. } => ("Patch", Some(id), None),
            BatchKind::Delete { id } => ("Delete", Some(id), None),
        };
        let of_body = || key_of_body(call, body?);
        Part {
            operation: name,
            key: operation.key.clone().or_else(of_body),
            id: id.cloned(),
            status: 0,
            charge: orrery_model::charge::Charge::ZERO,
        }
    };
    operations.iter().map(part).collect()
}

/// Puts the results of a batch to its parts.
pub(super) fn parts_answered(
    slot: &OnceLock<Vec<Part>>,
    mut parts: Vec<Part>,
    outcome: &BatchOutcome,
) {
    for (part, result) in parts.iter_mut().zip(&outcome.results) {
        part.status = batch::status_of(result);
        part.charge = result.charge;
    }
    // A request runs one batch, so nobody was here before.
    let _ = slot.set(parts);
}
