//! A reshape under way: what is copied, and how far.

use std::collections::VecDeque;
use std::sync::Arc;

use orrery_model::epk::EpkRange;
use orrery_model::ids::DocId;
use orrery_storage::{Begin, Direction, PartId, Scan};

use super::child::{Child, Present, child_of};
use super::cut::{self, Cut, Measured, Measurement};
use super::operation::{Reshape, ReshapeKind, Stage};
use super::rows::RowCopy;
use crate::account::ACCOUNT_PART;
use crate::committer::{GENERATION, Journal};
use crate::engine::Engine;
use crate::error::Error;
use crate::layout::entries::HistoryEntry;
use crate::layout::family;
use crate::partition::Partition;

/// Items that one commit of a child copies at most, and their bytes.
const PAGE_ITEMS: usize = 256;
const PAGE_BYTES: usize = 1 << 20;
/// Items that one commit brings over while others write: they wait for it.
const NOTED_ITEMS: usize = 64;
/// With so few notes left in the journals, the rest is brought over while writers wait.
const FEW_LEFT: usize = 64;
/// Passes of catching up after which a rest twice as long is taken: writers that are faster than
/// the copy must not keep it from ending.
const PATIENCE: u32 = 4;
/// A range of so many items is worth files of its own; fewer go through commits.
const MANY_ITEMS: u64 = 4_096;
/// Rows that are copied for an item of the budget: about as many as it has where they go through
/// commits, which hold up those of others; more where they go into files. There each page begins
/// with a search, which passes over all recent writes that the snapshot must not see.
const ROWS_BY_COMMIT: usize = 16;
const ROWS_INTO_FILES: usize = 128;
/// Never more than this.
const MOST_LEFT: usize = 8_192;

/// A parent.
pub(super) struct Source {
    pub partition: Arc<Partition>,
    /// The last item that was copied.
    after: Option<DocId>,
    has_all_items: bool,
    /// The last history entry that was copied.
    history_after: Option<Vec<u8>>,
    has_all_history: bool,
    /// Items that its journal noted and that are still to be brought over, in order.
    noted: VecDeque<DocId>,
}

enum Phase {
    Measuring(Measurement),
    /// Of one parent.
    Rows(Box<RowCopy>),
    /// Of several.
    Copying,
    CatchingUp {
        passes: u32,
    },
}

/// See the module.
pub(super) struct Running {
    pub reshape: Arc<Reshape>,
    pub sources: Vec<Source>,
    pub children: Vec<Child>,
    phase: Phase,
}

/// What a step did.
pub(super) enum Step {
    /// So many items.
    Worked(usize),
    /// The last one: the children serve.
    Finished,
}

/// A reshape that came to nothing.
#[derive(Debug)]
pub(super) struct Failed {
    pub error: Error,
    /// Whether the children's parts may go: not when the map may name them.
    pub is_private: bool,
}

impl<E: Into<Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            is_private: true,
        }
    }
}

impl Running {
    /// Finds the parents. Where that fails, the reshape is over.
    pub fn begin(engine: &Engine, reshape: Arc<Reshape>) -> Result<Self, Error> {
        let mut running = Self {
            reshape,
            sources: Vec::new(),
            children: Vec::new(),
            phase: Phase::Copying,
        };
        match running.prepare(engine) {
            Ok(()) => Ok(running),
            Err(failed) => {
                running.abandon(engine, &failed);
                Err(failed.error)
            }
        }
    }

