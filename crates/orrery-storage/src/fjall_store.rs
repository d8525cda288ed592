//! A store in a folder, on fjall 3: an LSM tree in pure Rust.
//!
//! All parts share one keyspace; a key is its part's number and then the caller's key. What the
//! modules do, in the order in which a commit meets them:
//!
//! * `txn`: a part's writer;
//! * `append`: gives the commit its place in the store's order and writes it to the journal;
//! * `sync`: makes what was appended durable, one sync for all parts;
//! * `view`: what readers see, moved on when a sync is done;
//! * `keeper`: the background thread (relaxed syncs, callbacks, the durable mark);
//! * `import`: rows of a part in the making, past all of these;
//! * `reclaim`: deletes the keys of dropped parts;
//! * `compact`: keeps the tree in shape;
//! * `flush`: leaves little to replay for the next start;
//! * `journal`, `replay`, `keys`, `recovery`: the disk.

mod append;
mod compact;
mod flush;
mod import;
mod journal;
mod keeper;
mod keys;
mod metrics;
mod reclaim;
mod recovery;
mod replay;
mod sync;
mod txn;
mod view;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::bytes::StoredBytes;
use crate::error::{CommitError, StoreError};
use crate::folder::{Folder, Mark, refusal};
use crate::lock::{Turns, Watch, lock, read, write};
use crate::part::{CommitToken, Head, PartId, PartState};
use crate::pending::Pending;
use crate::scan::{Page, Scan};
use crate::store::{Begin, Import, Reader, Resolution, Store};

use append::{Appending, Moves, Record};
use compact::Compacting;
use flush::JournalCut;
use journal::Journal;
use metrics::Counters;
use reclaim::Reclaiming;
use sync::Syncing;
use view::{PartReader, View};

pub use metrics::Metrics;

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When a sync has made it proof against a power cut.
    #[default]
    Strict,
    /// When the operating system has it: proof against the end of the process, not against a
    /// power cut. A sync follows about 100 ms later, and on close.
    Relaxed,
}

/// How to open a folder.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// When a commit counts as done.
    pub durability: Durability,
    /// Memory for blocks read from disk.
    pub cache_bytes: u64,
    /// Memory for recent writes before they are written out sorted. Fixed when the folder is
    /// created.
    pub memtable_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Strict,
            cache_bytes: 128 << 20,
            memtable_bytes: 32 << 20,
        }
    }
}

/// See the module. Dropping it closes it; readers, transactions and [`Pending`]s that are still
/// around keep the folder locked until they are dropped too.
pub struct FjallStore {
    core: Arc<Core>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// What all handles on an open folder share.
struct Core {
    durability: Durability,
    database: fjall::Database,
    data: fjall::Keyspace,
    /// Parts that may be written, with the newest appended head of each.
    parts: RwLock<BTreeMap<PartId, Arc<Part>>>,
    /// Held over the creation or drop of a part, so that they do not cross.
    structure: Mutex<()>,
    view: RwLock<View>,
    appending: Mutex<Appending>,
    syncing: Mutex<Syncing>,
    /// Some sync ended.
    synced: Condvar,
    /// The keeper has something to do.
    keeper_wanted: Condvar,
    journal: Mutex<Journal>,
    durable_mark: Mutex<Mark>,
    flushed_mark: Mutex<Mark>,
    reclaiming: Mutex<Reclaiming>,
    compacting: Compacting,
    watch: Watch,
    counters: Counters,
    /// Set once by the first failed write or sync; nothing is accepted from then on.
    stop: OnceLock<Stop>,
    closed: AtomicBool,
    /// Behind the engine: see there.
    journal_cut: JournalCut,
    /// Last, so that the lock outlives the engine.
    folder: Folder,
}

struct Part {
    turns: Arc<Turns>,
    appended: Mutex<Head>,
}

impl Part {
    fn new(head: Head) -> Arc<Self> {
        Arc::new(Self {
            turns: Arc::default(),
            appended: Mutex::new(head),
        })
    }
}

/// Why the store stopped accepting writes.
struct Stop {
    full: bool,
    reason: String,
}

impl FjallStore {
    /// Opens a folder, creating it if needed.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreError> {
        let core = Arc::new(recovery::open(path.as_ref(), options)?);
        let keeper = keeper::start(&core)?;
        compact::start(&core)?;
        reclaim::start(&core);
        Ok(Self {
            core,
            keeper: Mutex::new(Some(keeper)),
        })
    }

