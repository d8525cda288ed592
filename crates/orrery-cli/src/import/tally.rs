//! What became of the input so far, shared by all threads of an import.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How many broken lines are told one by one.
const TOLD: usize = 20;

/// Where an item came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Index of the input.
    pub file: usize,
    /// Line in it, from 1.
    pub line: u64,
}

/// Counts and messages.
pub struct Tally {
    names: Vec<String>,
    started: Instant,
    max_errors: Option<u64>,
    written: AtomicU64,
    skipped: AtomicU64,
    broken: AtomicU64,
    /// In hundredths, the precision of charges.
    charge: AtomicU64,
    messages: Mutex<Vec<(Origin, String)>>,
    stopped: AtomicBool,
}

impl Tally {
    /// Nothing done yet, on inputs of these names.
    pub fn new(names: Vec<String>, max_errors: Option<u64>) -> Self {
        Self {
            names,
            started: Instant::now(),
            max_errors,
            written: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            broken: AtomicU64::new(0),
            charge: AtomicU64::new(0),
            messages: Mutex::new(Vec::new()),
            stopped: AtomicBool::new(false),
        }
    }

    /// An item is durable.
    pub fn add_written(&self) {
        self.written.fetch_add(1, Ordering::Relaxed);
    }

    /// An item was there already.
    pub fn add_skipped(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }

    /// Something was charged.
    pub fn add_charge(&self, charge: f64) {
        self.charge
            .fetch_add((charge * 100.0).round() as u64, Ordering::Relaxed);
    }

    /// A line is no item, or the account refused it.
    pub fn broken_line(&self, origin: Origin, message: &str) {
        let number = self.broken.fetch_add(1, Ordering::Relaxed) + 1;
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() < TOLD {
            messages.push((origin, message.to_owned()));
        }
        if self.max_errors.is_some_and(|most| number >= most.max(1)) {
            self.stop();
        }
    }

    /// Ends the import early.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the import ends early.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The error of having stopped for too many broken lines.
    pub fn stopped(&self) -> Result<()> {
        match self.max_errors {
            Some(most) if self.broken() >= most.max(1) => {
                bail!(
                    "stopped at {} broken lines, as --max-errors says",
                    self.broken()
                )
            }
            _ => Ok(()),
        }
    }

    /// Items that are durable.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Items that were there already.
    pub fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    /// Lines that were broken.
    pub fn broken(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }

    /// Request charge.
    pub fn charge(&self) -> f64 {
        self.charge.load(Ordering::Relaxed) as f64 / 100.0
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The first broken lines in words, in the order of the input.
    pub fn messages(&self) -> Vec<String> {
        let mut messages = self
            .messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        messages.sort_by_key(|(origin, _)| (origin.file, origin.line));
        let told = messages.len() as u64;
        let name = |origin: &Origin| self.names.get(origin.file).map_or("input", String::as_str);
        let mut lines: Vec<String> = messages
            .iter()
            .map(|(origin, message)| format!("{}:{}: {message}", name(origin), origin.line))
            .collect();
        if self.broken() > told {
            lines.push(format!("... and {} more", self.broken() - told));
        }
        lines
    }
}
