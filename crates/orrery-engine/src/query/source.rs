//! Items for a page, chunk by chunk, in the order that its access promises.

use orrery_model::ids::DocId;
use orrery_sql::pipeline::SortPlace;
use orrery_storage::Direction;

use super::access::Access;
use super::docid_stream::DocIdStream;
use super::position::QueryPosition;
use super::walk::{Ground, Walk};
use crate::error::Error;
use crate::partition::{PartitionSnapshot, StoredItem};

/// Items of the first chunk at most; queries that need few get no more.
const FIRST_CHUNK: usize = 16;
/// Items of later chunks at most.
const CHUNK: usize = 256;
/// Most bytes that one chunk of a scan brings.
const CHUNK_BYTES: usize = 1 << 20;

/// An item of a chunk.
pub struct Fetched {
    /// Its docid.
    pub docid: DocId,
    /// Its bytes.
    pub item: StoredItem,
}

/// Where the items come from.
pub struct Source {
    way: Way,
    chunk: usize,
}

enum Way {
    Nothing,
    Scan {
        after: Option<DocId>,
        is_done: bool,
    },
    Chosen {
        items: DocIdStream,
        after: Option<DocId>,
        is_done: bool,
    },
    Ordered(Box<Walk>),
}

/// Where a source begins.
pub struct Start<'s> {
    /// The position of the page before, for items in order of insertion.
    pub position: Option<&'s QueryPosition>,
    /// The last row of the page before, for items in the order of an index.
    pub place: Option<&'s SortPlace>,
    /// Rows that are wanted.
    pub rows: u64,
}

impl Source {
    /// The items from a start on.
    pub fn new(access: Access, start: &Start<'_>, ground: Ground<'_>) -> Result<Self, Error> {
        let after = start.position.and_then(|start| match start.after {
            // The docid before is at least not above, and the item itself comes again.
            Some(docid) if start.again => docid.0.checked_sub(1).map(DocId),
            after => after,
        });
        let is_done = false;
        let way = match access {
            Access::Folded(_) => Way::Nothing,
            Access::Scan => Way::Scan { after, is_done },
            Access::Chosen(items) => Way::Chosen {
                items,
                after,
                is_done,
            },
            Access::Ordered(walk) => Way::Ordered(Box::new(Walk::new(walk, start.place, ground)?)),
        };
        let chunk = usize::try_from(start.rows).unwrap_or(usize::MAX);
        let chunk = chunk.clamp(1, FIRST_CHUNK);
        Ok(Self { way, chunk })
    }

    /// The next chunk; empty at the end.
    pub fn next(&mut self, ground: Ground<'_>) -> Result<Vec<Fetched>, Error> {
        let chunk = self.chunk;
        self.chunk = chunk.saturating_mul(2).min(CHUNK);
        let snapshot = ground.snapshot;
        match &mut self.way {
            Way::Nothing | Way::Scan { is_done: true, .. } => Ok(Vec::new()),
            Way::Scan { after, is_done } => {
                let page = snapshot.scan_items(*after, Direction::Forward, chunk, CHUNK_BYTES)?;
                *is_done = page.resume.is_none();
                *after = page.entries.last().map(|(docid, _)| *docid).or(*after);
                let fetched = |(docid, item)| Fetched { docid, item };
                Ok(page.entries.into_iter().map(fetched).collect())
            }
            // An index may name items that are gone by now: a chunk is empty only at the end.
            Way::Chosen {
                items,
                after,
                is_done,
            } => {
                while !*is_done {
                    let docids = items.take(snapshot.reader(), *after, chunk)?;
                    *is_done = docids.len() < chunk;
                    *after = docids.last().copied().or(*after);
                    let fetched = fetch(snapshot, &docids)?;
                    if !fetched.is_empty() {
                        return Ok(fetched);
                    }
                }
                Ok(Vec::new())
            }
            Way::Ordered(walk) => walk.next(ground, chunk),
        }
    }
}

/// Those of the items that are there.
pub fn fetch(snapshot: &PartitionSnapshot, docids: &[DocId]) -> Result<Vec<Fetched>, Error> {
    let items = snapshot.items(docids)?;
    let with = docids.iter().zip(items);
    Ok(with
        .filter_map(|(&docid, item)| item.map(|item| Fetched { docid, item }))
        .collect())
}
