//! Which part of a container a feed, query or bulk request addresses
//! (protocol: sections 3.1 and 8.1).

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::partition_key::PartitionKey;

use super::RequestHeaders;
use crate::respond::errors::GatewayError;
use crate::respond::names;

/// A partition key range, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeScope {
    /// Rid of the container that the client thinks of, where it says.
    pub container_rid: Option<String>,
    /// The range.
    pub id: PartitionKeyRangeId,
    /// Only these effective partition keys.
    pub epk: Option<EpkRange>,
}

/// The targeting headers of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetHeaders {
    /// A partition key, or a prefix of one.
    Key(PartitionKey),
    /// A range.
    Range(RangeScope),
    /// A part of the key space without a range.
    Epk(EpkRange),
    /// Nothing: the whole container.
    None,
}

impl TargetHeaders {
    /// Reads the headers. A range id wins over a key, as it is the narrower routing
    /// when both are there.
    pub fn read(headers: RequestHeaders<'_>) -> Result<Self, GatewayError> {
        let epk = epk_range(headers)?;
        if let Some(text) = headers.text(&names::PARTITION_KEY_RANGE_ID)? {
            return Ok(Self::Range(range_scope(text, epk)?));
        }
        if let Some(key) = headers.partition_key()? {
            return Ok(Self::Key(key));
        }
        Ok(epk.map_or(Self::None, Self::Epk))
    }
}

/// `7`, or `{container rid},7`.
fn range_scope(text: &str, epk: Option<EpkRange>) -> Result<RangeScope, GatewayError> {
    let (container_rid, id) = match text.rsplit_once(',') {
        Some((rid, id)) => (Some(rid.to_owned()), id),
        None => (None, text),
    };
    let id = PartitionKeyRangeId::parse(id.trim())
        .ok_or(GatewayError::Header(names::PARTITION_KEY_RANGE_ID))?;
    Ok(RangeScope {
        container_rid,
        id,
        epk,
    })
}

/// Start and end in hex; they mean nothing without the key type that says so.
fn epk_range(headers: RequestHeaders<'_>) -> Result<Option<EpkRange>, GatewayError> {
    let (start, end) = (
        headers.text(&names::START_EPK)?,
        headers.text(&names::END_EPK)?,
    );
    let kind = headers.text(&names::READ_KEY_TYPE)?;
    let is_epk_range = match kind {
        None => false,
        Some(kind) if kind.eq_ignore_ascii_case("EffectivePartitionKeyRange") => true,
        Some(kind)
            if kind.eq_ignore_ascii_case("ResourceId")
                || kind.eq_ignore_ascii_case("EffectivePartitionKey") =>
        {
            false
        }
        Some(_) => return Err(GatewayError::Header(names::READ_KEY_TYPE)),
    };
    if start.is_none() && end.is_none() {
        return Ok(None);
    }
    if !is_epk_range {
        return Err(GatewayError::Header(names::READ_KEY_TYPE));
    }
    let parse =
        |name, text: &str| EffectivePartitionKey::from_hex(text).ok_or(GatewayError::Header(name));
    let min = parse(names::START_EPK, start.unwrap_or(""))?;
    let max = match end {
        Some(text) => parse(names::END_EPK, text)?,
        None => EffectivePartitionKey::max(),
    };
    if min > max {
        return Err(GatewayError::Header(names::START_EPK));
    }
    Ok(Some(EpkRange::new(min, max)))
}
