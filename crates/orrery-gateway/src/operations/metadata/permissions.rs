//! The life of resource tokens (protocol: section 2.2).

use crate::request::RequestHeaders;
use crate::respond::errors::GatewayError;
use crate::respond::names;

/// Reads `x-ms-documentdb-expiry-seconds`.
pub(super) fn expiry_seconds(headers: RequestHeaders<'_>) -> Result<Option<u64>, GatewayError> {
    match headers.number::<u64>(&names::EXPIRY_SECONDS)? {
        Some(seconds) if !(600..=18_000).contains(&seconds) => {
            Err(GatewayError::Header(names::EXPIRY_SECONDS))
        }
        seconds => Ok(seconds),
    }
}
