//! A container's rate, and where it comes from: its own offer, its database's, or the serverless
//! account.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use orrery_model::throughput::Throughput;
use rustc_hash::FxHashMap;

use super::claim::{Bucket, Claim};
use super::gate::{Gate, Measure};
use super::meter::{Budget, Burst, Meter};
use crate::container::Container;
use crate::engine::Engine;
use crate::error::{Error, Throttle};
use crate::partition::Partition;
use crate::regions::RegionId;

/// How a container's rate was provisioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provision {
    /// By nobody: it is not limited.
    Unlimited,
    /// By an offer of its own; divided evenly over its physical partitions.
    Own(Throughput),
    /// By its database, which shares it among its containers.
    Shared(Throughput),
    /// By the account: so much for each physical partition.
    Serverless(u64),
}

impl Provision {
    /// Request units per second of the container, or of the database that shares them.
    pub fn rate(self, partitions: u32) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Own(throughput) | Self::Shared(throughput) => Some(throughput.max_rate()),
            Self::Serverless(rate) => Some(rate * u64::from(partitions)),
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unlimited => "unlimited",
            Self::Own(Throughput::Manual(_)) => "manual",
            Self::Own(Throughput::Autoscale { .. }) => "autoscale",
            Self::Shared(Throughput::Manual(_)) => "shared manual",
            Self::Shared(Throughput::Autoscale { .. }) => "shared autoscale",
            Self::Serverless(_) => "serverless",
        }
    }

    /// Whether it follows the load, and is billed by it.
    pub fn is_autoscale(self) -> bool {
        matches!(self, Self::Own(throughput) | Self::Shared(throughput) if throughput.is_autoscale())
    }
}

/// The percentages of a container's throughput buckets; 0 for buckets without a cap.
pub type BucketPercents = [u32; Bucket::COUNT];

/// The throughput of one container.
#[derive(Debug)]
pub struct ContainerThroughput {
    /// Hundredths per second of one physical partition; the greatest number for no limit.
    budget: AtomicU64,
    partitions: AtomicU32,
    provision: Mutex<Provision>,
    buckets: [AtomicU32; Bucket::COUNT],
    shared: OnceLock<Arc<SharedGates>>,
    /// Its own switch: 0 as the account, 1 off, 2 on.
    throttle: AtomicU8,
}

/// A budget that nothing uses up.
const UNLIMITED: u64 = u64::MAX;

