//! The workload on the model: items are loaded, charges are learnt, requests arrive at random.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use orrery_engine::catalog::feeds::QuerySpec;
use orrery_engine::index::IndexingDirective;
use orrery_engine::page::Target;
use orrery_engine::query::QueryOptions;
use orrery_engine::read::ReadOptions;
use orrery_engine::write::{
    BatchKind, BatchOperation, Conditions, ItemRef, WriteKind, WriteRequest,
};
use orrery_engine::{Error, Failure, Meta};
use orrery_keylab::demand::MeasuredCharge;
use orrery_keylab::verify::request::{Action, Address, Question, Request};
use orrery_keylab::verify::requests::Requests;
use orrery_keylab::verify::{Measurement, PatternCount, Subject, Taken};
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::partition_key::{KeyComponent, PartitionKey};
use serde::Deserialize;

use super::Size;
use super::model::{Model, is_throttled, told};

/// Requests of each pattern from which its charge is learnt.
const LEARNT_FROM: u64 = 300;
/// The part of the measured time that goes before it.
const WARM_UP: f64 = 0.2;
/// How many times the visits that are wanted a model may have, since throughput cannot be scaled
/// below one request unit a second.
const MOST_TIMES: f64 = 20.0;
/// Seconds without requests before the measured ones.
const REST: f64 = 10_000_000.0;
/// Features that a client names when it asks for a plan; none of them matters to which ranges a
/// filter leaves.
const FEATURES: &str = "Aggregate, CompositeAggregate, Distinct, GroupBy, MultipleOrderBy, \
    NonValueAggregate, OffsetAndLimit, OrderBy, Top";

/// Builds the model of a subject and replays its workload.
pub fn run(subject: &Subject<'_>, size: Size) -> Result<Measurement> {
    let seconds = size.seconds as f64;
    let wanted = size.visits as f64 / (subject.visits() * seconds).max(1.0);
    let rate = (subject.provisioned() * wanted.min(1.0)).round().max(1.0);
    // Throughput is a whole number: the scale is what it makes of it.
    let scale = rate / subject.provisioned();
    let visits = subject.visits() * scale * seconds;
    if visits > size.visits as f64 * MOST_TIMES {
        bail!(
            "{:.1e} requests a second are too many for {} RU/s to be replayed: even at 1 RU/s there would be {visits:.1e} visits; lower the rates or the peak",
            subject.rate()?,
            subject.provisioned()
        );
    }
    let begins = subject.places().begins();
    let model = Model::build(subject.key(), rate as u64, begins, size.seed)?;
    let mut requests = subject.requests(size.seed)?;
    let mut replay = Replay {
        subject,
        model,
        pages: subject.page_sizes()?,
        measurement: Measurement {
            seconds,
            scale,
            ..Measurement::default()
        },
        costs: Vec::new(),
    };
    replay.load(&mut requests, size.items)?;
    let rate = subject.rate()? * scale;
    replay.prepare(&mut requests, rate, size)?;
    replay.learn(&mut requests, size)?;
    replay.replay(&mut requests, rate, size)?;
    Ok(replay.measurement)
}

/// A sequence of requests of its own, with numbers for its new items that no other has.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Charges are learnt from it.
    Learning,
    /// It is measured.
    Measuring,
}

impl Phase {
    fn begin(self, requests: &mut Requests<'_>, size: Size) {
        let (salt, first) = match self {
            Self::Learning => (0x4c45_4152_4e00, 0),
            Self::Measuring => (0x5255_4e00, 1_000_000_000),
        };
        requests.restart(size.seed.wrapping_add(salt), first);
    }
}

struct Replay<'a, 's> {
    subject: &'s Subject<'a>,
    model: Model,
    /// Rows of a page, by pattern.
    pages: Vec<u32>,
    measurement: Measurement,
    /// Mean charge of a visit, by pattern.
    costs: Vec<f64>,
}

/// One visit of a partition.
struct Visit {
    /// Its place.
    place: usize,
    /// What it cost; `None` when it was refused.
    charge: Option<f64>,
}

