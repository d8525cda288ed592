//! Figures about the work of the store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Core;

/// Figures about the work of a store since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// Commits appended.
    pub commits: u64,
    /// Syncs of the journal. Fewer than commits when commits share them.
    pub syncs: u64,
    /// How often a commit waited because the engine could not keep up with writes.
    pub stalls: u64,
    /// The time of all those waits together.
    pub stalled: Duration,
    /// The longest of those waits.
    pub longest_stall: Duration,
    /// Bytes on disk, journal included.
    pub disk_bytes: u64,
    /// Runs in the first level of the tree: rises when writes outpace compaction.
    pub first_level_runs: usize,
}

#[derive(Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    syncs: AtomicU64,
    stalls: AtomicU64,
    stalled_micros: AtomicU64,
    longest_stall_micros: AtomicU64,
}

impl Counters {
    pub(super) fn commit(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stall(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.stalls.fetch_add(1, Ordering::Relaxed);
        self.stalled_micros.fetch_add(micros, Ordering::Relaxed);
        self.longest_stall_micros
            .fetch_max(micros, Ordering::Relaxed);
    }
}

impl Core {
    pub(super) fn metrics(&self) -> Metrics {
        let counters = &self.counters;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Metrics {
            commits: load(&counters.commits),
            syncs: load(&counters.syncs),
            stalls: load(&counters.stalls),
            stalled: Duration::from_micros(load(&counters.stalled_micros)),
            longest_stall: Duration::from_micros(load(&counters.longest_stall_micros)),
            // The engine cannot tell only when it is broken; zero is as good as any number then.
            disk_bytes: self.database.disk_space().unwrap_or(0),
            first_level_runs: fjall::AbstractTree::l0_run_count(&self.data.tree),
        }
    }
}
