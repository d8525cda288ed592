//! Values of change, history, counters and rebuild entries. Numbers are big-endian.

use orrery_model::ids::{DocId, Lsn};

use super::keys;
use crate::error::Error;

/// What the latest-version feed knows of an item without loading it.
///
/// Value: `_ts` u64, EPK (the rest); the docid is in the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeEntry<'a> {
    /// The item.
    pub docid: DocId,
    /// Seconds.
    pub ts: u64,
    /// Its effective partition key.
    pub epk: &'a [u8],
}

impl<'a> ChangeEntry<'a> {
    /// The stored value.
    pub fn encode(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(8 + self.epk.len());
        value.extend_from_slice(&self.ts.to_be_bytes());
        value.extend_from_slice(self.epk);
        value
    }

    /// Reads a stored entry.
    pub fn decode(key: &[u8], mut value: &'a [u8]) -> Result<Self, Error> {
        const WHAT: Error = Error::Damaged("change entry");
        let docid = keys::docid_of_position(key).ok_or(WHAT)?;
        let ts = take_u64(&mut value).ok_or(WHAT)?;
        Ok(Self {
            docid,
            ts,
            epk: value,
        })
    }
}

/// What happened to an item (protocol: section 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryKind {
    /// It was created.
    Create,
    /// Replaced, also by upsert or patch.
    Replace,
    /// Deleted by a request.
    Delete,
    /// Deleted by its time to live.
    Expire,
}

/// One version of an item in the all-versions feed.
///
/// Value: kind u8, `_ts` u64, previous LSN u64, EPK length u16, EPK, JSON text of the
/// new version, or of the last one for deletes. The docid is in the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryEntry<'a> {
    /// What happened.
    pub kind: HistoryKind,
    /// To which item.
    pub docid: DocId,
    /// When, in seconds.
    pub ts: u64,
    /// Position of the version before; 0 for creates.
    pub previous: Lsn,
    /// Its effective partition key.
    pub epk: &'a [u8],
    /// The image, see above.
    pub json: &'a [u8],
}

impl<'a> HistoryEntry<'a> {
    /// The stored value.
    pub fn encode(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(19 + self.epk.len() + self.json.len());
        value.push(match self.kind {
            HistoryKind::Create => 0,
            HistoryKind::Replace => 1,
            HistoryKind::Delete => 2,
            HistoryKind::Expire => 3,
        });
        value.extend_from_slice(&self.ts.to_be_bytes());
        value.extend_from_slice(&self.previous.0.to_be_bytes());
        value.extend_from_slice(&(self.epk.len() as u16).to_be_bytes());
        value.extend_from_slice(self.epk);
        value.extend_from_slice(self.json);
        value
    }

    /// Reads a stored value.
    pub fn decode(key: &[u8], value: &'a [u8]) -> Result<Self, Error> {
        Self::read(key, value).ok_or(Error::Damaged("history entry"))
    }

    fn read(key: &[u8], value: &'a [u8]) -> Option<Self> {
        let (kind, mut rest) = value.split_first()?;
        let kind = match kind {
            0 => HistoryKind::Create,
            1 => HistoryKind::Replace,
            2 => HistoryKind::Delete,
            3 => HistoryKind::Expire,
            _ => return None,
        };
        let docid = keys::docid_of_position(key)?;
        let ts = take_u64(&mut rest)?;
        let previous = Lsn(take_u64(&mut rest)?);
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (epk, json) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        Some(Self {
            kind,
            docid,
            ts,
            previous,
            epk,
            json,
        })
    }
}

/// The sums of a partition, committed with every write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Items, expired ones included until they are purged.
    pub items: u64,
    /// Bytes of items.
    pub item_bytes: u64,
    /// Bytes of index terms.
    pub index_bytes: u64,
    /// The sequence number of the next new item.
    pub next_sequence: u64,
    /// Time of the last write in seconds; times within a partition never go back.
    pub last_ts: u64,
    /// Position up to which history has been cut off.
    pub history_cut: Lsn,
    /// Items without any index terms: no index finds them.
    pub unindexed: u64,
}

impl Counters {
    /// Those of an empty partition. Sequences start at 1: docid 0 would make an empty-looking rid.
    pub fn empty() -> Self {
        Self {
            next_sequence: 1,
            ..Self::default()
        }
    }

    /// Everything that counts towards the size limits.
    pub fn total_bytes(&self) -> u64 {
        self.item_bytes.saturating_add(self.index_bytes)
    }

    /// The stored value.
    pub fn encode(&self) -> Vec<u8> {
        let fields = [
            self.items,
            self.item_bytes,
            self.index_bytes,
            self.next_sequence,
            self.last_ts,
            self.history_cut.0,
            self.unindexed,
        ];
        fields
            .iter()
            .flat_map(|field| field.to_be_bytes())
            .collect()
    }

    /// Reads a stored value.
    pub fn decode(mut value: &[u8]) -> Result<Self, Error> {
        let mut next = || take_u64(&mut value).ok_or(Error::Damaged("counters"));
        Ok(Self {
            items: next()?,
            item_bytes: next()?,
            index_bytes: next()?,
            next_sequence: next()?,
            last_ts: next()?,
            history_cut: Lsn(next()?),
            unindexed: next()?,
        })
    }
}

/// How far the items of a partition have moved to an indexing policy; written with the moves.
///
/// Value: version u32, done u8, last docid u64, items u64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebuildEntry {
    /// The version of the policy that they are on the way to.
    pub version: u32,
    /// The last item that was looked at; items move in order of their docids.
    pub last: DocId,
    /// How many were looked at.
    pub looked: u64,
    /// None are left.
    pub is_done: bool,
}

impl RebuildEntry {
    /// The start of the way to a policy.
    pub fn start_of(version: u32) -> Self {
        Self {
            version,
            last: DocId(0),
            looked: 0,
            is_done: false,
        }
    }

    /// The stored value.
    pub fn encode(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(21);
        value.extend_from_slice(&self.version.to_be_bytes());
        value.push(u8::from(self.is_done));
        value.extend_from_slice(&self.last.0.to_be_bytes());
        value.extend_from_slice(&self.looked.to_be_bytes());
        value
    }

    /// Reads a stored value.
    pub fn decode(value: &[u8]) -> Result<Self, Error> {
        Self::read(value).ok_or(Error::Damaged("rebuild entry"))
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (version, rest) = value.split_first_chunk::<4>()?;
        let (&is_done, mut rest) = rest.split_first()?;
        let last = DocId(take_u64(&mut rest)?);
        let looked = take_u64(&mut rest)?;
        (rest.is_empty() && is_done <= 1).then_some(Self {
            version: u32::from_be_bytes(*version),
            last,
            looked,
            is_done: is_done == 1,
        })
    }
}

fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_be_bytes(*number))
}
