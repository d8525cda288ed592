//! Splits and merges: partition key ranges become others while they serve.
//!
//! One engine-wide line of [`Reshape`]s, worked off one at a time and in bounded steps by
//! whoever calls [`Engine::advance_reshapes`] (the server does in a thread of its own). The steps:
//!
//! 1. `cut`: where the children begin.
//! 2. `copying`: parts for the children are made, which no map names. The rows of one parent are
//!    copied as they are (`rows`); of several, which may have entries of equal keys, every item
//!    is copied and its entries made again (`entries`), then the history. Parents serve on, and
//!    their journals ([`crate::committer::Journal`]) note what is written.
//! 3. What the journals noted is read again and brought over (`child`), until
//!    little is left.
//! 4. `cut_over`: the parents' writers stop, the rest is brought over, one commit to the account's
//!    part replaces the parents by the children in the map, and writes that wait are handed to the
//!    children. A crash before that commit leaves the parents, and parts without an owner that the
//!    next start drops; a crash after it leaves the children.
//! 5. The parents' parts are dropped when nobody reads them any more.
//!
//! Children go on with their parents' log: docids, LSNs, `_etag`s and times stay, and new LSNs
//! are greater. So continuations, change feed positions and session tokens of a parent mean the
//! same on a child. A merge lays logs of several parents over each other: LSNs and ordinals may be
//! equal (the docid in the keys keeps entries apart), and times go up and down in such a log, which
//! its readers are told by [`crate::partition_map::RangeRecord::blended`].

mod child;
mod copying;
mod cut;
mod cut_over;
mod entries;
mod operation;
mod rows;
mod trigger;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use orrery_model::ids::PartitionKeyRangeId;
use orrery_storage::Writes;

use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;
use crate::partition::Partition;
use crate::partition_map::MapRecord;
use copying::Running;

pub use cut::Cut;
pub use operation::{Progress, Reshape, ReshapeKind, Stage};

/// Ranges that one split may make.
const MOST_CHILDREN: u32 = 64;
/// Reshapes that are over and still told of.
const REMEMBERED: usize = 64;

/// All splits and merges of an engine.
pub struct Reshapes {
    delay_us: u64,
    state: Mutex<State>,
    /// The one under way; held by who advances it.
    running: Mutex<Option<Running>>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last_number: u64,
    /// In the order in which they were asked for; the ones that are over at the front.
    reshapes: VecDeque<Arc<Reshape>>,
    /// Partitions whose parts are still there because somebody may read them.
    retired: Vec<Arc<Partition>>,
}

impl Reshapes {
    /// None yet; each waits so long before it begins.
    pub(crate) fn new(delay_ms: u64) -> Self {
        Self {
            delay_us: delay_ms.saturating_mul(1_000),
            state: Mutex::default(),
            running: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn open_of<'s>(&'s self, container: &Container) -> impl Iterator<Item = &'s Arc<Reshape>> {
        let rid = container.rid();
        self.reshapes
            .iter()
            .filter(move |reshape| reshape.container().rid() == rid && !reshape.is_over())
    }
}

impl Engine {
    /// Lines up a split of a range.
    pub fn split_range(
        &self,
        container: &Arc<Container>,
        range: PartitionKeyRangeId,
        cut: Cut,
        into: u32,
    ) -> Result<Arc<Reshape>, Error> {
        let partition = container.partition(range)?;
        if !(2..=MOST_CHILDREN).contains(&into) {
            return Err(Error::bad_request(format!(
                "A range is split into 2 to {MOST_CHILDREN}, not {into}."
            )));
        }
        if into != 2 && cut != Cut::Hash {
            return Err(Error::bad_request(
                "A cut by size or at a given position makes two ranges.",
            ));
        }
        if let Cut::At(position) = &cut
            && !(partition.range().min < *position && *position < partition.range().max)
        {
            return Err(Error::bad_request(format!(
                "{position} does not lie inside the range {}.",
                partition.range()
            )));
        }
        self.line_up_reshape(container, ReshapeKind::Split { range, cut, into })
    }

