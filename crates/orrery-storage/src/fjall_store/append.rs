//! Giving commits their place in the store's order.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fjall::{AbstractTree, OwnedWriteBatch, PersistMode};

use crate::error::{CommitError, StoreError};
use crate::lock::lock;
use crate::part::{Head, PartId};
use crate::writes::Writes;

use super::keys::{commits_key, encode_head, head_key, push_part};
use super::{Core, Durability};

/// fjall puts a writer to sleep for 100 ms at a time at 4 memtables waiting to be written out,
/// and for good at 30 runs in its first level if its worker died. The store waits before it
/// comes to that, in short naps, and notices a death.
const MAX_SEALED_MEMTABLES: usize = 3;
const MAX_FIRST_LEVEL_RUNS: usize = 18;
/// From here on each commit takes a nap for each run more: a load that outpaces compaction is
/// slowed down before it has to be halted.
const SLOW_FIRST_LEVEL_RUNS: usize = 10;
const NAP: Duration = Duration::from_millis(1);
const NAPS_BETWEEN_CHECKS: u32 = 20;

/// The order of commits, and what the next sync will cover.
pub(super) struct Appending {
    /// The number of the last commit of the store.
    pub(super) last: u64,
    /// What readers will see after the next sync. Empty under relaxed durability.
    pub(super) moves: Vec<Moves>,
}

/// What a commit changes in the list of heads.
#[derive(Clone, Copy)]
pub(super) enum Moves {
    Nothing,
    Head(PartId, Head),
    Gone(PartId),
}

/// A change to one of the store's own records.
pub(super) struct Record {
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl Record {
    pub(super) fn put(key: Vec<u8>, value: &[u8]) -> Self {
        Self {
            key,
            value: Some(value.to_vec()),
        }
    }

    pub(super) fn delete(key: Vec<u8>) -> Self {
        Self { key, value: None }
    }
}

impl Core {
    /// Appends a part's commit and answers its ticket.
    pub(super) fn append_commit(
        &self,
        part: PartId,
        writes: &Writes,
        head: Head,
    ) -> Result<u64, CommitError> {
        let mut batch = self.batch(writes.len() + 2);
        let mut key = Vec::with_capacity(64);
        push_part(part, &mut key);
        let prefix = key.len();
        for (rest, value) in writes.iter() {
            key.truncate(prefix);
            key.extend_from_slice(rest);
            match value {
                Some(value) => batch.insert(&self.data, key.as_slice(), value),
                None => batch.remove(&self.data, key.as_slice()),
            }
        }
        batch.insert(&self.data, head_key(part), &encode_head(head)[..]);
        self.append(batch, Moves::Head(part, head))
    }

    /// Appends changes of the store's own records and answers the ticket.
    pub(super) fn append_records(
        &self,
        records: &[Record],
        moves: Moves,
    ) -> Result<u64, CommitError> {
        let mut batch = self.batch(records.len() + 1);
        for record in records {
            match &record.value {
                Some(value) => batch.insert(&self.data, record.key.as_slice(), value.as_slice()),
                None => batch.remove(&self.data, record.key.as_slice()),
            }
        }
        self.append(batch, moves)
    }

    fn batch(&self, operations: usize) -> OwnedWriteBatch {
        // To the operating system, so that the end of the process loses nothing; the sync is
        // ours.
        OwnedWriteBatch::with_capacity(self.database.clone(), operations)
            .durability(Some(PersistMode::Buffer))
    }

    fn append(&self, mut batch: OwnedWriteBatch, moves: Moves) -> Result<u64, CommitError> {
        self.await_room().map_err(CommitError::Aborted)?;
        let mut appending = lock(&self.appending);
        self.check_running().map_err(CommitError::Aborted)?;
        let ticket = appending.last + 1;
        batch.insert(&self.data, commits_key(), &ticket.to_be_bytes()[..]);
        if let Err(error) = batch.commit() {
            let untouched = matches!(error, fjall::Error::Poisoned);
            let failure = self.stop(&self.failure("writing to the journal", error));
            return Err(if untouched {
                CommitError::Aborted(failure)
            } else {
                CommitError::Unknown(failure)
            });
        }
        appending.last = ticket;
        match self.durability {
            Durability::Strict => appending.moves.push(moves),
            // Under the lock, so that snapshot and heads belong together.
            Durability::Relaxed => {
                self.publish(Arc::new(self.database.snapshot()), &[moves]);
            }
        }
        drop(appending);
        self.counters.commit();
        if self.durability == Durability::Relaxed {
            self.watch.notify();
            self.note_unsynced();
        }
        Ok(ticket)
    }

    /// The number of the last commit appended.
    pub(super) fn last_ticket(&self) -> u64 {
        lock(&self.appending).last
    }

    /// Waits until the engine has room for more writes.
    fn await_room(&self) -> Result<(), StoreError> {
        let (sealed, runs) = self.backlog();
        self.note_first_level(runs);
        if sealed < MAX_SEALED_MEMTABLES && runs <= SLOW_FIRST_LEVEL_RUNS {
            return Ok(());
        }
        let start = Instant::now();
        let slow = runs.saturating_sub(SLOW_FIRST_LEVEL_RUNS) as u32;
        thread::sleep(NAP * slow);
        let mut naps = 0u32;
        loop {
            let (sealed, runs) = self.backlog();
            if sealed < MAX_SEALED_MEMTABLES && runs < MAX_FIRST_LEVEL_RUNS {
                break;
            }
            self.check_running()?;
            if naps.is_multiple_of(NAPS_BETWEEN_CHECKS) {
                self.check_workers()?;
            }
            naps = naps.wrapping_add(1);
            thread::sleep(NAP);
        }
        self.counters.stall(start.elapsed());
        Ok(())
    }

    /// Memtables waiting to be written out, and runs in the first level.
    fn backlog(&self) -> (usize, usize) {
        let tree = &self.data.tree;
        (tree.sealed_memtable_count(), tree.l0_run_count())
    }

    /// Notices that a background thread of the engine died: nothing will make room then.
    pub(super) fn check_workers(&self) -> Result<(), StoreError> {
        self.check_intact()?;
        self.database
            .persist(PersistMode::Buffer)
            .map_err(|error| self.stop(&self.failure("waiting for room to write", error)))
    }
}
