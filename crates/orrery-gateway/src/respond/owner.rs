//! The container that a response belongs to. SDKs file session tokens under its two paths
//! (protocol: section 3.4), so they go with every response.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use http::HeaderValue;
use orrery_engine::Container;
use orrery_model::rid::ResourceId;

use super::item_form::ItemForm;

/// Containers whose paths are kept.
const KEPT: usize = 1024;

/// The two paths as header values.
#[derive(Debug)]
pub struct Owner {
    /// `dbs/a/colls/b`, escaped.
    pub(super) alt_path: HeaderValue,
    /// The container's rid.
    pub(super) rid: HeaderValue,
    /// For answers with one of its items.
    pub(super) item_form: Option<ItemForm>,
}

impl Owner {
    /// The owner of a metadata resource.
    pub fn new(alt_path: &str, rid: &str) -> Self {
        Self {
            alt_path: path_header(alt_path),
            rid: path_header(rid),
            item_form: None,
        }
    }

    fn of_items(container: &Container) -> Self {
        let bare = Self::new(container.alt_path(), &container.rid().to_string());
        let form = ItemForm::new(bare.alt_path.clone(), bare.rid.clone());
        Self {
            item_form: Some(form),
            ..bare
        }
    }
}

/// The containers that were asked lately: their paths never change.
#[derive(Debug, Default)]
pub struct Owners(RwLock<HashMap<ResourceId, Arc<Owner>>>);

impl Owners {
    /// The owner of a container's items.
    pub fn of(&self, container: &Container) -> Arc<Owner> {
        let rid = container.rid();
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = known.get(&rid) {
            return Arc::clone(owner);
        }
        drop(known);
        let owner = Arc::new(Owner::of_items(container));
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(rid, Arc::clone(&owner));
        owner
    }
}

/// A link as a header value, escaped where it must be. Slashes and what rids are made
/// of stay as they are.
fn path_header(link: &str) -> HeaderValue {
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
