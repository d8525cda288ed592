//! Execution inside one partition key range: items are pushed in, rows of JSON text come out.
//!
//! A page ends where the caller's [`PageLimits`] say. [`Pipeline::resume_state`] then tells, in a
//! few bytes, how to go on: either after (or again with) the last pushed item, or from the first
//! item of the range when rows depend on all items ([`Pipeline::restarts`]).

pub mod accumulator;
pub(crate) mod groups;
mod place;
pub(crate) mod ranking;
mod resume;
mod sink;
mod sorter;

use crate::eval::item::ItemText;
use crate::eval::rows::{select_rows, select_values};
use crate::eval::{Binding, Frame, Run, logic};
use crate::memory::MemoryPool;
use crate::program::Program;
use crate::program::node::Source;
use orrery_model::value::Value;
pub use place::{SortPlace, Standing};
pub use resume::ResumeFilter;
use resume::State;
use sink::{Sink, Stage};
use std::ops::ControlFlow;

/// Paths that are read one by one from the text; more are read in one pass.
const LAZY_READS: usize = 2;
/// The same where the text tells the places of all members that are read.
const FOUND_READS: usize = 16;

/// What an index says of an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum Folded {
    /// So many rows count.
    Count(u64),
    /// The best of all values; undefined where there is none. An array or object stands for any.
    Best(Value<'static>),
}

/// What an index says of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldedGroup {
    /// The values of its keys.
    pub keys: Vec<Value<'static>>,
    /// Its aggregates.
    pub answers: Vec<Folded>,
}

/// Appends the system properties of an item to text.
pub type SystemText<'a> = &'a dyn Fn(&mut Vec<u8>);

/// An item that is pushed in.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The document number of its `_rid`: the order of rows without ORDER BY, and of ties.
    pub doc: u64,
    /// Canonical JSON text of the item as stored.
    pub text: &'a [u8],
    /// Appends the system properties that `text` lacks, as `"_rid":"…","_ts":…` without braces.
    /// Asked only when the query reads a name that starts with `_` and is not in `text`, or the
    /// whole item.
    pub system: Option<SystemText<'a>>,
}

/// Where a page ends: at the first limit that is reached.
#[derive(Debug, Clone, Copy)]
pub struct PageLimits {
    /// Rows.
    pub rows: usize,
    /// Bytes of row text, commas included. The page ends before the row that would cross; one row
    /// alone may not cross either ([`ExecutionError::RowTooLarge`]).
    pub bytes: usize,
    /// Evaluation steps for one item (rows joined, elements visited).
    pub steps: u64,
    /// Bytes held for sorting, grouping, DISTINCT and the values under way.
    pub memory: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            rows: 100,
            bytes: 4 << 20,
            steps: 20_000_000,
            memory: 128 << 20,
        }
    }
}

/// What the pipeline wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next item.
    More,
    /// The page is full and the item is finished: resume with the item after it.
    PageFull,
    /// The page is full in the middle of the item: resume with the same item.
    PageFullInside,
    /// No further item can add a row.
    Done,
}

/// Why a run stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionError {
    /// One item produced more combinations than a page may visit.
    #[error("The query exceeded the maximum number of steps for one item.")]
    TooManySteps,
    /// Time is up, and what was done cannot be resumed.
    #[error("The query exceeded the maximum execution time.")]
    TooLate,
    /// One row is longer than a page may be.
    #[error("Response size is too large: one row of the query exceeds it.")]
    RowTooLarge,
    /// Sorting, grouping or DISTINCT would hold too much.
    #[error("The query needs more memory than is allowed for one request.")]
    TooMuchMemory,
    /// A row holds NaN or an infinity (query-language: section 5).
    #[error("The query result contains a number that is not finite.")]
    NotFinite,
    /// Resume state that this query cannot have written.
    #[error("The continuation does not belong to this query.")]
    BadState,
}

/// What a run did, for charges and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Items pushed in.
    pub pushed: u64,
    /// Items that WHERE was asked about.
    pub tested: u64,
    /// Rows that were projected.
    pub projected: u64,
    /// Rows that left the pipeline.
    pub rows: u64,
    /// Bytes of those rows.
    pub row_bytes: u64,
}

/// A run of a program over the items of one range.
pub struct Pipeline<'p> {
    program: &'p Program,
    limits: PageLimits,
    run: Run<'p>,
    sink: Sink<'p>,
    /// The one row of a query without FROM was made.
    fed: bool,
}

impl<'p> Pipeline<'p> {
    /// A run from the start, or from the state that an earlier page left.
    ///
    /// `sorted` promises that items come in the order of the sort keys (ties by document number,
    /// descending when the first key is); otherwise the pipeline sorts.
    pub fn new(
        program: &'p Program,
        limits: PageLimits,
        sorted: bool,
        state: Option<&[u8]>,
        resume: Option<ResumeFilter>,
    ) -> Result<Self, ExecutionError> {
        let state = state.map(State::from_bytes).transpose()?;
        if let Some(place) = state.as_ref().and_then(|state| state.place.as_ref())
            && place.keys().len() != program.order.len()
        {
            return Err(ExecutionError::BadState);
        }
        let sink = Sink::new(program, limits, sorted, state, resume);
        Ok(Self {
            program,
            limits,
            run: Run::new(&program.settings, limits.steps, limits.memory),
            sink,
            fed: false,
        })
    }

    /// Takes memory beyond a first part from a pool that queries share.
    pub fn share(&mut self, pool: &'p MemoryPool) {
        self.run.share(pool);
    }

    /// Asks this now and then during an item whether time is up. A page then ends where it can be
    /// resumed; where it cannot, the run fails with [`ExecutionError::TooLate`].
    pub fn watch(&mut self, is_late: &'p dyn Fn() -> bool) {
        self.run.watch(is_late);
    }

