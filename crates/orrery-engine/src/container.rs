//! A container as the engine serves it: identity, the current definition, the partitions.

use std::sync::{Arc, PoisonError, RwLock};

use orrery_model::container::ContainerSpec;
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::index::{Composite, Coverage, Shapes};
use orrery_model::partition_key::PartitionKeyDefinition;
use orrery_model::path::{ItemPath, Step};
use orrery_model::rid::ResourceId;

use crate::error::Error;
use crate::index::IndexPlan;
use crate::partition::Partition;
use crate::partition_map::{GoneRange, MapRecord};
use crate::statistics::shapes::QueryShapes;
use crate::throughput::provision::ContainerThroughput;
use crate::write::unique::UniqueKeys;

/// A container. The definition and the partitions are swapped whole; whoever holds an `Arc` of
/// one goes on with it to the end of its request.
#[derive(Debug)]
pub struct Container {
    database: u32,
    number: u32,
    rid: ResourceId,
    alt_path: String,
    state: RwLock<Arc<ContainerState>>,
    ranges: RwLock<Arc<RangeMap>>,
    throughput: ContainerThroughput,
    query_shapes: QueryShapes,
}

impl Container {
    pub(crate) fn new(
        database: u32,
        number: u32,
        alt_path: String,
        state: ContainerState,
        ranges: RangeMap,
    ) -> Self {
        Self {
            database,
            number,
            rid: ResourceId::container(database, number),
            alt_path,
            state: RwLock::new(Arc::new(state)),
            throughput: ContainerThroughput::new(ranges.partitions().len()),
            query_shapes: QueryShapes::default(),
            ranges: RwLock::new(Arc::new(ranges)),
        }
    }

    /// The database's number in rids.
    pub fn database(&self) -> u32 {
        self.database
    }

    /// The container's number in rids.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The resource id.
    pub fn rid(&self) -> ResourceId {
        self.rid
    }

    /// `dbs/a/colls/b`, for `x-ms-alt-content-path`.
    pub fn alt_path(&self) -> &str {
        &self.alt_path
    }

    /// What it may use.
    pub fn throughput(&self) -> &ContainerThroughput {
        &self.throughput
    }

    /// The shapes of its queries.
    pub fn query_shapes(&self) -> &QueryShapes {
        &self.query_shapes
    }

    /// The current definition.
    pub fn state(&self) -> Arc<ContainerState> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The current partitions.
    pub fn ranges(&self) -> Arc<RangeMap> {
        self.ranges
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Counts up with each change of the partitions.
    pub fn map_version(&self) -> u64 {
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        ranges.version()
    }

    pub(crate) fn set_ranges(&self, ranges: RangeMap) {
        self.throughput.set_partitions(ranges.partitions().len());
        *self.ranges.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ranges);
    }

    /// The key definition never changes, so it may be read from any state.
    pub(crate) fn set_state(&self, state: ContainerState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// The partition that owns a key.
    pub fn partition_of(&self, epk: &EffectivePartitionKey) -> Result<Arc<Partition>, Error> {
        // The map tiles the key space, so this fails only on a damaged map.
        self.ranges()
            .owner(epk)
            .cloned()
            .ok_or(Error::Damaged("partition map"))
    }

    /// The partition of a range id.
    pub fn partition(&self, id: PartitionKeyRangeId) -> Result<Arc<Partition>, Error> {
        self.ranges()
            .by_id(id)
            .cloned()
            .ok_or_else(|| Error::PartitionKeyRangeGone {
                range: id,
                container: self.rid.to_string(),
            })
    }
}

/// What a container promises, made ready for use.
#[derive(Debug)]
pub struct ContainerState {
    spec: ContainerSpec,
    index: IndexPlan,
    retired: Vec<IndexPlan>,
    unique: UniqueKeys,
    key_segments: Vec<Vec<String>>,
}

impl ContainerState {
    /// Compiles a definition; `index_version` counts the changes of its indexing policy, and some
    /// items may still have the terms of `retired` ones.
    pub fn new(spec: ContainerSpec, index_version: u32, retired: Vec<IndexPlan>) -> Self {
        let index = IndexPlan::new(&spec.indexing_policy, index_version);
        let unique = spec
            .unique_keys
            .iter()
            .flatten()
            .map(|key| key.parsed.clone());
        let unique = UniqueKeys::new(unique.collect());
        let names = |path: &ItemPath| {
            let steps = path.steps().iter();
            steps
                .map(|step| match step {
                    Step::Property(name) => name.clone(),
                    Step::Element => "[]".to_owned(),
                })
                .collect()
        };
        let key_segments = spec.partition_key.item_paths().iter().map(names).collect();
        Self {
            spec,
            index,
            retired,
            unique,
            key_segments,
        }
    }

