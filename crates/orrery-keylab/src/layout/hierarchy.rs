//! Hierarchical keys: first-level values with what lies under them, in order of position.

use std::sync::Arc;

use orrery_model::partition_key::KeyComponent;

use super::axis::Axis;
use super::scenario::Building;
use super::{HeadValues, Keys, Layout, PrefixReads};
use crate::demand::Demand;
use crate::error::KeylabError;
use crate::placement::SPACE;
use crate::routing::Reach;
use crate::shares::ValueSet;

/// Values of a level in which every item has another: enough steps to cut a first-level value
/// anywhere.
const UNIQUE_STEPS: usize = 1_024;
/// Most keys that are placed one by one.
const MAX_KEYS: usize = 8_000_000;

/// What lies under every first-level value: one entry for each combination of the further levels,
/// in order of position.
struct Tails {
    bytes: Vec<f64>,
    weights: Vec<Vec<f64>>,
    positions: Vec<[u128; 2]>,
}

pub(super) fn place(
    building: &Building<'_>,
    demands: &[Demand<'_>],
    fields: &[&str],
    sets: &[ValueSet],
    layout: &mut Layout,
) -> Result<(), KeylabError> {
    let tails = tails(building, demands, fields, sets);
    let axis = Axis::of(demands, fields[0], &sets[0], true);
    let count = axis.values.len().saturating_mul(tails.bytes.len());
    if count > MAX_KEYS {
        return Err(KeylabError::invalid(
            format!("candidate {}", building.candidate.title()),
            format!("{count} keys are too many to place; give its fields a smaller `placed`"),
        ));
    }
    let mut order: Vec<(u128, usize)> = axis
        .values
        .iter()
        .enumerate()
        .map(|(at, value)| ((building.hash)(value), at))
        .collect();
    order.sort_unstable();
    let placed: Vec<f64> = demands
        .iter()
        .zip(&layout.routes)
        .map(|(demand, route)| match route.reach {
            Reach::FanOut => demand.rate * demand.loads.min(demand.charge),
            Reach::Prefix(_) => 0.0,
            _ => demand.rate * demand.charge,
        })
        .collect();
    layout.prefixes = demands
        .iter()
        .enumerate()
        .filter_map(|(pattern, demand)| match layout.routes[pattern].reach {
            Reach::Prefix(values) => Some(PrefixReads {
                rates: order
                    .iter()
                    .map(|&(_, at)| demand.rate * values * axis.weights[pattern][at])
                    .collect(),
                charge: demand.charge,
                loads: demand.loads,
                visit: demand.visit,
            }),
            _ => None,
        })
        .collect();
    if building.measured.is_none() {
        for (demand, route) in demands.iter().zip(&layout.routes) {
            if let Reach::Values(values) = route.reach {
                let further = demand.rate * (values - 1.0).max(0.0);
                layout.further_visits += further;
                layout.scattered += further * demand.visit;
            }
        }
    }
    let mut heads = Vec::with_capacity(order.len());
    let (mut bytes, mut demand) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for &(position, at) in &order {
        heads.push((position, bytes.len()));
        // The newest value of a calendar is new: nothing is stored under it yet when the window
        // begins, so no split has cut it.
        let stored = if sets[0].latest == Some(at) {
            0.0
        } else {
            sets[0].stored.get(at).copied().unwrap_or(0.0)
        };
        bytes.extend(tails.bytes.iter().map(|share| stored * share));
        let of_head: Vec<f64> = placed
            .iter()
            .zip(&axis.weights)
            .map(|(ru, weights)| ru * weights[at])
            .collect();
        demand.extend((0..tails.bytes.len()).map(|tail| {
            let of_pattern = |(ru, weights): (&f64, &Vec<f64>)| ru * weights[tail];
            of_head
                .iter()
                .zip(&tails.weights)
                .map(of_pattern)
                .sum::<f64>()
        }));
    }
    layout.keys = Keys::Hierarchy {
        heads,
        bytes,
        demand,
        values: HeadValues {
            places: order.iter().map(|&(_, at)| at as u32).collect(),
            all: Arc::new(axis.values),
        },
        below: tails.positions,
    };
    Ok(())
}

fn tails(
    building: &Building<'_>,
    demands: &[Demand<'_>],
    fields: &[&str],
    sets: &[ValueSet],
) -> Tails {
    let mut tails = Tails {
        bytes: vec![1.0],
        weights: vec![vec![1.0]; demands.len()],
        positions: vec![[0; 2]],
    };
    for (depth, (field, set)) in fields.iter().zip(sets).skip(1).enumerate() {
        let level = level(building, demands, field, set);
        let mut positions = Vec::with_capacity(tails.positions.len() * level.positions.len());
        for above in &tails.positions {
            for below in &level.positions {
                let mut position = *above;
                position[depth.min(1)] = below[0];
                positions.push(position);
            }
        }
        let bytes = cross(&tails.bytes, &level.bytes);
        let weights = tails.weights.iter().zip(&level.weights);
        tails = Tails {
            weights: weights.map(|(above, below)| cross(above, below)).collect(),
            bytes,
            positions,
        };
    }
    tails
}

fn cross(above: &[f64], below: &[f64]) -> Vec<f64> {
    above
        .iter()
        .flat_map(|above| below.iter().map(move |below| above * below))
        .collect()
}

/// One further level: its values in order of their hash.
fn level(building: &Building<'_>, demands: &[Demand<'_>], field: &str, set: &ValueSet) -> Tails {
    if set.unique {
        let even = vec![1.0 / UNIQUE_STEPS as f64; UNIQUE_STEPS];
        return Tails {
            weights: vec![even.clone(); demands.len()],
            bytes: even,
            positions: (0..UNIQUE_STEPS)
                .map(|step| [SPACE / UNIQUE_STEPS as u128 * step as u128, 0])
                .collect(),
        };
    }
    let axis = Axis::of(demands, field, set, true);
    let hashed = |(at, value): (usize, &KeyComponent)| ((building.hash)(value), at);
    let mut order: Vec<(u128, usize)> = axis.values.iter().enumerate().map(hashed).collect();
    order.sort_unstable();
    let in_order = |shares: &[f64]| -> Vec<f64> {
        order
            .iter()
            .map(|&(_, at)| shares.get(at).copied().unwrap_or(0.0))
            .collect()
    };
    Tails {
        bytes: in_order(&set.stored),
        positions: order.iter().map(|&(position, _)| [position, 0]).collect(),
        weights: axis
            .weights
            .iter()
            .map(|weights| in_order(weights))
            .collect(),
    }
}
