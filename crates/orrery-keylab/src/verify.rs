//! Verification: what a real engine has to do so that its measurements can be laid beside the
//! prediction (method: section 14.1).
//!
//! A [`Subject`] is one key at one horizon: where its partitions begin ([`places`]), which items
//! and requests it has ([`requests`]), and what is predicted of them. Whoever runs them on an
//! engine hands back a [`Measurement`]; [`compare`] judges it. Charges are taken from the engine, so
//! that the comparison is about placement, routing, shares and throttling.

pub mod compare;
pub(crate) mod items;
pub mod places;
pub mod request;
pub mod requests;
pub mod values;

use std::collections::BTreeMap;

use crate::analysis::Laboratory;
use crate::demand::{self, Charges, Demand, MeasuredCharge, Window};
use crate::error::KeylabError;
use crate::gates::KeyFacts;
use crate::layout::{Building, Layout, Route, of_scenario};
use crate::outcome::{Outcome, Volume, boundaries, evaluate};
use crate::placement::{PartitionRule, version2};
use crate::routing::Reach;
use crate::scenario::{CandidateSpec, FieldSpec, KeySpec, Scenario};
use crate::simulate;
use crate::throttle::refused;
use orrery_model::limits::Limits;
use places::Places;
use requests::{Requests, Source};
use values::{Member, members_of};

/// One key at one horizon.
pub struct Subject<'a> {
    origin: Origin<'a>,
    rule: PartitionRule,
    volume: Volume,
    outcome: Outcome,
    places: Places,
    /// Visits a second.
    visits: f64,
}