    /// Figures about the work of the store so far.
    pub fn metrics(&self) -> Metrics {
        self.core.metrics()
    }
}

impl Drop for FjallStore {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; `close` is for those who want to.
        let _ = self.close();
    }
}

impl Core {
    fn part(&self, part: PartId) -> Result<Arc<Part>, StoreError> {
        read(&self.parts)
            .get(&part)
            .cloned()
            .ok_or(StoreError::NoSuchPart(part))
    }

    /// Refuses writes after a close or a failure.
    fn check_running(&self) -> Result<(), StoreError> {
        self.check_intact()?;
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        Ok(())
    }

    /// Refuses what makes no sense after a failure.
    fn check_intact(&self) -> Result<(), StoreError> {
        match self.stop.get() {
            None => Ok(()),
            Some(Stop { full: true, .. }) => Err(StoreError::DiskFull),
            Some(Stop { reason, .. }) => Err(StoreError::Stopped {
                reason: reason.clone(),
            }),
        }
    }

    /// Stops accepting writes for good and answers the failure.
    fn stop(&self, failure: &StoreError) -> StoreError {
        self.stop.get_or_init(|| Stop {
            full: matches!(failure, StoreError::DiskFull) || self.folder.is_full(),
            reason: failure.to_string(),
        });
        self.wake_keeper();
        // Just initialised, so intact no more.
        self.check_intact().err().unwrap_or(StoreError::Closed)
    }

    /// The engine's failure, as the error that tells the reader what to do.
    fn failure(&self, doing: &'static str, error: fjall::Error) -> StoreError {
        failure(self.folder.path(), doing, error)
    }

    /// A [`Pending`] for everything appended up to now.
    fn pending(self: &Arc<Self>, ticket: u64) -> Pending {
        match self.durability {
            Durability::Strict => {
                let queue: Arc<dyn crate::pending::SyncQueue> = self.clone();
                Pending::waiting(queue, ticket)
            }
            Durability::Relaxed => Pending::durable(),
        }
    }

    /// Appends changes of the store's own records and waits for them.
    fn record(&self, records: &[Record], moves: Moves) -> Result<(), StoreError> {
        let ticket = self
            .append_records(records, moves)
            .map_err(CommitError::into_inner)?;
        match self.durability {
            Durability::Strict => self.await_durable(ticket),
            Durability::Relaxed => Ok(()),
        }
    }
}

fn failure(folder: &Path, doing: &'static str, error: fjall::Error) -> StoreError {
    match error {
        fjall::Error::Io(source) | fjall::Error::Storage(fjall::LsmError::Io(source)) => {
            refusal(folder, doing, source)
        }
        fjall::Error::Locked => StoreError::Locked {
            folder: folder.to_owned(),
        },
        fjall::Error::Poisoned => StoreError::Stopped {
            reason: "a background write to the data folder failed".to_owned(),
        },
        fjall::Error::InvalidVersion(version) => StoreError::Format {
            folder: folder.to_owned(),
            problem: format!("its engine files have the unknown version {version:?}"),
        },
        fjall::Error::Storage(fjall::LsmError::ChecksumMismatch { .. })
        | fjall::Error::JournalRecovery(_)
        | fjall::Error::InvalidTrailer
        | fjall::Error::InvalidTag(_)
        | fjall::Error::Decompress(_)
        | fjall::Error::Unrecoverable => StoreError::Damaged {
            folder: folder.to_owned(),
            problem: format!("{doing}: {error:?}"),
        },
        other => StoreError::Engine {
            doing,
            problem: format!("{other:?}"),
        },
    }
}

