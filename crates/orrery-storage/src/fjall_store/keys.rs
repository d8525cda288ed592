//! Where things lie in the one keyspace, and how heads are written.
//!
//! `docs/format.md` describes the same bytes for readers of the disk.

use crate::part::{CommitToken, Head, PartId, PartState};

/// Bytes before every key: its part's number.
pub(super) const PART_BYTES: usize = 8;

/// The store's own records live behind the last part.
const RECORDS: [u8; PART_BYTES] = [0xFF; PART_BYTES];
const COMMITS: u8 = b'c';
const DROPPED: u8 = b'd';
const HEAD: u8 = b'h';

const HEAD_VERSION: u8 = 1;
const HEAD_BYTES: usize = 34;

/// A part's key as the engine sees it.
pub(super) fn part_key(part: PartId, key: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(PART_BYTES + key.len());
    whole.extend_from_slice(&part.0.to_be_bytes());
    whole.extend_from_slice(key);
    whole
}

/// The first key behind a part.
pub(super) fn part_end(part: PartId) -> [u8; PART_BYTES] {
    // Parts end below the records, so there is always a next number.
    part.0.saturating_add(1).to_be_bytes()
}

/// The number of the last commit of the whole store: the record that the durable mark is
/// compared with.
pub(super) fn commits_key() -> Vec<u8> {
    record_key(COMMITS, &[])
}

pub(super) fn head_key(part: PartId) -> Vec<u8> {
    record_key(HEAD, &part.0.to_be_bytes())
}

/// Present while the space of a dropped part is being reclaimed.
pub(super) fn dropped_key(part: PartId) -> Vec<u8> {
    record_key(DROPPED, &part.0.to_be_bytes())
}

pub(super) fn heads_prefix() -> Vec<u8> {
    record_key(HEAD, &[])
}

pub(super) fn dropped_prefix() -> Vec<u8> {
    record_key(DROPPED, &[])
}

/// The part that a head or drop record is about.
pub(super) fn record_part(key: &[u8]) -> Option<PartId> {
    let number = key.get(PART_BYTES + 1..)?;
    Some(PartId(u64::from_be_bytes(number.try_into().ok()?)))
}

fn record_key(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(PART_BYTES + 1 + rest.len());
    key.extend_from_slice(&RECORDS);
    key.push(kind);
    key.extend_from_slice(rest);
    key
}

pub(super) fn encode_head(head: Head) -> [u8; HEAD_BYTES] {
    let mut bytes = [0; HEAD_BYTES];
    bytes[0] = HEAD_VERSION;
    bytes[1] = match head.state {
        PartState::Active => 0,
        PartState::Importing => 1,
        PartState::Sealed => 2,
    };
    bytes[2..10].copy_from_slice(&head.generation.to_be_bytes());
    bytes[10..18].copy_from_slice(&head.lsn.to_be_bytes());
    bytes[18..].copy_from_slice(&head.token.0.to_be_bytes());
    bytes
}

pub(super) fn decode_head(bytes: &[u8]) -> Option<Head> {
    let bytes: &[u8; HEAD_BYTES] = bytes.try_into().ok()?;
    if bytes[0] != HEAD_VERSION {
        return None;
    }
    Some(Head {
        state: match bytes[1] {
            0 => PartState::Active,
            1 => PartState::Importing,
            2 => PartState::Sealed,
            _ => return None,
        },
        generation: u64::from_be_bytes(bytes[2..10].try_into().ok()?),
        lsn: u64::from_be_bytes(bytes[10..18].try_into().ok()?),
        token: CommitToken(u128::from_be_bytes(bytes[18..].try_into().ok()?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive_the_disk() {
        let head = Head {
            generation: 3,
            state: PartState::Sealed,
            lsn: u64::MAX,
            token: CommitToken(u128::MAX / 3),
        };
        let bytes = encode_head(head);
        assert_eq!(decode_head(&bytes), Some(head));
        assert_eq!(decode_head(&bytes[1..]), None);
        let mut other = bytes;
        other[1] = 9;
        assert_eq!(decode_head(&other), None);
    }

    #[test]
    fn parts_end_before_the_next_and_before_the_records() {
        for part in [PartId(0), PartId(255), PartId::MAX] {
            assert!(part_key(part, &[0xFF; 20]).as_slice() < part_end(part).as_slice());
            assert!(part_end(part).as_slice() < head_key(part).as_slice());
        }
        assert_eq!(record_part(&head_key(PartId(7))), Some(PartId(7)));
        assert_eq!(record_part(b"short"), None);
    }
}
