//! What evaluation reads beside values: the moment, randomness, the container's surface, and the
//! budget of steps, memory and time.
//!
//! Evaluation has no error path. Whoever runs out of anything has no steps left
//! ([`Run::exhausted`]); [`Run::shortage`] tells of what.

use super::Val;
use crate::environment::Environment;
use crate::memory::{Grant, MemoryPool};
use crate::pipeline::accumulator::size;
use orrery_model::container::GeospatialType;
use orrery_model::value::Value;
use regex::Regex;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// Constant for a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) now_ticks: i64,
    pub(crate) seed: u64,
    pub(crate) surface: GeospatialType,
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

/// A regular expression, and the bytes that it takes at most.
pub(crate) struct Compiled {
    pub(crate) regex: Regex,
    pub(crate) bytes: usize,
}

/// The most regular expressions kept compiled.
const REGEX_CACHE: usize = 8;

/// So many steps are taken between two looks at the clock, as a power of two.
const LOOK_SHIFT: u32 = 16;
/// Bytes that are copied in about the time of one step.
const BYTES_A_STEP: u64 = 64;

/// What ended an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortage {
    Steps,
    Memory,
    Time,
}

/// The state of one run.
pub(crate) struct Run<'p> {
    pub(crate) settings: &'p Settings,
    steps: Cell<u64>,
    /// Bytes of values under way.
    held: Cell<usize>,
    /// Bytes of what subqueries gather over their rows.
    gathered: Cell<usize>,
    /// Bytes of rows and groups that wait.
    waiting: Cell<usize>,
    grant: Grant<'p>,
    is_late: Option<&'p dyn Fn() -> bool>,
    shortage: Cell<Shortage>,
    random: Cell<u64>,
    regexes: RefCell<Vec<(String, Option<Compiled>)>>,
}

impl<'p> Run<'p> {
    pub(crate) fn new(settings: &'p Settings, steps: u64, memory: usize) -> Self {
        Self {
            settings,
            steps: Cell::new(steps),
            held: Cell::new(0),
            gathered: Cell::new(0),
            waiting: Cell::new(0),
            grant: Grant::new(memory),
            is_late: None,
            shortage: Cell::new(Shortage::Steps),
            random: Cell::new(settings.seed),
            regexes: RefCell::new(Vec::new()),
        }
    }

    /// Asks this now and then whether time is up.
    pub(crate) fn watch(&mut self, is_late: &'p dyn Fn() -> bool) {
        self.is_late = Some(is_late);
    }

    /// Takes memory from this pool.
    pub(crate) fn share(&mut self, pool: &'p MemoryPool) {
        self.grant.share(pool);
    }

    /// Pays for work that grows with the data.
    pub(crate) fn spend(&self, steps: u64) {
        let before = self.steps.get();
        let after = before.saturating_sub(steps);
        self.steps.set(after);
        if before >> LOOK_SHIFT != after >> LOOK_SHIFT && self.is_late.is_some_and(|late| late()) {
            self.stop(Shortage::Time);
        }
    }

    /// Pays for looking at a value or copying it.
    pub(crate) fn spend_on(&self, value: &Value<'_>) {
        match value {
            Value::String(text) => self.spend(text.len() as u64 / BYTES_A_STEP),
            Value::Array(_) | Value::Object(_) => self.spend(size(value) as u64 / BYTES_A_STEP),
            _ => {}
        }
    }

    fn stop(&self, shortage: Shortage) {
        // The first reason is the reason.
        if !self.exhausted() || shortage == Shortage::Time {
            self.shortage.set(shortage);
        }
        self.steps.set(0);
    }

    /// Why there are no steps left.
    pub(crate) fn shortage(&self) -> Shortage {
        self.shortage.get()
    }

    /// Bytes of values that are held right now; [`Run::let_go`] goes back to it.
    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }

    /// Holds so many bytes more.
    pub(crate) fn hold(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.spend(bytes as u64 / BYTES_A_STEP);
        self.held.set(self.held.get().saturating_add(bytes));
        self.check_memory();
    }

    /// Holds a value that waits while others are computed.
    pub(crate) fn hold_value(&self, value: &Val<'_>) {
        if let Val::Own(value) = value {
            self.hold(own_bytes(value));
        }
    }

    /// What was held beyond the mark is gone.
    pub(crate) fn let_go(&self, mark: usize) {
        self.held.set(mark);
    }

    /// Keeps so many bytes over the rows of a subquery, until [`Run::forget`].
    pub(crate) fn gather(&self, bytes: usize) {
        self.gathered.set(self.gathered.get().saturating_add(bytes));
        self.check_memory();
    }

    /// A subquery ends: what it gathered is gone.
    pub(crate) fn forget(&self, bytes: usize) {
        self.gathered.set(self.gathered.get().saturating_sub(bytes));
    }

    /// Tells how many bytes wait in rows and groups.
    pub(crate) fn wait(&self, bytes: usize) {
        self.waiting.set(bytes);
        self.check_memory();
    }

    fn check_memory(&self) {
        let bytes = self
            .held
            .get()
            .saturating_add(self.gathered.get())
            .saturating_add(self.waiting.get());
        if !self.grant.covers(bytes) {
            self.stop(Shortage::Memory);
        }
    }

    /// True when the budget is gone: rows must stop.
    pub(crate) fn exhausted(&self) -> bool {
        self.steps.get() == 0
    }

    /// Puts aside a new budget.
    pub(crate) fn refill(&self, steps: u64) {
        self.steps.set(steps);
        self.held.set(0);
        self.gathered.set(0);
        self.shortage.set(Shortage::Steps);
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
        build: impl FnOnce() -> Option<Compiled>,
        work: impl FnOnce(&Compiled) -> T,
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

/// Bytes that a computed value has for itself.
fn own_bytes(value: &Value<'_>) -> usize {
    match value {
        Value::String(Cow::Owned(text)) => text.len(),
        Value::Array(_) | Value::Object(_) => size(value),
        _ => 0,
    }
}
