//! One run: a seed, so many steps, and a verdict.

mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

use orrery_engine::change_feed::Mode;
use orrery_engine::page::{Page, Target};
use orrery_engine::{
    Clock, CommitMode, Container, Engine, EngineConfig, Entropy, Error, MetadataOptions,
};
use orrery_model::epk::EpkRange;
use orrery_model::limits::Limits;
use orrery_model::resource_path::ResourcePath;
use orrery_storage::intercept::InterceptedStore;
use orrery_storage::{MemoryStore, Store};

use crate::ambient::{Random, VirtualClock};
use crate::crash::Fuse;
use crate::follower::Follower;
use crate::model::{Address, Effects, Model};
use crate::scanner::{Scanner, addresses};
use crate::trace::Trace;
use crate::workload::{SHAPES, Shape};

/// The second at which runs start.
const START: u64 = 1_800_000_000;
/// Steps between two comparisons of everything.
const CHECK_EVERY: u64 = 400;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Decides everything.
    pub seed: u64,
    /// How long.
    pub steps: u64,
    /// Whether to keep the lines of the trace.
    pub keep_trace: bool,
}

/// What happened in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes that were acknowledged.
    pub writes: u64,
    /// Splits and merges that were asked for.
    pub reshapes: u64,
    /// Versions of the partition map at the end: splits and merges that happened.
    pub maps: u64,
    /// Crashes.
    pub crashes: u64,
    /// Restarts in order.
    pub restarts: u64,
}

/// A run that held, or the first thing that did not.
pub struct Verdict {
    /// The trace up to the end.
    pub trace: Trace,
    /// What happened.
    pub counts: Counts,
    /// What was violated, and at which step.
    pub violation: Option<String>,
}

/// Runs a simulation.
pub fn run(options: Options) -> Verdict {
    let mut simulation = match Simulation::new(options) {
        Ok(simulation) => simulation,
        Err(error) => {
            return Verdict {
                trace: Trace::new(false),
                counts: Counts::default(),
                violation: Some(format!("at the start: {error}")),
            };
        }
    };
    let mut violation = None;
    for step in 0..options.steps {
        if let Err(what) = simulation.step(step) {
            violation = Some(format!("step {step}: {what}"));
            break;
        }
    }
    if violation.is_none() {
        violation = simulation.finish().err();
    }
    simulation.counts.maps = simulation.container.ranges().version();
    Verdict {
        trace: simulation.trace,
        counts: simulation.counts,
        violation,
    }
}

/// A run under way.
struct Simulation {
    random: Random,
    clock: Arc<VirtualClock>,
    /// What survives crashes.
    disk: Arc<dyn Store>,
    fuse: Arc<Fuse>,
    engine: Engine,
    container: Arc<Container>,
    shape: Shape,
    has_ttl: bool,
    model: Model,
    follower: Follower,
    scanner: Scanner,
    trace: Trace,
    counts: Counts,
    last_version: u64,
}

fn path(text: &str) -> Result<ResourcePath, String> {
    ResourcePath::parse(text).map_err(|error| error.to_string())
}

fn limits() -> Limits {
    Limits {
        physical_partition_bytes: 120_000,
        logical_partition_bytes: 60_000,
        ..Limits::default()
    }
}

fn open(
    disk: &Arc<dyn Store>,
    fuse: &Arc<Fuse>,
    clock: &Arc<VirtualClock>,
    seed: u64,
) -> Result<Engine, String> {
    let store = InterceptedStore::new(Arc::clone(disk), Arc::clone(fuse));
    let config = EngineConfig {
        limits: limits(),
        commit: CommitMode::Inline,
        ..EngineConfig::default()
    };
    Engine::open(
        Arc::new(store),
        Arc::clone(clock) as Arc<dyn Clock>,
        Arc::new(Random::new(seed)) as Arc<dyn Entropy>,
        config,
    )
    .map_err(|error| format!("the store does not open: {error}"))
}

