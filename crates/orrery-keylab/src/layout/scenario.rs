//! Layouts from the shares of a scenario.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use orrery_model::partition_key::KeyComponent;

use super::axis::Axis;
use super::reach::reach;
use super::{Keys, Layout, Route, hierarchy};
use crate::demand::{self, Charges, Demand, MeasuredCharge, Window};
use crate::error::KeylabError;
use crate::evidence::Interval;
use crate::placement::{Hash, SPACE};
use crate::report::text::key_text;
use crate::routing::Reach;
use crate::scenario::{CandidateSpec, Copies, KeySpec, LabelRule, ScalarValue, Scenario, Suffix};
use crate::shares::ValueSet;

/// Most keys of a candidate that are placed one by one.
const MAX_KEYS: usize = 8_000_000;

/// What a layout is built from.
pub struct Building<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The key.
    pub candidate: &'a CandidateSpec,
    /// Fields that have another number of values.
    pub counts: &'a BTreeMap<String, u64>,
    /// Which rates count.
    pub window: Window,
    /// The hash.
    pub hash: Hash<'a>,
    /// Charges that an engine took, by pattern. With them every visit is placed where it goes;
    /// without them the visits of a read beyond its first are spread evenly, as the published rows
    /// have it.
    pub measured: Option<&'a BTreeMap<String, MeasuredCharge>>,
}

impl<'a> Building<'a> {
    /// The workload as the candidate meets it.
    pub fn demands(&self) -> Result<Vec<Demand<'a>>, KeylabError> {
        let mut demands = demand::settle(
            &self.scenario.workload,
            &self.candidate.adapt,
            &Charges::of(self.scenario),
            self.window,
        )?;
        if let Some(measured) = self.measured {
            demand::measure(&mut demands, measured);
        }
        Ok(demands)
    }

    /// The values of a field.
    pub(crate) fn set(&self, field: &str) -> Result<ValueSet, KeylabError> {
        let spec = self
            .candidate
            .fields
            .get(field)
            .or_else(|| self.scenario.fields.get(field))
            .ok_or_else(|| KeylabError::invalid("fields", format!("'{field}' is no field")))?;
        ValueSet::of(
            spec,
            self.counts.get(field).copied(),
            &format!("fields.{field}"),
        )
    }
}

/// The layout of a candidate of a scenario.
pub fn of_scenario(building: &Building<'_>) -> Result<Layout, KeylabError> {
    let charges = Charges::of(building.scenario);
    let demands = building.demands()?;
    let fields = building.candidate.key.fields();
    let sets = fields
        .iter()
        .map(|field| building.set(field))
        .collect::<Result<Vec<_>, _>>()?;
    let routes = routes(building, &demands, &fields, &sets);
    let largest = largest(&building.candidate.key, &sets);
    let effective = |set: &ValueSet| {
        let squares = |share: &f64| share * share;
        let pairs = set.stored.iter().zip(&set.stands_for);
        1.0 / pairs
            .map(|(share, of)| squares(share) / of)
            .sum::<f64>()
            .max(1e-300)
    };
    let mut layout = Layout {
        keys: Keys::Flat {
            positions: Vec::new(),
            demand: Vec::new(),
            hottest: (0.0, String::new()),
        },
        scattered: 0.0,
        further_visits: 0.0,
        listings: Vec::new(),
        fan_out: 0.0,
        fan_out_ru: 0.0,
        visit: charges.visit,
        prefixes: Vec::new(),
        heavy: Vec::new(),
        ideal: demand::ideal(&demands),
        requests: demands.iter().map(|demand| demand.rate).sum(),
        largest: Interval::exact(largest.0),
        largest_name: largest.1,
        effective_values: sets.iter().map(effective).product(),
        distinct: sets.iter().map(|set| set.distinct).product(),
        routes,
    };
    layout.count_fan_out(&demands);
    match &building.candidate.key {
        KeySpec::Hierarchy(_) => hierarchy::place(building, &demands, &fields, &sets, &mut layout)?,
        key => place_flat(building, key, &demands, &fields, &sets, &mut layout)?,
    }
    Ok(layout)
}

