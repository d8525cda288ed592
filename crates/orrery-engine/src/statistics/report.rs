//! Statistics put together for people and tools: what the admin interface, `orrery top` and
//! `/metrics` show.

use std::sync::Arc;

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::partition_key::PartitionKey;

use super::heavy::Heavy;
use super::seconds::{SecondCount, Totals};
use super::shapes::QueryShape;
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;
use crate::layout::entries::Counters;
use crate::partition::Partition;
use crate::throughput::provision::Provision;

/// How much a report tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportDepth {
    /// Seconds of the past.
    pub seconds: u64,
    /// Logical partitions of a range, and query shapes of a container.
    pub most: usize,
}

/// One container.
#[derive(Debug, Clone)]
pub struct ContainerReport {
    /// The container.
    pub container: Arc<Container>,
    /// How its rate was provisioned.
    pub provision: Provision,
    /// Request units per second; `None` without a limit.
    pub rate: Option<u64>,
    /// Whether its requests may be refused.
    pub throttles: bool,
    /// The rate that autoscale has reached over the last seconds; the whole rate otherwise.
    pub scaled_rate: Option<u64>,
    /// Its ranges in the order of key space.
    pub ranges: Vec<RangeReport>,
    /// Its heaviest queries.
    pub queries: Vec<QueryShape>,
}

/// One physical partition.
#[derive(Debug, Clone)]
pub struct RangeReport {
    /// Its partition key range.
    pub id: PartitionKeyRangeId,
    /// The key space.
    pub space: EpkRange,
    /// Hundredths of request units per second that it may use; `None` without a limit.
    pub budget: Option<u64>,
    /// Hundredths saved for bursts.
    pub savings: u64,
    /// Items and bytes.
    pub counters: Counters,
    /// All since the start of the process.
    pub totals: Totals,
    /// The last seconds that had operations.
    pub recent: Vec<SecondCount>,
    /// The heaviest logical partitions by request units.
    pub heaviest: Vec<HeavyKey>,
}

/// A logical partition and what it took.
#[derive(Debug, Clone)]
pub struct HeavyKey {
    /// Its key, where an item still tells.
    pub key: Option<PartitionKey>,
    /// Its effective partition key.
    pub epk: EffectivePartitionKey,
    /// What it took.
    pub weight: Heavy,
}

impl RangeReport {
    /// The normalised consumption: the highest use of a second against the budget, in percent, at
    /// most 100 (request units: section 8). `None` without a limit.
    pub fn normalized(&self) -> Option<f64> {
        let budget = self.budget?.max(1);
        let highest = self
            .recent
            .iter()
            .map(|second| second.counts.hundredths)
            .max();
        let used = highest.unwrap_or(0) as f64 * 100.0 / budget as f64;
        Some(used.min(100.0))
    }
}

impl ContainerReport {
    /// The container's normalised consumption: that of its busiest range.
    pub fn normalized(&self) -> Option<f64> {
        self.ranges
            .iter()
            .filter_map(RangeReport::normalized)
            .max_by(f64::total_cmp)
    }
}

impl Engine {
    /// What is known of every container in this handle's region, in the order of their names.
    pub fn report(&self, depth: ReportDepth) -> Result<Vec<ContainerReport>, Error> {
        let mut containers = self.containers();
        containers.sort_by(|a, b| a.alt_path().cmp(b.alt_path()));
        containers
            .into_iter()
            .map(|container| self.container_report(container, depth))
            .collect()
    }

    /// What is known of one container.
    pub fn container_report(
        &self,
        container: Arc<Container>,
        depth: ReportDepth,
    ) -> Result<ContainerReport, Error> {
        let map = container.ranges();
        let ranges = map
            .partitions()
            .iter()
            .map(|partition| self.range_report(&container, partition, depth))
            .collect::<Result<Vec<_>, Error>>()?;
        let provision = container.throughput().provision();
        let rate = provision.rate(u32::try_from(ranges.len()).unwrap_or(u32::MAX));
        Ok(ContainerReport {
            provision,
            rate,
            scaled_rate: rate.map(|rate| scaled(provision, rate, &ranges)),
            throttles: self.throttles(&container),
            queries: container.query_shapes().heaviest(depth.most),
            ranges,
            container,
        })
    }

    fn range_report(
        &self,
        container: &Container,
        partition: &Partition,
        depth: ReportDepth,
    ) -> Result<RangeReport, Error> {
        let now_us = self.clock().now_us();
        let second = now_us / 1_000_000;
        let state = container.state();
        let region = self.serving();
        let activity = partition.load_in(region).activity();
        let heaviest = activity.heaviest(second, depth.most);
        let named = |weight: Heavy| {
            let epk = EffectivePartitionKey::from_bytes(weight.key.clone());
            let key = self.key_of(&state, partition, &epk)?;
            Ok(HeavyKey { key, epk, weight })
        };
        Ok(RangeReport {
            id: partition.id(),
            space: partition.range().clone(),
            budget: container.throughput().partition_budget(),
            savings: container
                .throughput()
                .savings(partition, region, now_us, self.burst()),
            counters: partition.statistics(),
            totals: activity.totals(),
            recent: activity.recent(second, depth.seconds),
            heaviest: heaviest
                .into_iter()
                .map(named)
                .collect::<Result<_, Error>>()?,
        })
    }
}

/// Autoscale goes up and down for each partition, and keeps a tenth (request units: section 7).
fn scaled(provision: Provision, rate: u64, ranges: &[RangeReport]) -> u64 {
    if !provision.is_autoscale() || ranges.is_empty() {
        return rate;
    }
    let share = rate as f64 / ranges.len() as f64;
    let reached: f64 = ranges
        .iter()
        .map(|range| {
            let used = range.normalized().unwrap_or(100.0) / 100.0;
            share * used.max(0.1)
        })
        .sum();
    reached.ceil() as u64
}
