//! Throughput in headers (protocol: sections 3 and 12).

use http::HeaderValue;
use orrery_engine::catalog::{MetadataOptions, OfferFacts, OfferMigration};

use crate::request::RequestHeaders;
use crate::respond::errors::GatewayError;
use crate::respond::{Reply, names};

/// Reads what creating and replacing may ask for.
pub(super) fn read_headers(
    headers: RequestHeaders<'_>,
    options: &mut MetadataOptions,
) -> Result<(), GatewayError> {
    options.throughput = headers.number(&names::OFFER_THROUGHPUT)?;
    options.autoscale_settings = headers.text(&names::OFFER_AUTOPILOT)?.map(str::to_owned);
    let to_autoscale = headers.flag(&names::MIGRATE_TO_AUTOPILOT)?;
    let to_manual = headers.flag(&names::MIGRATE_TO_MANUAL)?;
    options.migration = match (to_autoscale, to_manual) {
        (false, false) => None,
        (true, false) => Some(OfferMigration::ToAutoscale),
        (false, true) => Some(OfferMigration::ToManual),
        (true, true) => return Err(GatewayError::Header(names::MIGRATE_TO_MANUAL)),
    };
    Ok(())
}

/// Adds what SDKs show of an offer.
pub(super) fn add_headers(reply: Reply, facts: OfferFacts) -> Reply {
    let pending = if facts.replace_pending {
        "true"
    } else {
        "false"
    };
    reply
        .header(names::MIN_THROUGHPUT, facts.minimum.into())
        .header(
            names::OFFER_REPLACE_PENDING,
            HeaderValue::from_static(pending),
        )
}
