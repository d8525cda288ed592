//! The meters of one physical partition: its budget, the buckets' shares of it, and what requests
//! of high priority take.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::claim::{Bucket, Claim, Priority};
use super::meter::{Budget, Meter};
use crate::error::Throttle;

/// Admission to one physical partition.
#[derive(Debug, Default)]
pub struct Gate {
    all: Meter,
    buckets: OnceLock<Box<[Meter; Bucket::COUNT]>>,
    priorities: OnceLock<Box<Priorities>>,
    /// Whether priorities are followed: from the first request of low priority on.
    has_low: AtomicBool,
}

/// What requests of high priority want, second by second.
#[derive(Debug, Default)]
struct Priorities {
    /// In even and in odd seconds, so that the last second can still be seen.
    seconds: [Meter; 2],
    /// The last charge: what a refused one would have cost.
    typical: AtomicU64,
}

/// What a request is measured against.
#[derive(Debug, Clone, Copy)]
pub struct Measure<'m> {
    /// The partition's budget.
    pub budget: &'m Budget,
    /// The percentage of the request's bucket; `None` where none is set.
    pub bucket_percent: Option<u32>,
}

impl Gate {
    /// Lets a request in, or says when to come back.
    pub fn admit(&self, claim: Claim, measure: Measure<'_>, now_us: u64) -> Result<(), Throttle> {
        if let (Some(bucket), Some(percent)) = (claim.bucket, measure.bucket_percent) {
            let budget = measure.budget.share(percent);
            self.bucket(bucket)
                .admit(now_us, &budget)
                .map_err(Throttle::bucket)?;
        }
        let kept = match claim.priority {
            Priority::High => 0,
            Priority::Low => {
                self.has_low.store(true, Ordering::Relaxed);
                self.priorities().expected(now_us)
            }
        };
        let admitted = self.all.admit_beside(now_us, measure.budget, kept);
        if admitted.is_err()
            && claim.priority == Priority::High
            && self.has_low.load(Ordering::Relaxed)
        {
            self.priorities().note_refused(now_us);
        }
        admitted.map_err(Throttle::request_units)
    }

    /// Takes off what an admitted request cost.
    pub fn charge(&self, claim: Claim, measure: Measure<'_>, now_us: u64, amount: u64) {
        self.all.charge(now_us, measure.budget, amount);
        if let (Some(bucket), Some(percent)) = (claim.bucket, measure.bucket_percent) {
            let budget = measure.budget.share(percent);
            self.bucket(bucket).charge(now_us, &budget, amount);
        }
        if claim.priority == Priority::High && self.has_low.load(Ordering::Relaxed) {
            self.priorities().note(now_us, amount);
        }
    }

    /// Hundredths that this second has taken so far.
    pub fn level(&self, now_us: u64, budget: &Budget) -> u64 {
        self.all.level(now_us, budget)
    }

    /// Hundredths saved for bursts.
    pub fn savings(&self, now_us: u64, budget: &Budget) -> u64 {
        self.all.savings(now_us, budget)
    }

    fn bucket(&self, bucket: Bucket) -> &Meter {
        &self.buckets.get_or_init(Box::default)[bucket.place()]
    }

    fn priorities(&self) -> &Priorities {
        self.priorities.get_or_init(Box::default)
    }
}

/// A budget that two seconds clear whatever was used: the meters of priorities only count.
const COUNTING: u64 = u64::MAX / 4;

impl Priorities {
    fn meter(&self, second: u64) -> &Meter {
        &self.seconds[(second % 2) as usize]
    }

    fn note(&self, now_us: u64, amount: u64) {
        self.typical.store(amount, Ordering::Relaxed);
        self.count(now_us, amount);
    }

    /// A request that was refused is wanted all the same.
    fn note_refused(&self, now_us: u64) {
        self.count(now_us, self.typical.load(Ordering::Relaxed));
    }

    fn count(&self, now_us: u64, amount: u64) {
        let budget = Budget::of_hundredths(COUNTING, None);
        self.meter(now_us / 1_000_000)
            .charge(now_us, &budget, amount);
    }

    /// What the high ones will still take in this second if it is like the last one.
    fn expected(&self, now_us: u64) -> u64 {
        let budget = Budget::of_hundredths(COUNTING, None);
        let second = now_us / 1_000_000;
        let last_us = now_us.saturating_sub(1_000_000);
        let last = self.meter(second.wrapping_sub(1)).level(last_us, &budget);
        let current = self.meter(second).level(now_us, &budget);
        last.saturating_sub(current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000_000_000;

    /// Requests of 1 RU that are served of `high` and `low` ones in one second, by turns.
    fn served(gate: &Gate, second: u64, high: u64, low: u64, budget: &Budget) -> (u64, u64) {
        let (mut served_high, mut served_low) = (0, 0);
        let measure = Measure {
            budget,
            bucket_percent: None,
        };
        let most = high.max(low);
        for number in 0..most {
            let now = START + second * 1_000_000 + number * 1_000_000 / most;
            for (priority, wanted, served) in [
                (Priority::Low, low, &mut served_low),
                (Priority::High, high, &mut served_high),
            ] {
                let claim = Claim {
                    priority,
                    bucket: None,
                };
                if number < wanted && gate.admit(claim, measure, now).is_ok() {
                    gate.charge(claim, measure, now, 100);
                    *served += 1;
                }
            }
        }
        (served_high, served_low)
    }

    #[test]
    fn low_priority_gets_what_the_high_one_leaves() {
        let (gate, budget) = (Gate::default(), Budget::plain(100));
        // The first second shares by turns: nobody knows yet what the high ones want.
        served(&gate, 0, 80, 80, &budget);
        served(&gate, 1, 80, 80, &budget);
        let (high, low) = served(&gate, 2, 80, 80, &budget);
        assert!(high >= 79, "{high} of 80 high ones");
        assert!((18..=21).contains(&low), "{low} low ones of 20 left over");
        // Without high ones the low ones have it all.
        served(&gate, 3, 0, 80, &budget);
        assert_eq!(served(&gate, 4, 0, 200, &budget), (0, 100));
    }

    #[test]
    fn a_bucket_has_its_share_and_says_so() {
        let (gate, budget) = (Gate::default(), Budget::plain(100));
        let claim = Claim {
            bucket: Bucket::new(2),
            ..Claim::default()
        };
        let measure = Measure {
            budget: &budget,
            bucket_percent: Some(20),
        };
        for _ in 0..20 {
            assert_eq!(gate.admit(claim, measure, START), Ok(()));
            gate.charge(claim, measure, START, 100);
        }
        assert_eq!(
            gate.admit(claim, measure, START),
            Err(Throttle::bucket(1_000))
        );
        // The rest of the budget is there for all others.
        assert_eq!(gate.admit(Claim::default(), measure, START), Ok(()));
        assert_eq!(Bucket::new(0).or(Bucket::new(6)), None);
    }
}
