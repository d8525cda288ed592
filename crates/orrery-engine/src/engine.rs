//! The engine: one account over one store. Cheap to clone, shared by all threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use orrery_model::charge::{Profile, ReadCost};
use orrery_model::container::ContainerSpec;
use orrery_model::epk::EpkRange;
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::limits::Limits;
use orrery_model::resource_path::ResourcePath;
use orrery_sql::memory::MemoryPool;
use orrery_storage::{Head, PartId, PartState, Store, Writes};
use rustc_hash::FxHashMap;

use crate::account::{ACCOUNT_PART, Account, MAP};
use crate::catalog::{Catalog, CatalogState};
use crate::clock::{Clock, Entropy};
use crate::committer::{CommitMode, Committer, Environment};
use crate::container::{Container, ContainerState, RangeMap};
use crate::error::Error;
use crate::partition::Partition;
use crate::partition_map::{MapRecord, RangeRecord};
use crate::query::{ListCache, QueryCache, QueryTuning, Readers};
use crate::read::hints::Hints;
use crate::regions::{RegionId, Regions, RegionsConfig};
use crate::split::Reshapes;
use crate::throughput::Metering;
use crate::throughput::meter::{Burst, Meter};
use crate::throughput::provision::AccountThroughput;
use crate::write::prepare::Preparation;

/// How an engine behaves.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The service's limits, or a scale model of them.
    pub limits: Limits,
    /// How writes are charged.
    pub profile: Profile,
    /// What reads cost at the account's consistency.
    pub read_cost: ReadCost,
    /// Who runs the committer.
    pub commit: CommitMode,
    /// Knobs of the query planner.
    pub tuning: QueryTuning,
    /// How long a split or merge waits before it begins, to imitate the service's slowness.
    pub split_delay_ms: u64,
    /// Throughput and statistics.
    pub metering: Metering,
    /// Where the account is read and written.
    pub regions: RegionsConfig,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            profile: Profile::default(),
            read_cost: ReadCost::default(),
            commit: CommitMode::Threads(2),
            tuning: QueryTuning::default(),
            split_delay_ms: 0,
            metering: Metering::default(),
            regions: RegionsConfig::default(),
        }
    }
}

/// A new container: what the catalog decided before it asks for partitions.
#[derive(Debug, Clone)]
pub struct ContainerDraft {
    /// The database's number in rids.
    pub database: u32,
    /// The container's number in rids.
    pub number: u32,
    /// `dbs/a/colls/b`.
    pub alt_path: String,
    /// The definition.
    pub spec: ContainerSpec,
    /// With how many partition key ranges it starts.
    pub ranges: u32,
}

/// An account over a store.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
    /// The region through which this handle looks; none sees every write.
    pub(crate) region: Option<RegionId>,
}

struct Inner {
    committer: Committer,
    account: Account,
    catalog: CatalogState,
    /// Held by whoever reads, changes and writes a container's record.
    records: Mutex<()>,
    queries: QueryCache,
    lists: ListCache,
    readers: Readers,
    memory: MemoryPool,
    tuning: QueryTuning,
    reshapes: Reshapes,
    throughput: AccountThroughput,
    containers: RwLock<FxHashMap<(u32, u32), Arc<Container>>>,
}

