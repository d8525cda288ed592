//! A stored item: a header for the engine, then the JSON text that the service answers.
//!
//! ```text
//! 0   format      u8   1
//! 1   indexing    u8   the directive of its last write: 0 default, 1 include, 2 exclude
//! 2   lsn         u64  of the item's last write
//! 10  ordinal     u16  of that write in its transaction
//! 12  _ts         u64  seconds
//! 20  ttl         i32  the item's own time to live in seconds; -1 never; 0 none of its own
//! 24  tag         16   the bytes of `_etag`
//! 40  policy      u32  version of the indexing policy that its terms were made by
//! 44  user bytes  u32  length of the user's own JSON, for charges
//! 48  epk length  u16
//! 50  epk
//! ..  JSON text, system properties last
//! ```
//!
//! Numbers are big-endian. A reader copies the text as it is; nobody parses an item to learn
//! whether it has expired, where it belongs or what its etag is.

use orrery_model::ids::{ActivityId, DocId, Etag, Lsn};

use super::keys::Ordinal;
use crate::error::Error;
use crate::index::IndexingDirective;

const FORMAT: u8 = 1;
const FIXED: usize = 50;

/// The 128 bits of an `_etag`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemTag(pub u128);

impl ItemTag {
    /// A tag that no other version of the same item ever has: position and salt.
    pub fn new(salt: u64, lsn: Lsn, ordinal: Ordinal) -> Self {
        let position = (u128::from(lsn.0 & 0xFFFF_FFFF_FFFF) << 16) | u128::from(ordinal);
        Self((u128::from(salt) << 64) | position)
    }

    /// The tag as the service writes it, quotes included (protocol: section 5).
    pub fn to_etag(self) -> Etag {
        Etag::from_bits(self.0)
    }
}

/// The header's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// LSN of the item's last write.
    pub lsn: Lsn,
    /// Place in that transaction.
    pub ordinal: Ordinal,
    /// `_ts`, seconds.
    pub ts: u64,
    /// Own time to live, see the module.
    pub ttl: i32,
    /// `_etag`.
    pub tag: ItemTag,
    /// Version of the indexing policy.
    pub policy: u32,
    /// Length of the user's own JSON.
    pub user_bytes: u32,
    /// Whether it is indexed.
    pub indexing: IndexingDirective,
}

/// A stored item, borrowed from the store's value.
#[derive(Debug, Clone, Copy)]
pub struct ItemRecord<'a> {
    /// The header.
    pub header: Header,
    /// The effective partition key's bytes.
    pub epk: &'a [u8],
    /// The JSON text.
    pub json: &'a [u8],
}

impl<'a> ItemRecord<'a> {
    /// Reads a stored value.
    pub fn decode(value: &'a [u8]) -> Result<Self, Error> {
        Self::read(value).ok_or(Error::Damaged("item"))
    }

    fn read(value: &'a [u8]) -> Option<Self> {
        let (fixed, rest) = value.split_at_checked(FIXED)?;
        if fixed[0] != FORMAT {
            return None;
        }
        let (epk, json) =
            rest.split_at_checked(usize::from(u16::from_be_bytes(array(fixed, 48)?)))?;
        let header = Header {
            lsn: Lsn(u64::from_be_bytes(array(fixed, 2)?)),
            ordinal: Ordinal::from_be_bytes(array(fixed, 10)?),
            ts: u64::from_be_bytes(array(fixed, 12)?),
            ttl: i32::from_be_bytes(array(fixed, 20)?),
            tag: ItemTag(u128::from_be_bytes(array(fixed, 24)?)),
            policy: u32::from_be_bytes(array(fixed, 40)?),
            user_bytes: u32::from_be_bytes(array(fixed, 44)?),
            indexing: match fixed[1] {
                0 => IndexingDirective::Default,
                1 => IndexingDirective::Include,
                2 => IndexingDirective::Exclude,
                _ => return None,
            },
        };
        Some(Self { header, epk, json })
    }

