//! One page of a query in one partition: items in, rows out, until the page is full.

use std::cell::Cell;
use std::sync::Arc;
use std::thread::Scope;

use orrery_model::charge::{self, QueryCost};
use orrery_model::epk::EpkRange;
use orrery_model::ids::Lsn;
use orrery_model::partition_key::PartitionKey;
use orrery_model::rid::ResourceId;
use orrery_sql::pipeline::{
    Counters, ExecutionError, Flow, Item, PageLimits, Pipeline, ResumeFilter, SortPlace,
};

use super::QueryPage;
use super::access::{self, Access, Arrival};
use super::metrics::{AccessKind, QueryMetrics};
use super::position::QueryPosition;
use super::prepare::Prepared;
use super::source::{Fetched, Single, Source, Start, Supply};
use super::walk::Ground;
use crate::answer::{Answer, Meta};
use crate::catalog::feeds::QuerySpec;
use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;
use crate::partition::{Partition, StoredItem};

/// Rows of a page when the client leaves it to us. Groups are not counted then: each page of them
/// reads everything.
const DEFAULT_ROWS: usize = 1_000;
/// Bytes of a page's answer around its rows.
const ENVELOPE: usize = 256;

/// A page to be made.
pub struct PageRun<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The container.
    pub container: &'a Container,
    /// Its definition, from before the snapshot.
    pub state: &'a Arc<ContainerState>,
    /// The query.
    pub prepared: &'a Prepared,
    /// Where it runs.
    pub partition: &'a Partition,
    /// The only keys or prefixes that count; empty when all do.
    pub keys: &'a [PartitionKey],
    /// The parts of the partition's key space that count; empty when all of it does.
    pub wanted: Vec<EpkRange>,
    /// The partition's share of the key space that a position is about.
    pub segment: EpkRange,
    /// Most rows.
    pub most_rows: Option<u32>,
    /// The order in which items are wanted.
    pub arrival: Arrival,
}

/// What a page is made on: how its items are come by, and what that cost so far.
pub struct Basis {
    /// The way.
    pub kind: AccessKind,
    /// Index look-ups so far.
    pub cost: QueryCost,
    /// Whether an index narrowed the items.
    pub narrowed: bool,
    /// The position that the page includes.
    pub lsn: Lsn,
    /// When it began.
    pub started: u64,
    /// The time of parsing and planning.
    pub compile_us: u64,
    /// The time of choosing.
    pub index_us: u64,
}

/// The parts of a partition's own key space that a page covers, in order and apart from each
/// other; empty when that is all of it.
/// `segment` is what the page's position is about: less than the partition after a merge.
pub fn wanted(
    own: &EpkRange,
    segment: &EpkRange,
    space: &EpkRange,
    keys: &[PartitionKey],
    state: &ContainerState,
) -> Vec<EpkRange> {
    if keys.is_empty() && space.covers(own) && segment.covers(own) {
        return Vec::new();
    }
    let nothing = || EpkRange::new(segment.min.clone(), segment.min.clone());
    let Some(space) = space.intersect(segment) else {
        return vec![nothing()];
    };
    if keys.is_empty() {
        return vec![space];
    }
    let definition = state.key_definition();
    let mut parts: Vec<EpkRange> = keys
        .iter()
        .filter_map(|key| definition.prefix_range(key).intersect(&space))
        .collect();
    if parts.is_empty() {
        parts.push(nothing());
    }
    parts.sort_by(|left, right| left.min.cmp(&right.min));
    // A prefix of a key covers the keys that begin with it.
    parts.dedup_by(|next, kept| {
        let is_within = next.min < kept.max;
        if is_within && next.max > kept.max {
            kept.max = next.max.clone();
        }
        is_within
    });
    parts
}

