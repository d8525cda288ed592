//! Writing recent commits out of the journal and the memtable, into sorted files.
//!
//! fjall replays its whole active journal (64 MB and more) at each start, one lookup and one
//! insertion an entry: seconds on a slow machine. After an orderly close there is nothing to
//! replay: the memtable is written out and the journal cut to nothing. A store without writes
//! writes its memtable out too: that gives back memory, and shortens the start after a crash.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fjall::AbstractTree;

use crate::error::StoreError;
use crate::lock::lock;

use super::Core;
use super::journal::Journal;

/// What is not worth a file of its own: its replay takes milliseconds.
const WORTH_A_FILE_BYTES: u64 = 4 << 20;
/// A journal up to this size is left for the next start.
const WORTH_A_CUT_BYTES: u64 = 1 << 20;
const NAP: Duration = Duration::from_millis(2);
const NAPS_BETWEEN_CHECKS: u32 = 20;

/// Cuts the journal once the engine has let go of it, if all of it lies in sorted files. Sits
/// behind the engine in [`Core`], so that it is dropped after it.
pub(super) struct JournalCut {
    engine: PathBuf,
    allowed: AtomicBool,
}

impl JournalCut {
    pub(super) fn new(engine: PathBuf) -> Self {
        Self {
            engine,
            allowed: AtomicBool::new(false),
        }
    }
}

impl Drop for JournalCut {
    fn drop(&mut self) {
        if !self.allowed.load(Ordering::Acquire) {
            return;
        }
        // Left as it is, it costs time at the next start and nothing else.
        if let Ok(Some(path)) = Journal::new(&self.engine).active_path()
            && let Ok(file) = OpenOptions::new().write(true).open(path)
        {
            let _ = file.set_len(0);
        }
    }
}

impl Core {
    /// Whether the memtable is worth a file.
    pub(super) fn is_worth_a_flush(&self) -> bool {
        self.data.tree.active_memtable().size() >= WORTH_A_FILE_BYTES
    }

    /// Has the memtable written out by the engine's workers if it is worth it.
    pub(super) fn flush_idle(&self) {
        if self.is_worth_a_flush() {
            // A failure will meet the next commit.
            let _ = self.data.rotate_memtable();
        }
    }

    /// Whether memtables are being written out.
    pub(super) fn is_flushing(&self) -> bool {
        self.data.tree.sealed_memtable_count() > 0
    }

    /// Notes how much of the journal lies in sorted files, so that it is not replayed.
    pub(super) fn note_flushed(&self) {
        // Memtables are written out in their order and listed durably before they count, so all
        // of the journal up to this number can do without.
        if let Some(number) = self.data.tree.get_highest_persisted_seqno() {
            let _ = lock(&self.flushed_mark).raise(number);
        }
    }

    /// Has the memtable written out, and waits for it.
    pub(super) fn flush_memtable(&self) -> Result<(), StoreError> {
        self.data
            .rotate_memtable()
            .map_err(|error| self.failure("writing out recent commits", error))?;
        let mut naps = 0u32;
        while self.data.tree.sealed_memtable_count() > 0 {
            if naps.is_multiple_of(NAPS_BETWEEN_CHECKS) {
                self.check_workers()?;
            }
            naps = naps.wrapping_add(1);
            thread::sleep(NAP);
        }
        Ok(())
    }

    /// Leaves nothing to replay. For the end of a close, when nothing is appended any more.
    pub(super) fn flush_for_close(&self) -> Result<(), StoreError> {
        let tree = &self.data.tree;
        let size = Journal::new(&self.folder.engine_path())
            .active_path()
            .and_then(|path| path.map_or(Ok(0), |path| Ok(path.metadata()?.len())));
        if size.is_ok_and(|size| size <= WORTH_A_CUT_BYTES) {
            return Ok(());
        }
        self.flush_memtable()?;
        let complete = tree.active_memtable().is_empty();
        self.journal_cut.allowed.store(complete, Ordering::Release);
        Ok(())
    }
}
