//! Change feeds (protocol: section 9).

use std::time::UNIX_EPOCH;

use http::{StatusCode, header};
use orrery_engine::change_feed::{Mode, Start};
use orrery_engine::{Answer, Error};

use super::{ContainerCall, page_reply};
use crate::request::{self, RequestHeaders, http_date};
use crate::respond::Reply;
use crate::respond::errors::{GatewayError, Problem};
use crate::respond::names;

/// Reads a page of changes; 304 when there is nothing newer.
pub(super) async fn read(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let mode = match call.headers.change_feed_mode()? {
        Some(request::ChangeFeedMode::AllVersionsAndDeletes) => Mode::AllVersionsAndDeletes,
        _ => Mode::LatestVersion,
    };
    let start = start(call.headers)?;
    if mode == Mode::AllVersionsAndDeletes && matches!(start, Start::Beginning | Start::Time(_)) {
        return Err(Error::bad_request(
            "A change feed of all versions and deletes starts now or at a continuation.",
        )
        .into());
    }
    if call
        .headers
        .text(&names::CHANGE_FEED_WIRE_FORMAT)?
        .is_some_and(str::is_empty)
    {
        return Err(GatewayError::Header(names::CHANGE_FEED_WIRE_FORMAT).into());
    }
    let target = call.target()?;
    let page = call.headers.page()?;
    let Answer { value, meta } = call
        .blocking(move |engine, container| {
            engine.change_feed(container, &target, &start, mode, &page)
        })
        .await?;
    let reply = if value.count == 0 {
        Reply::empty(StatusCode::NOT_MODIFIED).item_count(0)
    } else {
        page_reply(
            &call.container,
            call.path.kind().feed_array(),
            &value.rows,
            value.count,
        )
    };
    Ok(reply.etag(value.etag).meta(meta))
}

/// A continuation wins over a time, and a time over the beginning.
fn start(headers: RequestHeaders<'_>) -> Result<Start, GatewayError> {
    if let Some(etag) = headers.text(&header::IF_NONE_MATCH)? {
        return Ok(if etag == "*" {
            Start::Now
        } else {
            Start::After(etag.to_owned())
        });
    }
    let Some(text) = headers.text(&header::IF_MODIFIED_SINCE)? else {
        return Ok(Start::Beginning);
    };
    let time =
        http_date::parse_start(text).ok_or(GatewayError::Header(header::IF_MODIFIED_SINCE))?;
    Ok(Start::Time(
        time.duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs(),
    ))
}
