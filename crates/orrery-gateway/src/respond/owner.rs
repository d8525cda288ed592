//! The container that a response belongs to. SDKs file session tokens under its two paths
//! (protocol: section 3.4), so they go with every response.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use http::HeaderValue;
use orrery_engine::Container;
use orrery_model::rid::ResourceId;

/// Containers whose paths are kept.
const KEPT: usize = 1024;

/// The two paths as header values.
#[derive(Debug, Clone)]
pub struct Owner {
    /// `dbs/a/colls/b`, escaped.
    pub alt_path: HeaderValue,
    /// The container's rid.
    pub rid: HeaderValue,
}

/// The paths of the containers that were asked lately: neither of them ever changes.
#[derive(Debug, Default)]
pub struct Owners(RwLock<HashMap<ResourceId, Owner>>);

impl Owners {
    /// The paths of a container.
    pub fn of(&self, container: &Container) -> Owner {
        let rid = container.rid();
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = known.get(&rid) {
            return owner.clone();
        }
        drop(known);
        let owner = Owner {
            alt_path: path_header(container.alt_path()),
            rid: path_header(&rid.to_string()),
        };
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(rid, owner.clone());
        owner
    }
}

/// A link as a header value, escaped where it must be. Slashes and what rids are made
/// of stay as they are.
pub fn path_header(link: &str) -> HeaderValue {
    use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
    const ESCAPED: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'<')
        .add(b'>')
        .add(b'%')
        .add(b'\\')
        .add(b'^')
        .add(b'`')
        .add(b'{')
        .add(b'|')
        .add(b'}');
    let text = utf8_percent_encode(link, ESCAPED).to_string();
    HeaderValue::from_maybe_shared(Bytes::from(text)).expect("escaped text is a header value")
}