/// How each pattern is routed under the key.
fn routes(
    building: &Building<'_>,
    demands: &[Demand<'_>],
    fields: &[&str],
    sets: &[ValueSet],
) -> Vec<Route> {
    let closed: Vec<Option<f64>> = sets
        .iter()
        .map(|set| set.enumerable.then_some(set.distinct))
        .collect();
    let route = |demand: &Demand<'_>| Route {
        pattern: demand.pattern.name.clone(),
        reach: reach(&building.candidate.key, demand, fields, &closed),
        rate: demand.rate,
        charge: demand.charge,
        loads: demand.loads,
        measured: demand.is_measured,
        is_write: demand.pattern.op.is_write(),
    };
    demands.iter().map(route).collect()
}

/// The share of the bytes that one full key holds at most, with the key's name.
fn largest(key: &KeySpec, sets: &[ValueSet]) -> (f64, String) {
    let top = |set: &ValueSet| {
        let share = |at: usize| set.stored[at] / set.stands_for[at];
        (0..set.values.len()).max_by(|&left, &right| share(left).total_cmp(&share(right)))
    };
    let name = |at: usize, set: &ValueSet| key_text(&set.values[at]);
    if let KeySpec::Suffix { suffix } = key {
        let only: Vec<KeyComponent> = suffix.only.iter().map(ScalarValue::component).collect();
        let set = &sets[0];
        let labels = |at: usize| {
            if only.is_empty() || only.contains(&set.values[at]) {
                suffix.buckets as f64
            } else {
                1.0
            }
        };
        let share = |at: usize| set.stored[at] / set.stands_for[at] / labels(at);
        return (0..set.values.len())
            .max_by(|&left, &right| share(left).total_cmp(&share(right)))
            .map_or((0.0, String::new()), |at| (share(at), name(at, set)));
    }
    let names = sets
        .iter()
        .filter_map(|set| top(set).map(|at| name(at, set)));
    (
        sets.iter().map(ValueSet::largest).product(),
        names.collect::<Vec<_>>().join(", "),
    )
}

