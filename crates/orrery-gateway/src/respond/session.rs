//! Session token and log positions of a response.

use http::HeaderValue;
use orrery_engine::Meta;

use super::short_text::ShortText;

/// The values of a response's positions.
pub(super) struct Positions {
    /// `range:version#lsn`.
    pub token: HeaderValue,
    /// The range.
    pub range: HeaderValue,
    /// How far it is.
    pub lsn: HeaderValue,
    /// The item's last write, for answers about one item.
    pub item_lsn: Option<HeaderValue>,
}

impl Positions {
    /// How far the serving range is. A response names exactly one range (protocol: section
    /// 3.4); without a range there is no position.
    pub fn of(meta: &Meta) -> Option<Self> {
        let range = u64::from(meta.range?.0);
        // One text for all: the numbers of the token are values of their own as well.
        let text = ShortText::new().number(range);
        let range_end = text.len();
        // Accounts of one region begin at -1, and each merge raises it.
        let text = match meta.merges.checked_sub(1) {
            None => text.text(":-1#"),
            Some(version) => text.text(":").number(version.into()).text("#"),
        };
        let lsn_start = text.len();
        let text = text.number(meta.lsn.0);
        let token_end = text.len();
        let text = match meta.item_lsn {
            Some(lsn) => text.number(lsn.0),
            None => text,
        };
        let item_end = text.len();
        let text = text.bytes();
        let value = |place| {
            HeaderValue::from_maybe_shared(text.slice(place))
                .unwrap_or(HeaderValue::from_static(""))
        };
        Some(Self {
            token: value(0..token_end),
            range: value(0..range_end),
            lsn: value(lsn_start..token_end),
            item_lsn: meta.item_lsn.map(|_| value(token_end..item_end)),
        })
    }
}
