//! One budget per second, in one atomic.
//!
//! The state is the second and what was used in it, in hundredths of a request unit. When a later
//! second begins, what was used beyond the budget is carried over; with burst capacity it is paid
//! from what was saved first. Clocks may step back: time before the second of the state counts as
//! that second.

use std::sync::atomic::{AtomicU64, Ordering};

use orrery_model::charge::Charge;

/// A charge in hundredths of a request unit: exact, since charges have two decimals.
pub fn hundredths(charge: Charge) -> u64 {
    (charge.units().max(0.0) * 100.0).round() as u64
}

/// A rate of request units in hundredths.
fn rate(units: u64) -> u64 {
    units.saturating_mul(100)
}

/// Saving while idle (request units: section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// How many seconds of the budget may be saved.
    pub seconds: u64,
    /// The rate up to which savings may be spent, in request units.
    pub rate: u64,
}

/// What a meter allows, in hundredths per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    per_second: u64,
    /// Only budgets below the burst rate have savings.
    burst: Option<Burst>,
}

impl Budget {
    /// So many request units per second.
    pub fn plain(units: u64) -> Self {
        Self::of_hundredths(rate(units), None)
    }

    /// So many hundredths per second, with savings.
    pub fn of_hundredths(per_second: u64, burst: Option<Burst>) -> Self {
        // Nothing at all would never let anybody in again.
        let per_second = per_second.max(1);
        Self {
            per_second,
            burst: burst.filter(|burst| per_second < rate(burst.rate)),
        }
    }

    /// Hundredths per second.
    pub fn per_second(&self) -> u64 {
        self.per_second
    }

    /// The same budget cut to a share in percent, without savings.
    pub fn share(&self, percent: u32) -> Self {
        let part = self.per_second.saturating_mul(u64::from(percent)) / 100;
        Self::of_hundredths(part, None)
    }

    fn most_saved(&self) -> u64 {
        self.burst
            .map_or(0, |burst| self.per_second.saturating_mul(burst.seconds))
    }

    /// What a second may take with savings.
    fn limit(&self, saved: u64) -> u64 {
        let beyond = self
            .burst
            .map_or(0, |burst| rate(burst.rate).saturating_sub(self.per_second));
        self.per_second + saved.min(beyond)
    }
}

/// What is used of a budget.
#[derive(Debug, Default)]
pub struct Meter {
    /// Second (high half) and hundredths used in it (low half).
    state: AtomicU64,
    /// Hundredths saved up to that second. Only who moves the second on writes it.
    saved: AtomicU64,
    /// The budget of that second: a rate that is lowered later makes no debts of it.
    granted: AtomicU64,
}

/// A state taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Used {
    second: u32,
    hundredths: u32,
    saved: u64,
    granted: u64,
}

impl Used {
    fn pack(self) -> u64 {
        u64::from(self.second) << 32 | u64::from(self.hundredths)
    }

    /// The state at a second that may have come since.
    fn at(self, second: u32, budget: &Budget) -> Self {
        let elapsed = u64::from(second.saturating_sub(self.second));
        if elapsed == 0 {
            return self;
        }
        if self.second == 0 {
            // Nobody was here yet, so nothing was saved either.
            return Self {
                second,
                hundredths: 0,
                saved: 0,
                granted: budget.per_second,
            };
        }
        let used = u64::from(self.hundredths);
        let over = used.saturating_sub(budget.per_second.max(self.granted));
        let from_savings = over.min(self.saved);
        let debt = over - from_savings;
        // The seconds in between had nobody: they pay debts, then they save.
        let idle = budget.per_second.saturating_mul(elapsed - 1);
        let saved = (self.saved - from_savings)
            .saturating_add(budget.per_second.saturating_sub(used))
            .saturating_add(idle.saturating_sub(debt));
        Self {
            second,
            hundredths: u32::try_from(debt.saturating_sub(idle)).unwrap_or(u32::MAX),
            saved: saved.min(budget.most_saved()),
            granted: budget.per_second,
        }
    }
}

impl Meter {
    fn used(&self, state: u64) -> Used {
        Used {
            second: (state >> 32) as u32,
            hundredths: state as u32,
            saved: self.saved.load(Ordering::Relaxed),
            granted: self.granted.load(Ordering::Relaxed),
        }
    }

    /// Hundredths that this second has taken so far, debts included.
    pub fn level(&self, now_us: u64, budget: &Budget) -> u64 {
        let state = self.state.load(Ordering::Relaxed);
        u64::from(self.used(state).at(second(now_us), budget).hundredths)
    }

    /// Hundredths saved.
    pub fn savings(&self, now_us: u64, budget: &Budget) -> u64 {
        let state = self.state.load(Ordering::Relaxed);
        self.used(state).at(second(now_us), budget).saved
    }

    /// Lets a request in while this second has budget left; otherwise the milliseconds until
    /// there is some.
    pub fn admit(&self, now_us: u64, budget: &Budget) -> Result<(), u64> {
        self.admit_beside(now_us, budget, 0)
    }

