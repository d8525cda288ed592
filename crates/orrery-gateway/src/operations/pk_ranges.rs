//! The feed of partition key ranges (protocol: section 7).

use http::StatusCode;
use orrery_engine::{Answer, Error, Meta};
use orrery_model::charge::Charge;
use orrery_model::ids::PartitionKeyRangeId;

use super::{ContainerCall, page_reply};
use crate::request::Operation;
use crate::respond::Reply;
use crate::respond::errors::{GatewayError, Problem};
use crate::respond::names;

/// Answers the feed, or one range.
pub(super) fn run(call: &ContainerCall<'_>, operation: Operation) -> Result<Reply, Problem> {
    match operation {
        Operation::ReadFeed => feed(call),
        Operation::Read => one(call),
        _ => Err(GatewayError::MethodNotAllowed.into()),
    }
}

/// With `If-None-Match` only what is new since then. SDKs ask on until they get a 304,
/// so that answer has to come (protocol: section 7); clients that do not ask
/// incrementally always get the whole list.
fn feed(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let incremental =
        call.headers.contains(&names::A_IM) || call.headers.contains(&http::header::IF_NONE_MATCH);
    let since = if incremental {
        call.headers.text(&http::header::IF_NONE_MATCH)?
    } else {
        None
    };
    let Answer { value, meta } = call.engine.pk_ranges(&call.container, since);
    let reply = match value.page {
        Some(page) => page_reply(
            &call.container,
            call.path.kind().feed_array(),
            &page.rows,
            page.count,
        ),
        None => Reply::empty(StatusCode::NOT_MODIFIED).item_count(0),
    };
    Ok(reply.etag(value.etag).meta(meta))
}

fn one(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let range = call
        .path
        .id()
        .and_then(PartitionKeyRangeId::parse)
        .and_then(|id| call.engine.pk_range(&call.container, id))
        .ok_or(Error::NotFound)?;
    Ok(Reply::json(StatusCode::OK, range).meta(Meta::of_charge(Charge::ONE)))
}
