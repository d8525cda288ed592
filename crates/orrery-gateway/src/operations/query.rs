//! Queries over items, and their plans (protocol: section 8).

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderValue, StatusCode};
use orrery_engine::Answer;
use orrery_engine::query::{Explanation, QueryOptions};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{ContainerCall, page_reply};
use crate::request::{QueryBody, RequestHeaders};
use crate::respond::errors::{GatewayError, Problem};
use crate::respond::{Reply, names};

/// Runs a page of a query.
pub(super) async fn run(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let headers = call.headers;
    let spec = QueryBody::parse(call.body)?.into_spec();
    let target = call.target()?;
    check_continuation_limit(headers)?;
    let page = headers.page()?;
    let options = QueryOptions {
        max_items: page.max_items,
        continuation: page.continuation,
        session: page.session,
        claim: page.claim,
        cross_partition: headers.flag(&names::ENABLE_CROSS_PARTITION)?,
        answer_for_gone: !call.strict_splits && loses_its_way(headers),
        explain: headers.flag(&names::POPULATE_INDEX_METRICS)?
            || headers.flag(&names::POPULATE_INDEX_METRICS_V2)?
            || headers.flag(&names::POPULATE_QUERY_ADVICE)?,
    };
    let Answer { value, meta } = call
        .blocking(move |engine, container| engine.query(container, &spec, &target, &options))
        .await?;
    let array = call.path.kind().feed_array();
    let mut reply = page_reply(&call.container, array, &value.rows, value.count);
    if headers.flag(&names::POPULATE_QUERY_METRICS)? {
        reply = reply.header_text(names::QUERY_METRICS, value.metrics.to_string());
    }
    if let Some(explanation) = &value.explanation {
        reply = explained(reply, headers, explanation)?;
    }
    if headers.flag(&names::OPTIMISTIC_DIRECT_EXECUTE)? && value.continuation.is_some() {
        // Without it the .NET SDK drops what it has and starts over with a plan
        // (protocol: section 8.8).
        reply = reply.header(
            names::REQUIRES_DISTRIBUTION,
            HeaderValue::from_static("False"),
        );
    }
    Ok(reply.continuation(value.continuation).meta(meta))
}

/// Whether the client is an SDK whose queries over several ranges do not survive the 410/1002 of a
/// range that is gone (COMPAT.md: splits). The JavaScript SDK 4.10.1 asks the same range again for
/// ever; the Python SDK 4.17.1 begins ranges anew beside those that it has.
fn loses_its_way(headers: RequestHeaders<'_>) -> bool {
    const SDKS: [&str; 2] = ["azure-cosmos-js/", "azsdk-python-cosmos"];
    let agent = headers.text(&http::header::USER_AGENT).ok().flatten();
    agent.is_some_and(|agent| SDKS.iter().any(|sdk| agent.contains(sdk)))
}

/// Adds index metrics and query advice, in the encodings that are asked for (protocol: section
/// 3.3).
fn explained(
    reply: Reply,
    headers: RequestHeaders<'_>,
    explanation: &Explanation,
) -> Result<Reply, GatewayError> {
    let mut reply = reply;
    let url = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    if headers.flag(&names::POPULATE_INDEX_METRICS_V2)? {
        let text = url(&explanation.index.to_json_v2());
        reply = reply.header_text(names::INDEX_UTILIZATION, text);
    } else if headers.flag(&names::POPULATE_INDEX_METRICS)? {
        let text = BASE64_STANDARD.encode(explanation.index.to_json());
        reply = reply.header_text(names::INDEX_UTILIZATION, text);
    }
    if headers.flag(&names::POPULATE_QUERY_ADVICE)? {
        let text = url(&explanation.advice);
        reply = reply.header_text(names::QUERY_ADVICE, text);
    }
    Ok(reply)
}

/// Plans a query for the client's pipeline.
pub(super) fn plan(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let spec = QueryBody::parse(call.body)?.into_spec();
    let features = call
        .headers
        .text(&names::SUPPORTED_QUERY_FEATURES)?
        .unwrap_or_default();
    let Answer { value, meta } = call.engine.query_plan(&call.container, &spec, features)?;
    Ok(Reply::json(StatusCode::OK, value).meta(meta))
}

/// Our tokens are far shorter than a kilobyte, so that only a limit of none is too
/// small for them.
fn check_continuation_limit(headers: RequestHeaders<'_>) -> Result<(), GatewayError> {
    match headers.number::<i64>(&names::CONTINUATION_LIMIT_KB)? {
        Some(0) => Err(GatewayError::Input(
            "The continuation token limit specified is not large enough.".to_owned(),
        )),
        Some(limit) if limit < -1 => Err(GatewayError::Header(names::CONTINUATION_LIMIT_KB)),
        _ => Ok(()),
    }
}