impl Engine {
    /// Opens an account. Parts that no container owns (left by a crash between making them and
    /// recording them, or between forgetting and dropping them) are dropped.
    pub fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        config: EngineConfig,
    ) -> Result<Self, Error> {
        let account = Account::open(Arc::clone(&store), Arc::clone(&entropy))?;
        let catalog = CatalogState::load(&account)?;
        let regions = Regions::open(&config.regions, &account)?;
        let mut containers = FxHashMap::default();
        let mut interrupted = Vec::new();
        for (key, value) in account.scan(&[MAP])? {
            let record = MapRecord::decode(&key, &value)?;
            let container = container_of(&record, &config.limits, regions.count())?;
            let container = Arc::new(container);
            for partition in container.ranges().partitions() {
                partition.load(&*store)?;
            }
            if !record.asked.is_empty() {
                interrupted.push((Arc::clone(&container), record.asked));
            }
            containers.insert((container.database(), container.number()), container);
        }
        drop_orphans(&*store, &containers)?;
        let memory = MemoryPool::new(config.limits.queries_memory);
        let EngineConfig {
            limits,
            profile,
            read_cost,
            commit,
            tuning,
            split_delay_ms,
            metering,
            regions: _,
        } = config;
        let environment = Environment {
            store,
            clock,
            entropy,
            limits,
            profile,
            read_cost,
            metering,
            regions,
            hints: Hints::default(),
            recent: Arc::default(),
            throttles: AtomicBool::new(metering.throttle),
        };
        let committer = Committer::start(environment, commit)?;
        let containers = RwLock::new(containers);
        let engine = Self {
            inner: Arc::new(Inner {
                committer,
                account,
                catalog,
                records: Mutex::new(()),
                queries: QueryCache::default(),
                lists: ListCache::default(),
                readers: Readers::default(),
                memory,
                tuning,
                reshapes: Reshapes::new(split_delay_ms),
                throughput: AccountThroughput::default(),
                containers,
            }),
            region: None,
        };
        engine.provision();
        for (container, asked) in interrupted {
            engine.line_up_again(&container, asked);
        }
        engine.replicate()?;
        Ok(engine)
    }

    pub(crate) fn environment(&self) -> &Environment {
        self.inner.committer.environment()
    }

    pub(crate) fn committer(&self) -> &Committer {
        &self.inner.committer
    }

    pub(crate) fn records(&self) -> MutexGuard<'_, ()> {
        self.inner
            .records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The account's own part, for the catalog.
    pub fn account(&self) -> &Account {
        &self.inner.account
    }

    /// The store under the engine.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.environment().store
    }

    /// The engine's time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.environment().clock
    }

    /// The engine's randomness.
    pub fn entropy(&self) -> &Arc<dyn Entropy> {
        &self.environment().entropy
    }

    /// The limits that apply.
    pub fn limits(&self) -> &Limits {
        &self.environment().limits
    }

    pub(crate) fn preparation<'c>(
        &'c self,
        container: &Container,
        state: &'c ContainerState,
    ) -> Preparation<'c> {
        Preparation {
            state,
            container: container.rid(),
            limits: self.limits(),
            now: self.clock().now_seconds(),
        }
    }

    /// The container of these numbers.
    pub fn container_by_number(&self, database: u32, number: u32) -> Option<Arc<Container>> {
        let containers = self
            .inner
            .containers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        containers.get(&(database, number)).cloned()
    }

    /// All containers, in the order of their numbers.
    pub fn containers(&self) -> Vec<Arc<Container>> {
        let containers = self
            .inner
            .containers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = containers.values().cloned().collect();
        all.sort_by_key(|container| (container.database(), container.number()));
        all
    }

    /// Makes a container: parts first, then its record and the caller's `writes` to the
    /// account's part in one commit. A crash before that commit leaves parts without an owner,
    /// which the next start drops.
    pub fn add_container(
        &self,
        draft: ContainerDraft,
        mut writes: Writes,
    ) -> Result<Arc<Container>, Error> {
        let store = self.store();
        let ranges = EpkRange::split_evenly(&draft.spec.partition_key, draft.ranges.max(1));
        let first = self.account().take_numbers("part", ranges.len() as u64)?;
        let mut records = Vec::with_capacity(ranges.len());
        for (number, range) in ranges.into_iter().enumerate() {
            let part = PartId(ACCOUNT_PART.0 + first + number as u64);
            store.create_part(part, Head::new(PartState::Active))?;
            let id = PartitionKeyRangeId(number as u32);
            records.push(RangeRecord {
                id,
                part,
                range,
                parents: Vec::new(),
                since: 1,
                blended: Lsn(0),
                merges: 0,
                floors: Vec::new(),
            });
        }
        let record = MapRecord {
            database: draft.database,
            container: draft.number,
            alt_path: draft.alt_path,
            spec: draft.spec.to_value().into_owned(),
            index_version: 1,
            retired: Vec::new(),
            version: 1,
            next_range: records.len() as u32,
            ranges: records,
            gone: Vec::new(),
            asked: Vec::new(),
        };
        writes.put(
            &MapRecord::key(record.database, record.container),
            &record.encode(),
        );
        self.account().commit(writes)?;
        let regions = self.all_regions().count();
        let container = Arc::new(container_of(&record, self.limits(), regions)?);
        let mut containers = self
            .inner
            .containers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        containers.insert((record.database, record.container), Arc::clone(&container));
        drop(containers);
        // Read regions see it empty at first.
        self.replicate()?;
        Ok(container)
    }

    /// Ends containers: their records go with the caller's `writes`, then their parts. Requests
    /// that are under way fail.
    pub fn drop_containers(
        &self,
        gone: &[Arc<Container>],
        mut writes: Writes,
    ) -> Result<(), Error> {
        // A split that publishes its map at this moment would bring the record back.
        let _turn = self.records();
        for container in gone {
            writes.delete(&MapRecord::key(container.database(), container.number()));
        }
        self.account().commit(writes)?;
        let mut containers = self
            .inner
            .containers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for container in gone {
            containers.remove(&(container.database(), container.number()));
        }
        drop(containers);
        for container in gone {
            for partition in container.ranges().partitions() {
                self.store().drop_part(partition.part())?;
            }
        }
        Ok(())
    }

    pub(crate) fn reshapes(&self) -> &Reshapes {
        &self.inner.reshapes
    }

    /// How the account meters.
    pub fn metering(&self) -> &Metering {
        &self.environment().metering
    }

    /// Whether requests are refused for their rate where a container does not say otherwise.
    pub fn throttles_by_default(&self) -> bool {
        self.environment().throttles.load(Ordering::Relaxed)
    }

    /// Switches refusals on or off; it holds from the next request on.
    pub fn set_throttle(&self, throttle: bool) {
        let throttles = &self.environment().throttles;
        throttles.store(throttle, Ordering::Relaxed);
    }

    /// What partitions may save, if they may.
    pub(crate) fn burst(&self) -> Option<Burst> {
        self.environment().burst()
    }

    pub(crate) fn account_throughput(&self) -> &AccountThroughput {
        &self.inner.throughput
    }

    pub(crate) fn metadata_meter(&self) -> &Meter {
        &self.inner.throughput.metadata
    }

    /// Knobs of the query planner.
    pub fn tuning(&self) -> &QueryTuning {
        &self.inner.tuning
    }

    pub(crate) fn all_regions(&self) -> &Regions {
        &self.environment().regions
    }

    pub(crate) fn hints(&self) -> &Hints {
        &self.environment().hints
    }

    pub(crate) fn query_lists(&self) -> &ListCache {
        &self.inner.lists
    }

    pub(crate) fn query_readers(&self) -> &Readers {
        &self.inner.readers
    }

    pub(crate) fn query_cache(&self) -> &QueryCache {
        &self.inner.queries
    }

    /// The memory that queries share.
    pub(crate) fn query_memory(&self) -> &MemoryPool {
        &self.inner.memory
    }

    /// Databases, containers by name, users, permissions, scripts, keys and offers.
    pub fn catalog(&self) -> Catalog<'_> {
        Catalog::new(self, &self.inner.catalog)
    }

    /// The container that a path names or lies in, by names or resource ids.
    pub fn container(&self, path: &ResourcePath) -> Result<Arc<Container>, Error> {
        self.catalog().container(path)
    }
}

fn container_of(record: &MapRecord, limits: &Limits, regions: usize) -> Result<Container, Error> {
    let partition = |range: &RangeRecord| Arc::new(Partition::new(range.clone(), regions));
    let partitions = record.ranges.iter().map(partition).collect();
    Ok(Container::new(
        record.database,
        record.container,
        record.alt_path.clone(),
        record.state(limits)?,
        RangeMap::new(record, partitions),
    ))
}

fn drop_orphans(
    store: &dyn Store,
    containers: &FxHashMap<(u32, u32), Arc<Container>>,
) -> Result<(), Error> {
    let mut owned: Vec<PartId> = vec![ACCOUNT_PART];
    for container in containers.values() {
        owned.extend(
            container
                .ranges()
                .partitions()
                .iter()
                .map(|partition| partition.part()),
        );
    }
    owned.sort_unstable();
    for (part, _) in store.list_parts()? {
        if owned.binary_search(&part).is_err() {
            store.drop_part(part)?;
        }
    }
    Ok(())
}
