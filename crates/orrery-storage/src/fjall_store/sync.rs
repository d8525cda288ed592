//! One sync for all that was appended.
//!
//! Whoever needs its commit durable either leads (syncs for everybody) or, while another one
//! leads, waits. Commits appended during a sync are covered by the next one, so the more commits
//! there are, the fewer syncs each costs. Appending goes on during a sync.

use std::collections::VecDeque;
use std::sync::Arc;

use fjall::PersistMode;

use crate::error::StoreError;
use crate::folder::refusal;
use crate::lock::{lock, park};
use crate::pending::{Callback, SyncQueue};

use super::{Core, Durability};

/// The state of the group sync.
#[derive(Default)]
pub(super) struct Syncing {
    /// Commits up to this number are durable.
    pub(super) durable: u64,
    /// Somebody leads.
    pub(super) led: bool,
    /// Who wants to be called when a commit is durable, in the order of commits.
    pub(super) callbacks: VecDeque<(u64, Callback)>,
    /// Under relaxed durability: something was appended since the last sync.
    pub(super) unsynced: bool,
    /// The marks lag behind.
    pub(super) mark_lags: bool,
    /// The store is closed and everything is settled: the keeper ends.
    pub(super) finished: bool,
}

/// Gives up the lead even if a callback panics; everybody would wait for ever otherwise.
struct Lead<'a>(&'a Core);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut syncing = lock(&self.0.syncing);
        syncing.led = false;
        let keeper_wanted = !syncing.callbacks.is_empty();
        drop(syncing);
        self.0.synced.notify_all();
        if keeper_wanted {
            self.0.keeper_wanted.notify_one();
        }
    }
}

impl Core {
    /// Blocks until everything up to `ticket` is durable.
    pub(super) fn await_durable(&self, ticket: u64) -> Result<(), StoreError> {
        let mut syncing = lock(&self.syncing);
        while syncing.durable < ticket {
            self.check_intact()?;
            if syncing.led {
                syncing = park(&self.synced, syncing);
            } else {
                syncing.led = true;
                drop(syncing);
                self.lead();
                syncing = lock(&self.syncing);
            }
        }
        Ok(())
    }

    /// Makes everything durable that was appended, in either durability, and notes it in the
    /// mark.
    pub(super) fn sync_rest(&self) -> Result<(), StoreError> {
        self.await_durable(self.last_ticket())?;
        self.raise_marks();
        Ok(())
    }

    /// Syncs for everybody. The caller has set `led`.
    pub(super) fn lead(&self) {
        let lead = Lead(self);
        let mut appending = lock(&self.appending);
        let covered = appending.last;
        let moves = std::mem::take(&mut appending.moves);
        // Under the lock, so that the snapshot has exactly the commits that are being synced.
        let snapshot = Arc::new(self.database.snapshot());
        drop(appending);

        let failed = self.sync_journal().err();
        // Under relaxed durability readers are ahead of the sync already; this snapshot is old.
        if failed.is_none() && self.durability == Durability::Strict {
            self.publish(snapshot, &moves);
            self.watch.notify();
        }
        let mut syncing = lock(&self.syncing);
        if failed.is_none() {
            syncing.durable = syncing.durable.max(covered);
            if !syncing.mark_lags {
                syncing.mark_lags = true;
                self.keeper_wanted.notify_one();
            }
        }
        let durable = syncing.durable;
        let due = match &failed {
            Some(_) => syncing.callbacks.len(),
            None => syncing
                .callbacks
                .partition_point(|(ticket, _)| *ticket <= durable),
        };
        let due: Vec<_> = syncing.callbacks.drain(..due).collect();
        drop(syncing);
        self.synced.notify_all();
        for (ticket, callback) in due {
            callback(if ticket <= durable {
                Ok(())
            } else {
                self.check_intact()
            });
        }
        drop(lead);
    }

    fn sync_journal(&self) -> Result<(), StoreError> {
        self.check_intact()?;
        self.counters.sync();
        let found = lock(&self.journal)
            .sync()
            .map_err(|source| refusal(self.folder.path(), "syncing the journal", source));
        let result = match found {
            Ok(true) => Ok(()),
            Ok(false) => self
                .database
                .persist(PersistMode::SyncData)
                .map_err(|error| self.failure("syncing the journal", error)),
            Err(error) => Err(error),
        };
        result.map_err(|error| self.stop(&error))
    }

    /// Under relaxed durability: something was appended that the keeper will sync.
    pub(super) fn note_unsynced(&self) {
        let mut syncing = lock(&self.syncing);
        if !syncing.unsynced {
            syncing.unsynced = true;
            self.keeper_wanted.notify_one();
        }
    }

    /// Notes in the marks how far the journal must reach, and how much of it is in sorted files.
    pub(super) fn raise_marks(&self) {
        let mut syncing = lock(&self.syncing);
        syncing.mark_lags = false;
        let durable = syncing.durable;
        drop(syncing);
        // An old mark only makes the check at the next start weaker.
        let _ = lock(&self.durable_mark).raise(durable);
        self.note_flushed();
    }
}

impl SyncQueue for Core {
    fn wait(&self, ticket: u64) -> Result<(), StoreError> {
        self.await_durable(ticket)
    }

    fn then(&self, ticket: u64, callback: Callback) {
        let mut syncing = lock(&self.syncing);
        if syncing.durable >= ticket {
            drop(syncing);
            return callback(Ok(()));
        }
        if let Err(error) = self.check_intact() {
            drop(syncing);
            return callback(Err(error));
        }
        let place = syncing
            .callbacks
            .partition_point(|(other, _)| *other <= ticket);
        syncing.callbacks.insert(place, (ticket, callback));
        if !syncing.led {
            self.keeper_wanted.notify_one();
        }
    }

    fn is_durable(&self, ticket: u64) -> bool {
        lock(&self.syncing).durable >= ticket
    }
}