impl PageRun<'_> {
    /// Makes the page from a position on; answers also where the rest of the segment goes on.
    pub fn page(
        &self,
        start: Option<QueryPosition>,
        spec: &QuerySpec,
        compile_us: u64,
    ) -> Result<(Answer<QueryPage>, Option<QueryPosition>), Error> {
        let started = self.engine.clock().now_us();
        let snapshot = self.engine.snapshot(self.partition)?;
        let snapshot = &snapshot;
        let ground = Ground {
            run: self,
            snapshot,
        };
        let choice = access::choose(self, snapshot)?;
        let basis = Basis {
            kind: choice.access.kind(),
            cost: choice.cost,
            narrowed: choice.narrowed,
            lsn: snapshot.lsn(),
            started,
            compile_us,
            index_us: self.engine.clock().now_us().saturating_sub(started),
        };
        self.fill(&basis, start.as_ref(), spec, |pipeline, begin| {
            let access = match choice.access {
                Access::Folded(answers) => {
                    pipeline.fold(&answers);
                    Access::Folded(answers)
                }
                Access::Grouped(groups) => {
                    pipeline.fold_groups(groups);
                    Access::Grouped(Vec::new())
                }
                access => access,
            };
            let source = Source::new(access, begin, ground)?;
            Ok(Single { source, ground })
        })
    }

    /// Draws items from what `open` gives until the page is full.
    pub fn fill<'env, S: Supply<'env>>(
        &self,
        basis: &Basis,
        start: Option<&QueryPosition>,
        spec: &QuerySpec,
        open: impl FnOnce(&mut Pipeline<'_>, &Start<'_>) -> Result<S, Error>,
    ) -> Result<(Answer<QueryPage>, Option<QueryPosition>), Error> {
        let clock = self.engine.clock();
        let state = start
            .map(|start| start.state.as_slice())
            .filter(|state| !state.is_empty());
        let is_walk = basis.kind == AccessKind::Ordered;
        let program = &self.prepared.program;
        let limits = self.limits();
        let resume = resume_filter(spec)?;
        let late = Cell::new(u64::MAX);
        let is_late = || clock.now_us() >= late.get();
        let mut pipeline = Pipeline::new(program, limits, is_walk, state, resume)?;
        pipeline.share(self.engine.query_memory());
        pipeline.watch(&is_late);
        let mut filling = Filling {
            run: self,
            now: clock.now_seconds(),
            cost: basis.cost,
            page: QueryPage::default(),
            last: None,
        };
        let restarts = pipeline.restarts();
        late.set(self.deadline(basis.started, restarts));
        let place = state.filter(|_| is_walk && !restarts);
        let place = place.and_then(SortPlace::of_state);
        let position = start.filter(|_| !restarts && !is_walk);
        if let Some(place) = &place {
            pipeline.resume_inside(place.doc());
        } else if let Some(docid) = position.and_then(|start| start.after) {
            pipeline.resume_inside(docid.0);
        }
        let begin = Start {
            position,
            place: place.as_ref(),
            rows: if restarts {
                u64::MAX
            } else {
                program
                    .row_limit()
                    .unwrap_or(u64::MAX)
                    .min(limits.rows as u64)
            },
        };
        let supply = open(&mut pipeline, &begin)?;
        let flow = filling.fill(&mut pipeline, supply, &is_late)?;
        filling.take(&mut pipeline);
        let mut rest = None;
        if matches!(flow, Flow::PageFull | Flow::PageFullInside) {
            let is_inside = flow == Flow::PageFullInside;
            let mut position = QueryPosition::start_of(self.segment.clone());
            match &filling.last {
                Some(last) if is_walk && !restarts => pipeline.stop_at(last.as_item(), is_inside),
                Some(last) if !restarts => {
                    position.after = Some(last.docid);
                    position.again = is_inside;
                }
                _ => {}
            }
            position.state = pipeline.resume_state();
            rest = Some(position);
        }
        let counters = pipeline.counters();
        Ok((self.answer(basis, filling, &counters), rest))
    }

    /// The page with its metrics and its charge.
    fn answer(
        &self,
        basis: &Basis,
        filling: Filling<'_>,
        counters: &Counters,
    ) -> Answer<QueryPage> {
        let cost = QueryCost {
            items_returned: counters.rows,
            bytes_returned: counters.row_bytes,
            items_projected: if self.prepared.returns_items() {
                0
            } else {
                counters.projected
            },
            items_tested: if basis.kind == AccessKind::Scan && !basis.narrowed {
                counters.tested
            } else {
                0
            },
            ..filling.cost
        };
        let mut page = filling.page;
        let now = self.engine.clock().now_us();
        page.metrics = QueryMetrics {
            cost,
            access: basis.kind,
            items_matched: counters.projected.min(cost.items_loaded),
            total_us: basis.compile_us + now.saturating_sub(basis.started),
            compile_us: basis.compile_us,
            index_us: basis.index_us,
        };
        let charge = charge::query(&cost, self.engine.environment().read_cost).rounded();
        let meta = Meta::at(self.partition, basis.lsn, charge);
        Answer { value: page, meta }
    }

    /// Whether the definition is still the one that the page was planned by. If not, the snapshot
    /// may hold items with index terms that nobody here knows of.
    pub fn is_current(&self) -> bool {
        Arc::ptr_eq(self.state, &self.container.state())
    }

    /// When the page has to end; `restarts` tells that the work would be lost then.
    fn deadline(&self, started: u64, restarts: bool) -> u64 {
        let limits = self.engine.limits();
        let ms = if restarts {
            limits.whole_execution_ms
        } else {
            limits.execution_ms
        };
        started.saturating_add(ms.saturating_mul(1_000))
    }

    fn limits(&self) -> PageLimits {
        let default_rows = if self.prepared.program.is_grouped() {
            usize::MAX
        } else {
            DEFAULT_ROWS
        };
        PageLimits {
            rows: self
                .most_rows
                .map_or(default_rows, |rows| (rows as usize).max(1)),
            bytes: self.engine.limits().response_bytes.saturating_sub(ENVELOPE),
            memory: self.engine.limits().query_memory,
            ..PageLimits::default()
        }
    }

    /// Whether any wanted part, of which there are some, meets this one.
    pub fn touches(&self, space: &EpkRange) -> bool {
        let after = self.wanted.partition_point(|range| range.min < space.max);
        let last = after.checked_sub(1).and_then(|last| self.wanted.get(last));
        last.is_some_and(|range| range.max > space.min && !range.is_empty())
    }

    /// Whether an item lies in the wanted part of the key space.
    pub fn wants(&self, item: &StoredItem) -> bool {
        if self.wanted.is_empty() {
            return true;
        }
        let epk = significant(item.epk());
        let after = self
            .wanted
            .partition_point(|range| range.min.significant() <= epk);
        let last = after.checked_sub(1).and_then(|last| self.wanted.get(last));
        last.is_some_and(|range| epk < range.max.significant())
    }
}