    /// Lines up a merge of neighbours, named in any order.
    pub fn merge_ranges(
        &self,
        container: &Arc<Container>,
        ranges: &[PartitionKeyRangeId],
    ) -> Result<Arc<Reshape>, Error> {
        let mut partitions = Vec::with_capacity(ranges.len());
        for range in ranges {
            partitions.push(container.partition(*range)?);
        }
        partitions.sort_by(|a, b| a.range().min.cmp(&b.range().min));
        let adjacent = |pair: &[Arc<Partition>]| pair[0].range().max == pair[1].range().min;
        if partitions.len() < 2 || !partitions.windows(2).all(adjacent) {
            return Err(Error::bad_request(
                "A merge takes two or more different ranges that are neighbours.",
            ));
        }
        let bytes = partitions
            .iter()
            .map(|partition| partition.statistics().total_bytes());
        let limit = self.limits().physical_partition_bytes;
        if bytes.sum::<u64>() > limit {
            return Err(Error::bad_request(format!(
                "The ranges hold more than one physical partition may: {limit} bytes."
            )));
        }
        let left = container.ranges().partitions().len() + 1 - partitions.len();
        let wanted = self.catalog().wanted_partitions(container.rid());
        if left < wanted as usize {
            return Err(Error::bad_request(format!(
                "The container's throughput needs {wanted} physical partitions: lower it first."
            )));
        }
        let ranges = partitions.iter().map(|partition| partition.id()).collect();
        self.line_up_reshape(container, ReshapeKind::Merge { ranges })
    }

    fn line_up_reshape(
        &self,
        container: &Arc<Container>,
        kind: ReshapeKind,
    ) -> Result<Arc<Reshape>, Error> {
        let _records = self.records();
        let reshapes = self.reshapes();
        let mut state = reshapes.state();
        let sources = kind.sources();
        let busy = state
            .open_of(container)
            .flat_map(|reshape| reshape.kind().sources())
            .find(|range| sources.contains(range));
        if let Some(range) = busy {
            return Err(Error::Conflict(format!(
                "The partition key range '{range}' is being split or merged already."
            )));
        }
        let mut record = self.record(container)?;
        record.asked.push(kind.clone());
        self.keep(&record)?;
        let reshape = self.queue_reshape(&mut state, container, kind);
        while state.reshapes.len() > REMEMBERED
            && state
                .reshapes
                .front()
                .is_some_and(|oldest| oldest.is_over())
        {
            state.reshapes.pop_front();
        }
        drop(state);
        reshapes.changed.notify_all();
        Ok(reshape)
    }

    fn queue_reshape(
        &self,
        state: &mut State,
        container: &Arc<Container>,
        kind: ReshapeKind,
    ) -> Arc<Reshape> {
        state.last_number += 1;
        let now = self.clock().now_us();
        let due = now.saturating_add(self.reshapes().delay_us);
        let container = Arc::clone(container);
        let reshape = Arc::new(Reshape::new(state.last_number, container, kind, now, due));
        state.reshapes.push_back(Arc::clone(&reshape));
        reshape
    }

    fn keep(&self, record: &MapRecord) -> Result<(), Error> {
        let mut writes = Writes::new();
        let key = MapRecord::key(record.database, record.container);
        writes.put(&key, &record.encode());
        self.account().commit(writes)
    }

    /// Lines up what was asked for before the last restart and not over then.
    pub(crate) fn line_up_again(&self, container: &Arc<Container>, asked: Vec<ReshapeKind>) {
        let mut state = self.reshapes().state();
        for kind in asked {
            self.queue_reshape(&mut state, container, kind);
        }
    }

