//! The group committer: one logical writer for each partition, shared by all who wait.
//!
//! Operations line up in their partition's [`Queue`]. Whoever serves the partition takes all that
//! wait, reads what they need in two rounds, decides them one by one over an overlay
//! (`round`, `decide`), and appends one commit. While that commit is on its way to the disk the next
//! round may begin; answers, refusals included, leave only when everything that they were derived
//! from is durable.

mod decide;
mod journal;
mod reroute;
mod round;

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use orrery_model::charge::{Charge, Profile, ReadCost};
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{DocId, Lsn};
use orrery_model::limits::Limits;
use orrery_storage::{CommitToken, Store};
use rustc_hash::FxHashMap;

use crate::answer::{Answer, Failure};
use crate::clock::{Clock, Entropy};
use crate::container::Container;
use crate::error::Error;
use crate::layout::entries::{Counters, RebuildEntry};
use crate::partition::Partition;
use crate::read::hints::Hints;
use crate::read::recent::RecentItems;
use crate::regions::Regions;
use crate::throughput::Metering;
use crate::throughput::claim::Claim;
use crate::write::WriteOutcome;
use crate::write::prepare::Operation;

pub use journal::Journal;
pub(crate) use round::GENERATION;

/// Who runs the committer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitMode {
    /// So many threads of the engine; submitting never blocks.
    Threads(usize),
    /// The thread that submits, to the end: for simulation and tests.
    Inline,
}

/// Called once with what became of a write, maybe on a thread of the store: it only hands on.
pub type Done = Box<dyn FnOnce(Result<Answer<WriteOutcome>, Failure>) + Send>;

/// A write that waits for its turn.
pub struct Queued {
    pub(crate) container: Arc<Container>,
    pub(crate) work: Work,
    pub(crate) done: Done,
}

/// What to do at its turn.
pub(crate) enum Work {
    /// One operation, one transaction.
    Single(Box<Operation>),
    /// A batch in one transaction.
    Atomic(Vec<Result<Operation, Error>>),
    /// A batch, each operation for itself.
    Each {
        operations: Vec<Result<Operation, Error>>,
        stop_on_error: bool,
    },
    /// All items of a logical partition, some in each round.
    DeleteKey {
        key: EffectivePartitionKey,
        removed: u64,
        charge: Charge,
    },
    /// Expired items.
    Expire(Vec<DocId>),
    /// History up to and with this position.
    CutHistory(Lsn),
    /// The next items, moved to the current indexing policy.
    Rebuild(RebuildEntry),
}

impl Work {
    /// Says how the request stands to others.
    pub fn set_claim(&mut self, claim: Claim) {
        match self {
            Self::Single(operation) => operation.claim = claim,
            Self::Atomic(operations) | Self::Each { operations, .. } => {
                for operation in operations.iter_mut().flatten() {
                    operation.claim = claim;
                }
            }
            _ => {}
        }
    }

    /// The logical partition of work that has one.
    pub fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Single(operation) => Some(operation.epk.as_bytes()),
            Self::Atomic(operations) => {
                let first = operations.iter().flatten().next();
                first.map(|operation| operation.epk.as_bytes())
            }
            Self::DeleteKey { key, .. } => Some(key.as_bytes()),
            _ => None,
        }
    }

    /// Work that scans must not share its round: a scan sees nothing of what is only decided.
    fn is_alone(&self) -> bool {
        matches!(
            self,
            Self::DeleteKey { .. } | Self::CutHistory(_) | Self::Rebuild(_)
        )
    }
}

/// The line before a partition.
#[derive(Default)]
pub struct Queue {
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Queued>,
    /// Whether somebody serves the partition, or is asked to.
    scheduled: bool,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({})", lock(&self.state).waiting.len())
    }
}

impl Queue {
    /// Lines up; answers whether the partition must be scheduled.
    fn push(&self, queued: Queued) -> bool {
        let mut state = lock(&self.state);
        state.waiting.push_back(queued);
        !std::mem::replace(&mut state.scheduled, true)
    }

    /// Long work lines up again behind those who wait.
    fn push_again(&self, queued: Queued) {
        lock(&self.state).waiting.push_back(queued);
    }

    /// What the next round does; empty when the partition is no longer scheduled.
    fn take(&self, most: usize) -> Vec<Queued> {
        let mut state = lock(&self.state);
        let alone = state
            .waiting
            .iter()
            .position(|queued| queued.work.is_alone());
        let count = match alone {
            Some(0) => 1,
            Some(first) => first.min(most),
            None => state.waiting.len().min(most),
        };
        if count == 0 {
            state.scheduled = false;
        }
        state.waiting.drain(..count).collect()
    }
}