fn place_flat(
    building: &Building<'_>,
    key: &KeySpec,
    demands: &[Demand<'_>],
    fields: &[&str],
    sets: &[ValueSet],
    layout: &mut Layout,
) -> Result<(), KeylabError> {
    let mut axes: Vec<Axis> = fields
        .iter()
        .zip(sets)
        .map(|(field, set)| Axis::of(demands, field, set, false))
        .collect();
    let is_exact = building.measured.is_some();
    if is_exact && fields.len() > 1 {
        for (axis, field) in axes.iter_mut().zip(fields) {
            axis.visit_listed(demands, &layout.routes, field);
        }
    }
    let count: usize = axes.iter().map(|axis| axis.values.len()).product();
    if count > MAX_KEYS {
        return Err(KeylabError::invalid(
            format!("candidate {}", building.candidate.title()),
            format!("{count} keys are too many to place; give its fields a smaller `placed`"),
        ));
    }
    // What each pattern places on the values it concerns.
    let placed: Vec<f64> = demands
        .iter()
        .zip(&layout.routes)
        .map(|(demand, route)| match route.reach {
            Reach::FanOut => demand.rate * demand.loads.min(demand.charge),
            _ => demand.rate * demand.charge,
        })
        .collect();
    if !is_exact {
        for demand in 0..demands.len() {
            let further = further_visits(key, demands, layout, &axes[0], demand);
            layout.further_visits += further;
            layout.scattered += further * demands[demand].visit;
        }
    }
    // What a labelled value is visited for more than once.
    let visits: Vec<f64> = demands
        .iter()
        .zip(&layout.routes)
        .map(|(demand, route)| match route.reach {
            Reach::Values(values) if is_exact => values.min(demand.most_visits.unwrap_or(values)),
            _ => 1.0,
        })
        .collect();
    let mut keys = Placing {
        hash: building.hash,
        positions: Vec::with_capacity(count),
        demand: Vec::with_capacity(count),
        hottest: (0.0, String::new()),
    };
    match key {
        KeySpec::Suffix { suffix } => keys.suffixed(suffix, &axes[0], &placed, &visits),
        KeySpec::Copies { copies } => keys.copied(copies, &axes[0], &placed, demands),
        _ => keys.product(key, &axes, &placed),
    }
    layout.keys = Keys::Flat {
        positions: keys.positions,
        demand: keys.demand,
        hottest: keys.hottest,
    };
    Ok(())
}

/// Visits a second of a pattern beyond the first of each request.
fn further_visits(
    key: &KeySpec,
    demands: &[Demand<'_>],
    layout: &Layout,
    axis: &Axis,
    at: usize,
) -> f64 {
    let Reach::Values(values) = layout.routes[at].reach else {
        return 0.0;
    };
    let demand = &demands[at];
    let cap = demand.most_visits.unwrap_or(f64::INFINITY);
    let extra = (values.min(cap) - 1.0).max(0.0);
    let share = match key {
        // Only some values have labels.
        KeySpec::Suffix { suffix } if !suffix.only.is_empty() => suffix
            .only
            .iter()
            .filter_map(|value| {
                let component = value.component();
                let place = axis.values.iter().position(|known| *known == component)?;
                Some(axis.weights[at][place])
            })
            .sum(),
        _ => 1.0,
    };
    demand.rate * share * extra
}

struct Placing<'a> {
    hash: Hash<'a>,
    positions: Vec<u128>,
    demand: Vec<f64>,
    hottest: (f64, String),
}

impl Placing<'_> {
    fn put(&mut self, component: &KeyComponent, demand: f64, stands_for: f64) {
        if demand <= 0.0 {
            return;
        }
        let single = demand / stands_for;
        if single > self.hottest.0 {
            self.hottest = (single, key_text(component));
        }
        self.positions.push((self.hash)(component));
        self.demand.push(demand);
    }

    /// Every combination of the parts.
    fn product(&mut self, key: &KeySpec, axes: &[Axis], placed: &[f64]) {
        let separator = match key {
            KeySpec::Concat { concat } => concat.separator.as_str(),
            _ => "",
        };
        let mut at = vec![0_usize; axes.len()];
        loop {
            let demand = |(pattern, ru): (usize, &f64)| {
                let weight = |(axis, &place): (&Axis, &usize)| axis.weights[pattern][place];
                ru * axes.iter().zip(&at).map(weight).product::<f64>()
            };
            let demand: f64 = placed.iter().enumerate().map(demand).sum();
            if demand > 0.0 {
                let stands_for = axes
                    .iter()
                    .zip(&at)
                    .map(|(axis, &place)| axis.stands_for[place]);
                let stands_for = stands_for.product();
                if axes.len() == 1 {
                    self.put(&axes[0].values[at[0]], demand, stands_for);
                } else {
                    let parts = axes
                        .iter()
                        .zip(&at)
                        .map(|(axis, &place)| &axis.values[place]);
                    self.put(&joined(parts, separator), demand, stands_for);
                }
            }
            // Count up, the last part fastest.
            let mut part = axes.len();
            loop {
                if part == 0 {
                    return;
                }
                part -= 1;
                at[part] += 1;
                if at[part] < axes[part].values.len() {
                    break;
                }
                at[part] = 0;
            }
        }
    }

    /// `visits` counts, by pattern, how many labels of a value one request visits.
    fn suffixed(&mut self, suffix: &Suffix, axis: &Axis, placed: &[f64], visits: &[f64]) {
        let only: Vec<KeyComponent> = suffix.only.iter().map(ScalarValue::component).collect();
        for (at, value) in axis.values.iter().enumerate() {
            let is_labelled = only.is_empty() || only.contains(value);
            let demand: f64 = placed
                .iter()
                .zip(&axis.weights)
                .zip(visits)
                .map(|((ru, weights), visits)| {
                    ru * weights[at] * if is_labelled { *visits } else { 1.0 }
                })
                .sum();
            if !is_labelled {
                self.put(value, demand, axis.stands_for[at]);
                continue;
            }
            if demand <= 0.0 {
                continue;
            }
            let labels = labels(
                value,
                &suffix.separator,
                suffix.buckets,
                suffix.start,
                suffix.labels,
                self.hash,
            );
            for label in labels {
                self.put(&label, demand / suffix.buckets as f64, axis.stands_for[at]);
            }
        }
    }

    fn copied(&mut self, copies: &Copies, axis: &Axis, placed: &[f64], demands: &[Demand<'_>]) {
        let copied = copies.value.component();
        for (at, value) in axis.values.iter().enumerate() {
            let share = |(pattern, ru): (usize, &f64)| ru * axis.weights[pattern][at];
            if *value != copied {
                let demand = placed.iter().enumerate().map(share).sum();
                self.put(value, demand, axis.stands_for[at]);
                continue;
            }
            // A read takes one of the copies, a write goes to each of them.
            let on_each: f64 = placed
                .iter()
                .enumerate()
                .map(|(pattern, ru)| {
                    let ru = share((pattern, ru));
                    if demands[pattern].pattern.op.is_write() {
                        ru
                    } else {
                        ru / copies.count as f64
                    }
                })
                .sum();
            let labels = labels(
                value,
                &copies.separator,
                copies.count,
                copies.start,
                copies.labels,
                self.hash,
            );
            for label in labels {
                self.put(&label, on_each, 1.0);
            }
        }
    }
}

/// The labelled values of one value.
pub fn labels(
    value: &KeyComponent,
    separator: &str,
    count: u64,
    start: u64,
    rule: LabelRule,
    hash: Hash<'_>,
) -> Vec<KeyComponent> {
    let labelled =
        |number: u64| KeyComponent::String(format!("{}{separator}{number}", part_text(value)));
    match rule {
        LabelRule::Counted => (start..start.saturating_add(count)).map(labelled).collect(),
        LabelRule::HashAware => {
            let mut found: Vec<Option<KeyComponent>> = vec![None; count as usize];
            let mut missing = found.len();
            let step = SPACE / u128::from(count);
            // Collecting every bucket takes about count * ln(count) trials.
            let trials = start.saturating_add(count.saturating_mul(200));
            for number in start..trials {
                if missing == 0 {
                    break;
                }
                let label = labelled(number);
                let bucket = (hash(&label) / step).min(u128::from(count) - 1) as usize;
                if found[bucket].is_none() {
                    found[bucket] = Some(label);
                    missing -= 1;
                }
            }
            found.into_iter().flatten().collect()
        }
    }
}

/// Where the counted labels of a value lie: what [`labels`] and the hash say, without a text for each.
pub(super) fn counted_positions(
    value: &KeyComponent,
    separator: &str,
    count: u64,
    start: u64,
    hash: Hash<'_>,
    positions: &mut Vec<u128>,
) {
    let stem = format!("{}{separator}", part_text(value));
    let mut label = stem.clone();
    for number in start..start.saturating_add(count) {
        label.truncate(stem.len());
        // Writing to a string does not fail.
        let _ = write!(label, "{number}");
        let component = KeyComponent::String(label);
        positions.push(hash(&component));
        let KeyComponent::String(again) = component else {
            return;
        };
        label = again;
    }
}

/// Parts joined to the string that the application would write.
pub fn joined<'a>(parts: impl Iterator<Item = &'a KeyComponent>, separator: &str) -> KeyComponent {
    let mut text = String::new();
    join(parts, separator, &mut text);
    KeyComponent::String(text)
}

/// Appends parts with separators between them.
pub(super) fn join<'a>(
    parts: impl Iterator<Item = &'a KeyComponent>,
    separator: &str,
    text: &mut String,
) {
    for (at, part) in parts.enumerate() {
        if at > 0 {
            text.push_str(separator);
        }
        match part {
            KeyComponent::String(part) => text.push_str(part),
            part => text.push_str(&part_text(part)),
        }
    }
}

/// A value as part of a made key.
pub fn part_text(component: &KeyComponent) -> String {
    match component {
        KeyComponent::String(text) => text.clone(),
        KeyComponent::Undefined => String::new(),
        other => key_text(other),
    }
}
