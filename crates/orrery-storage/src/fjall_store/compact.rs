//! Compaction, by a thread of our own.
//!
//! fjall's workers would do it too, but not well on a small machine: with two or more of them,
//! the first spins on a whole core for as long as another one compacts, and with one, recent
//! writes cannot be written out during a compaction, so that commits wait for it. So fjall gets
//! one worker, which only writes out memtables, and a compaction strategy that never finds
//! anything to do; this thread asks the tree for compactions under the real strategy.
//!
//! Tables are small: the tree finishes the last table of a compaction, its sync included, under a
//! lock that all reads and writes need. At fjall's 64 MB that took up to 9 s on a busy disk.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use fjall::AbstractTree;
use fjall::compaction::Leveled;

use crate::error::StoreError;
use crate::lock::{lock, park};

use super::Core;

/// Runs in the first level that are worth a compaction.
const FIRST_LEVEL_RUNS: u8 = 4;
const TABLE_BYTES: u64 = 16 << 20;

/// What fjall itself gets: levels that are never full. Its strategy is kept in the folder and
/// must be one that it knows.
pub(super) fn engine_strategy() -> Leveled {
    Leveled::default()
        .with_l0_threshold(u8::MAX)
        .with_table_target_size(1 << 40)
}

fn strategy() -> Leveled {
    Leveled::default()
        .with_l0_threshold(FIRST_LEVEL_RUNS)
        .with_table_target_size(TABLE_BYTES)
}

/// The thread and what wakes it.
#[derive(Default)]
pub(super) struct Compacting {
    wanted: Mutex<bool>,
    signal: Condvar,
    /// It is at work or will be: no need to wake it.
    awake: AtomicBool,
    worker: Mutex<Option<JoinHandle<()>>>,
}

pub(super) fn start(core: &Arc<Core>) -> Result<(), StoreError> {
    let worker = Arc::clone(core);
    let handle = thread::Builder::new()
        .name("orrery-compact".to_owned())
        .spawn(move || worker.compact_until_closed())
        .map_err(|source| StoreError::Io {
            doing: "starting a thread",
            source,
        })?;
    *lock(&core.compacting.worker) = Some(handle);
    // The last run may have left something.
    core.want_compaction();
    Ok(())
}

/// Waits for the thread; a compaction that runs is finished first.
pub(super) fn finish(core: &Core) {
    core.want_compaction();
    let worker = lock(&core.compacting.worker).take();
    if let Some(worker) = worker {
        // A panic there has been printed, and is no reason for another one here.
        let _ = worker.join();
    }
}

impl Core {
    /// A commit saw this many runs in the first level.
    pub(super) fn note_first_level(&self, runs: usize) {
        if runs >= usize::from(FIRST_LEVEL_RUNS)
            && !self.compacting.awake.swap(true, Ordering::AcqRel)
        {
            self.want_compaction();
        }
    }

    fn want_compaction(&self) {
        *lock(&self.compacting.wanted) = true;
        self.compacting.signal.notify_one();
    }

    fn compact_until_closed(&self) {
        let strategy = Arc::new(strategy());
        loop {
            let mut wanted = lock(&self.compacting.wanted);
            while !*wanted {
                wanted = park(&self.compacting.signal, wanted);
            }
            *wanted = false;
            drop(wanted);
            loop {
                if self.closed.load(Ordering::Acquire) || self.stop.get().is_some() {
                    return;
                }
                // Before the look, so that a commit that finds more to do wakes the thread again.
                self.compacting.awake.store(false, Ordering::Release);
                let before = self.shape();
                let watermark = self
                    .database
                    .supervisor
                    .snapshot_tracker
                    .get_seqno_safe_to_gc();
                if let Err(error) = self.data.tree.compact(strategy.clone(), watermark) {
                    self.stop(&self.failure("compacting", error.into()));
                    return;
                }
                if self.shape() == before {
                    break;
                }
            }
        }
    }

    /// What every compaction changes, also one that only moves tables to another level; the tree
    /// does not say whether there was one. Flushes change it too: the next look then finds nothing
    /// to do.
    fn shape(&self) -> u64 {
        self.data.tree.current_version().id()
    }
}
