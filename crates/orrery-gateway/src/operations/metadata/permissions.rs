//! Resource tokens are minted whenever a permission is answered (protocol: sections
//! 1.4 and 2.2).

use std::time::Duration;

use orrery_model::json;
use orrery_model::rid::ResourceId;

use super::Exchange;
use crate::request::RequestHeaders;
use crate::respond::errors::GatewayError;
use crate::respond::names;

/// Seconds that a token lives when the client does not say.
const DEFAULT_LIFE: u64 = 3_600;

/// The life that a request asks for; checked before a permission is written.
pub(super) fn life(headers: RequestHeaders<'_>) -> Result<Duration, GatewayError> {
    match headers.number::<u64>(&names::EXPIRY_SECONDS)? {
        Some(seconds) if !(600..=18_000).contains(&seconds) => {
            Err(GatewayError::Header(names::EXPIRY_SECONDS))
        }
        seconds => Ok(Duration::from_secs(seconds.unwrap_or(DEFAULT_LIFE))),
    }
}

/// Adds `_token` to a permission's body, with the life that the request asks for.
pub(super) fn add_token(
    body: &mut Vec<u8>,
    permission: ResourceId,
    exchange: &Exchange<'_>,
) -> Result<(), GatewayError> {
    let life = life(exchange.headers)?;
    let gateway = exchange.gateway;
    let token = gateway.authenticator.mint(permission, gateway.now(), life);
    // The body is an object with members: the token becomes its last one.
    body.pop();
    body.extend_from_slice(b",\"_token\":");
    json::write_string(&token, body);
    body.push(b'}');
    Ok(())
}