enum Origin<'a> {
    Scenario(&'a Scenario, &'a CandidateSpec, &'a BTreeMap<String, u64>),
    Sample(&'a Laboratory<'a>, &'a KeySpec),
}

/// A scenario with at most so many values of each member: what an engine in memory can hold.
pub fn scaled_down(scenario: &Scenario, values: u64) -> Scenario {
    let mut scenario = scenario.clone();
    let fewer = |field: &mut FieldSpec| {
        if field.format.is_some() {
            let count = field.placed.or(field.count).unwrap_or(values).min(values);
            (field.count, field.placed) = (Some(count), Some(count));
        }
    };
    scenario.fields.values_mut().for_each(fewer);
    for candidate in &mut scenario.candidates {
        candidate.fields.values_mut().for_each(fewer);
    }
    scenario
}

impl<'a> Subject<'a> {
    /// A candidate of a scenario at one of its horizons.
    pub fn of_scenario(
        scenario: &'a Scenario,
        candidate: &'a CandidateSpec,
        horizon: &str,
    ) -> Result<Self, KeylabError> {
        if scenario.container.version1 {
            return Err(KeylabError::invalid(
                "container.version1",
                "keys of version 1 are not verified: a new container has version 2",
            ));
        }
        let horizon = scenario
            .horizons
            .iter()
            .find(|known| known.name == horizon)
            .ok_or_else(|| {
                KeylabError::invalid("horizons", format!("none is called '{horizon}'"))
            })?;
        Self::new(
            Origin::Scenario(scenario, candidate, &horizon.counts),
            simulate::volume(horizon, candidate),
            scenario.container.autoscale,
        )
    }

    /// A key over a sample at a horizon of its workload.
    pub fn of_sample(
        laboratory: &'a Laboratory<'a>,
        key: &'a KeySpec,
        horizon: &str,
    ) -> Result<Self, KeylabError> {
        let volume = laboratory.volume(horizon)?;
        Self::new(
            Origin::Sample(laboratory, key),
            volume,
            laboratory.is_autoscale(),
        )
    }

    fn new(origin: Origin<'a>, volume: Volume, autoscale: bool) -> Result<Self, KeylabError> {
        let rule = PartitionRule {
            limits: Limits::default(),
            autoscale,
        };
        let layout = origin.layout(None)?;
        let outcome = evaluate(&layout, &volume, &rule);
        // The charges that the engine takes meet the throughput that the model's need.
        let volume = Volume {
            ru: Some(outcome.provisioned),
            ..volume
        };
        let places = Places::new(boundaries(&layout, &volume, &outcome, &rule));
        let count = outcome.partitions as f64;
        let further = layout.further(count).0 + layout.fan_out * (count - 1.0);
        Ok(Self {
            visits: (layout.requests + further) * volume.rates,
            origin,
            rule,
            volume,
            outcome,
            places,
        })
    }

    /// Where its partitions are.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Request units a second of the container.
    pub fn provisioned(&self) -> f64 {
        self.outcome.provisioned
    }

    /// Stored gigabytes.
    pub fn gb(&self) -> f64 {
        self.volume.gb
    }

    /// Visits of partitions a second.
    pub fn visits(&self) -> f64 {
        self.visits
    }

    /// Requests a second.
    pub fn rate(&self) -> Result<f64, KeylabError> {
        let demands = self.origin.demands(None)?;
        Ok(demands.iter().map(|demand| demand.rate).sum::<f64>() * self.volume.rates)
    }

    /// The key.
    pub fn key(&self) -> &'a KeySpec {
        match &self.origin {
            Origin::Scenario(_, candidate, _) => &candidate.key,
            Origin::Sample(_, key) => key,
        }
    }

    /// How many levels it has where it is stored.
    pub fn key_levels(&self) -> usize {
        match self.key() {
            KeySpec::Hierarchy(levels) => levels.len(),
            _ => 1,
        }
    }

    /// How its requests are routed.
    pub fn routes(&self) -> Result<Vec<Route>, KeylabError> {
        Ok(self.origin.layout(None)?.routes)
    }

    /// How many items a query returns, by pattern.
    pub fn page_sizes(&self) -> Result<Vec<u32>, KeylabError> {
        let demands = self.origin.demands(None)?;
        let size = |demand: &Demand<'_>| u32::try_from(demand.pattern.returns).unwrap_or(u32::MAX);
        Ok(demands.iter().map(|demand| size(demand).max(1)).collect())
    }

    /// Its items and requests.
    pub fn requests(&self, seed: u64) -> Result<Requests<'a>, KeylabError> {
        let demands = self.origin.demands(None)?;
        let source = self.origin.source(&demands)?;
        Ok(Requests::new(
            self.key(),
            demands,
            &self.routes()?,
            source,
            seed,
        ))
    }

    /// What the engine's charges mean for a pattern: the totals of `requests` with `visits`, of which
    /// the cheapest took `least`.
    pub fn charge_of(&self, route: &Route, taken: Taken) -> MeasuredCharge {
        let (requests, visits) = (taken.requests.max(1) as f64, taken.visits.max(1) as f64);
        let (of_request, of_visit) = (taken.charge / requests, taken.charge / visits);
        let is_labelled = matches!(self.key(), KeySpec::Suffix { .. } | KeySpec::Copies { .. });
        match route.reach {
            // What is beyond empty visits was paid where the items are.
            Reach::FanOut => {
                let loads = (taken.charge - taken.least * visits) / requests;
                MeasuredCharge {
                    charge: taken.least + loads,
                    loads,
                    visit: taken.least,
                }
            }
            Reach::Prefix(_) => MeasuredCharge {
                charge: of_visit,
                loads: 0.0,
                visit: of_visit,
            },
            _ => MeasuredCharge {
                charge: if is_labelled { of_visit } else { of_request },
                loads: 0.0,
                visit: of_visit,
            },
        }
    }

    /// What is predicted with charges that the engine takes, by pattern.
    pub fn predict(
        &self,
        charges: &BTreeMap<String, MeasuredCharge>,
        scale: f64,
    ) -> Result<Prediction, KeylabError> {
        let layout = self.origin.layout(Some(charges))?;
        let mut outcome = evaluate(&layout, &self.volume, &self.rule);
        // Fewer requests of the same size are less even from second to second.
        let squares = self.squares(charges, outcome.partitions)?;
        let spread = evaluate(
            &self.origin.layout(Some(&squares))?,
            &self.volume,
            &self.rule,
        );
        let parts = outcome.demands.iter().zip(&spread.demands);
        outcome.throttled = refused(
            parts.map(|(demand, variance)| (demand * scale, variance * scale)),
            outcome.budget() * scale,
        );
        Ok(Prediction { outcome })
    }

    /// Charges of which a layout adds up to variances.
    fn squares(
        &self,
        charges: &BTreeMap<String, MeasuredCharge>,
        partitions: usize,
    ) -> Result<BTreeMap<String, MeasuredCharge>, KeylabError> {
        let demands = self.origin.demands(None)?;
        let mut squares = BTreeMap::new();
        for (route, demand) in self.routes()?.iter().zip(&demands) {
            let Some(charge) = charges.get(&route.pattern) else {
                continue;
            };
            let at_once = match route.reach {
                Reach::Values(values) => {
                    let visits = values.min(demand.most_visits.unwrap_or(values));
                    1.0 + (visits - 1.0).max(0.0) / partitions as f64
                }
                _ => 1.0,
            };
            squares.insert(route.pattern.clone(), charge.squared(at_once));
        }
        Ok(squares)
    }

    fn facts(&self) -> KeyFacts {
        match &self.origin {
            Origin::Scenario(scenario, candidate, _) => simulate::facts(scenario, candidate),
            Origin::Sample(..) => KeyFacts::default(),
        }
    }
}

