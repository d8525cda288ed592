//! Layouts from a sample of real items.

use std::sync::Arc;

use orrery_model::partition_key::KeyComponent;
use rustc_hash::FxHashMap;

use super::groups::{Groups, component, group_text};
use super::reach::reach;
use super::scenario::{counted_positions, labels};
use super::{HeadValues, Keys, Layout, Listing, PrefixReads, Route};
use crate::demand::{self, Charges, Demand};
use crate::evidence::{Interval, clopper_pearson};
use crate::placement::Hash;
use crate::routing::Reach;
use crate::scenario::{KeySpec, LabelRule, Operation, Placement, Suffix};
use crate::shares::text_component;
use crate::table::{Column, Table};

/// Sets up to this size can be listed by an application.
const ENUMERABLE: f64 = 1_000.0;
/// Items of a window of arrival.
pub const WINDOW: usize = 1_000;

/// What a layout is built from.
pub struct Sampled<'a> {
    /// The sample.
    pub table: &'a Table,
    /// The key.
    pub key: &'a KeySpec,
    /// The columns that make the key, in order.
    pub columns: &'a [&'a Column],
    /// The workload.
    pub demands: &'a [Demand<'a>],
    /// Charges.
    pub charges: Charges,
    /// The hash.
    pub hash: Hash<'a>,
    /// One minus the confidence of intervals.
    pub delta: f64,
    /// Rows in order of arrival, to look for the worst window; the average when absent.
    pub arrival: Option<&'a [u32]>,
    /// Whether the charges are those of an engine: every visit is then placed where it goes, not
    /// spread evenly.
    pub is_measured: bool,
}

/// The layout of a key over a sample, and its groups.
pub fn of_sample(sampled: &Sampled<'_>) -> (Layout, Groups) {
    let groups = Groups::of(sampled.table, sampled.key, sampled.columns, sampled.hash);
    let names: Vec<&str> = sampled
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let closed: Vec<Option<f64>> = sampled
        .columns
        .iter()
        .map(|column| (column.distinct <= ENUMERABLE).then_some(column.distinct.max(1.0)))
        .collect();
    let routes: Vec<Route> = sampled
        .demands
        .iter()
        .map(|demand| Route {
            pattern: demand.pattern.name.clone(),
            reach: reach(sampled.key, demand, &names, &closed),
            rate: demand.rate,
            charge: demand.charge,
            loads: demand.loads,
            measured: demand.is_measured,
            is_write: demand.pattern.op.is_write(),
        })
        .collect();
    let (largest, largest_name) = largest(sampled, &groups);
    let effective = groups.effective();
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
        visit: sampled.charges.visit,
        prefixes: Vec::new(),
        heavy: Vec::new(),
        ideal: demand::ideal(sampled.demands),
        requests: sampled.demands.iter().map(|demand| demand.rate).sum(),
        largest,
        largest_name,
        effective_values: if effective.is_finite() {
            effective
        } else {
            // Nothing was seen twice: as many as there are items.
            sampled.table.items as f64
        },
        distinct: match sampled.columns {
            [column] => column.distinct,
            _ => groups.len() as f64,
        },
        routes,
    };
    layout.count_fan_out(sampled.demands);
    let worst = sampled.arrival.map(|order| worst_window(&groups, order));
    let shares: Vec<Vec<(u32, f64)>> = sampled
        .demands
        .iter()
        .map(|demand| shares(sampled, &groups, demand, worst.as_deref()))
        .collect();
    layout.heavy = heaviest(sampled, &groups, &layout, &shares);
    match sampled.key {
        KeySpec::Hierarchy(_) => hierarchy(sampled, &groups, &shares, &mut layout),
        _ => flat(sampled, &groups, &shares, &mut layout),
    }
    (layout, groups)
}

