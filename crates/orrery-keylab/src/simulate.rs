//! The rows of a scenario: every candidate at every horizon.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::demand::{self, Charges, Window};
use crate::error::KeylabError;
use crate::evidence::Interval;
use crate::gate::{Finding, GateAnswer, GateName};
use crate::gates::{self, KeyFacts};
use crate::layout::{Building, Keys, Layout, Route, of_scenario};
use crate::outcome::{Outcome, Volume, evaluate};
use crate::placement::{Hash, PartitionRule, version1, version2};
use crate::report::text::percent;
use crate::routing::Reach;
use crate::scenario::{CandidateSpec, Horizon, KeySpec, Scenario};
use crate::verdict::Verdict;
use orrery_model::limits::Limits;

/// A scenario worked out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Simulation {
    /// The scenario's name.
    pub name: String,
    /// A row for each candidate, best first.
    pub rows: Vec<Row>,
}

/// One candidate.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The key.
    pub key: String,
    /// What it is made of.
    pub definition: KeySpec,
    /// Its place in the scenario's list.
    #[serde(skip)]
    pub place: usize,
    /// Over all horizons.
    pub verdict: Verdict,
    /// The first gate that fails, with the horizon.
    pub first_failure: Option<Failure>,
    /// 0 to 100: the worst horizon's part of the ideal.
    pub score: f64,
    /// How its requests are routed.
    pub routes: Vec<Route>,
    /// Effective number of values.
    pub effective_values: f64,
    /// Distinct values.
    pub distinct: f64,
    /// Its largest value.
    pub largest_name: String,
    /// The values that are asked for most, with request units a second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heaviest: Vec<(String, f64)>,
    /// Numbers by horizon.
    pub horizons: Vec<AtHorizon>,
    /// The growth of data, rates and throughput at which the first gate fails.
    pub headroom: Option<Headroom>,
    /// Share of the demand that is refused while a container with a hierarchical key is young: all
    /// of a first-level value then lies on one partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub young: Option<f64>,
    /// How simple the key is: natural 0, concatenated 1, hierarchical 2, labelled 3.
    pub complexity: u8,
}

impl Row {
    /// Requests a second that visit every partition.
    pub fn fan_out(&self) -> f64 {
        let everywhere = self
            .routes
            .iter()
            .filter(|route| route.reach == Reach::FanOut);
        everywhere.map(|route| route.rate).sum()
    }
}

/// Where a key fails first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The gate.
    pub gate: GateName,
    /// The horizon.
    pub horizon: String,
    /// Why.
    pub reason: String,
}

/// Numbers of one candidate at one horizon.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AtHorizon {
    /// The horizon.
    pub name: String,
    /// The verdict here alone.
    pub verdict: Verdict,
    /// What happens.
    pub outcome: Outcome,
    /// Every gate.
    pub gates: Vec<GateAnswer>,
}

/// How far a key carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Headroom {
    /// Growth of data, rates and throughput alike.
    pub factor: f64,
    /// The gate that fails then; none within the factor that was looked at.
    pub gate: Option<GateName>,
}

/// Two scores nearer than this are a tie: below the model's error.
pub const TIE: f64 = 5.0;
/// Growth up to this factor is looked at.
const FURTHEST: f64 = 1_024.0;

/// Works out a scenario with the service's hash.
pub fn simulate(scenario: &Scenario) -> Result<Simulation, KeylabError> {
    let hash: Hash<'_> = if scenario.container.version1 {
        &version1
    } else {
        &version2
    };
    simulate_with(scenario, hash)
}

/// Works out a scenario with any hash.
pub fn simulate_with(scenario: &Scenario, hash: Hash<'_>) -> Result<Simulation, KeylabError> {
    let mut rows = Vec::with_capacity(scenario.candidates.len());
    for (place, candidate) in scenario.candidates.iter().enumerate() {
        rows.push(row(scenario, candidate, place, hash)?);
    }
    rank(&mut rows);
    Ok(Simulation {
        name: scenario.name.clone(),
        rows,
    })
}

