//! A store that ends in the middle of a write: what was committed stays, nothing more goes in.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use orrery_storage::intercept::{Intercept, PartChange, commit_untold};
use orrery_storage::{CommitError, Head, PartId, Pending, Store, StoreError, Txn, Writes};

/// When the store ends.
pub struct Fuse {
    /// Writes that still work; below zero it has ended.
    left: AtomicI64,
    /// Whether the write that fails has happened all the same.
    happens: AtomicBool,
}

impl Default for Fuse {
    fn default() -> Self {
        Self {
            left: AtomicI64::new(i64::MAX),
            happens: AtomicBool::new(false),
        }
    }
}

impl Fuse {
    /// Lets the store end after so many further writes.
    pub fn light(&self, writes: u64, happens: bool) {
        self.happens.store(happens, Ordering::Relaxed);
        let writes = i64::try_from(writes).unwrap_or(i64::MAX);
        self.left.store(writes, Ordering::Relaxed);
    }

    /// Puts it out.
    pub fn reset(&self) {
        self.left.store(i64::MAX, Ordering::Relaxed);
    }

    /// Whether the store has ended.
    pub fn has_blown(&self) -> bool {
        self.left.load(Ordering::Relaxed) < 0
    }

    fn burn(&self) -> Write {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            1.. => Write::Works,
            0 if self.happens.load(Ordering::Relaxed) => Write::HappensUntold,
            _ => Write::Fails,
        }
    }
}

enum Write {
    Works,
    HappensUntold,
    Fails,
}

fn ended() -> StoreError {
    StoreError::Stopped {
        reason: "the simulated machine has stopped".to_owned(),
    }
}

impl Intercept for Fuse {
    fn change(&self, change: PartChange, store: &dyn Store) -> Result<(), StoreError> {
        match self.burn() {
            Write::Works => change.apply(store),
            Write::HappensUntold => change.apply(store).and(Err(ended())),
            Write::Fails => Err(ended()),
        }
    }

    fn commit(
        &self,
        _part: PartId,
        txn: Box<dyn Txn>,
        writes: Writes,
        head: Head,
    ) -> Result<Pending, CommitError> {
        match self.burn() {
            Write::Works => txn.commit(writes, head),
            Write::HappensUntold => commit_untold(txn, writes, head, ended()),
            Write::Fails => Err(CommitError::Aborted(ended())),
        }
    }
}
