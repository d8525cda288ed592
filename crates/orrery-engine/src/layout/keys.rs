//! Building and reading keys of all families but the index.

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::{DocId, Lsn};

use super::family;

/// Place of a write in its transaction: writes that share an LSN keep their order.
pub type Ordinal = u16;

/// Key of the one counters entry.
pub const COUNTERS: [u8; 1] = [family::COUNTERS];

/// Key of the one rebuild entry.
pub const REBUILD: [u8; 1] = [family::REBUILD];

/// Key of an item.
pub fn item(docid: DocId) -> Vec<u8> {
    item_key(docid).to_vec()
}

/// The same, where it need not live long.
pub fn item_key(docid: DocId) -> [u8; 9] {
    let mut key = [family::ITEM; 9];
    key[1..].copy_from_slice(&docid.0.to_be_bytes());
    key
}

/// The docid in an item's key.
pub fn docid_of_item(key: &[u8]) -> Option<DocId> {
    match key {
        [family::ITEM, docid @ ..] => number(docid).map(DocId),
        _ => None,
    }
}

/// Key of an id entry.
pub fn id(epk: &EffectivePartitionKey, id: &str) -> Vec<u8> {
    joined(family::ID, epk, id.as_bytes())
}

/// Key of a logical partition's entry for one item.
pub fn key(epk: &EffectivePartitionKey, docid: DocId) -> Vec<u8> {
    joined(family::KEY, epk, &docid.0.to_be_bytes())
}

/// What such keys of one logical partition start with.
pub fn key_prefix(epk: &EffectivePartitionKey) -> Vec<u8> {
    joined(family::KEY, epk, &[])
}

/// The effective partition key (as bytes) and docid in such a key.
pub fn parts_of_key(key: &[u8]) -> Option<(&[u8], DocId)> {
    let (epk, docid) = key.strip_prefix(&[family::KEY])?.split_last_chunk::<8>()?;
    Some((epk, DocId(u64::from_be_bytes(*docid))))
}

/// Where the key entries of a part of the key space begin and end (exclusive).
pub fn key_span(range: &EpkRange) -> (Vec<u8>, Vec<u8>) {
    (bound(&range.min), bound(&range.max))
}

/// Where the key entries of one logical partition begin and end (exclusive).
pub fn logical_partition(epk: &EffectivePartitionKey) -> (Vec<u8>, Vec<u8>) {
    let start = joined(family::KEY, epk, &[]);
    let mut end = joined(family::KEY, epk, &[0xFF; 8]);
    end.push(0);
    (start, end)
}

// Trailing zero bytes of a bound are insignificant (protocol: section 6.2); without them the
// byte order of keys is the order of key space for keys of any length.
fn bound(epk: &EffectivePartitionKey) -> Vec<u8> {
    let bytes = epk.as_bytes();
    let significant = bytes
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    let mut key = Vec::with_capacity(1 + significant);
    key.push(family::KEY);
    key.extend_from_slice(&bytes[..significant]);
    key
}

/// Key of a change entry. The docid tells apart what has one place in the logs of two ranges that
/// were merged.
pub fn change(lsn: Lsn, ordinal: Ordinal, docid: DocId) -> Vec<u8> {
    position(family::CHANGE, lsn, ordinal, docid)
}

/// Key of a history entry; the docid as in [`change`].
pub fn history(lsn: Lsn, ordinal: Ordinal, docid: DocId) -> Vec<u8> {
    position(family::HISTORY, lsn, ordinal, docid)
}

/// First key of the change or history family (its letter) behind a position.
pub fn behind(letter: u8, lsn: Lsn) -> Vec<u8> {
    numbered(letter, lsn.0.saturating_add(1))
}

/// The position in a change or history key.
pub fn position_of(key: &[u8]) -> Option<Lsn> {
    let (_, rest) = key.split_first()?;
    let (lsn, _) = rest.split_first_chunk::<8>()?;
    Some(Lsn(u64::from_be_bytes(*lsn)))
}

/// The docid in a change or history key.
pub fn docid_of_position(key: &[u8]) -> Option<DocId> {
    let (_, rest) = key.split_first()?;
    number(rest.get(10..)?).map(DocId)
}

/// Key of a unique entry; `values` is what [`crate::write::unique`] made of the item.
pub fn unique(constraint: u8, epk: &EffectivePartitionKey, values: &[u8]) -> Vec<u8> {
    let epk = epk.as_bytes();
    let mut key = Vec::with_capacity(2 + epk.len() + values.len());
    key.extend_from_slice(&[family::UNIQUE, constraint]);
    key.extend_from_slice(epk);
    key.extend_from_slice(values);
    key
}

/// Key of an expiry entry: the second at which the item is gone.
pub fn expiry(second: u64, docid: DocId) -> Vec<u8> {
    let mut key = numbered(family::EXPIRY, second);
    key.extend_from_slice(&docid.0.to_be_bytes());
    key
}

/// Second and docid of an expiry key.
pub fn parts_of_expiry(key: &[u8]) -> Option<(u64, DocId)> {
    let (second, docid) = key
        .strip_prefix(&[family::EXPIRY])?
        .split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*second), DocId(number(docid)?)))
}

/// First key after all of a family.
pub fn family_end(letter: u8) -> Vec<u8> {
    vec![letter + 1]
}

/// The value of id and unique entries.
pub fn docid_value(docid: DocId) -> Vec<u8> {
    docid.0.to_be_bytes().to_vec()
}

/// Reads such a value.
pub fn docid_of_value(value: &[u8]) -> Option<DocId> {
    number(value).map(DocId)
}

/// The docid that the keys of items, key entries, terms, changes and expiries end with.
pub fn docid_at_end(key: &[u8]) -> Option<DocId> {
    let (_, docid) = key.split_last_chunk::<8>()?;
    Some(DocId(u64::from_be_bytes(*docid)))
}

/// The value of key entries: the bytes of the item and of its terms.
pub fn size_of_value(value: &[u8]) -> Option<u64> {
    number(value)
}

fn number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_be_bytes)
}

fn numbered(letter: u8, number: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(17);
    key.push(letter);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

fn joined(letter: u8, epk: &EffectivePartitionKey, rest: &[u8]) -> Vec<u8> {
    let epk = epk.as_bytes();
    let mut key = Vec::with_capacity(1 + epk.len() + rest.len());
    key.push(letter);
    key.extend_from_slice(epk);
    key.extend_from_slice(rest);
    key
}

fn position(letter: u8, lsn: Lsn, ordinal: Ordinal, docid: DocId) -> Vec<u8> {
    let mut key = Vec::with_capacity(19);
    key.push(letter);
    key.extend_from_slice(&lsn.0.to_be_bytes());
    key.extend_from_slice(&ordinal.to_be_bytes());
    key.extend_from_slice(&docid.0.to_be_bytes());
    key
}