/// The groups that are asked for most, labels and prefixes aside.
fn heaviest(
    sampled: &Sampled<'_>,
    groups: &Groups,
    layout: &Layout,
    shares: &[Vec<(u32, f64)>],
) -> Vec<(String, f64)> {
    /// Values that a heat map shows.
    const SHOWN: usize = 50;
    let mut demand = vec![0.0; groups.len()];
    for ((pattern, route), shares) in sampled.demands.iter().zip(&layout.routes).zip(shares) {
        let ru = placed(pattern, route);
        for &(group, share) in shares {
            demand[group as usize] += ru * share;
        }
    }
    let mut order: Vec<usize> = (0..groups.len()).collect();
    let hotter = |left: &usize, right: &usize| {
        demand[*right]
            .total_cmp(&demand[*left])
            .then(left.cmp(right))
    };
    if order.len() > SHOWN {
        order.select_nth_unstable_by(SHOWN, hotter);
        order.truncate(SHOWN);
    }
    order.sort_unstable_by(hotter);
    order
        .into_iter()
        .filter(|&group| demand[group] > 0.0)
        .map(|group| (group_text(sampled.columns, groups, group), demand[group]))
        .collect()
}

/// Which groups the requests of a pattern concern, with their shares.
fn shares(
    sampled: &Sampled<'_>,
    groups: &Groups,
    demand: &Demand<'_>,
    worst: Option<&[(u32, f64)]>,
) -> Vec<(u32, f64)> {
    if let (Operation::Create | Operation::Batch, Some(worst)) = (demand.pattern.op, worst) {
        return worst.to_vec();
    }
    // Values that the text itself names; an equality with anything never meets the undefined.
    let meant: Vec<(&Column, Vec<bool>)> = sampled
        .columns
        .iter()
        .filter_map(|column| {
            let known = demand.filter.as_ref()?.known(&column.name);
            known.count()?;
            let literals = known.literals();
            let is_meant = |value: &KeyComponent| match &literals {
                Some(values) => values.contains(value),
                None => *value != KeyComponent::Undefined,
            };
            Some((*column, column.values.iter().map(is_meant).collect()))
        })
        .collect();
    let heat = heat(sampled.table, demand);
    let is_of_all = meant.is_empty() || demand.pattern.op.is_write();
    let mut weights = vec![0.0_f64; groups.len()];
    if is_of_all && heat.is_empty() {
        weights = groups.items.iter().map(|&items| f64::from(items)).collect();
    }
    let looked_at = if is_of_all && heat.is_empty() {
        0
    } else {
        groups.of_row.len()
    };
    for (row, group) in groups.of_row[..looked_at].iter().enumerate() {
        let fits = |(column, meant): &(&Column, Vec<bool>)| meant[column.codes[row] as usize];
        if is_of_all || meant.iter().all(fits) {
            let warm =
                |(column, by_code): &(&Column, Vec<f64>)| by_code[column.codes[row] as usize];
            weights[*group as usize] += heat.iter().map(warm).product::<f64>();
        }
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Vec::new();
    }
    weights
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(group, weight)| (group as u32, weight / total))
        .collect()
}

/// How often the rows of a value are asked for, against an even share, where the workload says it
/// of single values; the others share what is left.
fn heat<'t>(table: &'t Table, demand: &Demand<'_>) -> Vec<(&'t Column, Vec<f64>)> {
    let mut heat = Vec::new();
    for (field, placement) in &demand.pattern.at {
        let (Placement::Shares(shares), Some(column)) = (placement, table.column(field)) else {
            continue;
        };
        let mut rows = vec![0_u32; column.values.len()];
        for &code in &column.codes {
            rows[code as usize] += 1;
        }
        let named = |value: &KeyComponent| {
            let is_it = |(text, _): &(&String, &f64)| text_component(text) == *value;
            shares.iter().find(is_it).map(|(_, share)| *share)
        };
        let wanted: Vec<Option<f64>> = column
            .values
            .iter()
            .zip(&rows)
            .map(|(value, &rows)| named(value).filter(|_| rows > 0))
            .collect();
        let told: f64 = wanted.iter().flatten().sum();
        let others: u32 = rows
            .iter()
            .zip(&wanted)
            .filter(|(_, wanted)| wanted.is_none())
            .map(|(rows, _)| rows)
            .sum();
        let left = (1.0 - told).max(0.0) / f64::from(others.max(1));
        let by_code = wanted
            .iter()
            .zip(&rows)
            .map(|(wanted, &rows)| wanted.map_or(left, |share| share / f64::from(rows.max(1))));
        heat.push((column, by_code.collect()));
    }
    heat
}

