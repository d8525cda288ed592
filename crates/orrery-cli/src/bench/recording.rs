//! A store that remembers what is committed to it, so that the raw store can be asked to commit
//! exactly the same keys.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_storage::intercept::{Intercept, InterceptedStore, PartChange};
use orrery_storage::{
    CommitError, Head, MemoryStore, PartId, Pending, Store, StoreError, Txn, Writes,
};

/// What was done, in its order.
#[derive(Debug, Default)]
pub struct Log {
    /// Parts with their first heads.
    pub parts: Vec<(PartId, Head)>,
    /// Commits.
    pub commits: Vec<(PartId, Writes)>,
}

/// Writes the log.
#[derive(Default)]
pub struct Recording {
    log: Mutex<Log>,
}

impl Recording {
    /// An empty store in memory that is recorded.
    pub fn store(self: &Arc<Self>) -> Arc<dyn Store> {
        let inner = Arc::new(MemoryStore::new());
        Arc::new(InterceptedStore::new(inner, Arc::clone(self)))
    }

    /// Takes what was recorded.
    pub fn take(&self) -> Log {
        std::mem::take(&mut self.log())
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intercept for Recording {
    fn change(&self, change: PartChange, store: &dyn Store) -> Result<(), StoreError> {
        if let PartChange::Create(part, head) = change {
            self.log().parts.push((part, head));
        }
        change.apply(store)
    }

    fn commit(
        &self,
        part: PartId,
        txn: Box<dyn Txn>,
        writes: Writes,
        head: Head,
    ) -> Result<Pending, CommitError> {
        self.log().commits.push((part, writes.clone()));
        txn.commit(writes, head)
    }
}
