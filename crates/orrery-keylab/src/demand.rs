//! Demand: the patterns of a workload as one candidate key meets them, with their charges.

use std::collections::BTreeMap;

use orrery_model::charge::{self, Profile, QueryCost, ReadCost};

use crate::error::KeylabError;
use crate::routing::Filter;
use crate::scenario::{Adaptation, Operation, PatternSpec, Scenario};

/// Which rates count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The averages.
    Mean,
    /// The worst minute.
    Peak,
}

/// What charges follow from when a pattern does not give its own.
#[derive(Debug, Clone, Copy)]
pub struct Charges {
    /// Average bytes of an item's JSON.
    pub item_bytes: usize,
    /// Indexed terms of an item.
    pub indexed_terms: usize,
    /// Whether reads cost double.
    pub reads: ReadCost,
    /// Charge of visiting a partition that holds nothing.
    pub visit: f64,
}

impl Charges {
    /// The charges of a scenario by the published model.
    pub fn of(scenario: &Scenario) -> Self {
        let reads = if scenario.container.strong_reads {
            ReadCost::Double
        } else {
            ReadCost::Single
        };
        Self {
            item_bytes: scenario.item_bytes,
            indexed_terms: scenario.indexed_terms,
            reads,
            visit: charge::query(&QueryCost::default(), reads).units(),
        }
    }

    /// The model's charge of one request of a pattern that visits one partition.
    pub fn model(&self, pattern: &PatternSpec) -> f64 {
        let (bytes, terms) = (self.item_bytes, self.indexed_terms);
        let profile = Profile::Measured;
        // A changed member is a term that goes and a term that comes.
        let changed = 2 * pattern.sets.len().max(1);
        match pattern.op {
            Operation::Point => charge::read(bytes, self.reads),
            Operation::Query => {
                let items = pattern.returns;
                let total = items.saturating_mul(bytes as u64);
                let work = QueryCost {
                    seeks: 1,
                    items_loaded: items,
                    bytes_loaded: total,
                    items_returned: items,
                    bytes_returned: total,
                    ..QueryCost::default()
                };
                charge::query(&work, self.reads)
            }
            Operation::Create => profile.create(bytes, terms),
            Operation::Replace => profile.replace(bytes, bytes, changed),
            Operation::Patch => profile.patch(bytes, bytes, changed, pattern.sets.len().max(1)),
            Operation::Delete => profile.delete(bytes, terms),
            Operation::Batch => {
                let operations = pattern.batch.unwrap_or(1);
                (0..operations.min(100))
                    .map(|_| profile.create(bytes, terms))
                    .sum()
            }
        }
        .units()
    }
}

/// A pattern with its numbers settled.
#[derive(Debug, Clone)]
pub struct Demand<'a> {
    /// The pattern.
    pub pattern: &'a PatternSpec,
    /// Requests a second at a rate factor of 1.
    pub rate: f64,
    /// Charge of one request that visits one partition.
    pub charge: f64,
    /// Whether the charge was given, as opposed to computed.
    pub is_measured: bool,
    /// Part of the charge that is paid once when several partitions are visited.
    pub loads: f64,
    /// Charge of visiting one more partition.
    pub visit: f64,
    /// At most so many visits.
    pub most_visits: Option<f64>,
    /// What the caller knows.
    pub filter: Option<Filter>,
}

/// Settles the workload for a candidate.
pub fn settle<'a>(
    workload: &'a [PatternSpec],
    adapt: &BTreeMap<String, Adaptation>,
    charges: &Charges,
    window: Window,
) -> Result<Vec<Demand<'a>>, KeylabError> {
    let mut demands = Vec::with_capacity(workload.len());
    for (at, pattern) in workload.iter().enumerate() {
        let adaptation = adapt.get(&pattern.name);
        let given = |of: fn(&Adaptation) -> Option<f64>| adaptation.and_then(of);
        let measured = given(|a| a.charge).or(pattern.charge);
        let charge = measured.unwrap_or_else(|| charges.model(pattern));
        let loads = given(|a| a.loads)
            .or(pattern.loads)
            .unwrap_or_else(|| (charge - charges.visit).max(0.0));
        let text = adaptation
            .and_then(|a| a.filter.as_ref())
            .or(pattern.filter.as_ref());
        let filter = text
            .map(|text| Filter::parse(text, &pattern.params))
            .transpose()
            .map_err(|message| {
                let place = pattern.place(&format!("workload[{at}].where"));
                KeylabError::invalid(place, message)
            })?;
        let peak = match window {
            Window::Mean => 1.0,
            Window::Peak => pattern.peak.max(1.0),
        };
        demands.push(Demand {
            pattern,
            rate: given(|a| a.rate).unwrap_or(pattern.rate) * peak,
            charge,
            is_measured: measured.is_some(),
            loads,
            visit: charges.visit,
            most_visits: given(|a| a.visits),
            filter,
        });
    }
    Ok(demands)
}

/// Charges of one pattern as an engine took them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredCharge {
    /// As [`Demand::charge`].
    pub charge: f64,
    /// As [`Demand::loads`].
    pub loads: f64,
    /// As [`Demand::visit`].
    pub visit: f64,
}

impl MeasuredCharge {
    /// What stands for it where variances are added up in the place of charges: independent
    /// requests add up the squares of what they cost. A request that makes `at_once` visits of one
    /// partition costs it that much more at a time.
    pub(crate) fn squared(self, at_once: f64) -> Self {
        let visit = self.visit * self.visit;
        let whole = (self.visit + self.loads).powi(2);
        Self {
            charge: (self.charge * self.charge * at_once).max(whole),
            loads: whole - visit,
            visit: visit * at_once,
        }
    }
}

/// Puts measured charges, by pattern, in the place of all others.
pub fn measure(demands: &mut [Demand<'_>], measured: &BTreeMap<String, MeasuredCharge>) {
    for demand in demands {
        if let Some(measured) = measured.get(&demand.pattern.name) {
            demand.charge = measured.charge;
            demand.loads = measured.loads;
            demand.visit = measured.visit;
            demand.is_measured = true;
        }
    }
}

/// What the workload would cost if every request visited one partition.
pub fn ideal(demands: &[Demand<'_>]) -> f64 {
    demands
        .iter()
        .map(|demand| demand.rate * demand.charge)
        .sum()
}
