//! Throughput to be found: the same for all keys, or a bad one is only dear.
//!
//! Where a horizon gives no throughput each key gets the least that holds for it, and no key
//! refuses anything: what skew and fan-out cost would stand in its price alone. So the least of
//! all keys is found, and those that need more than half as much again are judged at that.

use std::fmt::Write as _;

use super::{Excluded, Laboratory, Looked};
use crate::gate::{Finding, GateName};
use crate::outcome::Volume;
use crate::report::text::amount;
use crate::scenario::{Horizon, KeySpec};
use crate::simulate::{Row, first_failure};
use crate::verdict::Verdict;

/// Throughput over what the best key needs: the headroom of the method's examples (section 4).
const SPARE: f64 = 1.5;

/// For each horizon, what keys without a throughput of their own may use.
pub(super) type Allowance = Vec<Option<f64>>;

impl Laboratory<'_> {
    /// The allowance that the keys which hold leave; of all keys when none does.
    pub(super) fn allowance(&self, rows: &[Row]) -> Allowance {
        let holds = |row: &&Row| row.verdict != Verdict::Reject;
        let is_held = rows.iter().any(|row| holds(&row));
        let step = self.rule.limits.manual_rate_step.max(1) as f64;
        let horizons = self.workload.horizons.iter().enumerate();
        horizons
            .map(|(at, horizon)| {
                let found = rows
                    .iter()
                    .filter(|row| !is_held || holds(row))
                    .filter_map(|row| row.horizons.get(at))
                    .map(|at| at.outcome.provisioned)
                    .min_by(f64::total_cmp)?;
                let allowed = (found * SPARE / step).ceil() * step;
                horizon.ru.is_none().then_some(allowed)
            })
            .collect()
    }

    /// Judges those again that need more than is allowed.
    pub(super) fn judge_dear(&self, looked: &mut [Looked], allowance: &Allowance) {
        for looked in looked {
            let Some(row) = looked.row.as_ref().filter(|row| is_dear(row, allowance)) else {
                continue;
            };
            let key = row.definition.clone();
            if let Ok(again) = self.look_at_one(&key, Some(allowance)) {
                *looked = again;
            }
        }
    }

    /// Says of the gates that follow from throughput whose it was.
    pub(super) fn explain(&self, row: &mut Row) {
        let found = |horizon: &Horizon| horizon.ru.is_none();
        for (at, horizon) in row.horizons.iter_mut().zip(&self.workload.horizons) {
            let ru = amount(at.outcome.provisioned);
            for answer in at.gates.iter_mut().filter(|_| found(horizon)) {
                let is_concerned =
                    matches!(answer.gate, GateName::G3 | GateName::G4 | GateName::G5);
                if is_concerned && answer.finding != Finding::Pass {
                    // Writing to a string cannot fail.
                    let _ = write!(
                        answer.reason,
                        " (with {ru} RU/s in all, half as much again as the best key needs)"
                    );
                }
            }
        }
        row.first_failure = first_failure(&row.horizons);
    }

    /// The volumes of the horizons, with what is allowed where no throughput is given.
    pub(super) fn volumes(&self, allowance: Option<&Allowance>) -> Vec<Volume> {
        let horizons = self.workload.horizons.iter().enumerate();
        horizons
            .map(|(at, horizon)| {
                let allowed = allowance.and_then(|allowance| allowance.get(at).copied().flatten());
                Volume {
                    ru: horizon.ru.or(allowed),
                    ..super::volume(horizon)
                }
            })
            .collect()
    }

    /// The keys of one round, each with what is to be known of it.
    pub(super) fn round(&self, keys: &[KeySpec], excluded: &mut Vec<Excluded>) -> Vec<Looked> {
        let mut found = Vec::new();
        for looked in crate::parallel::map(keys, |key| self.look_at_one(key, None)) {
            match looked {
                Err(reason) => excluded.push(reason),
                Ok(looked) => found.push(looked),
            }
        }
        found
    }
}

/// Whether a key needs more than is allowed at some horizon.
fn is_dear(row: &Row, allowance: &Allowance) -> bool {
    let horizons = row.horizons.iter().zip(allowance);
    horizons
        .filter_map(|(at, allowed)| Some((at.outcome.provisioned, (*allowed)?)))
        .any(|(needed, allowed)| needed > allowed)
}
