//! Session token and log positions of a response.

use http::{HeaderMap, HeaderName};
use orrery_engine::Meta;

use super::names;
use super::short_text::short_text;

/// Adds the headers that tell how far the serving range is. A response names exactly
/// one range (protocol: section 3.4); without a range there is no position.
pub(super) fn add_positions(headers: &mut HeaderMap, meta: &Meta) {
    let Some(range) = meta.range else { return };
    if let Some(token) = short_text(format_args!("{}:-1#{}", range.0, meta.lsn.0)) {
        headers.insert(names::SESSION_TOKEN, token);
    }
    insert(headers, [names::PARTITION_KEY_RANGE_ID], u64::from(range.0));
    let everywhere = [
        names::LSN,
        names::LOCAL_LSN,
        names::QUORUM_ACKED_LSN,
        names::QUORUM_ACKED_LOCAL_LSN,
        names::GLOBAL_COMMITTED_LSN,
    ];
    insert(headers, everywhere, meta.lsn.0);
    if let Some(item) = meta.item_lsn {
        insert(headers, [names::ITEM_LSN, names::ITEM_LOCAL_LSN], item.0);
    }
}

fn insert<const N: usize>(headers: &mut HeaderMap, names: [HeaderName; N], number: u64) {
    if let Some(value) = short_text(format_args!("{number}")) {
        for name in names {
            headers.insert(name, value.clone());
        }
    }
}
