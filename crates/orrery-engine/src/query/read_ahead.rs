//! A long scan whose items are read by a thread of its own, so that reading and evaluating go on at
//! the same time. Items come as they would otherwise.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope};

use orrery_model::ids::DocId;
use orrery_storage::Direction;

use super::source::{CHUNK, CHUNK_BYTES, Fetched};
use crate::error::Error;
use crate::partition::PartitionSnapshot;

/// Chunks that wait to be evaluated.
const AHEAD: usize = 4;
/// Threads that read for queries at a time, beside those of the queries themselves.
const MOST_READERS: usize = 4;

/// How many threads read for queries.
#[derive(Debug, Default)]
pub struct Readers(AtomicUsize);

impl Readers {
    /// A turn for one more thread, if there is room.
    pub fn enter(&self) -> Option<Turn<'_>> {
        let one_more = |readers: usize| (readers < MOST_READERS).then_some(readers + 1);
        let entered = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        entered.is_ok().then_some(Turn(self))
    }
}

/// Room for a thread.
pub struct Turn<'r>(&'r Readers);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The items of a scan, chunk by chunk. The thread ends soon after this is dropped.
pub struct ReadAhead {
    chunks: Receiver<Result<Vec<Fetched>, Error>>,
}

impl ReadAhead {
    /// Starts to read behind an item; `None` when enough others do, or no thread is to be had.
    pub fn start<'scope, 'env: 'scope>(
        readers: &'env Readers,
        snapshot: &'env PartitionSnapshot,
        after: Option<DocId>,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Option<Self> {
        let turn = readers.enter()?;
        let (sender, chunks) = sync_channel(AHEAD);
        let thread = Builder::new().name("read-ahead".to_owned());
        let work = move || {
            let _turn = turn;
            read(snapshot, after, &sender);
        };
        thread.spawn_scoped(scope, work).ok()?;
        Some(Self { chunks })
    }

    /// The next chunk; empty at the end.
    pub fn next(&self) -> Result<Vec<Fetched>, Error> {
        // The thread is gone behind the last chunk.
        self.chunks.recv().unwrap_or_else(|_| Ok(Vec::new()))
    }
}

fn read(
    snapshot: &PartitionSnapshot,
    mut after: Option<DocId>,
    chunks: &SyncSender<Result<Vec<Fetched>, Error>>,
) {
    loop {
        let page = snapshot.scan_items(after, Direction::Forward, CHUNK, CHUNK_BYTES);
        let (chunk, is_last) = match page {
            Ok(page) => {
                after = page.entries.last().map(|(docid, _)| *docid).or(after);
                let fetched = |(docid, item)| Fetched { docid, item };
                let chunk: Vec<Fetched> = page.entries.into_iter().map(fetched).collect();
                (Ok(chunk), page.resume.is_none())
            }
            Err(error) => (Err(error), true),
        };
        let is_empty = matches!(&chunk, Ok(chunk) if chunk.is_empty());
        // Nobody listens any more once the page is full.
        if is_empty || chunks.send(chunk).is_err() || is_last {
            return;
        }
    }
}