    /// Whether the conditions that read only the item hold; JOINs and what they filter may still
    /// leave it without rows.
    pub fn accepts(&self, item: Item<'_>) -> bool {
        let text = ItemText::new(item.text, item.system, &self.program.finders);
        let frame = Frame::outermost(Binding::Item(&text));
        self.run.refill(self.limits.steps);
        self.passes(&frame)
    }

    fn passes(&self, item: &Frame<'_>) -> bool {
        self.program
            .item_filter
            .iter()
            .all(|condition| logic(condition, item, &self.run) == Some(true))
    }

    /// Takes an item.
    pub fn push(&mut self, item: Item<'_>) -> Result<Flow, ExecutionError> {
        if self.sink.limit_reached() {
            return Ok(Flow::Done);
        }
        self.sink.counters.pushed += 1;
        self.run.refill(self.limits.steps);
        let program = self.program;
        let text = ItemText::new(item.text, item.system, &self.program.finders);
        let lazy = Frame::outermost(Binding::Item(&text));
        let lazy_reads = if program.finders.is_empty() {
            LAZY_READS
        } else {
            FOUND_READS
        };
        let lazy_rows = program.row_reads <= lazy_reads;
        let lazy_filter = program.item_filter_reads <= lazy_reads;
        if lazy_filter {
            if !self.test(&lazy) {
                return self.refused(item.doc);
            }
            if lazy_rows {
                return self.rows_of(&lazy, item.doc);
            }
        }
        let whole = text.project(&program.needed, program.reads_system);
        let eager = Frame::outermost(Binding::Value(&whole));
        if !lazy_filter && !self.test(&eager) {
            return self.refused(item.doc);
        }
        self.rows_of(if lazy_rows { &lazy } else { &eager }, item.doc)
    }

    /// The way on after an item that WHERE refused. Without budget left that is no answer: a
    /// subquery in it was cut off.
    fn refused(&mut self, doc: u64) -> Result<Flow, ExecutionError> {
        if self.run.exhausted() {
            self.sink.start_item(doc);
            return self.sink.cut_off(&self.run);
        }
        Ok(self.sink.flow())
    }

    /// Asks WHERE; a ranking counts the item in any case.
    fn test(&mut self, item: &Frame<'_>) -> bool {
        if let Stage::Rank(ranking) = &mut self.sink.stage {
            ranking.count(item, &self.run);
        }
        if self.program.item_filter.is_empty() {
            return true;
        }
        self.sink.counters.tested += 1;
        self.passes(item)
    }

    /// Takes what an index answers of each aggregate in place of all items
    /// ([`Program::index_aggregates`]).
    pub fn fold(&mut self, answers: &[Folded]) {
        if let Stage::Group(_, groups) = &mut self.sink.stage {
            groups.fold(answers);
        }
    }

    /// Takes the groups that an index tells of in place of all items
    /// ([`Program::index_grouping`]), in order of first appearance.
    pub fn fold_groups(&mut self, answers: Vec<FoldedGroup>) {
        if let Stage::Group(grouping, groups) = &mut self.sink.stage {
            groups.fold_groups(grouping, answers);
        }
    }

    /// The rows of an accepted item.
    fn rows_of(&mut self, item: &Frame<'_>, doc: u64) -> Result<Flow, ExecutionError> {
        let (program, run, sink) = (self.program, &self.run, &mut self.sink);
        sink.start_item(doc);
        let _ = match program.select.sources.as_slice() {
            [Source::Rows(inner)] if program.distinct_source => {
                select_values(inner, item, run, &mut |value| {
                    if sink.is_new(&value) {
                        let row = item.with(&value);
                        if program
                            .select
                            .filter
                            .iter()
                            .all(|condition| logic(condition, &row, run) == Some(true))
                        {
                            return sink.row(&row, run);
                        }
                    }
                    ControlFlow::Continue(())
                })
            }
            _ => select_rows(&program.select, item, run, &mut |row| sink.row(row, run)),
        };
        sink.end_item(&self.run)
    }

    /// Says that no item follows; sorted rows and groups come out.
    /// `Done`, or `PageFull` when rows are left for a further page.
    pub fn finish(&mut self) -> Result<Flow, ExecutionError> {
        self.run.refill(self.limits.steps);
        if !self.program.reads_items() && !self.fed {
            self.fed = true;
            let nothing = Value::Undefined;
            self.rows_of(&Frame::outermost(Binding::Value(&nothing)), 0)?;
        }
        self.sink.finish(&self.run)
    }

    /// The finished rows, each canonical JSON text; call it after `push` or `finish`.
    pub fn take_rows(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.sink.rows)
    }

    /// True when a further page must push all items again from the first one: sorting without an
    /// index, grouping, DISTINCT.
    pub fn restarts(&self) -> bool {
        self.sink.restarts
    }

    /// Says in which item an earlier page stopped ([`Flow::PageFullInside`]): if it is gone, the
    /// first item that comes has all its rows.
    pub fn resume_inside(&mut self, doc: u64) {
        self.sink.resume_inside(doc);
    }

    /// Keeps in the state where sorted items stopped: behind this one, or inside it.
    pub fn stop_at(&mut self, item: Item<'_>, is_inside: bool) {
        let keys = self.program.sort_values(item);
        self.sink.note_place(&keys, item.doc, is_inside);
    }

    /// What [`Pipeline::new`] needs to go on after this page.
    pub fn resume_state(&self) -> Vec<u8> {
        self.sink.state().to_bytes()
    }

    /// What was done since [`Pipeline::new`].
    pub fn counters(&self) -> Counters {
        self.sink.counters
    }
}
