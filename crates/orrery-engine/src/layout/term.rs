//! Keys of the index: `t`, path hash (8 bytes), value, docid (8 bytes); no value.
//!
//! A path is a 64-bit hash, so that a term costs the same at any depth. Two paths of one hash
//! would only add candidates that the evaluation of the item rejects. The value is
//! [`orrery_model::ordered`]'s encoding with strings cut at [`STRING_LIMIT`]: byte order is the
//! service's order across types, and no encoding is a prefix of another. Where a path holds an
//! array or an object, its hash stands for it, so that IS_DEFINED and ORDER BY can be answered
//! from the index alone.

use orrery_model::ids::DocId;
use orrery_model::murmur::murmur3_x64_128;

use super::family;

/// Longer strings are cut in terms, with a mark; what is found by them must be checked.
pub const STRING_LIMIT: usize = 256;

/// A path within an item, as the index knows it: names from the root, array positions collapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathHash(u64);

impl PathHash {
    /// The item itself.
    pub const ROOT: Self = Self(0);

    /// The member of that name.
    pub fn member(self, name: &str) -> Self {
        Self(murmur3_x64_128(name.as_bytes(), (self.0, 1)).0)
    }

    /// Any element.
    pub fn element(self) -> Self {
        Self(murmur3_x64_128(&[], (self.0, 2)).0)
    }

    /// Its bytes in keys.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

/// The start of all terms of a path.
pub fn path_prefix(path: PathHash) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    key.push(family::TERM);
    key.extend_from_slice(&path.to_bytes());
    key
}

/// Appends a term's key: `term` is path hash and value as in [`crate::index::terms::Terms`].
pub fn write_key(buffer: &mut Vec<u8>, term: &[u8], docid: DocId) {
    buffer.reserve(term.len() + 9);
    buffer.push(family::TERM);
    buffer.extend_from_slice(term);
    buffer.extend_from_slice(&docid.0.to_be_bytes());
}

/// The value's encoding and the docid in a term's key.
pub fn parts(key: &[u8]) -> Option<(&[u8], DocId)> {
    let rest = key.strip_prefix(&[family::TERM])?.get(8..)?;
    let (value, docid) = rest.split_last_chunk::<8>()?;
    Some((value, DocId(u64::from_be_bytes(*docid))))
}