impl Simulation {
    fn new(options: Options) -> Result<Self, String> {
        let random = Random::new(options.seed);
        let clock = Arc::new(VirtualClock::at(START));
        let disk: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let fuse = Arc::new(Fuse::default());
        let engine = open(&disk, &fuse, &clock, random.bits())?;
        let shape = SHAPES[random.below(SHAPES.len() as u64) as usize];
        let has_history = random.one_in(2);
        let has_ttl = random.one_in(2);
        let mut body = r#"{"id":"items","partitionKey":{"paths":["/pk"]},
            "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#
            .to_owned();
        if has_history {
            body.push_str(r#","changeFeedPolicy":{"retentionDuration":1440}"#);
        }
        if has_ttl {
            body.push_str(r#","defaultTtl":-1"#);
        }
        body.push('}');
        let created = |path_text: &str, body: &str, throughput| {
            let options = MetadataOptions {
                throughput,
                ..MetadataOptions::default()
            };
            let made = engine
                .catalog()
                .create(&path(path_text)?, body.as_bytes(), &options);
            made.map_err(|failure| failure.error.to_string())
        };
        created("/dbs", r#"{"id":"sim"}"#, None)?;
        created("/dbs/sim/colls", &body, Some(400))?;
        let container = engine
            .container(&path("/dbs/sim/colls/items")?)
            .map_err(|error| error.to_string())?;
        let mode = if has_history {
            Mode::AllVersionsAndDeletes
        } else {
            Mode::LatestVersion
        };
        let mut follower = Follower::new(mode);
        // All versions are told from now on, so "now" has to be before the first write.
        follower.step(&engine, &container, &random)?;
        let mut trace = Trace::new(options.keep_trace);
        trace.line(format!(
            "seed {} {shape:?} {mode:?} ttl {has_ttl}",
            options.seed
        ));
        Ok(Self {
            random,
            clock,
            disk,
            fuse,
            engine,
            container,
            shape,
            has_ttl,
            model: Model::default(),
            follower,
            scanner: Scanner::default(),
            trace,
            counts: Counts::default(),
            last_version: 0,
        })
    }

    fn second(&self) -> u64 {
        self.clock.now_us() / 1_000_000
    }

    /// Starts again from what the disk has. A write that was under way has happened, or not, but
    /// wholly.
    fn restart(&mut self, under_way: Option<Effects>) -> Result<(), String> {
        self.fuse.reset();
        let engine = open(&self.disk, &self.fuse, &self.clock, self.random.bits())?;
        self.container = engine
            .container(&path("/dbs/sim/colls/items")?)
            .map_err(|error| format!("the container is gone: {error}"))?;
        self.engine = engine;
        self.check_ranges()?;
        if let Some(effects) = under_way {
            let happened = self.happened(&effects)?;
            self.trace.line(format!("under way: {happened}"));
            if happened {
                let second = self.second();
                self.model.apply(effects, second);
            }
        }
        Ok(())
    }

    fn happened(&self, effects: &Effects) -> Result<bool, String> {
        let second = self.second();
        let (mut after, mut before) = (0, 0);
        for (address, version) in effects {
            let stored = self.stored(address)?;
            let new = version.filter(|new| new.end.is_none_or(|end| second < end));
            after += usize::from(stored == new.map(|new| new.number));
            let old = self.model.live(address, second);
            before += usize::from(stored == old.map(|old| old.number));
        }
        if after == effects.len() {
            Ok(true)
        } else if before == effects.len() {
            Ok(false)
        } else {
            Err(format!("a write happened by half: {effects:?}"))
        }
    }

    /// The ranges tile the key space, each with a part, and there are no other parts.
    fn check_ranges(&self) -> Result<(), String> {
        let ranges = self.container.ranges();
        let mut end = EpkRange::full().min;
        for partition in ranges.partitions() {
            if partition.range().min != end {
                return Err(format!(
                    "{} begins at {}",
                    partition.id(),
                    partition.range()
                ));
            }
            end.clone_from(&partition.range().max);
        }
        if end != EpkRange::full().max {
            return Err(format!("the ranges end at {end}"));
        }
        let parts = self.disk.list_parts().map_err(|error| error.to_string())?;
        if parts.len() != ranges.partitions().len() + 1 {
            return Err(format!(
                "{} parts for {} ranges after a start",
                parts.len(),
                ranges.partitions().len()
            ));
        }
        Ok(())
    }

    /// Everything is what the model says.
    fn check_all(&mut self) -> Result<(), String> {
        let expected = self.model.all_live(self.second());
        let mut found: BTreeMap<Address, u64> = BTreeMap::new();
        let mut page = Page {
            max_items: Some(300),
            ..Page::default()
        };
        loop {
            let answer = self
                .engine
                .read_feed(&self.container, &Target::All, &page)
                .map_err(|failure| format!("feed: {}", failure.error))?;
            for (address, number) in addresses(&answer.value.rows)? {
                if found.insert(address.clone(), number).is_some() {
                    return Err(format!("{address:?} is there twice"));
                }
            }
            match answer.value.continuation {
                Some(token) => page.continuation = Some(token),
                None => break,
            }
        }
        if found != expected {
            let differs =
                |(address, number): &(&Address, &u64)| expected.get(*address) != Some(*number);
            let extra: Vec<_> = found.iter().filter(differs).take(3).collect();
            let lost: Vec<_> = expected
                .iter()
                .filter(|(address, number)| found.get(*address) != Some(*number))
                .take(3)
                .collect();
            return Err(format!("lost {lost:?}, found {extra:?}"));
        }
        let ranges = self.container.ranges().partitions().len();
        self.trace
            .line(format!("all {} items in {ranges} ranges", found.len()));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.restart(None)?;
        while self.advance(1_000)? > 0 {}
        self.check_all()?;
        self.engine
            .maintain(1_000_000)
            .map_err(|failure| failure.error.to_string())?;
        self.check_all()?;
        let second = self.second();
        self.follower
            .finish(&self.engine, &self.container, &self.model, second)
    }

    fn advance(&mut self, budget: usize) -> Result<usize, String> {
        self.engine
            .advance_reshapes(budget)
            .map_err(|error: Error| format!("a split or merge failed: {error}"))
    }
}
