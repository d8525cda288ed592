//! What evaluation reads beside values: the moment, randomness, the container's surface, and the
//! budget of steps.

use crate::environment::{Environment, Surface};
use regex::Regex;
use std::cell::{Cell, RefCell};

/// Constant for a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) now_ticks: i64,
    pub(crate) seed: u64,
    pub(crate) surface: Surface,
}

impl Settings {
    pub(crate) fn of(environment: &Environment) -> Self {
        Self {
            now_ticks: environment.now_ticks,
            seed: environment.seed,
            surface: environment.surface,
        }
    }
}

/// The most regular expressions kept compiled.
const REGEX_CACHE: usize = 8;

/// The state of one run.
pub(crate) struct Run<'p> {
    pub(crate) settings: &'p Settings,
    steps: Cell<u64>,
    random: Cell<u64>,
    regexes: RefCell<Vec<(String, Option<Regex>)>>,
}

impl<'p> Run<'p> {
    pub(crate) fn new(settings: &'p Settings, steps: u64) -> Self {
        Self {
            settings,
            steps: Cell::new(steps),
            random: Cell::new(settings.seed),
            regexes: RefCell::new(Vec::new()),
        }
    }

    /// Pays for work that grows with the data.
    pub(crate) fn spend(&self, steps: u64) {
        self.steps.set(self.steps.get().saturating_sub(steps));
    }

    /// True when the budget is gone: rows must stop.
    pub(crate) fn exhausted(&self) -> bool {
        self.steps.get() == 0
    }

    /// Puts aside a new budget.
    pub(crate) fn refill(&self, steps: u64) {
        self.steps.set(steps);
    }

    /// A random number in [0, 1) (splitmix64).
    pub(crate) fn random(&self) -> f64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uses a compiled regular expression; `None` when the pattern is bad or too large.
    pub(crate) fn with_regex<T>(
        &self,
        key: &str,
        build: impl FnOnce() -> Option<Regex>,
        work: impl FnOnce(&Regex) -> T,
    ) -> Option<T> {
        let mut cache = self.regexes.borrow_mut();
        let known = cache.iter().position(|(known, _)| known == key);
        let place = known.unwrap_or_else(|| {
            if cache.len() == REGEX_CACHE {
                cache.remove(0);
            }
            cache.push((key.to_owned(), build()));
            cache.len() - 1
        });
        cache[place].1.as_ref().map(work)
    }
}
