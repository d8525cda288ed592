//! What a resource token allows (protocol: section 2.2).

use orrery_engine::Engine;
use orrery_model::resource_path::ResourcePath;

use crate::request::Operation;
use crate::respond::errors::{GatewayError, Problem};

/// Refuses what the token's permission does not cover.
pub(crate) fn check(
    _engine: &Engine,
    _token: &str,
    _path: &ResourcePath,
    _operation: Operation,
) -> Result<(), Problem> {
    Err(GatewayError::UnknownToken.into())
}