/// Best first: verdict, score (close ones are a tie), simplicity, shorter name.
pub fn rank(rows: &mut [Row]) {
    rows.sort_by(|left, right| {
        left.verdict
            .cmp(&right.verdict)
            .then(right.score.total_cmp(&left.score))
            .then(left.complexity.cmp(&right.complexity))
            .then(left.key.len().cmp(&right.key.len()))
            .then(left.place.cmp(&right.place))
    });
    // Within a tie with the best of its verdict, the simpler key leads, then the one with less
    // fan-out, then the one that grows further before a gate fails.
    let growth = |row: &Row| {
        row.headroom
            .as_ref()
            .map_or(0.0, |headroom| headroom.factor)
    };
    let mut start = 0;
    while start < rows.len() {
        let best = &rows[start];
        let (verdict, least) = (best.verdict, best.score - TIE);
        let tied = rows[start..]
            .iter()
            .take_while(|row| row.verdict == verdict && row.score > least)
            .count();
        rows[start..start + tied].sort_by(|left, right| {
            left.complexity
                .cmp(&right.complexity)
                .then(left.fan_out().total_cmp(&right.fan_out()))
                .then(growth(right).total_cmp(&growth(left)))
                .then(left.key.len().cmp(&right.key.len()))
        });
        start += tied.max(1);
    }
}

fn row(
    scenario: &Scenario,
    candidate: &CandidateSpec,
    place: usize,
    hash: Hash<'_>,
) -> Result<Row, KeylabError> {
    let charges = Charges::of(scenario);
    let demands = demand::settle(&scenario.workload, &candidate.adapt, &charges, Window::Mean)?;
    let has_peak = demands.iter().any(|demand| demand.pattern.peak > 1.0);
    let rule = PartitionRule {
        limits: Limits::default(),
        autoscale: scenario.container.autoscale,
    };
    let facts = facts(scenario, candidate);
    let mut layouts = Layouts::new(scenario, candidate, hash);
    let mut horizons = Vec::with_capacity(scenario.horizons.len());
    for horizon in &scenario.horizons {
        if !candidate.only_at.is_empty() && !candidate.only_at.contains(&horizon.name) {
            continue;
        }
        let volume = volume(horizon, candidate);
        let outcome = evaluate(layouts.of(horizon, Window::Mean)?, &volume, &rule);
        let peak = if has_peak {
            // The worst window meets the throughput that the average needs.
            let volume = Volume {
                ru: Some(outcome.provisioned),
                ..volume
            };
            Some(evaluate(layouts.of(horizon, Window::Peak)?, &volume, &rule))
        } else {
            None
        };
        let gates = gates::ask(&facts, &demands, &outcome, peak.as_ref(), &rule);
        horizons.push(AtHorizon {
            name: horizon.name.clone(),
            verdict: Verdict::of(&gates),
            outcome,
            gates,
        });
    }
    let first = scenario
        .horizons
        .first()
        .ok_or_else(|| KeylabError::invalid("horizons", "none"))?;
    let layout = layouts.of(first, Window::Mean)?.clone();
    let holds = horizons.iter().all(|at| at.verdict != Verdict::Reject);
    let headroom = holds
        .then(|| headroom(&facts, &demands, &layout, &volume(first, candidate), &rule))
        .flatten();
    let young = young(&layout, &volume(first, candidate), &rule);
    Ok(of_parts(
        candidate.title(),
        &candidate.key,
        place,
        horizons,
        &layout,
        headroom,
        young,
    ))
}

/// Share of the demand that a young container refuses, if the key is hierarchical.
pub fn young(layout: &Layout, volume: &Volume, rule: &PartitionRule) -> Option<f64> {
    /// Gigabytes of a container that has just begun.
    const YOUNG_GB: f64 = 0.5;
    if !matches!(layout.keys, Keys::Hierarchy { .. }) {
        return None;
    }
    let volume = Volume {
        gb: volume.gb.min(YOUNG_GB),
        partitions: None,
        ..volume.clone()
    };
    Some(evaluate(layout, &volume, rule).throttled)
}

/// Puts a row together.
pub fn of_parts(
    key: String,
    definition: &KeySpec,
    place: usize,
    horizons: Vec<AtHorizon>,
    layout: &Layout,
    headroom: Option<Headroom>,
    young: Option<f64>,
) -> Row {
    let verdict = horizons
        .iter()
        .map(|at| at.verdict)
        .max()
        .unwrap_or(Verdict::Accept);
    let first_failure = first_failure(&horizons);
    let score = horizons
        .iter()
        .map(|at| at.outcome.score())
        .fold(100.0, f64::min);
    Row {
        key,
        definition: definition.clone(),
        place,
        verdict,
        first_failure,
        score,
        routes: layout.routes.clone(),
        effective_values: layout.effective_values,
        distinct: layout.distinct,
        largest_name: layout.largest_name.clone(),
        heaviest: layout.heavy.clone(),
        horizons,
        headroom,
        young,
        complexity: complexity(definition),
    }
}

/// The first gate that fails at the first horizon at which one does.
pub(crate) fn first_failure(horizons: &[AtHorizon]) -> Option<Failure> {
    horizons.iter().find_map(|at| {
        let answer = at
            .gates
            .iter()
            .find(|answer| answer.finding == Finding::Fail)?;
        Some(Failure {
            gate: answer.gate,
            horizon: at.name.clone(),
            reason: answer.reason.clone(),
        })
    })
}

