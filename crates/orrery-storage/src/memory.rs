//! A store that keeps everything in memory and nothing beyond the process: for `--in-memory` and
//! for simulation, where it is also the model that other engines are compared with.

mod versions;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use crate::bytes::StoredBytes;
use crate::error::{CommitError, StoreError};
use crate::lock::{Turn, Turns, Watch, read, write};
use crate::part::{CommitToken, Head, PartId, PartState};
use crate::pending::Pending;
use crate::scan::{Page, Scan};
use crate::store::{Begin, Reader, Resolution, Store, Txn};
use crate::writes::Writes;

use versions::Versions;

/// See the module.
#[derive(Default)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    parts: RwLock<BTreeMap<PartId, Arc<Part>>>,
    closed: AtomicBool,
    watch: Watch,
}

struct Part {
    turns: Arc<Turns>,
    content: RwLock<Content>,
}

struct Content {
    head: Head,
    versions: Versions,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn part(&self, part: PartId) -> Result<Arc<Part>, StoreError> {
        read(&self.shared.parts)
            .get(&part)
            .cloned()
            .ok_or(StoreError::NoSuchPart(part))
    }
}

impl Shared {
    fn check_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        Ok(())
    }
}

impl Store for MemoryStore {
    fn create_part(&self, part: PartId, head: Head) -> Result<(), StoreError> {
        self.shared.check_open()?;
        if part > PartId::MAX {
            return Err(StoreError::PartUnusable(part));
        }
        write(&self.shared.parts).entry(part).or_insert_with(|| {
            Arc::new(Part {
                turns: Arc::default(),
                content: RwLock::new(Content {
                    head,
                    versions: Versions::default(),
                }),
            })
        });
        Ok(())
    }

    fn drop_part(&self, part: PartId) -> Result<(), StoreError> {
        self.shared.check_open()?;
        let Ok(found) = self.part(part) else {
            return Ok(());
        };
        let _turn = found.turns.take();
        write(&self.shared.parts).remove(&part);
        self.shared.watch.notify();
        Ok(())
    }

    fn list_parts(&self) -> Result<Vec<(PartId, Head)>, StoreError> {
        Ok(read(&self.shared.parts)
            .iter()
            .map(|(&part, found)| (part, read(&found.content).head))
            .collect())
    }

    fn head(&self, part: PartId) -> Result<Head, StoreError> {
        Ok(read(&self.part(part)?.content).head)
    }

    fn get_many(
        &self,
        part: PartId,
        keys: &[&[u8]],
    ) -> Result<(Head, Vec<Option<StoredBytes>>), StoreError> {
        let part = self.part(part)?;
        let content = read(&part.content);
        let now = content.versions.now();
        let values = keys.iter().map(|key| content.versions.get(key, now));
        Ok((content.head, values.collect()))
    }

    fn scan(&self, part: PartId, scan: &Scan) -> Result<Page, StoreError> {
        let part = self.part(part)?;
        let content = read(&part.content);
        content.versions.scan(scan, content.versions.now())
    }

    fn snapshot(&self, part: PartId) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(Snapshot::open(self.part(part)?)))
    }

    fn begin(
        &self,
        part: PartId,
        generation: u64,
        prefetch: &[&[u8]],
    ) -> Result<Begin, StoreError> {
        self.shared.check_open()?;
        let found = self.part(part)?;
        let turn = found.turns.take();
        // It may have been dropped while this writer waited for its turn.
        self.part(part)?;
        let snapshot = Snapshot::open(found);
        let head = snapshot.head;
        if head.state == PartState::Sealed || head.generation != generation {
            return Ok(Begin::Moved(head));
        }
        let values = snapshot.get_many(prefetch)?;
        let txn = Box::new(MemoryTxn {
            snapshot,
            shared: Arc::clone(&self.shared),
            _turn: turn,
        });
        Ok(Begin::Open { txn, head, values })
    }

    fn resolve(
        &self,
        part: PartId,
        token: CommitToken,
        lsn: u64,
    ) -> Result<Resolution, StoreError> {
        Ok(self.head(part)?.resolve(token, lsn))
    }

    fn wait(&self, part: PartId, lsn: u64, timeout: Duration) -> Result<Head, StoreError> {
        self.shared.watch.wait(lsn, timeout, || self.head(part))
    }

    fn close(&self) -> Result<(), StoreError> {
        self.shared.closed.store(true, Ordering::Release);
        Ok(())
    }
}

/// A point of a part's history, kept readable until dropped.
struct Snapshot {
    part: Arc<Part>,
    head: Head,
    version: u64,
}

impl Snapshot {
    fn open(part: Arc<Part>) -> Self {
        let mut content = write(&part.content);
        let head = content.head;
        let version = content.versions.hold();
        drop(content);
        Self {
            part,
            head,
            version,
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        write(&self.part.content).versions.release(self.version);
    }
}

impl Reader for Snapshot {
    fn head(&self) -> Head {
        self.head
    }

    fn get(&self, key: &[u8]) -> Result<Option<StoredBytes>, StoreError> {
        Ok(read(&self.part.content).versions.get(key, self.version))
    }

    fn scan(&self, scan: &Scan) -> Result<Page, StoreError> {
        read(&self.part.content).versions.scan(scan, self.version)
    }
}

struct MemoryTxn {
    snapshot: Snapshot,
    shared: Arc<Shared>,
    _turn: Turn,
}

impl Reader for MemoryTxn {
    fn head(&self) -> Head {
        self.snapshot.head()
    }

    fn get(&self, key: &[u8]) -> Result<Option<StoredBytes>, StoreError> {
        self.snapshot.get(key)
    }

    fn scan(&self, scan: &Scan) -> Result<Page, StoreError> {
        self.snapshot.scan(scan)
    }
}

impl Txn for MemoryTxn {
    fn commit(self: Box<Self>, writes: Writes, head: Head) -> Result<Pending, CommitError> {
        self.shared.check_open().map_err(CommitError::Aborted)?;
        self.snapshot
            .head
            .check_successor(head)
            .map_err(CommitError::Aborted)?;
        let writes = writes.into_final().map_err(CommitError::Aborted)?;
        let mut content = write(&self.snapshot.part.content);
        content.versions.apply(&writes);
        content.head = head;
        drop(content);
        self.shared.watch.notify();
        Ok(Pending::durable())
    }

    fn release(self: Box<Self>) -> Pending {
        Pending::durable()
    }
}