impl Replay<'_, '_> {
    fn load(&mut self, requests: &mut Requests<'_>, items: u64) -> Result<()> {
        let partitions = self.subject.places().len();
        self.measurement.expected_bytes = vec![0; partitions];
        for number in 0..items {
            let (address, body) = requests.item(number);
            let expected = *self.subject.places().holding(&address.key, true).start();
            let bytes = body.len() as u64;
            let meta = match self.write(&address.key, WriteKind::Create { body }) {
                Ok(meta) => meta,
                // Two items of a sample may have one id in one key.
                Err(failure) if matches!(failure.error, Error::Conflict(_)) => continue,
                Err(failure) => return Err(told(&failure)).context("an item cannot be loaded"),
            };
            self.measurement.expected_bytes[expected] += bytes;
            self.measurement.items += 1;
            let right = self.model.place(meta.range) == Some(expected);
            self.measurement.placed_right += u64::from(right);
        }
        self.measurement.stored_bytes = self.model.stored_bytes();
        self.measurement.largest_bytes = self.model.largest_bytes()?;
        Ok(())
    }

    /// Makes the items that later requests read and change, so that none of them misses. The same
    /// seeds draw the same requests again afterwards.
    fn prepare(&mut self, requests: &mut Requests<'_>, rate: f64, size: Size) -> Result<()> {
        let mut wanted: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut want = |requests: &Requests<'_>, request: &Request| -> Result<()> {
            let Some(address) = request.action.target() else {
                return Ok(());
            };
            let mut name = PartitionKey(address.key.clone()).to_bytes();
            name.extend_from_slice(address.id.as_bytes());
            if !wanted.insert(name) {
                return Ok(());
            }
            let body = requests.body(address, 0);
            match self.write(&address.key, WriteKind::Create { body }) {
                Ok(_) => Ok(()),
                // It was loaded before.
                Err(failure) if matches!(failure.error, Error::Conflict(_)) => Ok(()),
                Err(failure) => Err(told(&failure)).context("an item cannot be made"),
            }
        };
        Phase::Learning.begin(requests, size);
        for pattern in 0..self.pages.len() {
            for _ in 0..LEARNT_FROM {
                let request = requests.of_pattern(pattern);
                want(requests, &request)?;
            }
        }
        Phase::Measuring.begin(requests, size);
        for_time(requests, rate, size, |requests, _, request| {
            want(requests, &request)
        })
    }

    /// Learns what the engine charges, with nothing refused.
    fn learn(&mut self, requests: &mut Requests<'_>, size: Size) -> Result<()> {
        Phase::Learning.begin(requests, size);
        for (pattern, route) in self.subject.routes()?.iter().enumerate() {
            let mut taken = Taken {
                least: f64::INFINITY,
                ..Taken::default()
            };
            for _ in 0..LEARNT_FROM {
                let request = requests.of_pattern(pattern);
                let visits = self.carry_out(&request)?;
                taken.requests += 1;
                taken.visits += visits.len() as u64;
                for charge in visits.iter().filter_map(|visit| visit.charge) {
                    taken.charge += charge;
                    taken.least = taken.least.min(charge);
                }
            }
            self.costs.push(taken.charge / taken.visits.max(1) as f64);
            let charge: MeasuredCharge = self.subject.charge_of(route, taken);
            self.measurement
                .charges
                .insert(route.pattern.clone(), charge);
            self.measurement.patterns.push(PatternCount {
                name: route.pattern.clone(),
                ..PatternCount::default()
            });
        }
        Ok(())
    }

    /// The workload with budgets: arrivals at random, no retries.
    fn replay(&mut self, requests: &mut Requests<'_>, rate: f64, size: Size) -> Result<()> {
        // Whatever loading and learning took beyond the budgets is paid back by then.
        self.model.clock.advance(REST);
        self.model.engine.set_throttle(true);
        self.measurement.asked = vec![0.0; self.subject.places().len()];
        let warm = WARM_UP * size.seconds as f64;
        Phase::Measuring.begin(requests, size);
        let mut last = 0.0;
        for_time(requests, rate, size, |_, time, request| {
            self.model.clock.advance(time - last);
            last = time;
            let visits = self.carry_out(&request)?;
            if time >= warm {
                self.note(&request, &visits);
            }
            Ok(())
        })
    }

    fn note(&mut self, request: &Request, visits: &[Visit]) {
        let expected = self.expected(&request.action);
        let mut found: Vec<usize> = visits.iter().map(|visit| visit.place).collect();
        found.sort_unstable();
        let count = &mut self.measurement.patterns[request.pattern];
        count.requests += 1;
        count.expected_visits += expected.len() as u64;
        count.visits += found.len() as u64;
        count.astray += u64::from(expected != found);
        for visit in visits {
            // What was refused would have cost what such visits cost.
            let asked = visit.charge.unwrap_or(self.costs[request.pattern]);
            self.measurement.asked[visit.place] += asked;
            if visit.charge.is_none() {
                self.measurement.refused += asked;
            }
        }
    }

    /// The partitions that a request is to visit, in order.
    fn expected(&self, action: &Action) -> Vec<usize> {
        let places = self.subject.places();
        let whole = |key: &[KeyComponent]| *places.holding(key, true).start();
        match action {
            Action::Read(address)
            | Action::Replace(address, _)
            | Action::Patch(address, _)
            | Action::Delete(address) => vec![whole(&address.key)],
            Action::Batch(key, _) => vec![whole(key)],
            Action::Create(items) => {
                let mut found: Vec<usize> = items
                    .iter()
                    .map(|(address, _)| whole(&address.key))
                    .collect();
                found.sort_unstable();
                found
            }
            Action::Query(questions) => {
                let mut found: Vec<usize> = Vec::new();
                for question in questions {
                    match &question.keys {
                        None => found.extend(0..places.len()),
                        Some(keys) => {
                            let levels = self.subject.key_levels();
                            let mut visited: Vec<usize> = keys
                                .iter()
                                .flat_map(|key| places.holding(key, key.len() == levels))
                                .collect();
                            visited.sort_unstable();
                            visited.dedup();
                            found.extend(visited);
                        }
                    }
                }
                found.sort_unstable();
                found
            }
        }
    }

    fn carry_out(&self, request: &Request) -> Result<Vec<Visit>> {
        let one = |kind: WriteKind, key: &[KeyComponent]| {
            self.visit(key, self.write(key, kind))
                .map(|visit| vec![visit])
        };
        let item = |address: &Address| ItemRef::Id(address.id.clone());
        match &request.action {
            Action::Read(address) => {
                let key = PartitionKey(address.key.clone());
                let (engine, container) = (&self.model.engine, &self.model.container);
                let options = ReadOptions::default();
                let answer = engine.read_item(container, &key, &item(address), &options);
                let visit = self.visit(&address.key, answer.map(|answer| answer.meta))?;
                Ok(vec![visit])
            }
            Action::Query(questions) => {
                let mut visits = Vec::new();
                for question in questions {
                    self.ask(question, self.pages[request.pattern], &mut visits)?;
                }
                Ok(visits)
            }
            Action::Create(items) => items
                .iter()
                .map(|(address, body)| {
                    let kind = WriteKind::Create { body: body.clone() };
                    self.visit(&address.key, self.write(&address.key, kind))
                })
                .collect(),
            Action::Replace(address, body) => {
                let (item, body) = (item(address), body.clone());
                one(WriteKind::Replace { item, body }, &address.key)
            }
            Action::Patch(address, body) => {
                let (item, body) = (item(address), body.clone());
                one(WriteKind::Patch { item, body }, &address.key)
            }
            Action::Delete(address) => one(
                WriteKind::Delete {
                    item: item(address),
                },
                &address.key,
            ),
            Action::Batch(key, bodies) => {
                let operation = |body: &Vec<u8>| BatchOperation {
                    kind: BatchKind::Create { body: body.clone() },
                    key: None,
                    conditions: Conditions::default(),
                    indexing: IndexingDirective::default(),
                    minimal: false,
                };
                let kind = WriteKind::Batch {
                    operations: bodies.iter().map(operation).collect(),
                    atomic: true,
                    continue_on_error: false,
                };
                one(kind, key)
            }
        }
    }

    fn write(&self, key: &[KeyComponent], kind: WriteKind) -> Result<Meta, Failure> {
        let request = WriteRequest::new(kind, Some(PartitionKey(key.to_vec())));
        let answer = self.model.engine.write(&self.model.container, request);
        answer.map(|answer| answer.meta)
    }

    /// A visit of the partition that answered; one that refused tells no range, so the engine is
    /// asked who owns the key.
    fn visit(&self, key: &[KeyComponent], result: Result<Meta, Failure>) -> Result<Visit> {
        let (meta, charge) = match result {
            Ok(meta) => (meta, Some(meta.charge.units())),
            Err(failure) if is_throttled(&failure) => (failure.meta, None),
            Err(failure) => return Err(told(&failure)),
        };
        let range = if let Some(range) = meta.range {
            range
        } else {
            let state = self.model.container.state();
            let epk = state
                .key_definition()
                .effective(&PartitionKey(key.to_vec()));
            self.model.container.partition_of(&epk)?.id()
        };
        let place = self
            .model
            .place(Some(range))
            .context("a range that is not there")?;
        Ok(Visit { place, charge })
    }

    /// One query as an SDK runs it: the plan tells the ranges, each of which is asked by itself.
    fn ask(&self, question: &Question, rows: u32, visits: &mut Vec<Visit>) -> Result<()> {
        let (engine, container) = (&self.model.engine, &self.model.container);
        let spec = QuerySpec {
            text: question.text.clone(),
            parameters: question.parameters.clone(),
            resume_filter: None,
        };
        let plan = engine
            .query_plan(container, &spec, FEATURES)
            .map_err(|failure| told(&failure))
            .with_context(|| spec.text.clone())?;
        let options = QueryOptions {
            max_items: Some(rows),
            cross_partition: true,
            ..QueryOptions::default()
        };
        for range in self.planned(&plan.value)? {
            let target = Target::Range {
                id: range,
                epk: None,
            };
            let answer = engine.query(container, &spec, &target, &options);
            let charge = match answer {
                Ok(answer) if answer.meta.range == Some(range) => Some(answer.meta.charge.units()),
                Ok(answer) => bail!("range {range} answered as {:?}", answer.meta.range),
                Err(failure) if is_throttled(&failure) => None,
                Err(failure) => return Err(told(&failure)).with_context(|| spec.text.clone()),
            };
            let place = self
                .model
                .place(Some(range))
                .context("a range that is not there")?;
            visits.push(Visit { place, charge });
        }
        Ok(())
    }

    /// The ranges that a plan names, in order.
    fn planned(&self, plan: &[u8]) -> Result<Vec<PartitionKeyRangeId>> {
        let plan: Plan = serde_json::from_slice(plan)?;
        let mut spaces = Vec::with_capacity(plan.query_ranges.len());
        for range in &plan.query_ranges {
            let epk = |hex: &str| EffectivePartitionKey::from_hex(hex).context("a plan's range");
            spaces.push((epk(&range.min)?, epk(&range.max)?));
        }
        let map = self.model.container.ranges();
        let is_planned = |space: &EpkRange| {
            spaces.iter().any(|(min, max)| {
                // One key is a range whose ends are equal and belong to it.
                if min == max {
                    space.contains(min)
                } else {
                    space.overlaps(&EpkRange::new(min.clone(), max.clone()))
                }
            })
        };
        let planned = map
            .partitions()
            .iter()
            .filter(|one| is_planned(one.range()));
        Ok(planned.map(|one| one.id()).collect())
    }
}

/// What matters here of a query plan.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    query_ranges: Vec<PlannedRange>,
}

#[derive(Deserialize)]
struct PlannedRange {
    min: String,
    max: String,
}

/// Draws the requests that arrive in the time of a run, with their time.
fn for_time(
    requests: &mut Requests<'_>,
    rate: f64,
    size: Size,
    mut with: impl FnMut(&Requests<'_>, f64, Request) -> Result<()>,
) -> Result<()> {
    let end = (1.0 + WARM_UP) * size.seconds as f64;
    let mut time = requests.pause(rate);
    while time < end {
        let request = requests.draw();
        with(requests, time, request)?;
        time += requests.pause(rate);
    }
    Ok(())
}
