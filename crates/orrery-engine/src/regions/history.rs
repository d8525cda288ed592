//! Past moments of a partition, for read regions.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_model::ids::Lsn;
use orrery_storage::Reader;

/// The moments that some region shows, or will show on its way to the present; the oldest first.
#[derive(Default)]
pub(crate) struct History {
    moments: Mutex<VecDeque<Moment>>,
}

struct Moment {
    taken_us: u64,
    reader: Arc<dyn Reader>,
}

impl History {
    fn moments(&self) -> MutexGuard<'_, VecDeque<Moment>> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The position of the last moment.
    pub fn lsn(&self) -> Option<Lsn> {
        let moments = self.moments();
        moments.back().map(|moment| Lsn(moment.reader.head().lsn))
    }

    /// Adds the present.
    pub fn record(&self, now_us: u64, reader: Arc<dyn Reader>) {
        self.moments().push_back(Moment {
            taken_us: now_us,
            reader,
        });
    }

    /// The partition as it was at a time, or as early as is known; `None` if nothing is.
    pub fn at(&self, time_us: u64) -> Option<Arc<dyn Reader>> {
        let moments = self.moments();
        let after = moments.partition_point(|moment| moment.taken_us <= time_us);
        let moment = moments.get(after.saturating_sub(1))?;
        Some(Arc::clone(&moment.reader))
    }

    /// Drops what no region will show: all but the moment of each of these times and those after
    /// `slowest`, the earliest time that still moves.
    pub fn forget(&self, shown: &[u64], slowest: u64) {
        let mut moments = self.moments();
        let place = |time: u64| {
            let after = moments.partition_point(|moment| moment.taken_us <= time);
            after.saturating_sub(1)
        };
        let needed: Vec<usize> = shown.iter().map(|&time| place(time)).collect();
        let moving = place(slowest);
        let mut at = 0;
        moments.retain(|_| {
            let keep = at >= moving || needed.contains(&at);
            at += 1;
            keep
        });
    }

    /// Drops everything: the next look at the partition sees the present.
    pub fn clear(&self) {
        self.moments().clear();
    }
}

impl fmt::Debug for History {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moments = self.moments();
        let times = moments.iter().map(|moment| moment.taken_us);
        formatter.debug_list().entries(times).finish()
    }
}

#[cfg(test)]
mod tests {
    use orrery_storage::{Begin, CommitToken, Head, MemoryStore, PartId, PartState, Store, Writes};

    use super::*;

    fn history(times: &[u64]) -> History {
        let store = MemoryStore::new();
        let part = PartId(1);
        store
            .create_part(part, Head::new(PartState::Active))
            .expect("a part");
        let history = History::default();
        for &time in times {
            let begun = store.begin(part, 1, &[]).expect("a turn");
            let Begin::Open { txn, head, .. } = begun else {
                panic!("the part is active")
            };
            let next = head.advanced(time, CommitToken(u128::from(time)));
            let pending = txn.commit(Writes::new(), next).expect("a commit");
            pending.wait().expect("in memory");
            history.record(time, store.snapshot(part).expect("a snapshot").into());
        }
        history
    }

    fn shown(history: &History, time: u64) -> Option<u64> {
        history.at(time).map(|reader| reader.head().lsn)
    }

    #[test]
    fn a_time_shows_the_moment_before_it() {
        let history = history(&[10, 20, 30]);
        let times = [0, 10, 19, 20, 99].map(|time| shown(&history, time));
        assert_eq!(times, [Some(10), Some(10), Some(10), Some(20), Some(30)]);
        history.clear();
        assert_eq!(shown(&history, 99), None);
    }

    #[test]
    fn moments_of_standing_and_moving_regions_are_kept() {
        let history = history(&[10, 20, 30, 40, 50, 60]);
        history.forget(&[25, 45], 45);
        assert_eq!(shown(&history, 25), Some(20));
        assert_eq!(shown(&history, 39), Some(20), "30 is nobody's");
        assert_eq!(shown(&history, 45), Some(40));
        assert_eq!(shown(&history, 55), Some(50));
        assert_eq!(history.lsn(), Some(Lsn(60)));
        history.forget(&[100], 100);
        assert_eq!(shown(&history, 0), Some(60));
    }
}
