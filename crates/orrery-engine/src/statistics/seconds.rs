//! Totals, and how they stood at the start of each of the last seconds.
//!
//! Whoever meets a new second first writes down the totals; what a second had is the difference
//! to the next one. So nothing is lost at the change of a second, at most an operation is counted
//! on its other side.

use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds that are kept.
pub const KEPT_SECONDS: u64 = 128;

/// Sums over operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Hundredths of request units.
    pub hundredths: u64,
    /// Operations that were served.
    pub requests: u64,
    /// Operations that were refused for their rate.
    pub refused: u64,
}

impl Totals {
    fn since(self, before: Self) -> Self {
        Self {
            hundredths: self.hundredths.saturating_sub(before.hundredths),
            requests: self.requests.saturating_sub(before.requests),
            refused: self.refused.saturating_sub(before.refused),
        }
    }
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.hundredths += other.hundredths;
        self.requests += other.requests;
        self.refused += other.refused;
    }
}

/// What one second had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondCount {
    /// Seconds since 1970.
    pub second: u64,
    /// What it had.
    pub counts: Totals,
}

#[derive(Debug, Default)]
struct AtomicTotals {
    hundredths: AtomicU64,
    requests: AtomicU64,
    refused: AtomicU64,
}

impl AtomicTotals {
    fn load(&self) -> Totals {
        Totals {
            hundredths: self.hundredths.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    fn store(&self, totals: Totals) {
        self.hundredths.store(totals.hundredths, Ordering::Relaxed);
        self.requests.store(totals.requests, Ordering::Relaxed);
        self.refused.store(totals.refused, Ordering::Relaxed);
    }
}

/// The totals at the start of a second; 0 while it is being written.
#[derive(Debug, Default)]
struct Slot {
    second: AtomicU64,
    at_start: AtomicTotals,
}

/// Totals and the last seconds.
#[derive(Debug)]
pub struct Seconds {
    totals: AtomicTotals,
    last: AtomicU64,
    slots: Box<[Slot]>,
}

impl Default for Seconds {
    fn default() -> Self {
        Self {
            totals: AtomicTotals::default(),
            last: AtomicU64::new(0),
            slots: (0..KEPT_SECONDS).map(|_| Slot::default()).collect(),
        }
    }
}

impl Seconds {
    /// Notes a served operation.
    pub fn note(&self, second: u64, hundredths: u64) {
        self.note_charge(second, hundredths);
        self.totals.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes what an operation cost that another region served.
    pub fn note_charge(&self, second: u64, hundredths: u64) {
        self.reach(second);
        self.totals
            .hundredths
            .fetch_add(hundredths, Ordering::Relaxed);
    }

    /// Notes a refused operation.
    pub fn refuse(&self, second: u64) {
        self.reach(second);
        self.totals.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn reach(&self, second: u64) {
        let last = self.last.load(Ordering::Relaxed);
        if second <= last {
            return;
        }
        let moved = self
            .last
            .compare_exchange(last, second, Ordering::AcqRel, Ordering::Relaxed);
        if moved.is_ok() {
            let slot = &self.slots[(second % KEPT_SECONDS) as usize];
            slot.second.store(0, Ordering::Release);
            slot.at_start.store(self.totals.load());
            slot.second.store(second, Ordering::Release);
        }
    }

    /// All since the start.
    pub fn totals(&self) -> Totals {
        self.totals.load()
    }

    /// The seconds with operations, of the `seconds` up to and with `now`, in order.
    pub fn recent(&self, now: u64, seconds: u64) -> Vec<SecondCount> {
        let mut starts: Vec<(u64, Totals)> = self
            .slots
            .iter()
            .filter_map(|slot| {
                let second = slot.second.load(Ordering::Acquire);
                let totals = slot.at_start.load();
                let is_whole = second > 0 && slot.second.load(Ordering::Acquire) == second;
                is_whole.then_some((second, totals))
            })
            .collect();
        starts.sort_unstable_by_key(|(second, _)| *second);
        let ends = starts
            .iter()
            .skip(1)
            .map(|(_, totals)| *totals)
            .chain([self.totals()])
            .collect::<Vec<_>>();
        let first = now.saturating_sub(seconds.saturating_sub(1));
        starts
            .iter()
            .zip(ends)
            .filter(|((second, _), _)| (first..=now).contains(second))
            .map(|(&(second, start), end)| SecondCount {
                second,
                counts: end.since(start),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_what_was_noted_in_them() {
        let seconds = Seconds::default();
        for (second, amount) in [(100, 5), (100, 7), (103, 11)] {
            seconds.note(second, amount);
        }
        seconds.refuse(103);
        seconds.note(104, 1);
        let recent = seconds.recent(104, 60);
        let seen: Vec<_> = recent
            .iter()
            .map(|at| {
                (
                    at.second,
                    at.counts.hundredths,
                    at.counts.requests,
                    at.counts.refused,
                )
            })
            .collect();
        assert_eq!(seen, [(100, 12, 2, 0), (103, 11, 1, 1), (104, 1, 1, 0)]);
        assert_eq!(seconds.recent(104, 2).len(), 2);
        assert_eq!(seconds.totals().hundredths, 24);
    }

    #[test]
    fn the_ring_goes_round_and_sums_stay_whole() {
        let seconds = Seconds::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for second in 1..=1_000 {
                        seconds.note(second, 3);
                    }
                });
            }
        });
        let recent = seconds.recent(1_000, 1_000);
        assert!(recent.len() as u64 <= KEPT_SECONDS);
        assert_eq!(seconds.totals().requests, 4_000);
        let kept: u64 = recent.iter().map(|at| at.counts.requests).sum();
        assert!(kept <= 4_000);
    }
}
