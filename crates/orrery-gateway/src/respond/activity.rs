//! Activity ids: GUIDs that the client sends or we make.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

use super::names;

/// The id of one request.
#[derive(Debug, Clone)]
pub struct ActivityId(HeaderValue);

impl ActivityId {
    /// As a header.
    pub fn header(&self) -> HeaderValue {
        self.0.clone()
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
        let low = self.next.fetch_add(1, Ordering::Relaxed);
        let high = self.high;
        // Version 4, variant 1, so that strict parsers take it.
        let text = format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xFFFF,
            high & 0xFFF,
            (low >> 48) & 0xFFF,
            low & 0xFFFF_FFFF_FFFF
        );
        ActivityId(
            HeaderValue::from_maybe_shared(Bytes::from(text)).expect("a GUID is a header value"),
        )
    }
}

fn is_guid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
