//! Which items a feed or query covers, and where its next page starts.

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::{DocId, PartitionKeyRangeId};
use orrery_model::partition_key::PartitionKey;
use orrery_model::session::SessionToken;

use crate::error::Error;

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
}

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
    /// Adds one item's JSON text.
    pub fn push(&mut self, json: &[u8]) {
        if self.count > 0 {
            self.rows.push(b',');
        }
        self.rows.extend_from_slice(json);
        self.count += 1;
    }
}

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
