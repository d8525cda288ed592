//! What happens to a row once its bindings are made.

mod grouped;
mod sorted;
mod walked;

use super::groups::Groups;
use super::place::SortPlace;
use super::ranking::RankingState;
use super::resume::{ResumeFilter, State};
use super::sorter::Sorter;
use super::{Counters, ExecutionError, Flow, PageLimits};
use crate::eval::output::{RowText, Written, write_row, write_value};
use crate::eval::rows::project;
use crate::eval::{Frame, Run, Shortage, eval};
use crate::program::Program;
use crate::program::node::Grouping;
use orrery_model::distinct_hash;
use orrery_model::value::Value;
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;
use walked::Walked;

/// What a set of hashes takes for each of them.
const BYTES_OF_HASH: usize = 32;

/// Where rows go.
pub(super) enum Stage<'p> {
    /// Out, as they come.
    Stream,
    Sort(Sorter<'p>),
    Group(&'p Grouping, Groups),
    Rank(RankingState<'p>),
}

/// Collects the rows of a page.
pub(super) struct Sink<'p> {
    program: &'p Program,
    limits: PageLimits,
    pub(super) stage: Stage<'p>,
    /// Rows depend on all items, so that a further page starts over.
    pub(super) restarts: bool,
    pub(super) rows: Vec<Vec<u8>>,
    pub(super) counters: Counters,
    page_rows: usize,
    page_bytes: usize,
    state: State,
    /// Rows of the first item that an earlier page dealt with.
    skip_inside: u64,
    /// Which item that was.
    inside_of: Option<u64>,
    /// The last row of the page before.
    start: Option<SortPlace>,
    /// Rows of which only all together tell whether they come before the start.
    near: Sorter<'p>,
    /// DISTINCT rows that came before the start.
    before: FxHashSet<u128>,
    /// Such rows in order of which it is not known yet whether they come before it.
    held: Vec<Walked>,
    held_bytes: usize,
    /// The document at hand, and how many rows of it there were.
    number: (u64, u64),
    /// Rows of an earlier page that a restarted run passes over.
    skip_rows: u64,
    resume: Option<ResumeFilter>,
    distinct: Option<FxHashSet<u128>>,
    doc: u64,
    arrivals: u64,
    delivered_of_item: u64,
    stopped_inside: bool,
    error: Option<ExecutionError>,
}

/// How many rows from the front of the order a page can need.
fn kept_rows(program: &Program, limits: PageLimits, state: &State, skip_rows: u64) -> u64 {
    if program.select.distinct {
        return u64::MAX;
    }
    let left = program
        .row_limit()
        .map_or(u64::MAX, |limit| limit.saturating_sub(state.taken));
    let page = left.min(limits.rows as u64).saturating_add(1);
    state.offset.saturating_add(skip_rows).saturating_add(page)
}

impl<'p> Sink<'p> {
    pub(super) fn new(
        program: &'p Program,
        limits: PageLimits,
        sorted: bool,
        state: Option<State>,
        resume: Option<ResumeFilter>,
    ) -> Self {
        let grouped = program.select.grouping.is_some();
        let sorts = !program.order.is_empty() && (grouped || !sorted);
        let restarts = sorts || grouped || program.select.distinct || program.ranking.is_some();
        let fresh = State {
            offset: program.offset(),
            ..State::default()
        };
        // Rows that have a place are gone on with behind the last one; what was counted shifts when
        // items change between two pages.
        let has_place = program.ranking.is_none();
        let mut start = None;
        let (state, skip_inside, skip_rows) = match state {
            Some(mut state) if restarts => {
                start = state.place.take().filter(|_| has_place);
                if start.is_some() {
                    (State { inside: 0, ..state }, 0, 0)
                } else {
                    let taken = state.taken;
                    (State { taken, ..fresh }, 0, taken)
                }
            }
            Some(state) => {
                let inside = state.inside;
                (
                    State {
                        place: None,
                        ..state
                    },
                    inside,
                    0,
                )
            }
            None => (fresh, 0, 0),
        };
        let stage = match (&program.select.grouping, &program.ranking) {
            (Some(grouping), _) => Stage::Group(grouping, Groups::new(grouping)),
            (None, Some(ranking)) => Stage::Rank(RankingState::new(ranking)),
            (None, None) if sorts => {
                let keep = kept_rows(program, limits, &state, skip_rows);
                Stage::Sort(Sorter::new(&program.order, keep, limits.memory))
            }
            (None, None) => Stage::Stream,
        };
        Self {
            program,
            limits,
            stage,
            restarts,
            rows: Vec::new(),
            counters: Counters::default(),
            page_rows: 0,
            page_bytes: 0,
            state,
            skip_inside,
            inside_of: None,
            start,
            near: Sorter::new(&program.order, u64::MAX, limits.memory),
            before: FxHashSet::default(),
            held: Vec::new(),
            held_bytes: 0,
            number: (0, 0),
            skip_rows,
            resume,
            distinct: (program.select.distinct || program.distinct_source).then(FxHashSet::default),
            doc: 0,
            arrivals: 0,
            delivered_of_item: 0,
            stopped_inside: false,
            error: None,
        }
    }

    pub(super) fn limit_reached(&self) -> bool {
        self.program
            .row_limit()
            .is_some_and(|limit| self.state.taken >= limit)
    }

    fn page_full(&self) -> bool {
        self.page_rows >= self.limits.rows || self.page_bytes >= self.limits.bytes
    }

    /// What to keep for a further page.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Names the item that an earlier page stopped in.
    pub(super) fn resume_inside(&mut self, doc: u64) {
        self.inside_of = Some(doc);
    }

    /// Notes where sorted rows stopped, for the state.
    pub(super) fn note_place(&mut self, keys: &[Value<'_>], doc: u64, is_inside: bool) {
        let rows = if is_inside {
            self.state.inside
        } else {
            SortPlace::ALL_ROWS
        };
        self.state.place = Some(SortPlace::new(keys, doc, rows));
    }

    /// What to do next, between items.
    pub(super) fn flow(&self) -> Flow {
        if self.limit_reached() {
            Flow::Done
        } else if self.page_full() {
            Flow::PageFull
        } else {
            Flow::More
        }
    }

    pub(super) fn start_item(&mut self, doc: u64) {
        self.doc = doc;
        if self.inside_of.take().is_some_and(|own| own != doc) {
            self.skip_inside = 0;
        }
        self.state.inside = 0;
        self.delivered_of_item = 0;
        self.stopped_inside = false;
    }

    /// Closes an item, whose rows may have been cut off by the budget.
    pub(super) fn end_item(&mut self, run: &Run<'_>) -> Result<Flow, ExecutionError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.stopped_inside && !self.limit_reached() {
            return Ok(if self.restarts {
                Flow::PageFull
            } else {
                Flow::PageFullInside
            });
        }
        if run.exhausted() && !self.limit_reached() {
            return self.cut_off(run);
        }
        self.state.inside = 0;
        self.skip_inside = 0;
        Ok(self.flow())
    }

    /// The way on when an item was cut off: the next page goes on inside it, if this one got
    /// anywhere.
    pub(super) fn cut_off(&mut self, run: &Run<'_>) -> Result<Flow, ExecutionError> {
        let streams = matches!(self.stage, Stage::Stream) && !self.restarts;
        let shortage = run.shortage();
        let is_ahead = match shortage {
            Shortage::Memory => false,
            // The budget is the item's own: a further page has to get further inside.
            Shortage::Steps => self.delivered_of_item > 0,
            Shortage::Time => self.counters.pushed > 1 || self.state.inside > self.skip_inside,
        };
        if streams && is_ahead {
            // Rows that a page before dealt with may not have come again.
            self.state.inside = self.state.inside.max(self.skip_inside);
            return Ok(Flow::PageFullInside);
        }
        Err(match shortage {
            Shortage::Memory => ExecutionError::TooMuchMemory,
            Shortage::Steps => ExecutionError::TooManySteps,
            Shortage::Time => ExecutionError::TooLate,
        })
    }

    /// Whether the value was not seen before by DISTINCT.
    pub(super) fn is_new(&mut self, value: &Value<'_>) -> bool {
        let Some(seen) = &mut self.distinct else {
            return true;
        };
        seen.insert(distinct_hash::hash(value))
    }

    /// Bytes that wait for further items.
    fn waiting(&self) -> usize {
        let stage = match &self.stage {
            Stage::Stream => self.held_bytes,
            Stage::Sort(sorter) => sorter.held() + self.near.held(),
            Stage::Group(_, groups) => groups.memory(),
            Stage::Rank(ranking) => ranking.memory(),
        };
        let seen = self.distinct.as_ref().map_or(0, FxHashSet::len) + self.before.len();
        stage + seen.saturating_mul(BYTES_OF_HASH)
    }

    /// Goes on after a row, unless it was one too many.
    fn more(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        run.wait(self.waiting());
        if run.exhausted() && run.shortage() == Shortage::Memory {
            return self.fail(ExecutionError::TooMuchMemory);
        }
        ControlFlow::Continue(())
    }

    fn fail(&mut self, error: ExecutionError) -> ControlFlow<()> {
        self.error = Some(error);
        ControlFlow::Break(())
    }

    /// Takes a row by its innermost frame.
    pub(super) fn row<'e>(&mut self, frame: &'e Frame<'e>, run: &Run<'_>) -> ControlFlow<()>
    where
        'p: 'e,
    {
        // A row that is begun without budget would come out of subqueries that were cut off.
        if run.exhausted() {
            return ControlFlow::Break(());
        }
        match &mut self.stage {
            Stage::Group(grouping, groups) => {
                let grouping: &'p Grouping = grouping;
                groups.take(grouping, frame, run);
                self.more(run)
            }
            Stage::Rank(_) => self.rank_row(frame, run),
            Stage::Sort(_) => self.sort_row(frame, run),
            Stage::Stream => self.stream_row(frame, run),
        }
    }

    /// The text of a row; `None` for a row that is none (VALUE undefined), repeated or broken.
    fn text<'e>(&mut self, frame: &'e Frame<'e>, run: &Run<'_>) -> Option<Vec<u8>>
    where
        'p: 'e,
    {
        let projection = &self.program.select.projection;
        let mut out = RowText::new(self.limits.bytes);
        self.counters.projected += 1;
        let written = if self.program.select.distinct
            && matches!(self.stage, Stage::Stream | Stage::Group(..))
        {
            let value = project(projection, frame, run);
            run.spend_on(&value);
            if value.is_undefined() || !self.is_new(&value) {
                return None;
            }
            write_value(&value, &mut out)
        } else {
            write_row(projection, frame, run, &mut out)
        };
        if run.exhausted() {
            return None;
        }
        match written {
            Written::Yes => Some(out.text),
            Written::Undefined => None,
            Written::NotFinite => {
                self.error = Some(ExecutionError::NotFinite);
                None
            }
            Written::TooLong => {
                self.error = Some(ExecutionError::RowTooLarge);
                None
            }
        }
    }

    /// Whether the page ends before a row of this length.
    fn is_too_long(&self, row: &[u8]) -> bool {
        let counts = self.state.offset == 0 && self.skip_rows == 0;
        counts && self.page_rows > 0 && self.page_bytes + 1 + row.len() > self.limits.bytes
    }

    fn stream_row<'e>(&mut self, frame: &'e Frame<'e>, run: &Run<'_>) -> ControlFlow<()>
    where
        'p: 'e,
    {
        if self.restarts && !self.program.order.is_empty() {
            return self.walk_row(frame, run);
        }
        if self.page_full() {
            self.stopped_inside = true;
            return ControlFlow::Break(());
        }
        if self.resume.is_some() && !self.program.order.is_empty() {
            let keys: Vec<Value<'_>> = self
                .program
                .order
                .iter()
                .map(|key| eval(&key.node, frame, run).into_value())
                .collect();
            if !self.admits(&keys) {
                return ControlFlow::Continue(());
            }
        }
        self.state.inside += 1;
        if self.state.inside <= self.skip_inside {
            return ControlFlow::Continue(());
        }
        match self.text(frame, run) {
            Some(row) if self.is_too_long(&row) => {
                self.state.inside -= 1;
                self.stopped_inside = true;
                ControlFlow::Break(())
            }
            Some(row) => {
                if self.restarts {
                    self.deliver_distinct(row)?;
                } else {
                    self.deliver(row)?;
                }
                self.more(run)
            }
            None if self.error.is_some() => ControlFlow::Break(()),
            None if run.exhausted() => {
                // The row was cut off, and has not been dealt with.
                self.state.inside -= 1;
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }

    /// Passes on a row of DISTINCT that none before it equals, unless an earlier page did. The
    /// items up to that page's end only tell what is no longer new.
    fn deliver_distinct(&mut self, row: Vec<u8>) -> ControlFlow<()> {
        let rows = match &self.state.place {
            Some(place) if place.doc() == self.doc => place.rows().saturating_add(1),
            _ => 1,
        };
        if let Some(start) = &self.start {
            if self.doc < start.doc() {
                return ControlFlow::Continue(());
            }
            if self.doc == start.doc() && rows <= start.rows() {
                self.state.place = Some(SortPlace::new(&[], self.doc, rows));
                return ControlFlow::Continue(());
            }
        }
        self.state.place = Some(SortPlace::new(&[], self.doc, rows));
        self.deliver(row)
    }

    fn admits(&self, keys: &[Value<'_>]) -> bool {
        self.resume
            .as_ref()
            .is_none_or(|resume| resume.admits(&self.program.order, keys, self.doc))
    }

    fn rank_row<'e>(&mut self, frame: &'e Frame<'e>, run: &Run<'_>) -> ControlFlow<()>
    where
        'p: 'e,
    {
        let row = self.text(frame, run);
        if self.error.is_some() || run.exhausted() {
            return ControlFlow::Break(());
        }
        let doc = self.doc;
        if let (Some(row), Stage::Rank(ranking)) = (row, &mut self.stage) {
            ranking.keep(doc, row);
        }
        self.more(run)
    }

    /// Passes a finished row to OFFSET, TOP, LIMIT and the page.
    fn deliver(&mut self, row: Vec<u8>) -> ControlFlow<()> {
        if self.state.offset > 0 {
            self.state.offset -= 1;
            return ControlFlow::Continue(());
        }
        if self.skip_rows > 0 {
            self.skip_rows -= 1;
            return ControlFlow::Continue(());
        }
        if self.limit_reached() {
            return ControlFlow::Break(());
        }
        self.state.taken = self.state.taken.saturating_add(1);
        self.delivered_of_item += 1;
        self.page_rows += 1;
        self.page_bytes += row.len() + usize::from(self.page_rows > 1);
        self.counters.rows += 1;
        self.counters.row_bytes += row.len() as u64;
        self.rows.push(row);
        if self.limit_reached() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Delivers rows of a stage that waited for all items.
    fn deliver_all(&mut self, rows: impl Iterator<Item = Vec<u8>>) -> Flow {
        for row in rows {
            if self.limit_reached() {
                return Flow::Done;
            }
            if self.page_full() || self.is_too_long(&row) {
                return Flow::PageFull;
            }
            let _ = self.deliver(row);
        }
        Flow::Done
    }

    /// No item follows.
    pub(super) fn finish(&mut self, run: &Run<'_>) -> Result<Flow, ExecutionError> {
        if self.limit_reached() {
            return Ok(Flow::Done);
        }
        match std::mem::replace(&mut self.stage, Stage::Stream) {
            Stage::Stream => {
                self.stopped_inside = false;
                let _ = self.pass_held();
                let is_done = !self.stopped_inside || self.limit_reached();
                Ok(if is_done { Flow::Done } else { Flow::PageFull })
            }
            Stage::Sort(sorter) => Ok(self.finish_sorted(sorter)),
            Stage::Rank(ranking) => Ok(self.deliver_all(ranking.finish().into_iter())),
            Stage::Group(grouping, groups) => self.finish_groups(grouping, groups, run),
        }
    }
}