/// A key without trailing zero bytes, which do not count (protocol: section 6.2).
fn significant(epk: &[u8]) -> &[u8] {
    let end = epk
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    epk.get(..end).unwrap_or_default()
}

/// A page on its way.
struct Filling<'a> {
    run: &'a PageRun<'a>,
    now: u64,
    cost: QueryCost,
    page: QueryPage,
    /// The last item that was pushed.
    last: Option<Fetched>,
}

impl Fetched {
    /// The item as the pipeline takes it.
    pub fn as_item(&self) -> Item<'_> {
        Item {
            doc: self.docid.0,
            text: self.item.json(),
            system: None,
        }
    }
}

impl Filling<'_> {
    /// Pushes items through the pipeline until the page is full or none is left.
    fn fill<'env>(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        supply: impl Supply<'env>,
        is_late: &dyn Fn() -> bool,
    ) -> Result<Flow, Error> {
        std::thread::scope(|scope: &Scope<'_, 'env>| {
            // In here, so that a thread that reads for it ends when the page does.
            let mut supply = supply;
            loop {
                let chunk = supply.next(scope)?;
                if chunk.is_empty() {
                    return Ok(pipeline.finish()?);
                }
                let flow = self.push(pipeline, chunk)?;
                self.take(pipeline);
                if flow != Flow::More {
                    return Ok(flow);
                }
                if is_late() {
                    if pipeline.restarts() {
                        return Err(ExecutionError::TooLate.into());
                    }
                    return Ok(Flow::PageFull);
                }
            }
        })
    }

    fn push(&mut self, pipeline: &mut Pipeline<'_>, chunk: Vec<Fetched>) -> Result<Flow, Error> {
        let default_ttl = self.run.state.default_ttl();
        for fetched in chunk {
            self.cost.items_loaded += 1;
            self.cost.bytes_loaded += fetched.item.json().len() as u64;
            let mut flow = Flow::More;
            if fetched.item.is_live(self.now, default_ttl) && self.run.wants(&fetched.item) {
                flow = pipeline.push(fetched.as_item())?;
            }
            self.last = Some(fetched);
            if flow != Flow::More {
                return Ok(flow);
            }
        }
        Ok(Flow::More)
    }

    fn take(&mut self, pipeline: &mut Pipeline<'_>) {
        for row in pipeline.take_rows() {
            if self.page.count > 0 {
                self.page.rows.push(b',');
            }
            self.page.rows.extend_from_slice(&row);
            self.page.count += 1;
        }
    }
}

fn resume_filter(spec: &QuerySpec) -> Result<Option<ResumeFilter>, Error> {
    let Some(value) = &spec.resume_filter else {
        return Ok(None);
    };
    let document = |rid: &str| ResourceId::parse(rid).ok()?.number();
    let filter = ResumeFilter::parse(value, &document);
    filter
        .map(Some)
        .ok_or_else(|| Error::bad_request("The resume filter of the query is invalid."))
}