    /// The same, with so much of the budget kept for others.
    pub fn admit_beside(&self, now_us: u64, budget: &Budget, kept: u64) -> Result<(), u64> {
        let state = self.state.load(Ordering::Relaxed);
        let now = self.used(state).at(second(now_us), budget);
        let used = u64::from(now.hundredths).saturating_add(kept);
        if used < budget.limit(now.saved) {
            return Ok(());
        }
        let over = u64::from(now.hundredths).saturating_sub(budget.per_second);
        let unpaid = u64::from(now.hundredths) - over.min(now.saved);
        let seconds = (unpaid / budget.per_second).max(1);
        let next = (u64::from(now.second) + seconds).saturating_mul(1_000);
        Err(next.saturating_sub(now_us / 1_000).max(1))
    }

    /// Takes a charge off.
    pub fn charge(&self, now_us: u64, budget: &Budget, amount: u64) {
        let second = second(now_us);
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let before = self.used(state);
            let now = before.at(second, budget);
            let after = Used {
                hundredths: now.hundredths.saturating_add(amount),
                ..now
            };
            match self.state.compare_exchange_weak(
                state,
                after.pack(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    if before.granted != budget.per_second {
                        self.granted.store(budget.per_second, Ordering::Relaxed);
                    }
                    if now.second != before.second && budget.burst.is_some() {
                        self.saved.store(now.saved, Ordering::Relaxed);
                    }
                    return;
                }
                Err(changed) => state = changed,
            }
        }
    }
}

/// The second of a time; 32 bits last until 2106.
fn second(now_us: u64) -> u32 {
    u32::try_from(now_us / 1_000_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;
    const START: u64 = 1_700_000_000 * SECOND;

    fn served(meter: &Meter, budget: &Budget, from: u64, requests: u64, charge: u64) -> u64 {
        (0..requests)
            .filter(|number| {
                let now = from + number * SECOND / requests;
                let admitted = meter.admit(now, budget).is_ok();
                if admitted {
                    meter.charge(now, budget, charge);
                }
                admitted
            })
            .count() as u64
    }

    #[test]
    fn a_second_serves_its_budget_and_pays_back_what_was_too_much() {
        let (meter, budget) = (Meter::default(), Budget::plain(10));
        // 7 RU each: two in the first second (14), then 6 are left of the next.
        let counts: Vec<u64> = (0..70)
            .map(|second| served(&meter, &budget, START + second * SECOND, 50, 700))
            .collect();
        assert_eq!(counts[..3], [2, 1, 2]);
        let total: u64 = counts.iter().sum();
        assert!(
            (99..=101).contains(&total),
            "{total} of 100 in 70 s of 10 RU"
        );
    }

    #[test]
    fn a_request_larger_than_the_budget_is_served_and_the_next_ones_wait() {
        let (meter, budget) = (Meter::default(), Budget::plain(10));
        assert_eq!(meter.admit(START, &budget), Ok(()));
        meter.charge(START, &budget, 3_500);
        assert_eq!(meter.admit(START + 300_000, &budget), Err(2_700));
        assert_eq!(meter.admit(START + 2 * SECOND, &budget), Err(1_000));
        assert_eq!(meter.admit(START + 3 * SECOND, &budget), Ok(()));
        assert_eq!(meter.level(START + 3 * SECOND, &budget), 500);
        assert_eq!(meter.level(START + 9 * SECOND, &budget), 0);
    }

    #[test]
    fn a_clock_that_steps_back_opens_nothing() {
        let (meter, budget) = (Meter::default(), Budget::plain(1));
        meter.charge(START + SECOND, &budget, 100);
        assert!(meter.admit(START, &budget).is_err());
        meter.charge(START, &budget, 100);
        assert_eq!(meter.level(START + SECOND, &budget), 200);
    }

    #[test]
    fn idle_partitions_save_and_spend_up_to_the_burst_rate() {
        let burst = Burst {
            seconds: 300,
            rate: 30,
        };
        let budget = Budget::of_hundredths(1_000, Some(burst));
        let meter = Meter::default();
        meter.charge(START, &budget, 0);
        // 20 s of idleness are worth 200 RU, 10 s of three times the budget.
        let from = START + 20 * SECOND;
        let counts: Vec<u64> = (0..12)
            .map(|second| served(&meter, &budget, from + second * SECOND, 100, 100))
            .collect();
        assert_eq!(counts, [30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 10, 10]);
        // No more than 300 s are ever saved, and a large partition saves nothing.
        let later = START + 100_000 * SECOND;
        assert_eq!(meter.savings(later, &budget), 300_000);
        let large = Budget::of_hundredths(3_000, Some(burst));
        assert_eq!(Meter::default().savings(later, &large), 0);
    }

    #[test]
    fn many_threads_lose_nothing() {
        let (meter, budget) = (Meter::default(), Budget::plain(1_000_000));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| meter.charge(START, &budget, 7)));
            }
        });
        assert_eq!(meter.level(START, &budget), 28_000);
    }
}
