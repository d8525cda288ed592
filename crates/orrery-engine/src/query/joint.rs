//! Pages of a query over several partitions as if they were one: the one that was split since the
//! query began, or one that a client still asks for after it is gone.
//!
//! Items come in the order in which that partition would give them: along an index in the order of
//! ORDER BY where every partition's has it, else in order of insertion, which docids keep through
//! splits and merges. So the pipeline's state and the page's position mean the same before and
//! after, and the rows of a page never depend on how many partitions they lie in.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::Scope;

use orrery_model::charge::{Charge, QueryCost};
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::value::Value;

use super::access::{self, Arrival, Choice};
use super::metrics::AccessKind;
use super::page::{Basis, PageRun};
use super::position::QueryPosition;
use super::prepare::Prepared;
use super::source::{Fetched, Source, Start, Supply};
use super::walk::Ground;
use super::{QueryOptions, QueryPage, QueryScope, failure, page};
use crate::answer::{Answer, Failure};
use crate::catalog::feeds::QuerySpec;
use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;
use crate::partition::{Partition, PartitionSnapshot};
use crate::throughput::meter;

/// Items of one chunk at most.
const CHUNK: usize = 64;

/// A query over the partitions of its scope.
pub struct JointQuery<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The container.
    pub container: &'a Container,
    /// Its definition.
    pub state: &'a Arc<ContainerState>,
    /// The query.
    pub prepared: &'a Prepared,
    /// Its text.
    pub spec: &'a QuerySpec,
    /// What it covers.
    pub scope: &'a QueryScope,
    /// How it is asked.
    pub options: &'a QueryOptions,
    /// The time of parsing and planning.
    pub compile_us: u64,
}

impl JointQuery<'_> {
    /// The page behind a position, or the first.
    pub fn page(&self, start: Option<QueryPosition>) -> Result<Answer<QueryPage>, Failure> {
        let partitions = &self.scope.partitions;
        let segment = start
            .as_ref()
            .map_or(&self.scope.space, |start| &start.space);
        let key = self.scope.logical_partition(self.state);
        let key = key.as_ref().map(EffectivePartitionKey::as_bytes);
        for partition in partitions {
            let refuse = |error| failure(error, partition);
            self.engine
                .check_session(partition, &self.options.session)
                .map_err(refuse)?;
        }
        for partition in partitions {
            self.engine
                .admit(self.container, partition, self.options.claim, key)?;
        }
        let made = self.make(segment, start.as_ref());
        let charge = match &made {
            Ok((done, _)) => done.meta.charge,
            Err(_) => Charge::ONE,
        };
        // Who has how much of the work is not told apart.
        let share = Charge(charge.units() / partitions.len() as f64);
        let rows = made.as_ref().map_or(0, |(done, _)| done.value.count);
        for (at, partition) in partitions.iter().enumerate() {
            self.engine
                .settle(self.container, partition, self.options.claim, key, share);
            if self.engine.metering().statistics {
                let rows = if at == 0 { u64::from(rows) } else { 0 };
                let shapes = self.container.query_shapes();
                let share = meter::hundredths(share);
                shapes.note(&self.spec.text, partition.id(), share, rows);
            }
        }
        let first = partitions.first();
        let (mut done, rest) = made.map_err(|error| match first {
            Some(first) => failure(error, first),
            None => error.into(),
        })?;
        let origin = self.prepared.origin(self.container);
        done.value.continuation = rest.and_then(|rest| QueryPosition::join(&[rest], origin));
        Ok(done)
    }

    fn make(
        &self,
        segment: &EpkRange,
        start: Option<&QueryPosition>,
    ) -> Result<(Answer<QueryPage>, Option<QueryPosition>), Error> {
        let started = self.engine.clock().now_us();
        let snapshots: Vec<PartitionSnapshot> = self
            .scope
            .partitions
            .iter()
            .map(|partition| self.engine.snapshot(partition))
            .collect::<Result<_, _>>()?;
        let first = snapshots
            .first()
            .ok_or(Error::Damaged("partition map"))?
            .lsn();
        let mut runs = self.runs(segment, Arrival::Sorted);
        let mut choices = choose(&runs, &snapshots)?;
        let is_sorted = choices
            .iter()
            .all(|choice| choice.access.kind() == AccessKind::Ordered);
        if !is_sorted {
            runs = self.runs(segment, Arrival::Inserted);
            choices = choose(&runs, &snapshots)?;
        }
        let narrowed = choices.iter().all(|choice| choice.narrowed);
        let seeks = choices.iter().map(|choice| choice.cost.seeks).sum();
        let basis = Basis {
            kind: match choices.first() {
                Some(choice) => choice.access.kind(),
                None => AccessKind::Scan,
            },
            cost: QueryCost {
                seeks,
                ..QueryCost::default()
            },
            narrowed,
            lsn: first,
            started,
            compile_us: self.compile_us,
            index_us: self.engine.clock().now_us().saturating_sub(started),
        };
        let partition = self.scope.partitions.first();
        let partition = partition.ok_or(Error::Damaged("partition map"))?;
        // What is not wanted does not come to it.
        let whole = self.run(partition, segment, Vec::new(), Arrival::Any);
        whole.fill(&basis, start, self.spec, |_, begin| {
            let grounds = runs.iter().zip(&snapshots);
            let grounds = grounds.map(|(run, snapshot)| Ground { run, snapshot });
            Merged::new(choices.into_iter().zip(grounds), begin, is_sorted)
        })
    }

    fn runs<'s>(&'s self, segment: &EpkRange, arrival: Arrival) -> Vec<PageRun<'s>> {
        let scope = self.scope;
        let run = |partition: &'s Arc<Partition>| {
            let own = partition.range();
            let wanted = page::wanted(own, segment, &scope.space, &scope.keys, self.state);
            self.run(partition, segment, wanted, arrival)
        };
        scope.partitions.iter().map(run).collect()
    }

    fn run<'r>(
        &'r self,
        partition: &'r Partition,
        segment: &EpkRange,
        wanted: Vec<EpkRange>,
        arrival: Arrival,
    ) -> PageRun<'r> {
        PageRun {
            engine: self.engine,
            container: self.container,
            state: self.state,
            prepared: self.prepared,
            partition,
            keys: &self.scope.keys,
            wanted,
            segment: segment.clone(),
            most_rows: self.options.max_items,
            arrival,
        }
    }
}

