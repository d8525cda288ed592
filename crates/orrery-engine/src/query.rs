//! Queries over the items of a container, one page at a time.
//!
//! [`prepare`] turns text into a program and finds the key space that the query concerns;
//! [`access`] chooses how to come by the items of a partition (index seeks, one logical
//! partition, a scan); [`page`] pushes them through the program until the page is full;
//! [`position`] is where the next page goes on.
//!
//! A page never leaves its partition: its session token names one range. Rows of several ranges
//! are put one after the other only where that is all the merging there is; any other query over
//! several ranges is the client's to merge (protocol: section 8.1). Only a query that began on one
//! range, or that asks for one, goes on over what became of it ([`joint`]).

mod access;
mod docid_stream;
mod docids;
mod index_groups;
mod index_only;
mod joint;
mod lists;
mod metrics;
mod missing;
mod near;
mod page;
mod position;
mod prepare;
mod read_ahead;
mod seek;
mod source;
mod waiting;
mod walk;

use std::collections::VecDeque;
use std::sync::Arc;

use orrery_model::charge::Charge;
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::partition_key::PartitionKey;
use orrery_model::session::SessionToken;
use orrery_sql::index_metrics::IndexMetrics;
use orrery_sql::plan::Features;

use crate::answer::{Answer, Failure, Meta};
use crate::catalog::feeds::QuerySpec;
use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;
use crate::feed::Scope;
use crate::page::Target;
use crate::partition::Partition;
use crate::throughput::claim::Claim;
use crate::throughput::meter;
use access::Arrival;
use joint::JointQuery;
use page::PageRun;
use position::QueryPosition;
use prepare::Prepared;

pub(crate) use lists::ListCache;
pub use metrics::{AccessKind, QueryMetrics};
pub(crate) use missing::MissingCache;
pub(crate) use prepare::QueryCache;
pub(crate) use read_ahead::Readers;

/// Knobs of the query planner. They change what a query costs, never what it answers.
#[derive(Debug, Clone, Copy)]
pub struct QueryTuning {
    /// Up to so many items are sorted even where an index has them in order.
    pub sort_at_most: usize,
    /// The same as a multiple of the square root of all items: a walk passes about one item in so
    /// many that match, a sort loads all that match.
    pub sort_per_root: usize,
    /// Up to so many items or entries are read without another thread that helps.
    pub alone_at_most: u64,
}

impl Default for QueryTuning {
    fn default() -> Self {
        Self {
            sort_at_most: 2_000,
            sort_per_root: 10,
            alone_at_most: 1_000,
        }
    }
}

/// The headers of a query that matter here.
#[derive(Debug, Clone, Default)]
pub struct QueryOptions {
    /// Most rows of the page; `None` and -1 of the wire leave it to us.
    pub max_items: Option<u32>,
    /// The token of the previous page.
    pub continuation: Option<String>,
    /// The session position that the answer must include.
    pub session: Vec<SessionToken>,
    /// `x-ms-documentdb-query-enablecrosspartition`.
    pub cross_partition: bool,
    /// Answer for a range that is gone from those that have its key space; without it such a
    /// query is refused.
    pub answer_for_gone: bool,
    /// Tell how the query stands to the index, and what it had better do another way.
    pub explain: bool,
    /// How the request stands to others.
    pub claim: Claim,
}

/// How a query stands to the index of its container.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The indexes that it uses, and those that it could use.
    pub index: IndexMetrics,
    /// Query advice, as JSON.
    pub advice: String,
}

/// One page of rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryPage {
    /// The rows' JSON texts, joined by commas.
    pub rows: Vec<u8>,
    /// How many.
    pub count: u32,
    /// The next page's token; `None` when the query is at its end.
    pub continuation: Option<String>,
    /// What it took.
    pub metrics: QueryMetrics,
    /// Where it was asked for.
    pub explanation: Option<Explanation>,
}

