//! Layout: what a candidate key places where, independent of how many partitions there are.

mod axis;
mod groups;
mod hierarchy;
mod reach;
mod sample;
mod scenario;

use std::sync::Arc;

use orrery_model::partition_key::KeyComponent;
use serde::Serialize;

use crate::demand::Demand;
use crate::evidence::Interval;
use crate::report::text::key_text;
use crate::routing::Reach;
use crate::shares::ValueSet;

pub use groups::{Groups, group_text};
pub use sample::{Sampled, WINDOW, of_sample};
pub use scenario::{Building, joined, labels, of_scenario};

/// The demand of a workload under one key, at a rate factor of 1.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Where the keys are and what each is asked for.
    pub keys: Keys,
    /// Request units a second of visits that hit partitions at random: of reads that ask for
    /// several values.
    pub scattered: f64,
    /// Visits a second beyond the first of each request, fan-out aside.
    pub further_visits: f64,
    /// Reads of several values, which go to every partition where that is cheaper.
    pub listings: Vec<Listing>,
    /// Queries a second that visit every partition.
    pub fan_out: f64,
    /// Request units a second that they take of every partition.
    pub fan_out_ru: f64,
    /// Charge of visiting a partition.
    pub visit: f64,
    /// Reads of a prefix of a hierarchical key.
    pub prefixes: Vec<PrefixReads>,
    /// The workload if every request visited one partition.
    pub ideal: f64,
    /// Requests a second.
    pub requests: f64,
    /// Share of the bytes that the largest value holds.
    pub largest: Interval,
    /// The name of the largest value, as JSON.
    pub largest_name: String,
    /// The values that are asked for most, by name.
    pub heavy: Vec<(String, f64)>,
    /// How each pattern is routed.
    pub routes: Vec<Route>,
    /// The effective number of values, by bytes.
    pub effective_values: f64,
    /// Different values that production has.
    pub distinct: f64,
}

/// Reads of several values at once.
#[derive(Debug, Clone, Copy)]
pub struct Listing {
    /// Reads a second.
    pub rate: f64,
    /// Values of each.
    pub values: f64,
    /// Charge of each visit beyond the first.
    pub visit: f64,
}

impl Layout {
    /// Visits a second beyond the first of each request, fan-out aside, and what they take.
    pub(crate) fn further(&self, partitions: f64) -> (f64, f64) {
        let mut further = (self.further_visits, self.scattered);
        for listing in &self.listings {
            let visits = listing.rate * (listing.values.min(partitions) - 1.0).max(0.0);
            further.0 += visits;
            further.1 += visits * listing.visit;
        }
        further
    }

    /// Adds up the requests that visit every partition.
    fn count_fan_out(&mut self, demands: &[Demand<'_>]) {
        for (demand, route) in demands.iter().zip(&self.routes) {
            if route.reach == Reach::FanOut {
                self.fan_out += demand.rate;
                self.fan_out_ru += demand.rate * demand.visit;
            }
        }
    }
}

/// The values of a field with those beside it that patterns name, and for each pattern the weight
/// of each value among its requests.
pub(crate) fn axis_weights(
    demands: &[Demand<'_>],
    field: &str,
    set: &ValueSet,
) -> (Vec<KeyComponent>, Vec<Vec<f64>>) {
    let axis = axis::Axis::of(demands, field, set, true);
    (axis.values, axis.weights)
}

/// Where keys are.
#[derive(Debug, Clone)]
pub enum Keys {
    /// Keys of one hash: a position and request units a second for each.
    Flat {
        /// Positions.
        positions: Vec<u128>,
        /// Request units a second.
        demand: Vec<f64>,
        /// The hottest single value of production, with its name.
        hottest: (f64, String),
    },
    /// Keys of several levels, in the order of their positions.
    Hierarchy {
        /// First-level values: position, and the index of their first key.
        heads: Vec<(u128, usize)>,
        /// Share of the bytes of each key.
        bytes: Vec<f64>,
        /// Request units a second of each key.
        demand: Vec<f64>,
        /// The first-level values, in the order of `heads`.
        values: HeadValues,
        /// Positions of the second and third level of each key; where all first-level values have
        /// the same below them, of those of one.
        below: Vec<[u128; 2]>,
    },
}

/// First-level values, of which few are ever named.
#[derive(Debug, Clone)]
pub struct HeadValues {
    /// All values of the field.
    pub all: Arc<Vec<KeyComponent>>,
    /// For each head the place of its value.
    pub places: Vec<u32>,
}

impl HeadValues {
    /// The value of a head, as JSON.
    pub fn name(&self, head: usize) -> String {
        key_text(&self.all[self.places[head] as usize])
    }
}

/// Reads of everything under a first-level value.
#[derive(Debug, Clone)]
pub struct PrefixReads {
    /// Reads a second of each first-level value.
    pub rates: Vec<f64>,
    /// Charge when the prefix lies on one partition.
    pub charge: f64,
    /// Part of the charge that is paid once.
    pub loads: f64,
    /// Charge of each visit when there are several.
    pub visit: f64,
}

/// How a pattern is routed.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// The pattern's name.
    pub pattern: String,
    /// How far its requests go.
    pub reach: Reach,
    /// Requests a second.
    pub rate: f64,
    /// Charge of a visit to one partition.
    pub charge: f64,
    /// Part of the charge that is paid once.
    pub loads: f64,
    /// Whether the charge was measured; else it is the model's.
    pub measured: bool,
    /// Whether it changes items.
    pub is_write: bool,
}

impl Route {
    /// What one request costs when the container has so many partitions.
    pub fn cost(&self, partitions: f64, visit: f64) -> f64 {
        match self.reach {
            Reach::Point | Reach::Single => self.charge,
            // No more than visiting every partition.
            Reach::Values(values) | Reach::Prefix(values) => {
                self.charge + (values.min(partitions) - 1.0).max(0.0) * visit
            }
            Reach::FanOut => partitions * visit + self.loads,
        }
    }
}
