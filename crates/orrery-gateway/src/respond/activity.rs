//! Activity ids: GUIDs that the client sends or we make.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderValue};
use orrery_model::ids;

use super::names;

/// The id of one request.
#[derive(Debug, Clone)]
pub struct ActivityId(HeaderValue);

impl ActivityId {
    /// As a header.
    pub fn into_header(self) -> HeaderValue {
        self.0
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

/// Makes activity ids: one random start, then a counter, since ids need be unique
/// only and a system call for each request would be dear.
#[derive(Debug)]
pub struct ActivitySource {
    high: u64,
    next: AtomicU64,
}

impl ActivitySource {
    /// Starts at a random number.
    pub fn new(seed: [u64; 2]) -> Self {
        Self {
            high: seed[0],
            next: AtomicU64::new(seed[1]),
        }
    }

    /// The client's id if it is a GUID, else a new one.
    pub fn of_request(&self, headers: &HeaderMap) -> ActivityId {
        match headers.get(names::ACTIVITY_ID) {
            Some(value) if is_guid(value.as_bytes()) => ActivityId(value.clone()),
            _ => self.fresh(),
        }
    }

    fn fresh(&self) -> ActivityId {
        const VERSION_4: u128 = 0x4 << 76;
        const VARIANT_1: u128 = 0x8 << 60;
        const FREE: u128 = !((0xF << 76) | (0xF << 60));
        let low = self.next.fetch_add(1, Ordering::Relaxed);
        let number = (u128::from(self.high) << 64) | u128::from(low);
        // So marked, strict parsers take it.
        let text = ids::ActivityId((number & FREE) | VERSION_4 | VARIANT_1).text();
        ActivityId(HeaderValue::from_bytes(&text).expect("a GUID is a header value"))
    }
}

fn is_guid(text: &[u8]) -> bool {
    text.len() == ids::ActivityId::LENGTH
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_guids_of_version_4_that_count_up() {
        let source = ActivitySource::new([0x0123_4567_89AB_CDEF, u64::MAX]);
        let ids = [(); 2].map(|()| source.of_request(&HeaderMap::new()));
        assert_eq!(ids[0].as_str(), "01234567-89ab-4def-8fff-ffffffffffff");
        assert_eq!(ids[1].as_str(), "01234567-89ab-4def-8000-000000000000");
    }
}