    fn prepare(&mut self, engine: &Engine) -> Result<(), Failed> {
        let container = Arc::clone(self.reshape.container());
        for range in self.reshape.kind().sources() {
            let partition = container.partition(range)?;
            self.sources.push(Source {
                partition,
                after: None,
                has_all_items: false,
                history_after: None,
                has_all_history: false,
                noted: VecDeque::new(),
            });
        }
        let items = self
            .sources
            .iter()
            .map(|source| source.partition.statistics().items);
        let items = items.sum();
        self.reshape.update(|progress| progress.items = items);
        let [first, ..] = self.sources.as_slice() else {
            return Err(Error::Damaged("partition map").into());
        };
        let range = first.partition.range().clone();
        match self.reshape.kind().clone() {
            ReshapeKind::Merge { .. } => {
                let last = self
                    .sources
                    .last()
                    .map_or(&range, |last| last.partition.range());
                let whole = EpkRange::new(range.min.clone(), last.max.clone());
                self.make_children(engine, vec![whole])
            }
            ReshapeKind::Split {
                cut: Cut::At(at), ..
            } => self.cut_at(engine, &range, at),
            ReshapeKind::Split {
                cut: Cut::Hash,
                into,
                ..
            } => {
                let state = container.state();
                let ranges = cut::by_hash(state.key_definition(), &range, into);
                self.make_children(engine, ranges)
            }
            ReshapeKind::Split { cut: Cut::Size, .. } => {
                self.phase = Phase::Measuring(Measurement::new(&first.partition));
                self.reshape
                    .update(|progress| progress.stage = Stage::Measuring);
                Ok(())
            }
        }
    }

    fn cut_at(
        &mut self,
        engine: &Engine,
        range: &EpkRange,
        at: orrery_model::epk::EffectivePartitionKey,
    ) -> Result<(), Failed> {
        let lower = EpkRange::new(range.min.clone(), at.clone());
        let upper = EpkRange::new(at, range.max.clone());
        self.make_children(engine, vec![lower, upper])
    }

    /// Makes the parts, and lets the parents note what is written from here on.
    fn make_children(&mut self, engine: &Engine, ranges: Vec<EpkRange>) -> Result<(), Failed> {
        if ranges.len() < 2 && self.sources.len() < 2 {
            return Err(Error::bad_request("The range has no place to be cut at.").into());
        }
        let first = engine.account().take_numbers("part", ranges.len() as u64)?;
        for (number, range) in ranges.into_iter().enumerate() {
            let part = PartId(ACCOUNT_PART.0 + first + number as u64);
            let child = Child::create(engine.environment(), part, range)?;
            self.children.push(child);
        }
        for source in &self.sources {
            source.partition.journal.start();
            settle(engine, &source.partition)?;
        }
        self.phase = Phase::Copying;
        if let [source] = self.sources.as_slice() {
            // Taken after the journal began: what it lacks is noted there.
            let snapshot = source.partition.snapshot(&**engine.store())?;
            if source.partition.statistics().items >= MANY_ITEMS {
                for child in &mut self.children {
                    child.start_import(engine.environment())?;
                }
            }
            let copy = RowCopy::new(snapshot, self.children.len());
            self.phase = Phase::Rows(Box::new(copy));
        }
        self.reshape
            .update(|progress| progress.stage = Stage::Copying);
        Ok(())
    }

    fn note_copied(&mut self, copied: usize, goes_on: bool) {
        self.reshape
            .update(|progress| progress.copied += copied as u64);
        if !goes_on {
            self.phase = Phase::CatchingUp { passes: 0 };
            self.reshape
                .update(|progress| progress.stage = Stage::CatchingUp);
        }
    }