impl Engine {
    /// One page of a query.
    pub fn query(
        &self,
        container: &Container,
        spec: &QuerySpec,
        target: &Target,
        options: &QueryOptions,
    ) -> Result<Answer<QueryPage>, Failure> {
        let started = self.clock().now_us();
        let state = container.state();
        let prepared = self.prepare(&state, spec)?;
        let compile_us = self.clock().now_us().saturating_sub(started);
        let mut positions = match &options.continuation {
            None => VecDeque::new(),
            Some(token) => QueryPosition::parse_all(token, prepared.origin(container))?,
        };
        let begun = positions.front().map(|position| &position.space);
        let scope = query_scope(container, &state, &prepared, target, options, begun)?;
        prepared.check_index(&state)?;
        if scope.is_joint {
            let query = JointQuery {
                engine: self,
                container,
                state: &state,
                prepared: &prepared,
                spec,
                scope: &scope,
                options,
                compile_us,
            };
            let mut done = query.page(positions.pop_front())?;
            done.value.explanation = explanation(&state, &prepared, options, target);
            return Ok(done);
        }
        // Positions in key space that the target does not have are others' to go on with.
        while positions.len() > 1 && !scope.covers_some(&positions[0].space) {
            positions.pop_front();
        }
        let position = positions.pop_front();
        let mut waiting = scope
            .partitions
            .iter()
            .filter(|partition| is_ahead(partition, position.as_ref()));
        let Some(partition) = waiting.next() else {
            return Ok(nothing_left(scope.partitions.last()));
        };
        let refuse = |error| failure(error, partition);
        self.check_session(partition, &options.session)
            .map_err(refuse)?;
        let mine = |position: &&QueryPosition| partition.range().overlaps(&position.space);
        let start = position.as_ref().filter(mine).cloned();
        let segment = start
            .as_ref()
            .map_or(partition.range(), |start| &start.space);
        let key = scope.logical_partition(&state);
        let key = key.as_ref().map(EffectivePartitionKey::as_bytes);
        self.admit(container, partition, options.claim, key)?;
        let run = PageRun {
            engine: self,
            container,
            state: &state,
            prepared: &prepared,
            partition,
            keys: &scope.keys,
            wanted: page::wanted(
                partition.range(),
                segment,
                &scope.space,
                &scope.keys,
                &state,
            ),
            segment: segment
                .intersect(partition.range())
                .unwrap_or_else(|| segment.clone()),
            most_rows: options.max_items,
            arrival: Arrival::Any,
        };
        let done = run.page(start.clone(), spec, compile_us).map_err(refuse);
        let charge = match &done {
            Ok((done, _)) => done.meta.charge,
            Err(failure) => failure.meta.charge,
        };
        self.settle(container, partition, options.claim, key, charge);
        let (mut done, rest) = done?;
        if self.metering().statistics {
            let rows = u64::from(done.value.count);
            let shapes = container.query_shapes();
            shapes.note(&spec.text, partition.id(), meter::hundredths(charge), rows);
        }
        let is_range = matches!(target, Target::Range { .. });
        let left = start
            .as_ref()
            .and_then(|start| start.left_behind(partition.range()))
            .filter(|left| scope.covers_some(&left.space));
        let mut ahead: Vec<QueryPosition> = rest.into_iter().chain(left).chain(positions).collect();
        if ahead.is_empty() {
            // A client that asks range by range looks after the others by itself.
            let merged = start
                .filter(|_| !is_range)
                .and_then(|start| start.merged_behind(partition.range()))
                .filter(|merged| scope.covers_some(&merged.space));
            let next = || Some(QueryPosition::start_of(waiting.next()?.range().clone()));
            ahead.extend(merged.or_else(next));
        }
        done.value.explanation = explanation(&state, &prepared, options, target);
        if !ahead.is_empty() {
            let origin = prepared.origin(container);
            done.value.continuation = QueryPosition::join(&ahead, origin);
        }
        Ok(done)
    }

    /// The plan that a client merges by (protocol: section 8.3), as JSON.
    pub fn query_plan(
        &self,
        container: &Container,
        spec: &QuerySpec,
        features: &str,
    ) -> Result<Answer<Vec<u8>>, Failure> {
        let state = container.state();
        let features = Features::parse(features);
        let plan = prepare::plan(self, &state, spec, Some(features))?;
        let value = plan.to_json().into_bytes();
        // A plan touches no partition; the service charges it like a small read.
        Ok(Answer {
            value,
            meta: Meta::of_charge(Charge::ONE),
        })
    }
}

/// The key space and partitions of a query: what the target says, narrowed by WHERE. `begun` is
/// the key space of the range that the page before came from.
fn query_scope(
    container: &Container,
    state: &ContainerState,
    prepared: &Prepared,
    target: &Target,
    options: &QueryOptions,
    begun: Option<&EpkRange>,
) -> Result<QueryScope, Error> {
    let mut scope = QueryScope::from(match (Scope::resolve(container, state, target), target) {
        (Err(gone), Target::Range { id, epk }) if options.answer_for_gone => {
            Scope::of_gone(container, *id, epk.as_ref()).ok_or(gone)?
        }
        (resolved, _) => resolved?,
    });
    if let Target::Key(key) = target
        && state.key_definition().is_full(key)
    {
        // Whatever keys WHERE names, only this one is asked for.
        scope.keys = vec![key.clone()];
    } else if let Some(keys) = prepared.keys(state) {
        scope.narrow(container, state, keys);
    } else if *target == Target::All && !options.cross_partition {
        return Err(Error::CrossPartitionDisabled);
    }
    if !prepared.program.reads_items() {
        scope.partitions.truncate(1);
    }
    // A full key or a range is the client's own choice: everything runs inside it. Aggregates with
    // names go to the client even where WHERE names one key (the Python SDK's tests rely on it).
    let several = scope.partitions.len() > 1;
    let is_divided = *target == Target::All && container.ranges().partitions().len() > 1;
    if several || is_divided && options.cross_partition && prepared.program.is_grouped() {
        // One range had all of it when it began, or it asks for one range.
        let is_one = matches!(target, Target::Range { .. })
            || begun.is_some_and(|begun| scope.lies_in(begun, state));
        let plan = prepared.plan(state);
        if is_one {
            // What a client has rewritten may have no plan of its own.
            scope.is_joint = several && !plan.is_ok_and(|plan| plan.is_plain());
        } else {
            let plan = plan?;
            if several && !plan.is_plain() || plan.names_aggregates() {
                return Err(Error::CrossPartition {
                    plan: plan.to_json().into_bytes(),
                });
            }
        }
    }
    Ok(scope)
}

