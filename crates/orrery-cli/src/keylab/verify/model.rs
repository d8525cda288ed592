//! A scale model of a container: the engine in memory, cut into the predicted partitions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail};
use orrery_engine::split::Cut;
use orrery_engine::{
    Clock, CommitMode, Container, Engine, EngineConfig, Entropy, Error, Failure, MetadataOptions,
};
use orrery_keylab::scenario::KeySpec;
use orrery_keylab::verify::requests::MADE_MEMBER;
use orrery_keylab::verify::values::Random;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::limits::Limits;
use orrery_model::resource_path::ResourcePath;
use orrery_storage::MemoryStore;
use serde_json::json;

/// The second at which the engine's clock begins.
const START: u64 = 1_800_000_000;
/// More than anything here reaches.
const UNLIMITED: u64 = 1 << 50;
/// Work on a split between two looks at it.
const STEP: usize = 10_000;
/// Steps of one split of an empty range; it takes a handful.
const STEPS: usize = 1_000;

/// A clock that stands until it is moved.
pub struct VirtualClock(AtomicU64);

impl VirtualClock {
    /// Moves it on by seconds.
    pub fn advance(&self, seconds: f64) {
        let by = (seconds * 1e6).round() as u64;
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Randomness from a seed.
struct Seeded(std::sync::Mutex<Random>);

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) {
        let mut random = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for chunk in bytes.chunks_mut(8) {
            let bits = random.bits().to_le_bytes();
            chunk.copy_from_slice(&bits[..chunk.len()]);
        }
    }
}

/// The engine with its one container.
pub struct Model {
    /// The engine.
    pub engine: Engine,
    /// Its clock.
    pub clock: Arc<VirtualClock>,
    /// The container.
    pub container: Arc<Container>,
    /// The ranges in order of position.
    ranges: Vec<PartitionKeyRangeId>,
}

impl Model {
    /// An empty container with this key, throughput, and partitions that begin at these places.
    pub fn build(key: &KeySpec, rate: u64, begins: &[Vec<u8>], seed: u64) -> Result<Self> {
        let clock = Arc::new(VirtualClock(AtomicU64::new(START * 1_000_000)));
        let config = EngineConfig {
            limits: limits(),
            commit: CommitMode::Inline,
            ..EngineConfig::default()
        };
        let engine = Engine::open(
            Arc::new(MemoryStore::new()),
            Arc::clone(&clock) as Arc<dyn Clock>,
            Arc::new(Seeded(std::sync::Mutex::new(Random::new(seed)))),
            config,
        )?;
        let create = |path: &str, body: serde_json::Value, throughput| -> Result<()> {
            let options = MetadataOptions {
                throughput,
                ..MetadataOptions::default()
            };
            let path = ResourcePath::parse(path)?;
            let body = body.to_string();
            let made = engine.catalog().create(&path, body.as_bytes(), &options);
            made.map(drop).map_err(|failure| told(&failure))
        };
        create("dbs", json!({"id": "keylab"}), None)?;
        let (kind, paths) = paths(key);
        let definition = json!({
            "id": "model",
            "partitionKey": {"paths": paths, "kind": kind, "version": 2},
        });
        let rate = i64::try_from(rate).context("throughput")?;
        create("dbs/keylab/colls", definition, Some(rate))?;
        let container = engine.container(&ResourcePath::parse("dbs/keylab/colls/model")?)?;
        let mut model = Self {
            engine,
            clock,
            container,
            ranges: Vec::new(),
        };
        for begin in begins {
            model.cut(begin)?;
        }
        let ranges = model.container.ranges();
        model.ranges = ranges.partitions().iter().map(|one| one.id()).collect();
        if model.ranges.len() != begins.len() + 1 {
            bail!(
                "{} ranges instead of {}",
                model.ranges.len(),
                begins.len() + 1
            );
        }
        Ok(model)
    }

    /// The place of a range in the order of positions.
    pub fn place(&self, range: Option<PartitionKeyRangeId>) -> Option<usize> {
        self.ranges.iter().position(|id| Some(*id) == range)
    }

    /// Cuts the last range.
    fn cut(&self, at: &[u8]) -> Result<()> {
        let map = self.container.ranges();
        let last = map.partitions().last().context("no range")?;
        let at = Cut::At(EffectivePartitionKey::from_bytes(at.to_vec()));
        let reshape = self.engine.split_range(&self.container, last.id(), at, 2)?;
        for _ in 0..STEPS {
            self.engine.advance_reshapes(STEP)?;
            if reshape.is_over() {
                return Ok(());
            }
        }
        bail!("a split of an empty range does not end")
    }

    /// Bytes of items and index by partition.
    pub fn stored_bytes(&self) -> Vec<u64> {
        let ranges = self.container.ranges();
        let bytes = |one: &Arc<orrery_engine::partition::Partition>| one.statistics().total_bytes();
        ranges.partitions().iter().map(bytes).collect()
    }

    /// Bytes of the largest logical partition.
    pub fn largest_bytes(&self) -> Result<u64> {
        let state = self.container.state();
        let mut largest = 0;
        for partition in self.container.ranges().partitions() {
            let sizes = self.engine.key_sizes(&state, partition)?;
            largest = largest.max(sizes.largest.first().map_or(0, |key| key.bytes));
        }
        Ok(largest)
    }
}

/// Whether a refusal is for the rate.
pub fn is_throttled(failure: &Failure) -> bool {
    matches!(failure.error, Error::TooManyRequests(_))
}

/// A failure as an error of this program.
pub fn told(failure: &Failure) -> anyhow::Error {
    anyhow::anyhow!("{}", failure.error)
}

/// Partitions are those that are predicted, and keys may grow over every limit: what would happen
/// then is the gates' to say.
fn limits() -> Limits {
    Limits {
        logical_partition_bytes: UNLIMITED,
        physical_partition_bytes: UNLIMITED,
        physical_partition_rate: UNLIMITED,
        initial_manual_rate_per_partition: UNLIMITED,
        min_manual_rate: 1,
        manual_rate_step: 1,
        max_rate: UNLIMITED,
        bytes_per_min_rate: UNLIMITED,
        execution_ms: 3_600_000,
        ..Limits::default()
    }
}

fn paths(key: &KeySpec) -> (&'static str, Vec<String>) {
    let path = |field: &str| format!("/{field}");
    match key {
        KeySpec::Path(_) => ("Hash", key.fields().into_iter().map(path).collect()),
        KeySpec::Hierarchy(_) => ("MultiHash", key.fields().into_iter().map(path).collect()),
        _ => ("Hash", vec![path(MADE_MEMBER)]),
    }
}
