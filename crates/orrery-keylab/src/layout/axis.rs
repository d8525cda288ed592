//! Axes: the values of one field that requests concern, with the weight that each pattern gives
//! them.

use orrery_model::partition_key::KeyComponent;
use rustc_hash::FxHashMap;

use super::Route;
use crate::demand::Demand;
use crate::routing::{Filter, Reach};
use crate::scenario::{Operation, Placement, ScalarValue};
use crate::shares::{ValueSet, text_component};

/// Which values of a field a pattern concerns.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Weights {
    /// All, by the field's traffic.
    Traffic,
    /// These, with their shares.
    Some(Vec<(KeyComponent, f64)>),
}

/// The values that a pattern's requests have in a field.
pub(super) fn weights(demand: &Demand<'_>, field: &str, set: &ValueSet) -> Weights {
    let one = |value: KeyComponent| Weights::Some(vec![(value, 1.0)]);
    let latest = || set.latest.map(|at| set.values[at].clone());
    if let Some(placement) = demand.pattern.at.get(field) {
        return match placement {
            Placement::One(ScalarValue::Text(word)) if word == "latest" => {
                latest().map_or(Weights::Traffic, one)
            }
            Placement::One(ScalarValue::Text(word)) if word == "stored" => Weights::Traffic,
            Placement::One(value) => one(value.component()),
            Placement::Shares(shares) => {
                let total: f64 = shares.values().sum();
                let share =
                    |(value, share): (&String, &f64)| (text_component(value), share / total);
                Weights::Some(shares.iter().map(share).collect())
            }
        };
    }
    let literals = demand
        .filter
        .as_ref()
        .and_then(|filter| filter.known(field).literals());
    if let Some(values) = literals {
        let share = 1.0 / values.len() as f64;
        return Weights::Some(values.into_iter().map(|value| (value, share)).collect());
    }
    // What is created now has the newest value.
    match demand.pattern.op {
        Operation::Create | Operation::Batch => latest().map_or(Weights::Traffic, one),
        _ => Weights::Traffic,
    }
}

/// The values of a field, and for each pattern the weight of each value.
pub(super) struct Axis {
    pub(super) values: Vec<KeyComponent>,
    pub(super) stands_for: Vec<f64>,
    pub(super) weights: Vec<Vec<f64>>,
}

impl Axis {
    /// All values of the set, and those beside it that patterns name; only the named ones when
    /// `whole` is not asked for and no pattern concerns all.
    pub(super) fn of(demands: &[Demand<'_>], field: &str, set: &ValueSet, whole: bool) -> Self {
        let by_pattern: Vec<Weights> = demands
            .iter()
            .map(|demand| weights(demand, field, set))
            .collect();
        let all = whole
            || demands
                .iter()
                .zip(&by_pattern)
                .any(|(demand, weights)| demand.rate > 0.0 && *weights == Weights::Traffic);
        let mut axis = Self {
            values: Vec::new(),
            stands_for: Vec::new(),
            weights: Vec::new(),
        };
        if all {
            axis.values.clone_from(&set.values);
            axis.stands_for.clone_from(&set.stands_for);
        }
        let mut places: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
        let named = |weights: &Weights| match weights {
            Weights::Some(values) => values.clone(),
            Weights::Traffic => Vec::new(),
        };
        if by_pattern
            .iter()
            .any(|weights| *weights != Weights::Traffic)
        {
            for (at, value) in axis.values.iter().enumerate() {
                places.insert(identity(value), at);
            }
        }
        for (value, _) in by_pattern.iter().flat_map(named) {
            places.entry(identity(&value)).or_insert_with(|| {
                axis.values.push(value.clone());
                axis.stands_for.push(1.0);
                axis.values.len() - 1
            });
        }
        axis.weights = by_pattern
            .iter()
            .map(|weights| match weights {
                Weights::Traffic if all => {
                    let mut shares = set.traffic.clone();
                    shares.resize(axis.values.len(), 0.0);
                    shares
                }
                Weights::Traffic => vec![0.0; axis.values.len()],
                Weights::Some(values) => {
                    let mut shares = vec![0.0; axis.values.len()];
                    for (value, share) in values {
                        if let Some(&at) = places.get(&identity(value)) {
                            shares[at] += share;
                        }
                    }
                    shares
                }
            })
            .collect();
        axis
    }
}

impl Axis {
    /// Reads that list all values of a part that their condition does not name visit each of them.
    pub(super) fn visit_listed(&mut self, demands: &[Demand<'_>], routes: &[Route], field: &str) {
        for (at, (demand, route)) in demands.iter().zip(routes).enumerate() {
            let knows = |filter: &Filter| filter.known(field).count().is_some();
            if matches!(route.reach, Reach::Values(_)) && !demand.filter.as_ref().is_some_and(knows)
            {
                let even = 1.0 / self.values.len() as f64;
                self.weights[at].fill(even);
            }
        }
    }
}

/// Equal bytes, equal value.
fn identity(value: &KeyComponent) -> Vec<u8> {
    orrery_model::partition_key::PartitionKey(vec![value.clone()]).to_bytes()
}
