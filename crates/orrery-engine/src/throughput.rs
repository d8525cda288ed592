//! Throughput as physical partitions feel it: how much of a container's rate each has, and which
//! requests a second has room for (request units: sections 7 and 8).
//!
//! A request is let in while the second's budget is not used up, whatever it will cost, and what it
//! cost is taken off afterwards. What a second took too much, the next ones pay back: over time a
//! partition serves its budget and no more (docs/decisions/throttling.md). Everything on the way of
//! a request is a handful of atomics; nothing waits.
//!
//! [`meter`] is the arithmetic of one budget, [`gate`] a partition's meters in one region, [`loads`]
//! those of all regions, [`provision`] a container's rate and the way from offers to it.

pub mod claim;
pub mod gate;
pub mod loads;
pub mod meter;
pub mod provision;

use std::sync::atomic::Ordering;

use orrery_model::charge::Charge;

use crate::answer::{Answer, Failure, Meta};
use crate::committer::Environment;
use crate::container::Container;
use crate::engine::Engine;
use crate::error::{Error, Throttle};
use crate::partition::Partition;
use crate::regions::RegionId;
use claim::Claim;
use meter::{Budget, Burst};

/// How an account meters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metering {
    /// Refuse what a budget does not cover.
    pub throttle: bool,
    /// Let partitions spend what they saved while idle.
    pub burst: bool,
    /// Containers have no provisioned rate; each partition has the serverless one.
    pub serverless: bool,
    /// Keep statistics.
    pub statistics: bool,
}

impl Default for Metering {
    fn default() -> Self {
        Self {
            throttle: false,
            burst: false,
            serverless: false,
            statistics: true,
        }
    }
}

impl Environment {
    /// What partitions may save, if they may.
    pub fn burst(&self) -> Option<Burst> {
        let is_saved = self.metering.burst && !self.metering.serverless;
        is_saved.then_some(Burst {
            seconds: self.limits.burst_seconds,
            rate: self.limits.burst_rate,
        })
    }

    /// Whether requests to a container may be refused for their rate.
    pub fn throttles(&self, container: &Container) -> bool {
        let own = container.throughput().throttle();
        own.unwrap_or(self.throttles.load(Ordering::Relaxed))
    }

    /// Lets a request in a region in, or says when to come back. `key` is the effective partition
    /// key of a request to one logical partition.
    pub fn admit(
        &self,
        container: &Container,
        partition: &Partition,
        region: RegionId,
        claim: Claim,
        key: Option<&[u8]>,
    ) -> Result<(), Throttle> {
        if !self.throttles(container) {
            return Ok(());
        }
        let now_us = self.clock.now_us();
        let admitted = container
            .throughput()
            .admit(partition, region, claim, now_us, self.burst());
        if admitted.is_err() && self.metering.statistics {
            let activity = partition.load_in(region).activity();
            activity.refuse(now_us / 1_000_000, key);
        }
        admitted
    }

    /// Takes what an admitted request cost off the region's budget, and notes it.
    pub fn settle(
        &self,
        container: &Container,
        partition: &Partition,
        region: RegionId,
        claim: Claim,
        key: Option<&[u8]>,
        charge: Charge,
    ) {
        let now_us = self.clock.now_us();
        let amount = meter::hundredths(charge);
        // Who may take what they want runs up no debts.
        if self.throttles(container) {
            container
                .throughput()
                .charge(partition, region, claim, now_us, amount, self.burst());
        }
        if self.metering.statistics {
            let activity = partition.load_in(region).activity();
            activity.note(now_us / 1_000_000, amount, key);
        }
    }

    /// Takes what a write cost off the budgets of the regions that get it: replication uses their
    /// own (request units: section 1). Nothing is refused for it.
    pub fn settle_replication(
        &self,
        container: &Container,
        partition: &Partition,
        key: &[u8],
        charge: Charge,
    ) {
        let amount = meter::hundredths(charge);
        if amount == 0 || self.regions.count() < 2 {
            return;
        }
        let now_us = self.clock.now_us();
        let throttles = self.throttles(container);
        for region in self.regions.readers() {
            if throttles {
                let claim = Claim::default();
                container.throughput().charge(
                    partition,
                    region,
                    claim,
                    now_us,
                    amount,
                    self.burst(),
                );
            }
            if self.metering.statistics {
                let activity = partition.load_in(region).activity();
                activity.note_replication(now_us / 1_000_000, amount, key);
            }
        }
    }
}

impl Engine {
    /// Whether requests to a container may be refused for their rate.
    pub fn throttles(&self, container: &Container) -> bool {
        self.environment().throttles(container)
    }

    /// Lets a request in, or answers for it.
    pub(crate) fn admit(
        &self,
        container: &Container,
        partition: &Partition,
        claim: Claim,
        key: Option<&[u8]>,
    ) -> Result<(), Failure> {
        let environment = self.environment();
        let admitted = environment.admit(container, partition, self.serving(), claim, key);
        admitted.map_err(|throttle| Failure {
            error: Error::TooManyRequests(throttle),
            meta: Meta::at(partition, partition.lsn(), Charge::ZERO),
        })
    }

    /// Settles an admitted request by its answer, which it hands on.
    pub(crate) fn settled<T>(
        &self,
        container: &Container,
        partition: &Partition,
        claim: Claim,
        key: Option<&[u8]>,
        answer: Result<Answer<T>, Failure>,
    ) -> Result<Answer<T>, Failure> {
        let charge = match &answer {
            Ok(answer) => answer.meta.charge,
            Err(failure) => failure.meta.charge,
        };
        self.settle(container, partition, claim, key, charge);
        answer
    }

    /// Takes what an admitted request cost off the budget, and notes it.
    pub(crate) fn settle(
        &self,
        container: &Container,
        partition: &Partition,
        claim: Claim,
        key: Option<&[u8]>,
        charge: Charge,
    ) {
        self.environment()
            .settle(container, partition, self.serving(), claim, key, charge);
    }

    /// Lets a metadata request in: the account has a rate of its own for them.
    pub fn admit_metadata(&self) -> Result<(), Error> {
        let metadata = self.metadata_meter();
        let now_us = self.clock().now_us();
        let budget = Budget::plain(self.limits().metadata_rate);
        if self.throttles_by_default() {
            let admitted = metadata.admit(now_us, &budget);
            admitted.map_err(|after| Error::TooManyRequests(Throttle::metadata(after)))?;
        }
        metadata.charge(now_us, &budget, meter::hundredths(Charge::ONE));
        Ok(())
    }
}