/// What the writer of a partition remembers between rounds; dropped after any failure.
#[derive(Debug)]
pub struct WriterState {
    /// The last appended position.
    lsn: Lsn,
    /// The sums at that position.
    counters: Counters,
    /// Sizes of logical partitions that had to be known.
    sizes: FxHashMap<Vec<u8>, u64>,
}

/// What came of a turn of a partition.
pub(crate) enum Turn {
    /// Nobody waited; the partition is no longer scheduled.
    Idle,
    /// A round ran; the partition is still scheduled.
    Served,
    /// The partition is retired: these belong to others. It is still scheduled.
    Moved(Vec<Queued>),
}

/// What every round needs.
pub(crate) struct Environment {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub limits: Limits,
    pub profile: Profile,
    pub read_cost: ReadCost,
    pub metering: Metering,
    /// Where the account is read and written.
    pub regions: Regions,
    /// Where point reads look for items first.
    pub hints: Hints,
    /// Items that point reads find without the store.
    pub recent: Arc<RecentItems>,
    /// Whether requests are refused where a container does not say otherwise.
    pub throttles: AtomicBool,
}

impl Environment {
    /// A name for a commit.
    pub fn token(&self) -> CommitToken {
        let high = u128::from(self.entropy.next_u64());
        CommitToken((high << 64) | u128::from(self.entropy.next_u64()))
    }
}

/// Serves the partitions of an engine.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    mode: CommitMode,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    environment: Environment,
    line: Mutex<Line>,
    wake: Condvar,
}

#[derive(Default)]
struct Line {
    partitions: VecDeque<Arc<Partition>>,
    stopping: bool,
}

impl Committer {
    /// Starts the threads, if any.
    pub fn start(environment: Environment, mode: CommitMode) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            environment,
            line: Mutex::new(Line::default()),
            wake: Condvar::new(),
        });
        let count = match mode {
            CommitMode::Threads(count) => count.max(1),
            CommitMode::Inline => 0,
        };
        let spawn = |number: usize| {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name(format!("committer-{number}"))
                .spawn(move || shared.serve())
                .map_err(|error| Error::Unavailable(format!("a thread cannot start: {error}")))
        };
        let threads = (0..count).map(spawn).collect::<Result<_, _>>()?;
        Ok(Self {
            shared,
            mode,
            threads,
        })
    }

    pub fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    /// Lines up a write; `done` is called once.
    pub fn submit(&self, partition: &Arc<Partition>, queued: Queued) {
        if !partition.queue.push(queued) {
            return;
        }
        match self.mode {
            CommitMode::Threads(_) => self.shared.schedule(Arc::clone(partition)),
            CommitMode::Inline => self.shared.serve_inline(Arc::clone(partition)),
        }
    }
}

impl Drop for Committer {
    /// Serves what is in line, then stops.
    fn drop(&mut self) {
        lock(&self.shared.line).stopping = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of a committer thread has been reported on that thread.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn schedule(&self, partition: Arc<Partition>) {
        lock(&self.line).partitions.push_back(partition);
        self.wake.notify_one();
    }

    fn next(&self) -> Option<Arc<Partition>> {
        let mut line = lock(&self.line);
        loop {
            if let Some(partition) = line.partitions.pop_front() {
                return Some(partition);
            }
            if line.stopping {
                return None;
            }
            line = self.wake.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn serve(&self) {
        while let Some(partition) = self.next() {
            // One round, then the others' turn: no partition starves another.
            match round::run(&self.environment, &partition, round::Finish::Later) {
                Turn::Idle => {}
                Turn::Served => self.schedule(partition),
                Turn::Moved(waiting) => {
                    for owner in reroute::hand_over(waiting) {
                        self.schedule(owner);
                    }
                    self.schedule(partition);
                }
            }
        }
    }

    /// Serves a partition, and those that take over its work, until nobody waits.
    fn serve_inline(&self, first: Arc<Partition>) {
        let mut line = vec![first];
        while let Some(partition) = line.pop() {
            match round::run(&self.environment, &partition, round::Finish::Wait) {
                Turn::Idle => {}
                Turn::Served => line.push(partition),
                Turn::Moved(waiting) => {
                    line.push(partition);
                    line.extend(reroute::hand_over(waiting));
                }
            }
        }
    }
}

/// Locks; a panic elsewhere leaves queues and lines whole, so poison is no reason to stop.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
