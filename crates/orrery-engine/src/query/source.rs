//! Items for a page, chunk by chunk, in the order that its access promises.

use std::thread::Scope;

use orrery_model::ids::DocId;
use orrery_sql::pipeline::SortPlace;
use orrery_storage::Direction;

use super::access::Access;
use super::docid_stream::DocIdStream;
use super::position::QueryPosition;
use super::read_ahead::ReadAhead;
use super::waiting::Waiting;
use super::walk::{Ground, Walk};
use crate::error::Error;
use crate::partition::StoredItem;

/// Items of the first chunk at most where one item may fill a page.
const FIRST_CHUNK: usize = 16;
/// Items of a chunk at most.
pub(super) const CHUNK: usize = 256;
/// Most bytes that one chunk brings, and one item more.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// An item of a chunk.
pub struct Fetched {
    /// Its docid.
    pub docid: DocId,
    /// Its bytes.
    pub item: StoredItem,
}

/// What a page draws its items from.
pub trait Supply<'env> {
    /// The next chunk; empty at the end. Threads that read for it end with the scope.
    fn next<'scope>(&mut self, scope: &'scope Scope<'scope, 'env>) -> Result<Vec<Fetched>, Error>
    where
        'env: 'scope;
}

/// The items of one partition.
pub struct Single<'g> {
    /// Which, in what order.
    pub source: Source,
    /// Where they are read.
    pub ground: Ground<'g>,
}

impl<'env> Supply<'env> for Single<'env> {
    fn next<'scope>(&mut self, scope: &'scope Scope<'scope, 'env>) -> Result<Vec<Fetched>, Error>
    where
        'env: 'scope,
    {
        self.source.next(self.ground, scope)
    }
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
        /// Items so far.
        read: u64,
    },
    Ahead(ReadAhead),
    Chosen {
        items: DocIdStream,
        after: Option<DocId>,
        is_done: bool,
        waiting: Waiting,
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
            Access::Folded(_) | Access::Grouped(_) => Way::Nothing,
            Access::Scan => Way::Scan {
                after,
                is_done,
                read: 0,
            },
            Access::Chosen(items) => Way::Chosen {
                items,
                after,
                is_done,
                waiting: Waiting::default(),
            },
            Access::Ordered(walk) => Way::Ordered(Box::new(Walk::new(walk, start.place, ground)?)),
        };
        let rows = usize::try_from(start.rows).unwrap_or(usize::MAX);
        // As many rows take at least as many items, unless items have several rows each.
        let most = if ground.run.prepared.program.joins() {
            FIRST_CHUNK
        } else {
            CHUNK
        };
        let chunk = rows.clamp(1, most);
        Ok(Self { way, chunk })
    }

    /// The next chunk; empty at the end. A scan that goes on for long gets a thread that reads.
    pub fn next<'scope, 'env: 'scope>(
        &mut self,
        ground: Ground<'env>,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<Vec<Fetched>, Error> {
        let chunk = self.chunk;
        self.chunk = chunk.saturating_mul(2).min(CHUNK);
        let snapshot = ground.snapshot;
        match &mut self.way {
            Way::Nothing | Way::Scan { is_done: true, .. } => Ok(Vec::new()),
            Way::Ahead(ahead) => ahead.next(),
            Way::Scan {
                after,
                is_done,
                read,
            } => {
                let engine = ground.run.engine;
                if *read > engine.tuning().alone_at_most
                    && let Some(ahead) =
                        ReadAhead::start(engine.query_readers(), snapshot, *after, scope)
                {
                    let first = ahead.next();
                    self.way = Way::Ahead(ahead);
                    return first;
                }
                let page = snapshot.scan_items(*after, Direction::Forward, chunk, CHUNK_BYTES)?;
                *is_done = page.resume.is_none();
                *after = page.entries.last().map(|(docid, _)| *docid).or(*after);
                *read += page.entries.len() as u64;
                let fetched = |(docid, item)| Fetched { docid, item };
                Ok(page.entries.into_iter().map(fetched).collect())
            }
            // An index may name items that are gone by now: a chunk is empty only at the end.
            Way::Chosen {
                items,
                after,
                is_done,
                waiting,
            } => loop {
                if waiting.is_empty() {
                    if *is_done {
                        return Ok(Vec::new());
                    }
                    let docids = items.take(snapshot.reader(), *after, chunk)?;
                    *is_done = docids.len() < chunk;
                    *after = docids.last().copied().or(*after);
                    waiting.refill(docids);
                }
                let fetched = waiting.fetch(ground)?;
                if !fetched.is_empty() {
                    return Ok(fetched);
                }
            },
            Way::Ordered(walk) => walk.next(ground, chunk),
        }
    }
}