    /// Does a little: at most about `most` items, but for the last step.
    pub fn step(&mut self, engine: &Engine, most: usize) -> Result<Step, Failed> {
        let container = self.reshape.container();
        let present = engine.container_by_number(container.database(), container.number());
        if present.is_none_or(|present| !Arc::ptr_eq(&present, container)) {
            return Err(Error::bad_request("The container is gone.").into());
        }
        match &mut self.phase {
            Phase::Measuring(measurement) => {
                let [source, ..] = self.sources.as_slice() else {
                    return Err(Error::Damaged("partition map").into());
                };
                let partition = Arc::clone(&source.partition);
                match measurement.step(&**engine.store(), &partition)? {
                    Measured::GoesOn => {}
                    Measured::At(at) => self.cut_at(engine, partition.range(), at)?,
                    Measured::Indivisible => {
                        partition.note_indivisible();
                        return Err(Error::bad_request(
                            "The range holds one logical partition, which cannot be cut.",
                        )
                        .into());
                    }
                }
                Ok(Step::Worked(PAGE_ITEMS))
            }
            Phase::Rows(copy) => {
                let by_item = match self.children.first() {
                    Some(child) if child.is_importing() => ROWS_INTO_FILES,
                    _ => ROWS_BY_COMMIT,
                };
                let rows = most.saturating_mul(by_item);
                let (copied, goes_on) =
                    copy.step(engine.environment(), &mut self.children, rows)?;
                if !goes_on && let [source] = self.sources.as_mut_slice() {
                    source.history_after = copy.last_history().map(<[u8]>::to_vec);
                }
                self.note_copied(copied, goes_on);
                // A page of rows is work even where it has no items.
                Ok(Step::Worked(copied.max(PAGE_ITEMS)))
            }
            Phase::Copying => {
                let worked = self.copy_page(engine, most.clamp(1, PAGE_ITEMS))?;
                let copied = worked.unwrap_or(0);
                self.note_copied(copied, worked.is_some());
                Ok(Step::Worked(copied))
            }
            Phase::CatchingUp { passes } => {
                let passes = *passes;
                self.catch_up_a_little(engine, passes)
            }
        }
    }

    /// Brings over a page of what the journals noted; cuts over when little is left.
    fn catch_up_a_little(&mut self, engine: &Engine, passes: u32) -> Result<Step, Failed> {
        if let Some(worked) = self.bring_over(engine)? {
            return Ok(Step::Worked(worked));
        }
        let journals = self.sources.iter().map(|source| &source.partition.journal);
        let noted: usize = journals.map(Journal::len).sum();
        let left = FEW_LEFT << (passes / PATIENCE).min(16);
        if noted <= left.min(MOST_LEFT) {
            self.cut_over(engine)?;
            return Ok(Step::Finished);
        }
        self.phase = Phase::CatchingUp { passes: passes + 1 };
        self.take_notes(engine)?;
        Ok(Step::Worked(0))
    }

    /// Copies the next page of items or history; `None` when there is none.
    fn copy_page(&mut self, engine: &Engine, most: usize) -> Result<Option<usize>, Error> {
        for at in 0..self.sources.len() {
            if !self.sources[at].has_all_items {
                return self.copy_items(engine, at, most).map(Some);
            }
        }
        for at in 0..self.sources.len() {
            if !self.sources[at].has_all_history {
                return self.copy_history(engine, at, most).map(Some);
            }
        }
        Ok(None)
    }

    fn copy_items(&mut self, engine: &Engine, at: usize, most: usize) -> Result<usize, Error> {
        let source = &mut self.sources[at];
        let state = self.reshape.container().state();
        let snapshot = source.partition.snapshot(&**engine.store())?;
        let page = snapshot.scan_items(source.after, Direction::Forward, most, PAGE_BYTES)?;
        let mut batches: Vec<_> = self.children.iter().map(Child::batch).collect();
        for (docid, stored) in &page.entries {
            let child = child_of(&self.children, stored.epk())?;
            batches[child].insert(&state, *docid, stored)?;
        }
        source.after = page
            .entries
            .last()
            .map(|(docid, _)| *docid)
            .or(source.after);
        source.has_all_items = page.resume.is_none();
        for (child, batch) in self.children.iter_mut().zip(batches) {
            child.append(engine.environment(), batch)?;
        }
        Ok(page.entries.len())
    }

