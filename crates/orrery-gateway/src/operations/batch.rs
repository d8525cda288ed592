//! Batches, transactional and bulk, as JSON or HybridRow; the answer takes the form
//! of the request (protocol: section 10.1).

mod decode;
mod encode;

use http::{HeaderValue, StatusCode};
use orrery_engine::Meta;
use orrery_engine::write::{BatchOutcome, WriteKind, WriteOutcome, WriteRequest};

use super::{ContainerCall, record};
use crate::hybrid_row;
use crate::request::{RequestHeaders, TargetHeaders};
use crate::respond::Reply;
use crate::respond::errors::{GatewayError, Problem};
use crate::respond::names;

pub(crate) use encode::status_of;

/// Runs a batch.
pub(crate) async fn execute(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let headers = call.headers;
    let binary = call.body.first() == Some(&hybrid_row::VERSION);
    let mut operations = if binary {
        decode::hybrid_row(call.body)?
    } else {
        decode::json(call.body)?
    };
    let prefers_minimal = headers.prefers_minimal();
    for operation in &mut operations {
        operation.minimal |= prefers_minimal;
    }
    let minimal: Vec<bool> = operations
        .iter()
        .map(|operation| operation.minimal)
        .collect();
    let parts = call
        .is_traced
        .then(|| record::parts_asked(call, &operations));
    let mut request = WriteRequest::new(
        WriteKind::Batch {
            operations,
            atomic: is_atomic(headers)?,
            continue_on_error: headers.flag(&names::BATCH_CONTINUE_ON_ERROR)?,
        },
        None,
    );
    request.claim = headers.claim()?;
    match TargetHeaders::read(headers)? {
        TargetHeaders::Key(key) => request.key = Some(key),
        TargetHeaders::Range(scope) => request.range = Some(scope.id),
        TargetHeaders::Epk(_) | TargetHeaders::None => {}
    }
    let answer = call.submit(request).await?;
    let WriteOutcome::Batch(outcome) = answer.value else {
        return Err(GatewayError::Body("The request is not a batch.".to_owned()).into());
    };
    if let Some(parts) = parts {
        record::parts_answered(&call.parts, parts, &outcome);
    }
    Ok(reply(&outcome, &minimal, binary, answer.meta))
}

/// A batch without the header is atomic when it names a logical partition.
fn is_atomic(headers: RequestHeaders<'_>) -> Result<bool, GatewayError> {
    Ok(match headers.optional_flag(&names::BATCH_ATOMIC)? {
        Some(atomic) => atomic,
        None => headers.contains(&names::PARTITION_KEY),
    })
}

fn reply(outcome: &BatchOutcome, minimal: &[bool], binary: bool, meta: Meta) -> Reply {
    let status = if outcome.all_succeeded() {
        StatusCode::OK
    } else {
        StatusCode::MULTI_STATUS
    };
    let reply = if binary {
        let body = encode::hybrid_row(outcome, minimal);
        Reply::with_body(
            status,
            HeaderValue::from_static("application/octet-stream"),
            body,
        )
    } else {
        Reply::json(status, encode::json(outcome, minimal))
    };
    reply.meta(meta)
}