fn choose(runs: &[PageRun<'_>], snapshots: &[PartitionSnapshot]) -> Result<Vec<Choice>, Error> {
    let pairs = runs.iter().zip(snapshots);
    pairs
        .map(|(run, snapshot)| access::choose(run, snapshot))
        .collect()
}

/// Items of several partitions in one order.
struct Merged<'g> {
    heads: Vec<Head<'g>>,
    is_sorted: bool,
}

/// The next items of a partition.
struct Head<'g> {
    source: Source,
    ground: Ground<'g>,
    /// With their sort values, where these decide.
    ready: VecDeque<(Fetched, Vec<Value<'static>>)>,
    is_done: bool,
}

impl<'g> Merged<'g> {
    fn new(
        choices: impl Iterator<Item = (Choice, Ground<'g>)>,
        begin: &Start<'_>,
        is_sorted: bool,
    ) -> Result<Self, Error> {
        let head = |(choice, ground): (Choice, Ground<'g>)| {
            Ok(Head {
                source: Source::new(choice.access, begin, ground)?,
                ground,
                ready: VecDeque::new(),
                is_done: false,
            })
        };
        let heads = choices.map(head).collect::<Result<_, Error>>()?;
        Ok(Self { heads, is_sorted })
    }

    /// The head whose next item comes first.
    fn first(&mut self) -> Option<&mut Head<'g>> {
        let is_sorted = self.is_sorted;
        let heads = self.heads.iter_mut();
        heads
            .filter(|head| !head.ready.is_empty())
            .min_by(
                |left, right| match (left.ready.front(), right.ready.front()) {
                    (Some((left_item, left_keys)), Some((right_item, right_keys))) if is_sorted => {
                        let program = &left.ground.run.prepared.program;
                        let left = (left_keys.as_slice(), left_item.docid.0);
                        program.sort_order(left, (right_keys, right_item.docid.0))
                    }
                    (Some((left, _)), Some((right, _))) => left.docid.cmp(&right.docid),
                    _ => Ordering::Equal,
                },
            )
    }
}

impl<'env> Head<'env> {
    fn refill<'scope>(
        &mut self,
        is_sorted: bool,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<(), Error>
    where
        'env: 'scope,
    {
        let run = self.ground.run;
        while !self.is_done && self.ready.is_empty() {
            let chunk = self.source.next(self.ground, scope)?;
            self.is_done = chunk.is_empty();
            let wanted = chunk.into_iter().filter(|one| run.wants(&one.item));
            self.ready.extend(wanted.map(|fetched| {
                let keys = if is_sorted {
                    run.prepared.program.sort_values(fetched.as_item())
                } else {
                    Vec::new()
                };
                (fetched, keys)
            }));
        }
        Ok(())
    }
}

impl<'env> Supply<'env> for Merged<'env> {
    fn next<'scope>(&mut self, scope: &'scope Scope<'scope, 'env>) -> Result<Vec<Fetched>, Error>
    where
        'env: 'scope,
    {
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK {
            for head in &mut self.heads {
                head.refill(self.is_sorted, scope)?;
            }
            let Some(head) = self.first() else { break };
            chunk.extend(head.ready.pop_front().map(|(fetched, _)| fetched));
        }
        Ok(chunk)
    }
}