    /// Copies a page of history; what is there never changes, so it only goes on.
    fn copy_history(&mut self, engine: &Engine, at: usize, most: usize) -> Result<usize, Error> {
        let source = &mut self.sources[at];
        let mut scan = Scan::prefix([family::HISTORY])
            .max_rows(most)
            .max_bytes(PAGE_BYTES);
        scan.resume.clone_from(&source.history_after);
        let page = engine.store().scan(source.partition.part(), &scan)?;
        let mut batches: Vec<_> = self.children.iter().map(Child::batch).collect();
        for row in &page.rows {
            let entry = HistoryEntry::decode(&row.key, &row.value)?;
            let child = child_of(&self.children, entry.epk)?;
            batches[child].writes.put(&row.key, &row.value);
        }
        if let Some(last) = page.rows.last() {
            source.history_after = Some(last.key.to_vec());
        }
        source.has_all_history = page.resume.is_none();
        for (child, batch) in self.children.iter_mut().zip(batches) {
            child.append(engine.environment(), batch)?;
        }
        Ok(page.rows.len())
    }

    /// Brings over all that the journals noted, and the history since.
    pub(super) fn catch_up(&mut self, engine: &Engine) -> Result<(), Error> {
        self.take_notes(engine)?;
        while self.bring_over(engine)?.is_some() {}
        Ok(())
    }

    /// Takes what the journals noted for [`Self::bring_over`].
    fn take_notes(&mut self, engine: &Engine) -> Result<(), Error> {
        for source in &mut self.sources {
            source.noted.extend(source.partition.journal.take());
            // What is noted may be on its way to the disk; readers see it only afterwards.
            settle(engine, &source.partition)?;
            source.has_all_history = false;
        }
        Ok(())
    }

    /// Brings over a page of what was taken of the journals, and of the history since. Answers how
    /// many items and entries, or that nothing is left.
    fn bring_over(&mut self, engine: &Engine) -> Result<Option<usize>, Error> {
        for at in 0..self.sources.len() {
            let source = &mut self.sources[at];
            if !source.noted.is_empty() {
                let page = source.noted.len().min(NOTED_ITEMS);
                let docids: Vec<DocId> = source.noted.drain(..page).collect();
                self.reconcile(engine, at, &docids)?;
                return Ok(Some(page));
            }
            if !source.has_all_history {
                return self.copy_history(engine, at, PAGE_ITEMS).map(Some);
            }
        }
        Ok(None)
    }

    fn reconcile(&mut self, engine: &Engine, at: usize, docids: &[DocId]) -> Result<(), Error> {
        let state = self.reshape.container().state();
        let source = &self.sources[at];
        let snapshot = source.partition.snapshot(&**engine.store())?;
        let mut shares: Vec<Vec<Present>> = self.children.iter().map(|_| Vec::new()).collect();
        for (&docid, item) in docids.iter().zip(snapshot.items(docids)?) {
            match item {
                Some(stored) => {
                    let child = child_of(&self.children, stored.epk())?;
                    shares[child].push((docid, Some(Arc::new(stored))));
                }
                // Whose it was is not known any more.
                None => shares
                    .iter_mut()
                    .for_each(|share| share.push((docid, None))),
            }
        }
        for (child, share) in self.children.iter_mut().zip(&shares) {
            child.reconcile(engine.environment(), &state, share)?;
        }
        Ok(())
    }

    /// Gives up: the parents go on as if nothing had been asked.
    pub fn abandon(mut self, engine: &Engine, failed: &Failed) {
        for source in &self.sources {
            source.partition.journal.stop();
        }
        if failed.is_private {
            for child in &mut self.children {
                child.give_up();
                // What stays behind has no owner, and the next start drops it.
                let _ = engine.store().drop_part(child.part);
            }
        }
        engine.forget_reshape(&self.reshape);
        let now = engine.clock().now_us();
        self.reshape.update(|progress| {
            progress.stage = Stage::Failed;
            progress.over_us = now;
            progress.failure = Some(failed.error.to_string());
        });
    }
}

/// Waits until all that was appended to a partition is durable, and thereby seen by readers.
fn settle(engine: &Engine, partition: &Partition) -> Result<(), Error> {
    match engine.store().begin(partition.part(), GENERATION, &[])? {
        Begin::Open { txn, .. } => Ok(txn.release().wait()?),
        Begin::Moved(_) => Err(Error::Damaged("partition map")),
    }
}