/// What a query covers.
struct QueryScope {
    /// One stretch of key space that holds everything.
    space: EpkRange,
    /// The partitions to ask, in order.
    partitions: Vec<Arc<Partition>>,
    /// The only keys or prefixes of keys that count; empty when all do.
    keys: Vec<PartitionKey>,
    /// The partitions are to be read as one.
    is_joint: bool,
}

impl From<Scope> for QueryScope {
    fn from(scope: Scope) -> Self {
        Self {
            space: scope.space,
            partitions: scope.partitions,
            keys: Vec::new(),
            is_joint: false,
        }
    }
}

impl QueryScope {
    /// Whether one of the partitions owns a part of this space.
    fn covers_some(&self, space: &EpkRange) -> bool {
        let mut partitions = self.partitions.iter();
        self.space.overlaps(space) && partitions.any(|one| one.range().overlaps(space))
    }

    /// Whether all that the query covers lies in this space.
    fn lies_in(&self, space: &EpkRange, state: &ContainerState) -> bool {
        let definition = state.key_definition();
        let mut keys = self.keys.iter();
        space.covers(&self.space)
            || !self.keys.is_empty() && keys.all(|key| space.covers(&definition.prefix_range(key)))
    }

    /// The logical partition that the query stays in, if it stays in one.
    fn logical_partition(&self, state: &ContainerState) -> Option<EffectivePartitionKey> {
        let [key] = self.keys.as_slice() else {
            return None;
        };
        let definition = state.key_definition();
        definition.is_full(key).then(|| definition.effective(key))
    }

    /// Leaves only partitions that own one of the keys.
    fn narrow(&mut self, container: &Container, state: &ContainerState, keys: Vec<PartitionKey>) {
        let definition = state.key_definition();
        let (keys, spaces): (Vec<PartitionKey>, Vec<EpkRange>) = keys
            .into_iter()
            .map(|key| {
                let space = definition.prefix_range(&key);
                (key, space)
            })
            .filter(|(_, space)| self.space.overlaps(space))
            .unzip();
        let concerned = |partition: &Arc<Partition>| {
            let mut spaces = spaces.iter();
            spaces.any(|space| partition.range().overlaps(space))
        };
        let partitions: Vec<_> = self
            .partitions
            .iter()
            .filter(|p| concerned(p))
            .cloned()
            .collect();
        // A contradiction still costs an answer from somewhere, and a session position.
        if partitions.is_empty() {
            self.partitions.truncate(1);
            if self.partitions.is_empty() {
                self.partitions
                    .extend(container.ranges().partitions().first().cloned());
            }
        } else {
            self.partitions = partitions;
        }
        self.keys = keys;
    }
}

/// Whether a partition still has rows to give after a position.
fn is_ahead(partition: &Partition, position: Option<&QueryPosition>) -> bool {
    position.is_none_or(|position| {
        partition.range().overlaps(&position.space) || partition.range().min >= position.space.max
    })
}

fn failure(error: Error, partition: &Partition) -> Failure {
    let meta = Meta::at(partition, partition.lsn(), Charge::ONE);
    Failure { error, meta }
}

fn nothing_left(last: Option<&Arc<Partition>>) -> Answer<QueryPage> {
    let meta = match last {
        Some(partition) => Meta::at(partition, partition.lsn(), Charge::ONE),
        None => Meta::of_charge(Charge::ONE),
    };
    Answer {
        value: QueryPage::default(),
        meta,
    }
}

fn explanation(
    state: &ContainerState,
    prepared: &Prepared,
    options: &QueryOptions,
    target: &Target,
) -> Option<Explanation> {
    let named = match target {
        Target::Key(key) => Some(key),
        _ => None,
    };
    options.explain.then(|| Explanation {
        index: prepared.index_metrics(state, named),
        advice: prepared.advice(),
    })
}
