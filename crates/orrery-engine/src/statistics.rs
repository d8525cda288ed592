//! What is always known of the load, cheaply: per physical partition the last seconds, the totals
//! and the heaviest logical partitions; per container the shapes of its queries.
//!
//! Noting an operation is a few relaxed additions and, where nobody else is at it, one look into a
//! list of a few dozen keys: nothing waits and nothing is allocated. Reports are put together when
//! somebody asks ([`report`]).

pub mod heavy;
pub mod report;
pub mod seconds;
pub mod shapes;
pub mod sizes;

use std::sync::{Mutex, OnceLock, PoisonError};

use heavy::{Heavy, HeavyKeys};
use seconds::{SecondCount, Seconds, Totals};

/// The activity of one physical partition in one region. Made with the first operation, so that
/// idle partitions cost nothing.
#[derive(Debug, Default)]
pub struct Activity {
    kept: OnceLock<Box<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    seconds: Seconds,
    heavy: Mutex<HeavyKeys>,
}

impl Activity {
    fn kept(&self) -> &Kept {
        self.kept.get_or_init(Box::default)
    }

    /// Notes what an operation cost; `key` is the effective partition key of an operation in one
    /// logical partition.
    pub(crate) fn note(&self, second: u64, hundredths: u64, key: Option<&[u8]>) {
        let kept = self.kept();
        kept.seconds.note(second, hundredths);
        // Two at once: one of them counts for the totals only.
        if let Some(key) = key
            && let Ok(mut heavy) = kept.heavy.try_lock()
        {
            heavy.note(second, key, hundredths);
        }
    }

    /// Notes what an operation of another region cost here.
    pub(crate) fn note_replication(&self, second: u64, hundredths: u64, key: &[u8]) {
        let kept = self.kept();
        kept.seconds.note_charge(second, hundredths);
        if let Ok(mut heavy) = kept.heavy.try_lock() {
            heavy.note_charge(second, key, hundredths);
        }
    }

    /// Notes an operation that was refused for its rate.
    pub(crate) fn refuse(&self, second: u64, key: Option<&[u8]>) {
        let kept = self.kept();
        kept.seconds.refuse(second);
        if let Some(key) = key
            && let Ok(mut heavy) = kept.heavy.try_lock()
        {
            heavy.refuse(second, key);
        }
    }

    /// Everything since the start of the process.
    pub fn totals(&self) -> Totals {
        self.kept
            .get()
            .map(|kept| kept.seconds.totals())
            .unwrap_or_default()
    }

    /// The seconds that had operations, of the last so many before `now` (which may go on).
    pub fn recent(&self, now: u64, seconds: u64) -> Vec<SecondCount> {
        self.kept
            .get()
            .map(|kept| kept.seconds.recent(now, seconds))
            .unwrap_or_default()
    }

    /// The heaviest logical partitions of late, heaviest first.
    pub fn heaviest(&self, now: u64, most: usize) -> Vec<Heavy> {
        let Some(kept) = self.kept.get() else {
            return Vec::new();
        };
        let mut heavy = kept.heavy.lock().unwrap_or_else(PoisonError::into_inner);
        heavy.heaviest(now, most)
    }
}
