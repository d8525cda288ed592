//! Writing: what is asked ([`WriteRequest`]), what came of it ([`WriteOutcome`]), and in the
//! modules below how it is done. A write goes through three steps:
//!
//! 1. [`prepare`], on the caller's thread: parse the body once, find key, terms and unique
//!    values, make the canonical text. Requests that are wrong in themselves end here.
//! 2. [`apply`], in the partition's write order, by the committer: look at what is stored,
//!    decide, and add to the commit.
//! 3. The committer appends the commit, and answers when it is durable.

pub mod apply;
pub mod overlay;
pub mod patching;
pub mod prepare;
pub mod unique;

use std::fmt;
use std::ops::Deref;

use orrery_model::charge::Charge;
use orrery_model::ids::{Etag, PartitionKeyRangeId};
use orrery_model::partition_key::PartitionKey;
use orrery_model::rid::ResourceId;
use orrery_storage::StoredBytes;

use crate::error::Error;
pub use crate::index::IndexingDirective;
use crate::layout::entries::RebuildEntry;
use crate::layout::record::ItemTag;
use crate::throughput::claim::Claim;

/// An item as a request names it.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemRef {
    /// By its id within the logical partition.
    Id(String),
    /// By its resource id.
    Rid(ResourceId),
}

/// The headers of a write that are conditions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conditions {
    /// `If-Match`: an etag, quoted or not, or `*`.
    pub if_match: Option<String>,
    /// `If-None-Match`.
    pub if_none_match: Option<String>,
}

/// A write as the client asks for it.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    /// What to do.
    pub kind: WriteKind,
    /// The partition key header.
    pub key: Option<PartitionKey>,
    /// The partition key range header (bulk).
    pub range: Option<PartitionKeyRangeId>,
    /// If-Match and its kin.
    pub conditions: Conditions,
    /// Whether to index.
    pub indexing: IndexingDirective,
    /// How it stands to other requests.
    pub claim: Claim,
}

impl WriteRequest {
    /// A request without conditions.
    pub fn new(kind: WriteKind, key: Option<PartitionKey>) -> Self {
        Self {
            kind,
            key,
            range: None,
            conditions: Conditions::default(),
            indexing: IndexingDirective::Default,
            claim: Claim::default(),
        }
    }
}

/// The kinds of writes.
#[derive(Debug, Clone)]
pub enum WriteKind {
    /// A new item.
    Create {
        /// Its JSON text.
        body: Vec<u8>,
    },
    /// A new item, or a new version of the one with the same id.
    Upsert {
        /// Its JSON text.
        body: Vec<u8>,
    },
    /// A new version of an item.
    Replace {
        /// Which.
        item: ItemRef,
        /// Its JSON text.
        body: Vec<u8>,
    },
    /// Changes to an item (protocol: section 10.2).
    Patch {
        /// Which.
        item: ItemRef,
        /// The patch document's JSON text.
        body: Vec<u8>,
    },
    /// The end of an item.
    Delete {
        /// Which.
        item: ItemRef,
    },
    /// Several operations (protocol: section 10.1).
    Batch {
        /// In order.
        operations: Vec<BatchOperation>,
        /// All or nothing, in one logical partition.
        atomic: bool,
        /// Whether the operations after a failed one are tried; ignored when atomic.
        continue_on_error: bool,
    },
    /// The end of all items of a logical partition (protocol: section 10.6).
    DeletePartitionKey,
}

/// One operation of a batch.
#[derive(Debug, Clone)]
pub struct BatchOperation {
    /// What to do.
    pub kind: BatchKind,
    /// Its own partition key (bulk); in a transactional batch the request's counts.
    pub key: Option<PartitionKey>,
    /// If-Match and its kin.
    pub conditions: Conditions,
    /// Whether to index.
    pub indexing: IndexingDirective,
    /// Whether the answer to a write leaves out the item.
    pub minimal: bool,
}

/// The kinds of operations in a batch.
#[derive(Debug, Clone)]
pub enum BatchKind {
    /// See [`WriteKind::Create`].
    Create {
        /// The item's JSON text.
        body: Vec<u8>,
    },
    /// See [`WriteKind::Upsert`].
    Upsert {
        /// The item's JSON text.
        body: Vec<u8>,
    },
    /// The item as the operations before left it.
    Read {
        /// Which.
        id: String,
    },
    /// See [`WriteKind::Replace`].
    Replace {
        /// Which.
        id: String,
        /// The item's JSON text.
        body: Vec<u8>,
    },
    /// See [`WriteKind::Patch`].
    Patch {
        /// Which.
        id: String,
        /// The patch document's JSON text.
        body: Vec<u8>,
    },
    /// See [`WriteKind::Delete`].
    Delete {
        /// Which.
        id: String,
    },
}

/// The JSON text of an item as the service answers it, shared with the store.
#[derive(Clone)]
pub struct ItemBody {
    value: StoredBytes,
    start: usize,
    tag: ItemTag,
}

impl ItemBody {
    pub(crate) fn new(value: StoredBytes, start: usize, tag: ItemTag) -> Self {
        Self { value, start, tag }
    }

    /// The item's etag, quotes included.
    pub fn etag(&self) -> Etag {
        self.tag.to_etag()
    }
}

impl Deref for ItemBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.value.get(self.start..).unwrap_or_default()
    }
}

impl AsRef<[u8]> for ItemBody {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for ItemBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self))
    }
}

impl PartialEq for ItemBody {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// What became of one item.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemOutcome {
    /// It is new: 201.
    Created(ItemBody),
    /// It has a new version: 200.
    Replaced(ItemBody),
    /// It was read, in a batch: 200.
    Read(ItemBody),
    /// A read whose If-None-Match holds, in a batch: 304.
    NotModified(Etag),
    /// It is gone: 204.
    Deleted,
}

impl ItemOutcome {
    /// The item, where there is one.
    pub fn body(&self) -> Option<&ItemBody> {
        match self {
            Self::Created(body) | Self::Replaced(body) | Self::Read(body) => Some(body),
            Self::NotModified(_) | Self::Deleted => None,
        }
    }
}

/// What became of a write.
#[derive(Debug, Clone)]
pub enum WriteOutcome {
    /// Of a write of one item.
    Item(ItemOutcome),
    /// Of a batch. Also a batch with failed operations is a success of the request (207).
    Batch(BatchOutcome),
    /// Of a delete by partition key.
    Removed {
        /// How many items there were.
        items: u64,
    },
    /// Of the engine's own work.
    Maintained {
        /// How many items it changed.
        items: u64,
    },
    /// Some items have the terms of the current indexing policy: so far all up to here.
    Rebuilt(RebuildEntry),
}

/// What became of a batch.
#[derive(Debug, Clone, Default)]
pub struct BatchOutcome {
    /// In the order of the operations.
    pub results: Vec<OperationResult>,
}

impl BatchOutcome {
    /// Whether every operation succeeded.
    pub fn all_succeeded(&self) -> bool {
        self.results.iter().all(|result| result.outcome.is_ok())
    }
}

/// What became of one operation of a batch.
#[derive(Debug, Clone)]
pub struct OperationResult {
    /// The item, or why not.
    pub outcome: Result<ItemOutcome, Error>,
    /// This operation's share of the charge.
    pub charge: Charge,
}
