//! Keys of the index: `t`, a term of [`orrery_model::index`] (path hash and value), docid
//! (8 bytes); no value. Entries of one path lie together in order of value, and those of one
//! value in order of insertion.

use orrery_model::ids::DocId;
use orrery_model::index::PathHash;

use super::family;

/// The start of all entries of a path or composite index. Append an encoded value
/// ([`orrery_model::ordered`]) for the entries of that value.
pub fn path_prefix(path: PathHash) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    key.push(family::TERM);
    key.extend_from_slice(&path.to_bytes());
    key
}

/// Appends the key of a term of an item.
pub fn write_key(buffer: &mut Vec<u8>, term: &[u8], docid: DocId) {
    buffer.reserve(term.len() + 9);
    buffer.push(family::TERM);
    buffer.extend_from_slice(term);
    buffer.extend_from_slice(&docid.0.to_be_bytes());
}

/// Length of the key of a term of that length.
pub fn key_length(term: usize) -> u64 {
    term as u64 + 9
}

/// The encoded value and the docid in a term's key.
pub fn parts(key: &[u8]) -> Option<(&[u8], DocId)> {
    let rest = key.strip_prefix(&[family::TERM])?.get(8..)?;
    let (value, docid) = rest.split_last_chunk::<8>()?;
    Some((value, DocId(u64::from_be_bytes(*docid))))
}
