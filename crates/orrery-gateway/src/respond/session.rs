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
        let number = |number| ShortText::new().number(number);
        Some(Self {
            token: number(range).text(":-1#").number(meta.lsn.0).value(),
            range: number(range).value(),
            lsn: number(meta.lsn.0).value(),
            item_lsn: meta.item_lsn.map(|lsn| number(lsn.0).value()),
        })
    }
}