impl Store for FjallStore {
    fn create_part(&self, part: PartId, head: Head) -> Result<(), StoreError> {
        let core = &self.core;
        core.check_running()?;
        let _structure = lock(&core.structure);
        if read(&core.parts).contains_key(&part) {
            return Ok(());
        }
        if part > PartId::MAX || lock(&core.reclaiming).contains(part) {
            return Err(StoreError::PartUnusable(part));
        }
        let record = Record::put(keys::head_key(part), &keys::encode_head(head));
        core.record(&[record], Moves::Head(part, head))?;
        write(&core.parts).insert(part, Part::new(head));
        Ok(())
    }

    fn drop_part(&self, part: PartId) -> Result<(), StoreError> {
        let core = &self.core;
        core.check_running()?;
        let structure = lock(&core.structure);
        let Ok(found) = core.part(part) else {
            return Ok(());
        };
        let turn = found.turns.take();
        let records = [
            Record::delete(keys::head_key(part)),
            Record::put(keys::dropped_key(part), &[]),
        ];
        core.record(&records, Moves::Gone(part))?;
        write(&core.parts).remove(&part);
        lock(&core.reclaiming).add(part);
        drop((turn, structure));
        reclaim::start(core);
        Ok(())
    }

    fn list_parts(&self) -> Result<Vec<(PartId, Head)>, StoreError> {
        Ok(self.core.heads())
    }

    fn head(&self, part: PartId) -> Result<Head, StoreError> {
        self.core.head(part)
    }

    fn get_many(
        &self,
        part: PartId,
        keys: &[&[u8]],
    ) -> Result<(Head, Vec<Option<StoredBytes>>), StoreError> {
        let (snapshot, head) = self.core.durable(part)?;
        let values = self.core.get_many(&snapshot, part, keys)?;
        Ok((head, values))
    }

    fn scan(&self, part: PartId, scan: &Scan) -> Result<Page, StoreError> {
        let (snapshot, _) = self.core.durable(part)?;
        self.core.scan(&snapshot, part, scan)
    }

    fn snapshot(&self, part: PartId) -> Result<Box<dyn Reader>, StoreError> {
        let (snapshot, head) = self.core.durable(part)?;
        Ok(Box::new(PartReader::new(
            Arc::clone(&self.core),
            snapshot,
            part,
            head,
        )))
    }

    fn begin(
        &self,
        part: PartId,
        generation: u64,
        prefetch: &[&[u8]],
    ) -> Result<Begin, StoreError> {
        let core = &self.core;
        core.check_running()?;
        let found = core.part(part)?;
        let turn = found.turns.take();
        // It may have been dropped while this writer waited for its turn.
        core.part(part)?;
        let head = *lock(&found.appended);
        if head.state == PartState::Sealed || head.generation != generation {
            return Ok(Begin::Moved(head));
        }
        let snapshot = Arc::new(core.database.snapshot());
        let values = core.get_many(&snapshot, part, prefetch)?;
        let reader = PartReader::new(Arc::clone(core), snapshot, part, head);
        let txn = Box::new(txn::FjallTxn::new(reader, found, turn));
        Ok(Begin::Open { txn, head, values })
    }

    fn import(&self, part: PartId) -> Result<Option<Box<dyn Import>>, StoreError> {
        let core = &self.core;
        core.check_running()?;
        core.part(part)?;
        Ok(Some(Box::new(import::FjallImport::start(core, part)?)))
    }

    fn resolve(
        &self,
        part: PartId,
        token: CommitToken,
        lsn: u64,
    ) -> Result<Resolution, StoreError> {
        self.core.check_intact()?;
        Ok(self.core.head(part)?.resolve(token, lsn))
    }

    fn wait(&self, part: PartId, lsn: u64, timeout: Duration) -> Result<Head, StoreError> {
        self.core.watch.wait(lsn, timeout, || self.core.head(part))
    }

    fn close(&self) -> Result<(), StoreError> {
        let first = !self.core.closed.swap(true, Ordering::AcqRel);
        let result = self.core.sync_rest();
        self.core.finish_keeper();
        if let Some(keeper) = lock(&self.keeper).take() {
            // A panic there has been printed, and is no reason for another one here.
            let _ = keeper.join();
        }
        reclaim::finish(&self.core);
        compact::finish(&self.core);
        if first {
            // What reclaiming appended last is covered too.
            result?;
            self.core.sync_rest()?;
            return self.core.flush_for_close();
        }
        result
    }
}