    /// A reshape has failed: a restart must not begin it again. Where that cannot be written down,
    /// the restart tries once more.
    fn forget_reshape(&self, reshape: &Reshape) {
        let _records = self.records();
        if let Ok(mut record) = self.record(reshape.container()) {
            record.asked.retain(|asked| asked != reshape.kind());
            let _ = self.keep(&record);
        }
    }

    /// The splits and merges of a container, the last ones that are over included.
    pub fn reshapes_of(&self, container: &Container) -> Vec<Arc<Reshape>> {
        let state = self.reshapes().state();
        let mine = |reshape: &&Arc<Reshape>| reshape.container().rid() == container.rid();
        state.reshapes.iter().filter(mine).cloned().collect()
    }

    /// Whether ranges of the container are to become others.
    pub fn is_reshaping(&self, container: &Container) -> bool {
        self.reshapes().state().open_of(container).next().is_some()
    }

    /// Whether a split or merge has copied everything and runs after the writers: who rests then may
    /// never reach them.
    pub fn is_catching_up(&self) -> bool {
        let state = self.reshapes().state();
        let mut open = state.reshapes.iter();
        open.any(|reshape| reshape.progress().stage == Stage::CatchingUp)
    }

    /// Works on splits and merges for about `budget` items, and lines up those that size and
    /// throughput ask for. Answers how much it did; 0 means that nothing can be done now.
    pub fn advance_reshapes(&self, budget: usize) -> Result<usize, Error> {
        let reshapes = self.reshapes();
        let mut running = reshapes
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.line_up_wanted()?;
        let dropped = self.drop_retired()?;
        if running.is_none() {
            let Some(next) = self.next_reshape() else {
                return Ok(dropped);
            };
            match Running::begin(self, next) {
                Ok(begun) => *running = Some(begun),
                Err(error) => return Err(error),
            }
        }
        let Some(current) = running.as_mut() else {
            return Ok(dropped);
        };
        let mut done = dropped;
        while done < budget.max(1) {
            match current.step(self, budget) {
                Ok(copying::Step::Worked(items)) => done += items.max(1),
                Ok(copying::Step::Finished) => {
                    *running = None;
                    return Ok(done + 1);
                }
                Err(failed) => {
                    if let Some(current) = running.take() {
                        current.abandon(self, &failed);
                    }
                    return match failed.error {
                        // The reason is told to who asked for it.
                        Error::BadRequest(_) | Error::PartitionKeyRangeGone { .. } => Ok(done + 1),
                        error => Err(error),
                    };
                }
            }
        }
        Ok(done)
    }

    /// Waits until a split or merge is asked for, or the time is up. Returns early at times.
    pub fn wait_for_reshapes(&self, timeout: Duration) {
        let reshapes = self.reshapes();
        let state = reshapes.state();
        let waited = reshapes.changed.wait_timeout(state, timeout);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends the waits of [`Engine::wait_for_reshapes`].
    pub fn wake_reshapes(&self) {
        self.reshapes().changed.notify_all();
    }

    /// The next one whose time has come.
    fn next_reshape(&self) -> Option<Arc<Reshape>> {
        let now = self.clock().now_us();
        let state = self.reshapes().state();
        let mut open = state.reshapes.iter().filter(|reshape| !reshape.is_over());
        open.find(|reshape| reshape.due_us() <= now).cloned()
    }

    /// Drops the parts of retired partitions that nobody holds any more. Answers how many.
    fn drop_retired(&self) -> Result<usize, Error> {
        let mut state = self.reshapes().state();
        let all = std::mem::take(&mut state.retired);
        let (held, free): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|partition| Arc::strong_count(partition) > 1);
        state.retired = held;
        drop(state);
        let mut dropped = 0;
        for partition in free {
            if let Err(error) = self.store().drop_part(partition.part()) {
                self.reshapes().state().retired.push(partition);
                return Err(error.into());
            }
            dropped += 1;
        }
        Ok(dropped)
    }
}
