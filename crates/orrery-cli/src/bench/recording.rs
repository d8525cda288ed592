//! A store that remembers what is committed to it, so that the raw store can be asked to commit
//! exactly the same keys.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use orrery_storage::{
    Begin, CommitError, CommitToken, Head, MemoryStore, Page, PartId, Pending, Reader, Resolution,
    Scan, Store, StoreError, StoredBytes, Txn, Writes,
};

/// What was done, in its order.
#[derive(Debug, Default)]
pub struct Log {
    /// Parts with their first heads.
    pub parts: Vec<(PartId, Head)>,
    /// Commits.
    pub commits: Vec<(PartId, Writes)>,
}

/// A store in memory that keeps a log.
pub struct RecordingStore {
    inner: MemoryStore,
    log: Arc<Mutex<Log>>,
}

impl RecordingStore {
    /// An empty store and its log.
    pub fn new() -> (Self, Arc<Mutex<Log>>) {
        let log = Arc::new(Mutex::new(Log::default()));
        (
            Self {
                inner: MemoryStore::new(),
                log: Arc::clone(&log),
            },
            log,
        )
    }
}

impl Store for RecordingStore {
    fn create_part(&self, part: PartId, head: Head) -> Result<(), StoreError> {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .parts
            .push((part, head));
        self.inner.create_part(part, head)
    }

    fn drop_part(&self, part: PartId) -> Result<(), StoreError> {
        self.inner.drop_part(part)
    }

    fn list_parts(&self) -> Result<Vec<(PartId, Head)>, StoreError> {
        self.inner.list_parts()
    }

    fn head(&self, part: PartId) -> Result<Head, StoreError> {
        self.inner.head(part)
    }

    fn get_many(
        &self,
        part: PartId,
        keys: &[&[u8]],
    ) -> Result<(Head, Vec<Option<StoredBytes>>), StoreError> {
        self.inner.get_many(part, keys)
    }

    fn scan(&self, part: PartId, scan: &Scan) -> Result<Page, StoreError> {
        self.inner.scan(part, scan)
    }

    fn snapshot(&self, part: PartId) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.snapshot(part)
    }

    fn begin(
        &self,
        part: PartId,
        generation: u64,
        prefetch: &[&[u8]],
    ) -> Result<Begin, StoreError> {
        Ok(match self.inner.begin(part, generation, prefetch)? {
            Begin::Open { txn, head, values } => {
                let txn = Box::new(RecordingTxn {
                    inner: txn,
                    part,
                    log: Arc::clone(&self.log),
                });
                Begin::Open { txn, head, values }
            }
            moved @ Begin::Moved(_) => moved,
        })
    }

    fn resolve(
        &self,
        part: PartId,
        token: CommitToken,
        lsn: u64,
    ) -> Result<Resolution, StoreError> {
        self.inner.resolve(part, token, lsn)
    }

    fn wait(&self, part: PartId, lsn: u64, timeout: Duration) -> Result<Head, StoreError> {
        self.inner.wait(part, lsn, timeout)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}

struct RecordingTxn {
    inner: Box<dyn Txn>,
    part: PartId,
    log: Arc<Mutex<Log>>,
}

impl Reader for RecordingTxn {
    fn head(&self) -> Head {
        self.inner.head()
    }

    fn get(&self, key: &[u8]) -> Result<Option<StoredBytes>, StoreError> {
        self.inner.get(key)
    }

    fn scan(&self, scan: &Scan) -> Result<Page, StoreError> {
        self.inner.scan(scan)
    }
}

impl Txn for RecordingTxn {
    fn commit(self: Box<Self>, writes: Writes, head: Head) -> Result<Pending, CommitError> {
        let commit = (self.part, writes.clone());
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .commits
            .push(commit);
        self.inner.commit(writes, head)
    }

    fn release(self: Box<Self>) -> Pending {
        self.inner.release()
    }
}
