//! Where things lie in the one keyspace, and how heads are written.
//!
//! `docs/format.md` describes the same bytes for readers of the disk.

use crate::part::{CommitToken, Head, PartId, PartState};

/// The store's own records live behind the last part.
const RECORDS: u8 = 0xFF;
/// Part numbers below this are one byte; greater ones are a byte that tells their length, and
/// then the number without leading zeros. Byte order is number order.
///
/// Keys in a memtable are told apart by their first four bytes where possible, without following
/// a pointer; eight bytes of part number would make those bytes useless.
const FIRST_LONG: u8 = 0xF0;
const COMMITS: u8 = b'c';
const DROPPED: u8 = b'd';
const HEAD: u8 = b'h';

const HEAD_VERSION: u8 = 1;
const HEAD_BYTES: usize = 34;

/// Appends the bytes before every key of a part.
pub(super) fn push_part(part: PartId, key: &mut Vec<u8>) {
    match u8::try_from(part.0) {
        Ok(number) if number < FIRST_LONG => key.push(number),
        _ => {
            let bytes = part.0.to_be_bytes();
            // At most 7: the number is not zero.
            let zeros = part.0.leading_zeros() as usize / 8;
            key.push(FIRST_LONG + (bytes.len() - zeros) as u8);
            key.extend_from_slice(&bytes[zeros..]);
        }
    }
}

/// A part's key as the engine sees it.
pub(super) fn part_key(part: PartId, key: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(9 + key.len());
    push_part(part, &mut whole);
    whole.extend_from_slice(key);
    whole
}

/// The first key behind a part.
pub(super) fn part_end(part: PartId) -> Vec<u8> {
    // Numbers end below the greatest one, so there is always a next.
    part_key(PartId(part.0.saturating_add(1)), &[])
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
    let number = key.get(2..)?;
    Some(PartId(u64::from_be_bytes(number.try_into().ok()?)))
}

fn record_key(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(2 + rest.len());
    key.extend_from_slice(&[RECORDS, kind]);
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
    fn parts_lie_in_the_order_of_their_numbers_and_before_the_records() {
        let numbers = [
            0,
            1,
            239,
            240,
            255,
            256,
            65_535,
            65_536,
            1 << 32,
            u64::MAX - 1,
        ];
        let mut last = Vec::new();
        for part in numbers.map(PartId) {
            let start = part_key(part, &[]);
            assert!(last < start || part.0 == 0, "part {part}");
            last = part_key(part, &[0xFF; 20]);
            assert!(last < part_end(part), "part {part}");
            assert!(part_end(part) < head_key(part), "part {part}");
            assert_eq!(record_part(&head_key(part)), Some(part));
        }
        assert_eq!(record_part(b"short"), None);
    }
}
