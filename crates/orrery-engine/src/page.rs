//! Which items a feed or query covers, and where its next page starts.

use std::collections::VecDeque;

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::{DocId, PartitionKeyRangeId};
use orrery_model::partition_key::PartitionKey;
use orrery_model::session::SessionToken;
use orrery_storage::Direction;

use crate::container::ContainerState;
use crate::error::Error;
use crate::throughput::claim::Claim;

/// The scope of a feed, change feed or query (protocol: section 8.1).
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// One logical partition, or with fewer components than levels a prefix of them.
    Key(PartitionKey),
    /// One partition key range, or a part of it.
    Range {
        /// The range.
        id: PartitionKeyRangeId,
        /// Only this part of it.
        epk: Option<EpkRange>,
    },
    /// The whole container.
    All,
}

impl Target {
    /// The logical partition that the target is, if it is one.
    pub(crate) fn logical_partition(
        &self,
        state: &ContainerState,
    ) -> Option<EffectivePartitionKey> {
        let Self::Key(key) = self else { return None };
        let definition = state.key_definition();
        definition.is_full(key).then(|| definition.effective(key))
    }
}

/// One page of a feed as the client asks for it.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Most items; `None` lets the engine decide.
    pub max_items: Option<u32>,
    /// The token of the previous page.
    pub continuation: Option<String>,
    /// The session position that the answer must include.
    pub session: Vec<SessionToken>,
    /// From the last item to the first.
    pub reverse: bool,
    /// How the request stands to others.
    pub claim: Claim,
}

/// Bytes of an answer around its rows.
const ENVELOPE: usize = 256;

/// One page as answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FeedPage {
    /// The items' JSON texts, joined by commas.
    pub rows: Vec<u8>,
    /// How many.
    pub count: u32,
    /// The next page's token; `None` when the feed is at its end.
    pub continuation: Option<String>,
}

impl FeedPage {
    /// Whether a row of so many bytes belongs to the next page; a first row never does.
    pub fn is_crossed_by(&self, bytes: usize, most_bytes: usize) -> bool {
        self.count > 0 && self.rows.len() + 1 + bytes + ENVELOPE > most_bytes
    }

    /// Adds one item's JSON text.
    pub fn push(&mut self, json: &[u8]) {
        if self.count > 0 {
            self.rows.push(b',');
        }
        self.rows.extend_from_slice(json);
        self.count += 1;
    }
}

/// Parts of the key space that one token may be about: more than splits while a feed is read.
const MOST_POSITIONS: usize = 256;

/// A position in a feed that stays right when ranges split: it names key space and item, never a
/// range or a count.
#[derive(Debug, Clone, PartialEq)]
pub enum Position {
    /// In order of insertion: inside this part of the key space everything up to the item is
    /// done, and so is all key space before it.
    Insertion {
        /// The part of the key space that is half done.
        space: EpkRange,
        /// The last item served; `None` when the part has not begun.
        after: Option<DocId>,
    },
    /// In order of keys: everything up to this item of this logical partition is done.
    Key {
        /// The logical partition.
        key: EffectivePartitionKey,
        /// The last item served in it.
        after: DocId,
    },
}

impl Position {
    /// Before the first item of a part of the key space.
    pub fn start_of(space: EpkRange) -> Self {
        Self::Insertion { space, after: None }
    }

    /// What is left of the position's space behind a partition, in the direction of the feed:
    /// its range has been split since, and the rest goes on at the same place.
    pub fn left_behind(&self, partition: &EpkRange, direction: Direction) -> Option<Self> {
        let Self::Insertion { space, after } = self else {
            return None;
        };
        let left = match direction {
            Direction::Forward => EpkRange::new(partition.max.clone(), space.max.clone()),
            Direction::Backward => EpkRange::new(space.min.clone(), partition.min.clone()),
        };
        let after = *after;
        (!left.is_empty() && space.overlaps(partition))
            .then_some(Self::Insertion { space: left, after })
    }

    /// What is left of a partition behind the position's space: its range has been merged with
    /// others since, and they have not begun.
    pub fn merged_behind(&self, partition: &EpkRange, direction: Direction) -> Option<Self> {
        let Self::Insertion { space, .. } = self else {
            return None;
        };
        let rest = match direction {
            Direction::Forward => EpkRange::new(space.max.clone(), partition.max.clone()),
            Direction::Backward => EpkRange::new(partition.min.clone(), space.min.clone()),
        };
        (!rest.is_empty() && space.overlaps(partition)).then(|| Self::start_of(rest))
    }

    /// The key space that the position is about.
    pub fn space(&self) -> EpkRange {
        match self {
            Self::Insertion { space, .. } => space.clone(),
            Self::Key { key, .. } => EpkRange::of_prefix(key.clone()),
        }
    }

    /// The token of several positions, each for its own part of the key space, in the order in
    /// which they are read.
    pub fn join(positions: &[Self]) -> Option<String> {
        let tokens: Vec<String> = positions.iter().map(Self::to_token).collect();
        (!tokens.is_empty()).then(|| tokens.join("~"))
    }

    /// Reads such a token; anything that `join` cannot have written is a 400.
    pub fn parse_all(token: &str) -> Result<VecDeque<Self>, Error> {
        let parts = token.split('~').take(MOST_POSITIONS + 1);
        let positions: VecDeque<Self> = parts.map(Self::parse).collect::<Result<_, _>>()?;
        if positions.len() > MOST_POSITIONS {
            return Err(Error::bad_request("Invalid Continuation Token"));
        }
        Ok(positions)
    }

    /// The token's text: header-safe, `version.kind.fields`.
    pub fn to_token(&self) -> String {
        match self {
            Self::Insertion { space, after } => format!(
                "1.i.{}.{}.{}",
                space.min,
                space.max,
                after.map_or_else(String::new, |docid| format!("{:x}", docid.0))
            ),
            Self::Key { key, after } => format!("1.k.{key}.{:x}", after.0),
        }
    }

    /// Reads a token; anything that `to_token` cannot have written is a 400.
    pub fn parse(token: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = token.split('.').collect();
        let position = match parts.as_slice() {
            ["1", "i", min, max, after] => (|| {
                let min = EffectivePartitionKey::from_hex(min)?;
                let max = EffectivePartitionKey::from_hex(max)?;
                let after = if after.is_empty() {
                    None
                } else {
                    Some(docid(after)?)
                };
                Some(Self::Insertion {
                    space: EpkRange { min, max },
                    after,
                })
            })(),
            ["1", "k", key, after] => (|| {
                Some(Self::Key {
                    key: EffectivePartitionKey::from_hex(key)?,
                    after: docid(after)?,
                })
            })(),
            _ => None,
        };
        position.ok_or_else(|| Error::bad_request("Invalid Continuation Token"))
    }
}

fn docid(text: &str) -> Option<DocId> {
    u64::from_str_radix(text, 16).ok().map(DocId)
}