impl ContainerThroughput {
    /// The throughput of a new container: nobody has provisioned any yet.
    pub(crate) fn new(partitions: usize) -> Self {
        Self {
            budget: AtomicU64::new(UNLIMITED),
            partitions: AtomicU32::new(count(partitions)),
            provision: Mutex::new(Provision::Unlimited),
            buckets: std::array::from_fn(|_| AtomicU32::new(0)),
            shared: OnceLock::new(),
            throttle: AtomicU8::new(0),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Provision> {
        self.provision
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// How the rate was provisioned.
    pub fn provision(&self) -> Provision {
        *self.locked()
    }

    /// Sets the rate; it holds from the next request on.
    pub fn set_provision(&self, provision: Provision) {
        let mut current = self.locked();
        *current = provision;
        self.divide(provision);
    }

    /// Divides the rate again: R over P, whatever the partitions hold.
    pub(crate) fn set_partitions(&self, partitions: usize) {
        let current = self.locked();
        self.partitions.store(count(partitions), Ordering::Relaxed);
        self.divide(*current);
    }

    fn divide(&self, provision: Provision) {
        let partitions = match &provision {
            Provision::Shared(_) => self.shared.get().map_or(1, |shared| shared.count()),
            _ => self.partitions.load(Ordering::Relaxed),
        };
        let budget = provision.rate(partitions).map_or(UNLIMITED, |rate| {
            rate.saturating_mul(100) / u64::from(partitions)
        });
        self.budget.store(budget, Ordering::Relaxed);
    }

    /// The caps of its throughput buckets.
    pub fn buckets(&self) -> BucketPercents {
        std::array::from_fn(|place| self.buckets[place].load(Ordering::Relaxed))
    }

    pub(crate) fn set_buckets(&self, percents: BucketPercents) {
        for (bucket, percent) in self.buckets.iter().zip(percents) {
            bucket.store(percent, Ordering::Relaxed);
        }
    }

    /// Whether its requests may be refused; `None` leaves it to the account.
    pub fn throttle(&self) -> Option<bool> {
        match self.throttle.load(Ordering::Relaxed) {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        }
    }

    /// Sets or clears its own switch.
    pub fn set_throttle(&self, throttle: Option<bool>) {
        let value = match throttle {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        self.throttle.store(value, Ordering::Relaxed);
    }

    /// What one physical partition may use per second, in hundredths; `None` without a limit.
    pub fn partition_budget(&self) -> Option<u64> {
        let budget = self.budget.load(Ordering::Relaxed);
        (budget != UNLIMITED).then_some(budget)
    }

    fn budget(&self, burst: Option<Burst>) -> Option<Budget> {
        Some(Budget::of_hundredths(self.partition_budget()?, burst))
    }

    /// What meters a partition in a region: its own gate, or one of its database's.
    fn gate<'g>(&'g self, partition: &'g Partition, region: RegionId) -> &'g Gate {
        match self.shared.get() {
            Some(shared) => shared.gate(partition, region),
            None => partition.load_in(region).gate(),
        }
    }

    fn bucket_percent(&self, claim: Claim) -> Option<u32> {
        let percent = self.buckets[claim.bucket?.place()].load(Ordering::Relaxed);
        (percent > 0).then_some(percent)
    }

    pub(crate) fn admit(
        &self,
        partition: &Partition,
        region: RegionId,
        claim: Claim,
        now_us: u64,
        burst: Option<Burst>,
    ) -> Result<(), Throttle> {
        let Some(budget) = self.budget(burst.filter(|_| claim.bucket.is_none())) else {
            return Ok(());
        };
        let measure = Measure {
            budget: &budget,
            bucket_percent: self.bucket_percent(claim),
        };
        self.gate(partition, region).admit(claim, measure, now_us)
    }

    pub(crate) fn charge(
        &self,
        partition: &Partition,
        region: RegionId,
        claim: Claim,
        now_us: u64,
        amount: u64,
        burst: Option<Burst>,
    ) {
        let Some(budget) = self.budget(burst) else {
            return;
        };
        let measure = Measure {
            budget: &budget,
            bucket_percent: self.bucket_percent(claim),
        };
        self.gate(partition, region)
            .charge(claim, measure, now_us, amount);
    }

    /// Hundredths saved for bursts by a partition in a region.
    pub fn savings(
        &self,
        partition: &Partition,
        region: RegionId,
        now_us: u64,
        burst: Option<Burst>,
    ) -> u64 {
        self.budget(burst).map_or(0, |budget| {
            self.gate(partition, region).savings(now_us, &budget)
        })
    }
}

fn count(partitions: usize) -> u32 {
    u32::try_from(partitions).unwrap_or(u32::MAX).max(1)
}

/// Most physical partitions of a database that shares its throughput: a million RU/s of 10,000.
const MOST_SHARED: usize = 100;

/// The physical partitions of a database that shares its throughput. Its containers lie on them
/// side by side, so what one uses the others miss.
#[derive(Debug)]
pub struct SharedGates {
    /// Region by region.
    gates: Box<[Gate]>,
    count: AtomicU32,
}

impl SharedGates {
    fn new(regions: usize) -> Self {
        let gates = MOST_SHARED * regions.max(1);
        Self {
            gates: (0..gates).map(|_| Gate::default()).collect(),
            count: AtomicU32::new(1),
        }
    }

    fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    fn set_count(&self, partitions: u32) {
        let most = MOST_SHARED as u32;
        self.count
            .store(partitions.clamp(1, most), Ordering::Relaxed);
    }

    fn gate(&self, partition: &Partition, region: RegionId) -> &Gate {
        let place = partition.part().0 % u64::from(self.count());
        &self.gates[region.0 * MOST_SHARED + place as usize]
    }
}

/// What an account keeps for its meters.
#[derive(Debug, Default)]
pub struct AccountThroughput {
    shared: Mutex<FxHashMap<u32, Arc<SharedGates>>>,
    /// Metadata requests.
    pub(crate) metadata: Meter,
    /// When throughput was changed lately, oldest first.
    changes: Mutex<VecDeque<u64>>,
}

/// Changes of throughput that an account may make in [`CHANGES_SECONDS`] (request units:
/// section 7).
const MOST_CHANGES: usize = 25;
const CHANGES_SECONDS: u64 = 300;

impl AccountThroughput {
    /// The partitions of a database, made when they are first asked for.
    fn shared(&self, database: u32, regions: usize) -> Arc<SharedGates> {
        let mut all = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let gates = all
            .entry(database)
            .or_insert_with(|| Arc::new(SharedGates::new(regions)));
        Arc::clone(gates)
    }

    /// Notes a change of throughput, or says after how many milliseconds there may be one.
    fn note_change(&self, now: u64) -> Result<(), u64> {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        while changes
            .front()
            .is_some_and(|&at| at.saturating_add(CHANGES_SECONDS) <= now)
        {
            changes.pop_front();
        }
        match changes.front() {
            Some(&oldest) if changes.len() >= MOST_CHANGES => {
                Err((oldest + CHANGES_SECONDS - now) * 1_000)
            }
            _ => {
                changes.push_back(now);
                Ok(())
            }
        }
    }

    fn forget_databases(&self, is_there: impl Fn(u32) -> bool) {
        let mut all = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|database, _| is_there(*database));
    }
}

impl Engine {
    /// Lets a change of throughput in: an account may make so many in five minutes.
    pub(crate) fn admit_throughput_change(&self) -> Result<(), Error> {
        if !self.throttles_by_default() {
            return Ok(());
        }
        let now = self.clock().now_seconds();
        let noted = self.account_throughput().note_change(now);
        noted.map_err(|after| Error::TooManyRequests(Throttle::throughput_changes(after)))
    }

    /// Gives every container the rate that the offers say. After each change of an offer, and
    /// when containers come.
    pub(crate) fn provision(&self) {
        let offers = self.catalog().provisioned();
        let containers = self.containers();
        for container in &containers {
            let database = container.rid().database_id();
            let own = offers.get(&container.rid());
            let throughput = container.throughput();
            if let Some(own) = own {
                throughput.set_buckets(own.buckets);
                throughput.set_provision(Provision::Own(own.throughput));
            } else if let Some(shared) = database.and_then(|rid| offers.get(&rid)) {
                self.share(container, shared.throughput);
            } else if self.metering().serverless {
                let rate = self.limits().serverless_partition_rate;
                throughput.set_provision(Provision::Serverless(rate));
            }
        }
        self.account_throughput().forget_databases(|database| {
            containers
                .iter()
                .any(|container| container.database() == database)
        });
    }

    fn share(&self, container: &Container, throughput: Throughput) {
        let regions = self.all_regions().count();
        let gates = self
            .account_throughput()
            .shared(container.database(), regions);
        gates.set_count(throughput.initial_partitions(true, self.limits()));
        let own = container.throughput();
        let _ = own.shared.set(gates);
        own.set_provision(Provision::Shared(throughput));
    }
}
