//! The background thread: leads syncs that nobody waits for, keeps the marks, and
//! tidies up when nothing is written. It sleeps without a timer while there is nothing to do.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::lock::{lock, park, park_for};

use super::Core;

/// How long a commit of relaxed durability stays unsynced.
const RELAXED_DELAY: Duration = Duration::from_millis(100);
/// How long the marks may lag.
const MARK_DELAY: Duration = Duration::from_secs(1);
/// How long nothing is written before the memtable is written out.
const IDLE_DELAY: Duration = Duration::from_secs(2);

pub(super) fn start(core: &Arc<Core>) -> Result<JoinHandle<()>, StoreError> {
    let core = Arc::clone(core);
    thread::Builder::new()
        .name("orrery-keeper".to_owned())
        .spawn(move || core.keep())
        .map_err(|source| StoreError::Io {
            doing: "starting a thread",
            source,
        })
}

impl Core {
    pub(super) fn wake_keeper(&self) {
        // Under the lock, so that the keeper cannot miss it between its look and its nap.
        let _syncing = lock(&self.syncing);
        self.keeper_wanted.notify_one();
    }

    /// Lets the keeper end.
    pub(super) fn finish_keeper(&self) {
        lock(&self.syncing).finished = true;
        self.wake_keeper();
    }

    fn keep(&self) {
        let mut sync_at = None;
        let mut mark_at = None;
        // After a crash the memtable is full already.
        let mut idle_at = self.is_worth_a_flush().then(|| Instant::now() + IDLE_DELAY);
        let mut syncing = lock(&self.syncing);
        while !syncing.finished && self.stop.get().is_none() {
            let now = Instant::now();
            if syncing.unsynced {
                sync_at.get_or_insert(now + RELAXED_DELAY);
            }
            if syncing.mark_lags {
                mark_at.get_or_insert(now + MARK_DELAY);
                idle_at = Some(now + IDLE_DELAY);
            }
            let sync_is_due = sync_at.is_some_and(|at| at <= now);
            if syncing.led {
                // The leader wakes the keeper if callbacks are left.
                if sync_is_due {
                    sync_at = Some(now + RELAXED_DELAY);
                }
            } else if sync_is_due || !syncing.callbacks.is_empty() {
                sync_at = None;
                syncing.unsynced = false;
                syncing.led = true;
                drop(syncing);
                self.lead();
                syncing = lock(&self.syncing);
                continue;
            }
            if mark_at.is_some_and(|at| at <= now) {
                drop(syncing);
                self.raise_marks();
                // Once more when what is being written out is there.
                mark_at = self.is_flushing().then(|| Instant::now() + MARK_DELAY);
                syncing = lock(&self.syncing);
                continue;
            }
            if idle_at.is_some_and(|at| at <= now) {
                idle_at = None;
                drop(syncing);
                self.flush_idle();
                mark_at.get_or_insert(Instant::now() + MARK_DELAY);
                syncing = lock(&self.syncing);
                continue;
            }
            let next = [sync_at, mark_at, idle_at].into_iter().flatten().min();
            syncing = match next {
                Some(at) => park_for(
                    &self.keeper_wanted,
                    syncing,
                    at.saturating_duration_since(now),
                ),
                None => park(&self.keeper_wanted, syncing),
            };
        }
        drop(syncing);
        self.settle_callbacks();
    }

    /// Tells those who still wait that nothing will come any more.
    fn settle_callbacks(&self) {
        let mut syncing = lock(&self.syncing);
        let durable = syncing.durable;
        let callbacks = std::mem::take(&mut syncing.callbacks);
        drop(syncing);
        for (ticket, callback) in callbacks {
            callback(if ticket <= durable {
                Ok(())
            } else {
                self.check_running()
            });
        }
    }
}
