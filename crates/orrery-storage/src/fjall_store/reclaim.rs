//! Deleting the keys of dropped parts, page by page, across restarts.
//!
//! Files that hold nothing else go at once; fjall has no range delete for the rest. A part's drop
//! record stays until its last key is deleted, so that an interrupted drop goes on at the next
//! start.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use fjall::{AbstractTree, Readable};

use crate::error::{CommitError, StoreError};
use crate::lock::lock;
use crate::part::PartId;

use super::Core;
use super::append::{Moves, Record};
use super::keys::{dropped_key, part_end, part_key};

/// Keys deleted by one commit: small enough not to hold up others.
const PAGE_KEYS: usize = 1_000;

/// Dropped parts whose keys are still there.
#[derive(Default)]
pub(super) struct Reclaiming {
    parts: VecDeque<PartId>,
    worker: Option<JoinHandle<()>>,
    running: bool,
}

impl Reclaiming {
    pub(super) fn new(parts: VecDeque<PartId>) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, part: PartId) {
        self.parts.push_back(part);
    }

    pub(super) fn contains(&self, part: PartId) -> bool {
        self.parts.contains(&part)
    }
}

/// Starts the work if there is some and nobody does it.
pub(super) fn start(core: &Arc<Core>) {
    let mut reclaiming = lock(&core.reclaiming);
    if reclaiming.running || reclaiming.parts.is_empty() {
        return;
    }
    let worker = Arc::clone(core);
    // Without a thread the work waits for the next drop or the next start.
    if let Ok(handle) = thread::Builder::new()
        .name("orrery-reclaim".to_owned())
        .spawn(move || worker.reclaim())
    {
        reclaiming.running = true;
        reclaiming.worker = Some(handle);
    }
}

/// Waits for the worker, which stops at its next page after a close.
pub(super) fn finish(core: &Core) {
    let worker = lock(&core.reclaiming).worker.take();
    if let Some(worker) = worker {
        // A panic there has been printed, and is no reason for another one here.
        let _ = worker.join();
    }
}

impl Core {
    fn reclaim(&self) {
        loop {
            let mut reclaiming = lock(&self.reclaiming);
            let next = reclaiming.parts.front().copied();
            let Some(part) = next.filter(|_| !self.closed.load(Ordering::Acquire)) else {
                reclaiming.running = false;
                return;
            };
            drop(reclaiming);
            let done = self.reclaim_part(part);
            let mut reclaiming = lock(&self.reclaiming);
            if done.is_err() {
                // Writes are refused or the part cannot be read: the next start tries again.
                reclaiming.running = false;
                return;
            }
            reclaiming.parts.pop_front();
        }
    }

    fn reclaim_part(&self, part: PartId) -> Result<(), StoreError> {
        // Whole files first: they cost nothing to delete.
        let all = part_key(part, &[])..part_end(part);
        self.data
            .tree
            .drop_range::<Vec<u8>, _>(all)
            .map_err(|error| self.failure("reclaiming a dropped part", error.into()))?;
        let mut lower = Bound::Included(part_key(part, &[]));
        loop {
            let keys = self.part_keys_from(part, lower)?;
            let Some(last) = keys.last().cloned() else {
                break;
            };
            let records: Vec<_> = keys.into_iter().map(Record::delete).collect();
            self.append_records(&records, Moves::Nothing)
                .map_err(CommitError::into_inner)?;
            // Not from the start again: the deletes lie there, and skipping them all on every
            // page would make the work quadratic.
            lower = Bound::Excluded(last);
        }
        let record = Record::delete(dropped_key(part));
        self.append_records(&[record], Moves::Nothing)
            .map(drop)
            .map_err(CommitError::into_inner)
    }

    fn part_keys_from(
        &self,
        part: PartId,
        lower: Bound<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let upper = Bound::Excluded(part_end(part));
        self.database
            .snapshot()
            .range::<Vec<u8>, _>(&self.data, (lower, upper))
            .take(PAGE_KEYS)
            .map(|guard| {
                let key = guard
                    .key()
                    .map_err(|error| self.failure("reading a dropped part", error))?;
                Ok(key.to_vec())
            })
            .collect()
    }
}
