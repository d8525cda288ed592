//! What a scenario expects of a candidate, for `simulate --check`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gate::GateName;
use crate::verdict::Verdict;

/// The expected row of a candidate.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ExpectedRow {
    /// The verdict over all horizons.
    pub verdict: Verdict,
    /// The first gate that fails, at the first horizon at which one fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateName>,
    /// Numbers by horizon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub horizons: BTreeMap<String, ExpectedHorizon>,
}

/// Expected numbers at one horizon. Request units may differ by 5 %, the throttled share by one
/// point; gigabytes must be equal as written.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ExpectedHorizon {
    /// The verdict at this horizon alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Request units a second that the workload uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// Request units a second to provision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<f64>,
    /// Percent of the demand that is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// Gigabytes of the largest key value: `0.7`, `440`, or `<0.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_gb: Option<String>,
    /// Physical partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u32>,
}
