//! Horizons: how much there is, and how much throughput for it, now and later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::pattern::unknown_field;
use super::{FieldSpec, amount};
use crate::error::KeylabError;

/// Volume and throughput at one time.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Horizon {
    /// `now`, `3y`, `10x`.
    pub name: String,
    /// Stored gigabytes, index included.
    pub gb: f64,
    /// Provisioned request units a second; found when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ru: Option<f64>,
    /// Factor on all rates of the workload.
    #[serde(default = "one")]
    pub rates: f64,
    /// Physical partitions of a container that exists, in equal ranges; computed when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u32>,
    /// Fields that have another number of values at this time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
}

fn one() -> f64 {
    1.0
}

impl Horizon {
    pub(crate) fn check(
        &self,
        at: &str,
        fields: &BTreeMap<String, FieldSpec>,
    ) -> Result<(), KeylabError> {
        amount::check(at, "gb", self.gb)?;
        amount::check(at, "rates", self.rates)?;
        if self
            .ru
            .is_some_and(|ru| !(400.0..=1_000_000.0).contains(&ru))
        {
            return Err(KeylabError::invalid(
                at,
                "ru must lie between 400 and 1000000; leave it out to have it found",
            ));
        }
        if let Some(partitions) = self.partitions {
            amount::check_partitions(at, partitions)?;
        }
        for (field, count) in &self.counts {
            let Some(spec) = fields.get(field) else {
                return Err(KeylabError::invalid(at, unknown_field(field, fields)));
            };
            spec.check_count(&format!("{at}.counts.{field}"), *count)?;
        }
        Ok(())
    }
}

/// What holds for the whole container.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Container {
    /// Throughput follows the load up to the horizon's `ru`.
    #[serde(default)]
    pub autoscale: bool,
    /// Strong or bounded staleness: every read costs double.
    #[serde(default)]
    pub strong_reads: bool,
    /// Version 1 of the hash, as in containers of old SDKs.
    #[serde(default)]
    pub version1: bool,
    /// Groups of fields that must be unique in the whole container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<Vec<String>>,
}