/// How far from a natural key.
pub fn complexity(key: &KeySpec) -> u8 {
    match key {
        KeySpec::Path(_) => 0,
        KeySpec::Concat { .. } => 1,
        KeySpec::Hierarchy(_) => 2,
        KeySpec::Suffix { .. } | KeySpec::Copies { .. } => 3,
    }
}

pub(crate) fn volume(horizon: &Horizon, candidate: &CandidateSpec) -> Volume {
    Volume {
        gb: horizon.gb,
        ru: horizon.ru,
        rates: horizon.rates,
        partitions: candidate
            .partitions
            .get(&horizon.name)
            .copied()
            .or(horizon.partitions),
    }
}

pub(crate) fn facts(scenario: &Scenario, candidate: &CandidateSpec) -> KeyFacts {
    let mut fields: Vec<String> = candidate
        .key
        .fields()
        .into_iter()
        .map(str::to_owned)
        .collect();
    if let KeySpec::Suffix { suffix } = &candidate.key {
        fields.extend(suffix.hash.clone());
    }
    let mut facts = KeyFacts {
        unique: scenario.container.unique.clone(),
        ..KeyFacts::default()
    };
    let mut changes = 0.0_f64;
    for name in &fields {
        let Some(field) = candidate
            .fields
            .get(name)
            .or_else(|| scenario.fields.get(name))
        else {
            continue;
        };
        changes = changes.max(field.changes);
        for (share, what) in [(field.missing, "lack"), (field.nulls, "have null in")] {
            if share > 0.0 {
                let reason = format!(
                    "{} of the items {what} {name}: they all share one value",
                    percent(share)
                );
                facts.validity.push((Finding::Warn, share, reason));
            }
        }
    }
    if changes > 0.0 {
        facts.changes = Some(Interval::exact(changes));
    }
    facts.fields = fields;
    facts
}

/// The growth of data, rates and throughput at which the first gate fails.
pub fn headroom(
    facts: &KeyFacts,
    demands: &[demand::Demand<'_>],
    layout: &Layout,
    volume: &Volume,
    rule: &PartitionRule,
) -> Option<Headroom> {
    let fails = |factor: f64| {
        let grown = Volume {
            gb: volume.gb * factor,
            ru: volume
                .ru
                .map(|ru| (ru * factor).min(rule.limits.max_rate as f64)),
            rates: volume.rates * factor,
            partitions: None,
        };
        let outcome = evaluate(layout, &grown, rule);
        gates::ask(facts, demands, &outcome, None, rule)
            .into_iter()
            .find(|answer| answer.finding == Finding::Fail)
            .map(|answer| answer.gate)
    };
    if fails(1.0).is_some() {
        return None;
    }
    let (mut low, mut high) = (1.0, 2.0);
    while high <= FURTHEST && fails(high).is_none() {
        low = high;
        high *= 2.0;
    }
    if high > FURTHEST {
        return Some(Headroom {
            factor: FURTHEST,
            gate: None,
        });
    }
    let mut gate = fails(high);
    for _ in 0..6 {
        let middle = f64::midpoint(low, high);
        match fails(middle) {
            Some(found) => {
                high = middle;
                gate = Some(found);
            }
            None => low = middle,
        }
    }
    Some(Headroom { factor: low, gate })
}

/// Layouts by window and by the fields that the horizon changes, each built once.
struct Layouts<'a> {
    scenario: &'a Scenario,
    candidate: &'a CandidateSpec,
    hash: Hash<'a>,
    built: Vec<(Window, BTreeMap<String, u64>, Layout)>,
}

impl<'a> Layouts<'a> {
    fn new(scenario: &'a Scenario, candidate: &'a CandidateSpec, hash: Hash<'a>) -> Self {
        Self {
            scenario,
            candidate,
            hash,
            built: Vec::new(),
        }
    }

    fn of(&mut self, horizon: &Horizon, window: Window) -> Result<&Layout, KeylabError> {
        let known = self
            .built
            .iter()
            .position(|(of, counts, _)| *of == window && *counts == horizon.counts);
        let at = if let Some(at) = known {
            at
        } else {
            let layout = of_scenario(&Building {
                scenario: self.scenario,
                candidate: self.candidate,
                counts: &horizon.counts,
                window,
                hash: self.hash,
                measured: None,
            })?;
            self.built.push((window, horizon.counts.clone(), layout));
            self.built.len() - 1
        };
        Ok(&self.built[at].2)
    }
}
