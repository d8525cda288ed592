//! An account whose containers come through the catalog, with offers, and whose requests are
//! counted by what became of them.

use std::sync::Arc;

use orrery_engine::error::Throttle;
use orrery_engine::read::ReadOptions;
use orrery_engine::regions::{RegionId, RegionsConfig};
use orrery_engine::throughput::claim::Claim;
use orrery_engine::write::{ItemRef, WriteKind, WriteRequest};
use orrery_engine::{
    Clock, CommitMode, Container, Engine, EngineConfig, Error, MetadataOptions, Metering,
};
use orrery_model::charge::Charge;
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::limits::Limits;
use orrery_model::partition_key::PartitionKey;
use orrery_model::resource_path::ResourcePath;
use orrery_storage::MemoryStore;

use crate::harness::{TestClock, TestEntropy, clock};

pub struct Account {
    pub clock: Arc<TestClock>,
    pub engine: Engine,
}

/// What became of requests.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Outcome {
    pub served: u64,
    pub refused: u64,
    pub charge: Charge,
}

impl Outcome {
    pub fn refused_share(&self) -> f64 {
        self.refused as f64 / (self.served + self.refused).max(1) as f64
    }
}

/// The definition of a container by `/pk`.
pub fn container(id: &str) -> String {
    format!(r#"{{"id":"{id}","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}}}}"#)
}

pub fn path(text: &str) -> ResourcePath {
    ResourcePath::parse(text).expect("a path")
}

pub fn rate(rate: i64) -> MetadataOptions {
    MetadataOptions {
        throughput: Some(rate),
        ..MetadataOptions::default()
    }
}

impl Account {
    /// An account that throttles.
    pub fn new(limits: Limits) -> Self {
        let metering = Metering {
            throttle: true,
            ..Metering::default()
        };
        Self::with(limits, metering)
    }

    pub fn with(limits: Limits, metering: Metering) -> Self {
        Self::configured(EngineConfig {
            limits,
            metering,
            ..EngineConfig::default()
        })
    }

    /// An account of several regions that throttles.
    pub fn in_regions(regions: RegionsConfig) -> Self {
        Self::configured(EngineConfig {
            metering: Metering {
                throttle: true,
                ..Metering::default()
            },
            regions,
            ..EngineConfig::default()
        })
    }

    /// A database of 400 RU/s with two containers that share them.
    pub fn shared_database(&self) -> (Arc<Container>, Arc<Container>) {
        self.create("/dbs", r#"{"id":"d"}"#, &rate(400));
        let shared = |id: &str| {
            self.create("/dbs/d/colls", &container(id), &MetadataOptions::default());
            self.open(&format!("/dbs/d/colls/{id}"))
        };
        (shared("a"), shared("b"))
    }

    /// The account at the endpoint of a region.
    pub fn view(&self, region: RegionId) -> Self {
        Self {
            clock: Arc::clone(&self.clock),
            engine: self.engine.in_region(region),
        }
    }

    fn configured(config: EngineConfig) -> Self {
        let clock = clock();
        let config = EngineConfig {
            commit: CommitMode::Inline,
            ..config
        };
        let engine = Engine::open(
            Arc::new(MemoryStore::new()),
            Arc::clone(&clock) as Arc<dyn Clock>,
            Arc::new(TestEntropy::new(1)),
            config,
        )
        .expect("an empty store opens");
        Self { clock, engine }
    }

    pub fn create(&self, feed: &str, body: &str, options: &MetadataOptions) {
        let created = self
            .engine
            .catalog()
            .create(&path(feed), body.as_bytes(), options);
        created.unwrap_or_else(|failure| panic!("{body}: {}", failure.error));
    }

    /// A container `d/c` with this rate.
    pub fn container(&self, throughput: i64) -> Arc<Container> {
        self.create("/dbs", r#"{"id":"d"}"#, &MetadataOptions::default());
        self.create("/dbs/d/colls", &container("c"), &rate(throughput));
        self.open("/dbs/d/colls/c")
    }

    pub fn open(&self, link: &str) -> Arc<Container> {
        self.engine.container(&path(link)).expect("is there")
    }

    /// Reads an item that need not be there: 1 RU. `Err` is a refusal for the rate.
    pub fn read(&self, container: &Container, key: &str, claim: Claim) -> Result<Charge, Throttle> {
        let options = ReadOptions {
            claim,
            ..ReadOptions::default()
        };
        let item = ItemRef::Id("nothing".to_owned());
        let answer = self
            .engine
            .read_item(container, &PartitionKey::single(key), &item, &options);
        let failure = answer.expect_err("the item is not there");
        match failure.error {
            Error::NotFound => Ok(failure.meta.charge),
            Error::TooManyRequests(throttle) => Err(throttle),
            error => panic!("{error}"),
        }
    }

    pub fn insert(&self, container: &Arc<Container>, key: &str, id: &str) -> Result<Charge, Error> {
        let body = format!(r#"{{"id":"{id}","pk":"{key}"}}"#).into_bytes();
        let request = WriteRequest::new(WriteKind::Create { body }, None);
        let answer = self.engine.write(container, request);
        answer
            .map(|answer| answer.meta.charge)
            .map_err(|failure| failure.error)
    }

    /// `per_second` reads of a key, evenly over so many seconds, beside whatever `also` does.
    pub fn reads(
        &self,
        container: &Container,
        key: &str,
        per_second: u64,
        seconds: u64,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        for _ in 0..per_second * seconds {
            outcome.add(self.read(container, key, Claim::default()));
            self.clock.advance_us(1_000_000 / per_second);
        }
        outcome
    }

    /// A key in each range, in the order of their ids.
    pub fn keys(container: &Container) -> Vec<String> {
        let state = container.state();
        let count = container.ranges().partitions().len();
        let owner = |key: &str| {
            let epk = state.key_definition().effective(&PartitionKey::single(key));
            container.partition_of(&epk).expect("the map is whole").id()
        };
        (0..count as u32)
            .map(|id| {
                (0..10_000)
                    .map(|number| format!("key-{number}"))
                    .find(|key| owner(key) == PartitionKeyRangeId(id))
                    .expect("some key lies in each range")
            })
            .collect()
    }
}

impl Outcome {
    pub fn add(&mut self, answer: Result<Charge, Throttle>) {
        match answer {
            Ok(charge) => {
                self.served += 1;
                self.charge += charge;
            }
            Err(_) => self.refused += 1,
        }
    }
}