/// The shares of the window of arrival in which one group has most.
fn worst_window(groups: &Groups, order: &[u32]) -> Vec<(u32, f64)> {
    let mut worst: (u32, &[u32]) = (0, &[]);
    let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
    for window in order.chunks(WINDOW) {
        if window.len() * 2 < WINDOW && order.len() >= WINDOW {
            continue;
        }
        counts.clear();
        for row in window {
            *counts.entry(groups.of_row[*row as usize]).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or(0);
        if most > worst.0 {
            worst = (most, window);
        }
    }
    let mut counts: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for row in worst.1 {
        *counts.entry(groups.of_row[*row as usize]).or_default() += 1;
    }
    let total = worst.1.len().max(1) as f64;
    counts
        .into_iter()
        .map(|(group, items)| (group, f64::from(items) / total))
        .collect()
}

/// The share of the bytes that the largest full key holds.
fn largest(sampled: &Sampled<'_>, groups: &Groups) -> (Interval, String) {
    let table = sampled.table;
    let Some(top) = (0..groups.len()).max_by_key(|&group| groups.bytes[group]) else {
        return (Interval::exact(0.0), String::new());
    };
    let name = group_text(sampled.columns, groups, top);
    let labels = match sampled.key {
        KeySpec::Suffix { suffix } => suffix.buckets as f64,
        _ => 1.0,
    };
    let total: u64 = groups.bytes.iter().sum();
    let weight = groups.bytes[top] as f64 / total.max(1) as f64;
    let items = u64::from(groups.items[top]);
    let mut interval = clopper_pearson(items, table.rows as u64, sampled.delta);
    // From shares of items to shares of bytes.
    let by_bytes = if interval.estimate > 0.0 {
        weight / interval.estimate
    } else {
        1.0
    };
    interval = interval.scaled(by_bytes);
    if groups.is_unique() {
        // Every item has another value, so will every further one.
        interval.low = 0.0;
        interval.estimate = 1.0 / table.items.max(1) as f64;
    }
    interval.high = interval.high.min(1.0);
    (interval.scaled(1.0 / labels), name)
}

fn placed(demand: &Demand<'_>, route: &Route) -> f64 {
    match route.reach {
        Reach::FanOut => demand.rate * demand.loads.min(demand.charge),
        _ => demand.rate * demand.charge,
    }
}

/// How many labels of one value a request visits, if that is not spread evenly.
fn visits_there(sampled: &Sampled<'_>, demand: &Demand<'_>, route: &Route) -> f64 {
    match (sampled.key, route.reach) {
        (KeySpec::Suffix { .. }, Reach::Values(values)) if sampled.is_measured => {
            values.min(demand.most_visits.unwrap_or(values))
        }
        _ => 1.0,
    }
}

fn flat(sampled: &Sampled<'_>, groups: &Groups, shares: &[Vec<(u32, f64)>], layout: &mut Layout) {
    let mut by_group = vec![0.0; groups.len()];
    for ((demand, route), shares) in sampled.demands.iter().zip(&layout.routes).zip(shares) {
        let ru = placed(demand, route) * visits_there(sampled, demand, route);
        for &(group, share) in shares {
            by_group[group as usize] += ru * share;
        }
        if let (Reach::Values(values), false) = (route.reach, sampled.is_measured) {
            layout.listings.push(Listing {
                rate: demand.rate,
                values,
                visit: demand.visit,
            });
        }
    }
    let parts = match sampled.key {
        KeySpec::Suffix { suffix } => suffix.buckets as f64,
        _ => 1.0,
    };
    let mut hottest = (0.0, 0);
    for (group, &ru) in by_group.iter().enumerate() {
        if ru / parts > hottest.0 {
            hottest = (ru / parts, group);
        }
    }
    let (positions, demand) = match sampled.key {
        KeySpec::Suffix { suffix } => labelled(sampled, suffix, groups, &by_group),
        _ => (groups.positions.clone(), by_group),
    };
    let name = if groups.is_empty() {
        String::new()
    } else {
        group_text(sampled.columns, groups, hottest.1)
    };
    layout.keys = Keys::Flat {
        positions,
        demand,
        hottest: (hottest.0, name),
    };
}

/// Where the labels of all groups lie, and what each is asked for. Of a value with little of the
/// demand fewer labels are placed, which stand for all of them: each has less than a millionth.
fn labelled(
    sampled: &Sampled<'_>,
    suffix: &Suffix,
    groups: &Groups,
    by_group: &[f64],
) -> (Vec<u128>, Vec<f64>) {
    /// Labels that are placed one by one.
    const PLACED: f64 = 1_048_576.0;
    let all = suffix.buckets as f64;
    let is_few = all * groups.len() as f64 <= PLACED || suffix.labels == LabelRule::HashAware;
    let total: f64 = by_group.iter().sum();
    let wanted = |ru: f64| {
        if is_few {
            return all;
        }
        (ru / total.max(f64::MIN_POSITIVE) * PLACED)
            .ceil()
            .clamp(1.0, all)
    };
    let placed = by_group.iter().map(|&ru| wanted(ru)).sum::<f64>() as usize;
    let (mut positions, mut demand) = (Vec::with_capacity(placed), Vec::with_capacity(placed));
    for (group, &ru) in by_group.iter().enumerate() {
        let value = component(sampled.columns[0], groups, group);
        let (separator, start, hash) = (&suffix.separator, suffix.start, sampled.hash);
        let count = wanted(ru) as u64;
        let before = positions.len();
        if suffix.labels == LabelRule::Counted {
            counted_positions(value, separator, count, start, hash, &mut positions);
        } else {
            let labels = labels(value, separator, count, start, suffix.labels, hash);
            positions.extend(labels.iter().map(hash));
        }
        let labels = (positions.len() - before).max(1);
        demand.resize(positions.len(), ru / labels as f64);
    }
    (positions, demand)
}

fn hierarchy(
    sampled: &Sampled<'_>,
    groups: &Groups,
    shares: &[Vec<(u32, f64)>],
    layout: &mut Layout,
) {
    let mut order: Vec<([u128; 3], usize)> = (0..groups.len())
        .map(|group| {
            let mut position = [0; 3];
            for (level, column) in position.iter_mut().zip(sampled.columns) {
                let row = groups.shown_by[group] as usize;
                *level = column.positions[column.codes[row] as usize];
            }
            (position, group)
        })
        .collect();
    order.sort_unstable();
    let mut place = vec![0_usize; groups.len()];
    let mut heads: Vec<(u128, usize)> = Vec::new();
    let mut values = Vec::new();
    let mut head_of = vec![0_usize; groups.len()];
    for (at, (position, group)) in order.iter().enumerate() {
        if heads.last().is_none_or(|head| head.0 != position[0]) {
            heads.push((position[0], at));
            let row = groups.shown_by[*group] as usize;
            values.push(sampled.columns[0].codes[row]);
        }
        place[*group] = at;
        head_of[*group] = heads.len() - 1;
    }
    let total: f64 = groups.bytes.iter().map(|&bytes| bytes as f64).sum();
    let bytes = order
        .iter()
        .map(|(_, group)| groups.bytes[*group] as f64 / total.max(1.0))
        .collect();
    let mut demand = vec![0.0; groups.len()];
    for ((pattern, route), shares) in sampled.demands.iter().zip(&layout.routes).zip(shares) {
        match route.reach {
            Reach::Prefix(values) => {
                let mut rates = vec![0.0; heads.len()];
                for &(group, share) in shares {
                    rates[head_of[group as usize]] += pattern.rate * values * share;
                }
                layout.prefixes.push(PrefixReads {
                    rates,
                    charge: pattern.charge,
                    loads: pattern.loads,
                    visit: pattern.visit,
                });
            }
            reach => {
                let ru = placed(pattern, route);
                for &(group, share) in shares {
                    demand[place[group as usize]] += ru * share;
                }
                if let (Reach::Values(values), false) = (reach, sampled.is_measured) {
                    layout.listings.push(Listing {
                        rate: pattern.rate,
                        values,
                        visit: pattern.visit,
                    });
                }
            }
        }
    }
    layout.keys = Keys::Hierarchy {
        heads,
        bytes,
        demand,
        values: HeadValues {
            all: Arc::clone(&sampled.columns[0].values),
            places: values,
        },
        below: order
            .iter()
            .map(|(position, _)| [position[1], position[2]])
            .collect(),
    };
}
