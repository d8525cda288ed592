//! Opening a folder: the engine's recovery, and the checks that it does not make.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, Readable, Snapshot};

use crate::error::StoreError;
use crate::folder::Folder;
use crate::part::{Head, PartId};

use super::append::Appending;
use super::compact::engine_strategy;
use super::flush::JournalCut;
use super::journal::Journal;
use super::keys::{commits_key, decode_head, dropped_prefix, heads_prefix, record_part};
use super::reclaim::Reclaiming;
use super::sync::Syncing;
use super::view::View;
use super::{Core, Options, Part, failure, replay};

const KEYSPACE: &str = "parts";
/// All journals together, sealed ones included. Bounds the replay of a start after a crash.
const MAX_JOURNAL_BYTES: u64 = 128 << 20;

pub(super) fn open(path: &Path, options: Options) -> Result<Core, StoreError> {
    let folder = Folder::open(path)?;
    let flushed_mark = folder.flushed_mark()?;
    // Left as it is, the journal costs time and nothing else.
    let _ = replay::drop_flushed(&folder.engine_path(), flushed_mark.value());
    let (database, data) = open_engine(&folder, options)?;
    let mark = folder.durable_mark()?;
    let snapshot = Arc::new(database.snapshot());
    let found = Found::read(&folder, &snapshot, &data)?;
    if found.commits < mark.value() {
        return Err(folder.damaged(format!(
            "commit {} was acknowledged, but the journal ends at commit {}: something that was \
             written is gone. Restore a copy; or, to go on with what is left, delete the file \
             \"durable\" in the folder",
            mark.value(),
            found.commits,
        )));
    }
    folder.seal_creation()?;

    let parts = found
        .heads
        .iter()
        .map(|(&part, &head)| (part, Part::new(head)))
        .collect();
    Ok(Core {
        durability: options.durability,
        journal: Mutex::new(Journal::new(&folder.engine_path())),
        parts: RwLock::new(parts),
        structure: Mutex::default(),
        view: RwLock::new(View {
            snapshot,
            heads: found.heads,
        }),
        appending: Mutex::new(Appending {
            last: found.commits,
            moves: Vec::new(),
        }),
        syncing: Mutex::new(Syncing {
            // The engine syncs what it has recovered.
            durable: found.commits,
            ..Syncing::default()
        }),
        synced: Condvar::new(),
        keeper_wanted: Condvar::new(),
        durable_mark: Mutex::new(mark),
        flushed_mark: Mutex::new(flushed_mark),
        reclaiming: Mutex::new(Reclaiming::new(found.dropped)),
        compacting: super::compact::Compacting::default(),
        watch: crate::lock::Watch::default(),
        counters: super::metrics::Counters::default(),
        stop: OnceLock::new(),
        closed: false.into(),
        database,
        data,
        journal_cut: JournalCut::new(folder.engine_path()),
        folder,
    })
}

/// The engine asserts much about its files; on a damaged folder that must be an error of ours and
/// no panic.
fn open_engine(folder: &Folder, options: Options) -> Result<(Database, Keyspace), StoreError> {
    let open = || {
        let database = Database::builder(folder.engine_path())
            .cache_size(options.cache_bytes)
            .max_journaling_size(MAX_JOURNAL_BYTES)
            .worker_threads(1)
            .open()?;
        let data = database.keyspace(KEYSPACE, || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(options.memtable_bytes)
                .compaction_strategy(Arc::new(engine_strategy()))
        })?;
        Ok((database, data))
    };
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(Ok(opened)) => Ok(opened),
        Ok(Err(error)) => Err(failure(folder.path(), "opening the data folder", error)),
        Err(panic) => Err(folder.damaged(format!(
            "its engine files make no sense ({})",
            words(panic.as_ref())
        ))),
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given")
}

/// What the store's own records say.
#[derive(Default)]
struct Found {
    commits: u64,
    heads: BTreeMap<PartId, Head>,
    dropped: VecDeque<PartId>,
}

impl Found {
    fn read(folder: &Folder, snapshot: &Snapshot, data: &Keyspace) -> Result<Self, StoreError> {
        let failed = |error| failure(folder.path(), "reading the heads of the parts", error);
        let unreadable = || folder.damaged("a record of a part is unreadable".to_owned());
        let mut found = Self::default();
        if let Some(bytes) = snapshot.get(data, commits_key()).map_err(failed)? {
            let bytes = bytes.as_ref().try_into().map_err(|_| unreadable())?;
            found.commits = u64::from_be_bytes(bytes);
        }
        for guard in snapshot.prefix(data, heads_prefix()) {
            let (key, value) = guard.into_inner().map_err(failed)?;
            let part = record_part(&key).ok_or_else(unreadable)?;
            let head = decode_head(&value).ok_or_else(unreadable)?;
            found.heads.insert(part, head);
        }
        for guard in snapshot.prefix(data, dropped_prefix()) {
            let key = guard.key().map_err(failed)?;
            found
                .dropped
                .push_back(record_part(&key).ok_or_else(unreadable)?);
        }
        Ok(found)
    }
}
