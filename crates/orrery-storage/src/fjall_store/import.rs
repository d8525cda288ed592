//! Rows of a part in the making, in ascending order: they go into sorted files at once, without the
//! journal, the memtable and most of the compactions that commits pass through.
//!
//! A thread of its own writes the files, so that who reads the rows somewhere else does not wait
//! for them. The files count from [`Import::finish`] on; those of an import that was given up are
//! deleted when the folder is opened again.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::error::StoreError;
use crate::part::PartId;
use crate::scan::Row;
use crate::store::Import;

use super::Core;
use super::keys::push_part;

/// Pages of rows that may wait for the thread.
const WAITING: usize = 4;
/// Where the engine keeps its table files.
const TABLES: &str = "tables";

enum Message {
    Rows(Vec<Row>),
    /// Nothing follows.
    End,
}

/// See the module.
pub(super) struct FjallImport {
    /// Taken at the end.
    rows: Option<SyncSender<Message>>,
    worker: Option<JoinHandle<Result<(), StoreError>>>,
}

impl FjallImport {
    pub(super) fn start(core: &Arc<Core>, part: PartId) -> Result<Self, StoreError> {
        let (rows, taken) = sync_channel(WAITING);
        let core = Arc::clone(core);
        let worker = thread::Builder::new()
            .name("orrery-import".to_owned())
            .spawn(move || core.import(part, &taken))
            .map_err(|source| StoreError::Io {
                doing: "starting a thread",
                source,
            })?;
        Ok(Self {
            rows: Some(rows),
            worker: Some(worker),
        })
    }

    fn send(&mut self, message: Message) -> Result<(), StoreError> {
        let sent = self.rows.as_ref().map(|rows| rows.send(message));
        match sent {
            Some(Ok(())) => Ok(()),
            // The thread has met a failure.
            _ => self.join().and(Err(StoreError::Closed)),
        }
    }

    fn join(&mut self) -> Result<(), StoreError> {
        self.rows = None;
        match self.worker.take().map(JoinHandle::join) {
            Some(Ok(done)) => done,
            // A panic there has been printed.
            Some(Err(_)) | None => Err(StoreError::Closed),
        }
    }
}

impl Import for FjallImport {
    fn put(&mut self, rows: Vec<Row>) -> Result<(), StoreError> {
        self.send(Message::Rows(rows))
    }

    fn finish(mut self: Box<Self>) -> Result<(), StoreError> {
        self.send(Message::End)?;
        self.join()
    }
}

impl Drop for FjallImport {
    fn drop(&mut self) {
        if self.worker.is_some() {
            // Given up: what became of it does not matter.
            let _ = self.join();
        }
    }
}

impl Core {
    fn import(&self, part: PartId, rows: &Receiver<Message>) -> Result<(), StoreError> {
        let failed = |error| self.failure("importing a part", error);
        let old = self.tables();
        let mut import = self.data.start_ingestion().map_err(failed)?;
        let mut key = Vec::with_capacity(64);
        push_part(part, &mut key);
        let prefix = key.len();
        while let Ok(message) = rows.recv() {
            match message {
                Message::Rows(rows) => {
                    self.check_running()?;
                    for row in rows {
                        key.truncate(prefix);
                        key.extend_from_slice(&row.key);
                        import.write(key.as_slice(), &*row.value).map_err(failed)?;
                    }
                }
                Message::End => {
                    self.check_running()?;
                    // The end does both once more, while commits wait: let little be left.
                    self.sync_new_tables(&old);
                    self.flush_memtable()?;
                    return import.finish().map_err(failed);
                }
            }
        }
        Ok(())
    }

    /// The names of the engine's table files.
    fn tables(&self) -> HashSet<OsString> {
        let files = std::fs::read_dir(self.data.path().join(TABLES));
        let files = files.into_iter().flatten().flatten();
        files.map(|file| file.file_name()).collect()
    }

    /// Writes through to the disk what lies in files that were not there before. A failure will
    /// meet who needs the file.
    fn sync_new_tables(&self, old: &HashSet<OsString>) {
        for name in self.tables().difference(old) {
            let file = File::open(self.data.path().join(TABLES).join(name));
            let _ = file.and_then(|file| file.sync_data());
        }
    }
}
