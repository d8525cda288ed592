//! Session token and log positions of a response.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use orrery_engine::Meta;

use super::names;

/// Adds the headers that tell how far the serving range is. A response names exactly
/// one range (protocol: section 3.4); without a range there is no position.
pub(super) fn add_positions(headers: &mut HeaderMap, meta: &Meta) {
    let Some(range) = meta.range else { return };
    let token = format!("{}:-1#{}", range.0, meta.lsn.0);
    if let Ok(token) = HeaderValue::from_maybe_shared(Bytes::from(token)) {
        headers.insert(names::SESSION_TOKEN, token);
    }
    headers.insert(names::PARTITION_KEY_RANGE_ID, range.0.into());
    let lsn = HeaderValue::from(meta.lsn.0);
    for name in [
        names::LSN,
        names::LOCAL_LSN,
        names::QUORUM_ACKED_LSN,
        names::QUORUM_ACKED_LOCAL_LSN,
        names::GLOBAL_COMMITTED_LSN,
    ] {
        headers.insert(name, lsn.clone());
    }
    if let Some(item) = meta.item_lsn {
        let item = HeaderValue::from(item.0);
        headers.insert(names::ITEM_LSN, item.clone());
        headers.insert(names::ITEM_LOCAL_LSN, item);
    }
}