    /// The definition.
    pub fn spec(&self) -> &ContainerSpec {
        &self.spec
    }

    /// The partition key.
    pub fn key_definition(&self) -> &PartitionKeyDefinition {
        &self.spec.partition_key
    }

    /// The partition key's paths as names.
    pub fn key_segments(&self) -> &[Vec<String>] {
        &self.key_segments
    }

    /// The plan by which items are written.
    pub fn index(&self) -> &IndexPlan {
        &self.index
    }

    /// The plan that made an item's terms.
    pub fn index_of(&self, version: u32) -> &IndexPlan {
        let mut plans = self.retired.iter();
        plans
            .find(|plan| plan.version() == version)
            .unwrap_or(&self.index)
    }

    /// Whether items are being moved to another indexing policy.
    pub fn is_rebuilding(&self) -> bool {
        !self.retired.is_empty()
    }

    /// What of a path a query may rely on: what is indexed for every item, also for those that
    /// have not yet been moved to the current policy.
    pub fn coverage(&self, path: &[Step]) -> Coverage {
        let current = self.index.tree().coverage(path);
        self.retired.iter().fold(current, |covered, plan| {
            let own = plan.tree().coverage(path);
            Coverage {
                scalars: covered.scalars && own.scalars,
                nodes: covered.nodes && own.nodes,
            }
        })
    }

    /// The composite indexes that a query may rely on.
    pub fn composites(&self) -> impl Iterator<Item = &Composite> {
        let everywhere = |composite: &&Composite| {
            let mut plans = self.retired.iter();
            plans.all(|plan| plan.tree().composites().contains(composite))
        };
        self.index.tree().composites().iter().filter(everywhere)
    }

    /// The spatial index of a path's shapes that a query may rely on.
    pub fn shapes(&self, path: &[Step]) -> Option<&Shapes> {
        let shapes = self.index.tree().shapes(path)?;
        let mut plans = self.retired.iter();
        plans
            .all(|plan| {
                plan.tree()
                    .shapes(path)
                    .is_some_and(|own| own.is_like(shapes))
            })
            .then_some(shapes)
    }

    /// Whether the all-versions change feed is kept.
    pub fn keeps_history(&self) -> bool {
        self.spec
            .change_feed_retention_minutes
            .is_some_and(|minutes| minutes > 0)
    }

    /// The unique keys.
    pub fn unique(&self) -> &UniqueKeys {
        &self.unique
    }

    /// The default time to live: `None` off, -1 on without default, else seconds.
    pub fn default_ttl(&self) -> Option<i32> {
        self.spec.default_ttl
    }
}

/// The partition key ranges of a container: they tile the key space.
#[derive(Debug, Default)]
pub struct RangeMap {
    version: u64,
    partitions: Vec<Arc<Partition>>,
    gone: Vec<GoneRange>,
}

impl RangeMap {
    /// The map of a record; the partitions may come in any order.
    pub(crate) fn new(record: &MapRecord, mut partitions: Vec<Arc<Partition>>) -> Self {
        partitions.sort_by(|a, b| a.range().min.cmp(&b.range().min));
        Self {
            version: record.version,
            partitions,
            gone: record.gone.clone(),
        }
    }

    /// Counts up with each change of the map.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The partitions in order of key space.
    pub fn partitions(&self) -> &[Arc<Partition>] {
        &self.partitions
    }

    /// The partition that owns a key.
    pub fn owner(&self, epk: &EffectivePartitionKey) -> Option<&Arc<Partition>> {
        let after = self
            .partitions
            .partition_point(|partition| partition.range().min <= *epk);
        let owner = self.partitions.get(after.checked_sub(1)?)?;
        owner.range().contains(epk).then_some(owner)
    }

    /// The partition of a range id.
    pub fn by_id(&self, id: PartitionKeyRangeId) -> Option<&Arc<Partition>> {
        self.partitions
            .iter()
            .find(|partition| partition.id() == id)
    }

    /// The key space that a range owned which is gone, as far as that is remembered.
    pub fn space_of_gone(&self, id: PartitionKeyRangeId) -> Option<&EpkRange> {
        let gone = self.gone.iter().rev().find(|gone| gone.id == id)?;
        Some(&gone.range)
    }

    /// The partitions that share key space with a range, in order.
    pub fn overlapping<'m>(&'m self, range: &EpkRange) -> impl Iterator<Item = &'m Arc<Partition>> {
        let first = self
            .partitions
            .partition_point(|partition| partition.range().max <= range.min);
        self.partitions[first..]
            .iter()
            .take_while(move |partition| partition.range().min < range.max)
            .filter(move |partition| partition.range().overlaps(range))
    }
}