    /// Where the JSON text starts in the stored value.
    pub fn json_offset(&self) -> usize {
        FIXED + self.epk.len()
    }

    /// The second at which the item is gone under this container default, if ever
    /// (protocol: section 10.4; the item's value counts only if the container has a default).
    pub fn expires_at(&self, container_default: Option<i32>) -> Option<u64> {
        expiry(self.header.ts, self.header.ttl, container_default)
    }
}

/// [`ItemRecord::expires_at`] from its parts.
pub fn expiry(ts: u64, own: i32, container_default: Option<i32>) -> Option<u64> {
    let default = container_default?;
    let ttl = if own == 0 { default } else { own };
    u64::try_from(ttl)
        .ok()
        .map(|seconds| ts.saturating_add(seconds))
}

/// Writes a stored value: header, key, the user's members and the system properties that only
/// the commit knows. `members` is the item's canonical text without its closing brace.
pub fn encode(header: &Header, epk: &[u8], members: &[u8], rid: &str, self_link: &str) -> Vec<u8> {
    let mut value = Vec::with_capacity(FIXED + epk.len() + members.len() + 230);
    write_fixed(&mut value, header);
    value.extend_from_slice(&(epk.len() as u16).to_be_bytes());
    value.extend_from_slice(epk);
    value.extend_from_slice(members);
    write_system_properties(&mut value, header, rid, self_link, members.len() > 1);
    value
}

fn write_fixed(value: &mut Vec<u8>, header: &Header) {
    value.push(FORMAT);
    value.push(match header.indexing {
        IndexingDirective::Default => 0,
        IndexingDirective::Include => 1,
        IndexingDirective::Exclude => 2,
    });
    value.extend_from_slice(&header.lsn.0.to_be_bytes());
    value.extend_from_slice(&header.ordinal.to_be_bytes());
    value.extend_from_slice(&header.ts.to_be_bytes());
    value.extend_from_slice(&header.ttl.to_be_bytes());
    value.extend_from_slice(&header.tag.0.to_be_bytes());
    value.extend_from_slice(&header.policy.to_be_bytes());
    value.extend_from_slice(&header.user_bytes.to_be_bytes());
}

/// The stored value of an item with another header.
pub fn with_header(value: &[u8], header: &Header) -> Vec<u8> {
    let mut new = Vec::with_capacity(value.len());
    write_fixed(&mut new, header);
    new.extend_from_slice(value.get(new.len()..).unwrap_or_default());
    new
}

// In the service's order (protocol: section 1.1).
fn write_system_properties(
    value: &mut Vec<u8>,
    header: &Header,
    rid: &str,
    self_link: &str,
    comma: bool,
) {
    use std::io::Write;
    if comma {
        value.push(b',');
    }
    let tag = ActivityId(header.tag.0);
    // Writing to a Vec cannot fail; rid and link are ASCII without quotes or backslashes.
    let _ = write!(
        value,
        "\"_rid\":\"{rid}\",\"_self\":\"{self_link}\",\"_etag\":\"\\\"{tag}\\\"\",\
         \"_attachments\":\"attachments/\",\"_ts\":{}}}",
        header.ts
    );
}

/// The rid's numbers are the docid: its upper bits are the range that gave it, so that ranges of
/// one container never collide (protocol: section 5).
pub fn docid(range: u32, sequence: u64) -> DocId {
    DocId((u64::from(range & 0xF_FFFF) << 40) | (sequence & 0xFF_FFFF_FFFF))
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Where the JSON text starts in the value of an item with this effective partition key.
pub fn json_offset(epk: &[u8]) -> usize {
    FIXED + epk.len()
}

/// Whether the service, not the user, writes this member of an item.
pub fn is_system_property(name: &str) -> bool {
    SYSTEM_PROPERTIES.contains(&name)
}

/// The members that the service writes; `_lsn` only in the change feed.
pub const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"];
