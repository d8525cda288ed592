//! Queries over items, and their plans (protocol: section 8).

use super::ContainerCall;
use crate::request::QueryBody;
use crate::respond::Reply;
use crate::respond::errors::{GatewayError, Problem};

/// Runs a page of a query.
pub(super) fn run(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    plan(call)
}

/// Plans a query for the client's pipeline.
pub(super) fn plan(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let _spec = QueryBody::parse(call.body)?.into_spec();
    Err(GatewayError::Unsupported("Queries over items are not served yet.".to_owned()).into())
}
