//! A store that ends in the middle of a write: what was committed stays, nothing more goes in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use orrery_storage::{
    Begin, CommitError, CommitToken, Head, Page, PartId, Pending, Reader, Resolution, Scan, Store,
    StoreError, StoredBytes, Txn, Writes,
};

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

/// See the module.
pub struct CrashingStore {
    inner: Arc<dyn Store>,
    fuse: Arc<Fuse>,
}

impl CrashingStore {
    /// Over a store that survives.
    pub fn new(inner: Arc<dyn Store>, fuse: Arc<Fuse>) -> Self {
        Self { inner, fuse }
    }

    fn write(&self, write: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
        match self.fuse.burn() {
            Write::Works => write(),
            Write::HappensUntold => write().and(Err(ended())),
            Write::Fails => Err(ended()),
        }
    }
}

struct CrashingTxn {
    inner: Box<dyn Txn>,
    fuse: Arc<Fuse>,
}

impl Reader for CrashingTxn {
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

impl Txn for CrashingTxn {
    fn commit(self: Box<Self>, writes: Writes, head: Head) -> Result<Pending, CommitError> {
        match self.fuse.burn() {
            Write::Works => self.inner.commit(writes, head),
            Write::HappensUntold => {
                let pending = self.inner.commit(writes, head)?;
                pending.wait().map_err(CommitError::Unknown)?;
                Err(CommitError::Unknown(ended()))
            }
            Write::Fails => Err(CommitError::Aborted(ended())),
        }
    }

    fn release(self: Box<Self>) -> Pending {
        self.inner.release()
    }
}

impl Store for CrashingStore {
    fn create_part(&self, part: PartId, head: Head) -> Result<(), StoreError> {
        self.write(|| self.inner.create_part(part, head))
    }

    fn drop_part(&self, part: PartId) -> Result<(), StoreError> {
        self.write(|| self.inner.drop_part(part))
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
                let fuse = Arc::clone(&self.fuse);
                let txn = Box::new(CrashingTxn { inner: txn, fuse });
                Begin::Open { txn, head, values }
            }
            Begin::Moved(head) => Begin::Moved(head),
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
