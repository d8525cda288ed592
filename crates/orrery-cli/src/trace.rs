//! The trace of a server: every request to items as a line of JSON (docs/trace.md is the format).
//!
//! Requests only append to a buffer; a thread of its own writes it down a few times a second. When
//! the file has half of its allowance it becomes `FILE.1`, in the place of the one before, and a
//! new one begins: so there are always the last lines, and never too many. Where the disk is too
//! slow, lines are dropped and their number is written instead.

mod hashing;
mod line;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result};
use orrery_engine::throughput::provision::Provision;
use orrery_engine::{Container, Engine};
use orrery_gateway::trace::{Record, Recorder};

use hashing::KeyHasher;
use line::Lines;

/// Bytes that may wait for the disk.
const MOST_WAITING: usize = 16 << 20;
/// Bytes that wake the writer before its time.
const WAKE_AT: usize = 1 << 20;
/// How often lines are written.
const PAUSE: Duration = Duration::from_millis(200);

/// A trace that is being written.
pub struct TraceFile {
    shared: Arc<Shared>,
    lines: Lines,
    writer: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    dropped: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// What is known of containers: repeated at the start of each file.
    containers: Containers,
    stopping: bool,
}

/// The latest line of each container, by its numbers.
type Containers = HashMap<(u32, u32), Shown>;

/// A container's line, and what it shows.
#[derive(Clone)]
struct Shown {
    map_version: u64,
    provision: Provision,
    line: Vec<u8>,
}

thread_local! {
    /// The line in the making, in memory that is used again.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl TraceFile {
    /// Begins a trace; an older file of this name is kept as `FILE.1`.
    pub fn create(path: &Path, most_bytes: u64, hash_keys: bool) -> Result<Arc<Self>> {
        let hasher = hash_keys.then(KeyHasher::random);
        let lines = Lines::new(hasher);
        let mut output = Output {
            path: path.to_owned(),
            file: None,
            written: 0,
            most_bytes: (most_bytes / 2).max(64 << 10),
            head: lines.head(),
        };
        output
            .rotate(&Containers::new())
            .with_context(|| format!("cannot write the trace {}", path.display()))?;
        let shared = Arc::new(Shared {
            waiting: Mutex::new(Waiting::default()),
            wake: Condvar::new(),
            dropped: AtomicU64::new(0),
        });
        let of_writer = Arc::clone(&shared);
        let writer = std::thread::Builder::new()
            .name("trace".to_owned())
            .spawn(move || of_writer.write_all(output))
            .context("cannot start the thread of the trace")?;
        Ok(Arc::new(Self {
            shared,
            lines,
            writer: Mutex::new(Some(writer)),
        }))
    }

    /// Writes what waits and ends.
    pub fn close(&self) {
        self.shared.waiting().stopping = true;
        self.shared.wake.notify_one();
        let writer = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(writer) = writer
            && writer.join().is_err()
        {
            log::error!("the writer of the trace ended early");
        }
    }
}

impl Recorder for TraceFile {
    fn record(&self, record: &Record<'_>) {
        LINE.with_borrow_mut(|line| {
            line.clear();
            self.lines.request(record, line);
            self.hand_over(record.container, line);
        });
    }
}

impl TraceFile {
    /// Writes how large the containers' partitions and their largest logical partitions are.
    pub fn weigh(&self, engine: &Engine) {
        for container in engine.containers() {
            let ranges = match engine.partition_statistics(&container) {
                Ok(ranges) => ranges,
                // It may have been dropped meanwhile.
                Err(error) => {
                    let path = container.alt_path();
                    log::warn!("the trace lacks the sizes of {path}: {error}");
                    continue;
                }
            };
            let mut line = Vec::new();
            let now_us = engine.clock().now_us();
            self.lines.sizes(&container, now_us, &ranges, &mut line);
            self.hand_over(&container, &line);
        }
    }

    /// Lines up a line, behind its container's if that is not as it was shown last.
    fn hand_over(&self, container: &Container, line: &[u8]) {
        let numbers = (container.database(), container.number());
        let map_version = container.map_version();
        let provision = container.throughput().provision();
        let mut waiting = self.shared.waiting();
        if waiting.lines.len() > MOST_WAITING {
            drop(waiting);
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let is_shown =
            |shown: &Shown| shown.map_version == map_version && shown.provision == provision;
        if !waiting.containers.get(&numbers).is_some_and(is_shown) {
            let mut text = Vec::new();
            Lines::container(container, &mut text);
            waiting.lines.extend_from_slice(&text);
            let shown = Shown {
                map_version,
                provision,
                line: text,
            };
            waiting.containers.insert(numbers, shown);
        }
        waiting.lines.extend_from_slice(line);
        if waiting.lines.len() > WAKE_AT {
            self.shared.wake.notify_one();
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, mut output: Output) {
        let mut lines = Vec::new();
        loop {
            let mut waiting = self.waiting();
            if waiting.lines.len() < WAKE_AT && !waiting.stopping {
                let woken = self.wake.wait_timeout(waiting, PAUSE);
                waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
            std::mem::swap(&mut lines, &mut waiting.lines);
            let stopping = waiting.stopping;
            let heads = output
                .is_full(lines.len())
                .then(|| waiting.containers.clone());
            drop(waiting);
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                lines.extend_from_slice(format!("{{\"dropped\":{dropped}}}\n").as_bytes());
            }
            let rotated = heads.map_or(Ok(()), |containers| output.rotate(&containers));
            if let Err(error) = rotated.and_then(|()| output.write(&lines)) {
                log::error!("the trace ends: {error}");
                return;
            }
            lines.clear();
            // What came in while the last lines were written goes out too.
            if stopping && self.waiting().lines.is_empty() {
                return;
            }
        }
    }
}

/// The file and its predecessor.
struct Output {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    /// Half of what the trace may have.
    most_bytes: u64,
    head: Vec<u8>,
}

impl Output {
    fn is_full(&self, more: usize) -> bool {
        self.written > 0 && self.written + more as u64 > self.most_bytes
    }

    /// Begins a new file with what a reader must know; the present one becomes the former one.
    fn rotate(&mut self, containers: &Containers) -> std::io::Result<()> {
        self.file = None;
        if self.path.exists() {
            let mut former = self.path.clone().into_os_string();
            former.push(".1");
            std::fs::rename(&self.path, former)?;
        }
        self.file = Some(File::create(&self.path)?);
        self.written = 0;
        self.write(&self.head.clone())?;
        let mut known: Vec<_> = containers.iter().collect();
        known.sort_unstable_by_key(|(numbers, _)| **numbers);
        for (_, shown) in known {
            self.write(&shown.line)?;
        }
        Ok(())
    }

    fn write(&mut self, lines: &[u8]) -> std::io::Result<()> {
        if let Some(file) = &mut self.file {
            file.write_all(lines)?;
        }
        self.written += lines.len() as u64;
        Ok(())
    }
}