impl<'a> Origin<'a> {
    fn demands(
        &self,
        measured: Option<&BTreeMap<String, MeasuredCharge>>,
    ) -> Result<Vec<Demand<'a>>, KeylabError> {
        match self {
            Self::Scenario(scenario, candidate, _) => {
                let charges = Charges::of(scenario);
                let (workload, adapt) = (&scenario.workload, &candidate.adapt);
                let mut demands = demand::settle(workload, adapt, &charges, Window::Mean)?;
                if let Some(measured) = measured {
                    demand::measure(&mut demands, measured);
                }
                Ok(demands)
            }
            Self::Sample(laboratory, _) => Ok(laboratory.measured_demands(measured)),
        }
    }

    fn layout(
        &self,
        measured: Option<&BTreeMap<String, MeasuredCharge>>,
    ) -> Result<Layout, KeylabError> {
        match self {
            Self::Scenario(scenario, candidate, counts) => of_scenario(&Building {
                scenario,
                candidate,
                counts,
                window: Window::Mean,
                hash: &version2,
                measured,
            }),
            Self::Sample(laboratory, key) => laboratory.measured_layout(key, measured),
        }
    }

    fn source(&self, demands: &[Demand<'_>]) -> Result<Source, KeylabError> {
        match self {
            Self::Scenario(scenario, candidate, counts) => {
                let building = Building {
                    scenario,
                    candidate,
                    counts,
                    window: Window::Mean,
                    hash: &version2,
                    measured: None,
                };
                let mut members = Vec::with_capacity(scenario.fields.len());
                for (name, spec) in &scenario.fields {
                    let spec = candidate.fields.get(name).unwrap_or(spec);
                    let set = building.set(name)?;
                    members.push(Member::of_shares(name, spec, &set, demands)?);
                }
                Ok(Source {
                    members,
                    row_bytes: Vec::new(),
                    item_bytes: scenario.item_bytes,
                })
            }
            Self::Sample(laboratory, key) => {
                let table = laboratory.table();
                let mut members = members_of(table);
                for column in laboratory.columns(key).into_iter().flatten() {
                    if table.column(&column.name).is_none() {
                        members.push(Member::of_rows(&column));
                    }
                }
                Ok(Source {
                    members,
                    row_bytes: table.bytes.clone(),
                    item_bytes: (table.total_bytes / table.items.max(1)) as usize,
                })
            }
        }
    }
}

/// What the engine charged for requests of one pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Taken {
    /// Requests.
    pub requests: u64,
    /// Partitions that they visited, one counted each time.
    pub visits: u64,
    /// Request units of all.
    pub charge: f64,
    /// Request units of the cheapest visit.
    pub least: f64,
}

/// What is predicted.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// At the size of production, save that throttling is that of the model's size.
    pub outcome: Outcome,
}

/// What an engine did.
#[derive(Debug, Clone, Default)]
pub struct Measurement {
    /// Items that were loaded.
    pub items: u64,
    /// Items that lie on the partition that was predicted.
    pub placed_right: u64,
    /// Bytes of items by the partition that was predicted.
    pub expected_bytes: Vec<u64>,
    /// Bytes of items and index by partition.
    pub stored_bytes: Vec<u64>,
    /// Bytes of the largest logical partition.
    pub largest_bytes: u64,
    /// By pattern, in the order of the workload.
    pub patterns: Vec<PatternCount>,
    /// Request units that partitions were asked for, what was refused included.
    pub asked: Vec<f64>,
    /// The part of them that was refused.
    pub refused: f64,
    /// Seconds of the measurement.
    pub seconds: f64,
    /// The size of the model: rates and throughput against those of production.
    pub scale: f64,
    /// What the engine charges, by pattern.
    pub charges: BTreeMap<String, MeasuredCharge>,
}

/// The visits of one pattern.
#[derive(Debug, Clone, Default)]
pub struct PatternCount {
    /// Its name.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Partitions that were to be visited.
    pub expected_visits: u64,
    /// Partitions that were visited.
    pub visits: u64,
    /// Requests that did not visit exactly the partitions that they were to.
    pub astray: u64,
}
