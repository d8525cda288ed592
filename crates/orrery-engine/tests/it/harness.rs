//! An engine in memory with a clock and randomness that the test owns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use orrery_engine::page::{FeedPage, Page, Target};
use orrery_engine::query::QueryTuning;
use orrery_engine::read::{ReadOptions, ReadOutcome};
use orrery_engine::regions::RegionsConfig;
use orrery_engine::write::{
    BatchKind, BatchOperation, Conditions, IndexingDirective, ItemOutcome, ItemRef, WriteKind,
    WriteOutcome, WriteRequest,
};
use orrery_engine::{
    Answer, Clock, CommitMode, Container, ContainerDraft, Engine, EngineConfig, Entropy, Error,
    Failure,
};
use orrery_model::container::ContainerSpec;
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::partition_key::PartitionKey;
use orrery_model::session::SessionToken;
use orrery_model::value::Value;
use orrery_storage::{MemoryStore, Store, Writes};

/// A clock that stands until it is moved.
pub struct TestClock(AtomicU64);

impl TestClock {
    pub fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub fn advance_us(&self, us: u64) {
        self.0.fetch_add(us, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// SplitMix64.
pub struct TestEntropy(AtomicU64);

impl TestEntropy {
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    pub fn below(&self, bound: u64) -> u64 {
        self.next_u64() % bound
    }
}

impl Entropy for TestEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let mut z = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::SeqCst);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            let value = (z ^ (z >> 31)).to_le_bytes();
            chunk.copy_from_slice(&value[..chunk.len()]);
        }
    }
}

/// A clock that stands at [`START`].
pub fn clock() -> Arc<TestClock> {
    Arc::new(TestClock(AtomicU64::new(START * 1_000_000)))
}

/// An engine with one container.
pub struct World {
    pub store: Arc<dyn Store>,
    pub clock: Arc<TestClock>,
    pub engine: Engine,
    pub container: Arc<Container>,
    limits: Limits,
    tuning: QueryTuning,
}

/// One second that tests start at.
pub const START: u64 = 1_700_000_000;

impl World {
    /// A container with this definition (without `id`) and so many ranges.
    pub fn new(definition: &str, ranges: u32) -> Self {
        Self::with_limits(definition, ranges, Limits::default())
    }

    pub fn with_limits(definition: &str, ranges: u32, limits: Limits) -> Self {
        Self::on(Arc::new(MemoryStore::new()), definition, ranges, limits)
    }

    pub fn on(store: Arc<dyn Store>, definition: &str, ranges: u32, limits: Limits) -> Self {
        Self::build(store, definition, ranges, limits, QueryTuning::default())
    }

    /// A world whose queries never sort what an index has in order.
    pub fn without_sorting(definition: &str, ranges: u32) -> Self {
        let tuning = QueryTuning {
            sort_at_most: 0,
            sort_per_root: 0,
            alone_at_most: 40,
        };
        let store = Arc::new(MemoryStore::new());
        Self::build(store, definition, ranges, Limits::default(), tuning)
    }

    /// An account of these regions, the readers so far behind, with one container of one range.
    pub fn in_regions(definition: &str, regions: RegionsConfig) -> Self {
        let mut world = Self::new(definition, 1);
        world.open_regions(regions);
        world
    }

    /// Opens the store again as an account of these regions.
    pub fn open_regions(&mut self, regions: RegionsConfig) {
        let config = EngineConfig {
            commit: CommitMode::Inline,
            regions,
            ..EngineConfig::default()
        };
        self.engine = Engine::open(
            Arc::clone(&self.store),
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            Arc::new(TestEntropy::new(2)),
            config,
        )
        .expect("the store opens again");
        self.container = self
            .engine
            .container_by_number(7, 3)
            .expect("the container is recorded");
    }

    fn build(
        store: Arc<dyn Store>,
        definition: &str,
        ranges: u32,
        limits: Limits,
        tuning: QueryTuning,
    ) -> Self {
        let clock = clock();
        let engine = open_tuned(&store, &clock, &limits, tuning).expect("an empty store opens");
        let draft = ContainerDraft {
            database: 7,
            number: 3,
            alt_path: "dbs/d/colls/c".to_owned(),
            spec: spec(definition, &limits),
            ranges,
        };
        let container = engine
            .add_container(draft, Writes::new())
            .expect("a new container");
        Self {
            store,
            clock,
            engine,
            container,
            limits,
            tuning,
        }
    }

    /// The same store after a restart.
    pub fn reopen(self) -> Self {
        let Self {
            store,
            clock,
            engine,
            container,
            limits,
            tuning,
        } = self;
        drop((engine, container));
        let engine = open_tuned(&store, &clock, &limits, tuning).expect("the store opens again");
        let container = engine
            .container_by_number(7, 3)
            .expect("the container is recorded");
        Self {
            store,
            clock,
            engine,
            container,
            limits,
            tuning,
        }
    }

    /// Ends the engine and opens its store again.
    pub fn restart(&mut self) {
        let limits = &self.limits;
        self.engine = open_tuned(&self.store, &self.clock, limits, self.tuning)
            .expect("the store opens again");
        self.container = self
            .engine
            .container_by_number(7, 3)
            .expect("the container is recorded");
    }

    pub fn write(&self, request: WriteRequest) -> Result<Answer<WriteOutcome>, Failure> {
        self.engine.write(&self.container, request)
    }

    pub fn create(&self, key: &str, body: &str) -> Result<Answer<WriteOutcome>, Failure> {
        self.write(request(WriteKind::Create { body: body.into() }, key))
    }

    pub fn upsert(&self, key: &str, body: &str) -> Result<Answer<WriteOutcome>, Failure> {
        self.write(request(WriteKind::Upsert { body: body.into() }, key))
    }

    pub fn replace(
        &self,
        key: &str,
        id: &str,
        body: &str,
    ) -> Result<Answer<WriteOutcome>, Failure> {
        let item = ItemRef::Id(id.to_owned());
        self.write(request(
            WriteKind::Replace {
                item,
                body: body.into(),
            },
            key,
        ))
    }

    pub fn patch(&self, key: &str, id: &str, body: &str) -> Result<Answer<WriteOutcome>, Failure> {
        let item = ItemRef::Id(id.to_owned());
        self.write(request(
            WriteKind::Patch {
                item,
                body: body.into(),
            },
            key,
        ))
    }

    pub fn delete(&self, key: &str, id: &str) -> Result<Answer<WriteOutcome>, Failure> {
        let item = ItemRef::Id(id.to_owned());
        self.write(request(WriteKind::Delete { item }, key))
    }

    pub fn batch(
        &self,
        key: &str,
        kinds: Vec<BatchKind>,
        atomic: bool,
    ) -> Result<Answer<WriteOutcome>, Failure> {
        let operations = kinds.into_iter().map(operation).collect();
        let kind = WriteKind::Batch {
            operations,
            atomic,
            continue_on_error: true,
        };
        self.write(request(kind, key))
    }

    /// The item as the service answers it.
    pub fn read(&self, key: &str, id: &str) -> Result<String, Error> {
        self.read_through(&self.engine, key, id, Vec::new())
    }

    /// The item as another handle of the engine sees it, in a session.
    pub fn read_through(
        &self,
        engine: &Engine,
        key: &str,
        id: &str,
        session: Vec<SessionToken>,
    ) -> Result<String, Error> {
        let item = ItemRef::Id(id.to_owned());
        let options = ReadOptions {
            session,
            ..ReadOptions::default()
        };
        let answer = engine.read_item(&self.container, &parse_key(key), &item, &options);
        match answer.map_err(|failure| failure.error)?.value {
            ReadOutcome::Item(body) => Ok(String::from_utf8(body.to_vec()).expect("UTF-8")),
            ReadOutcome::NotModified(_) => panic!("no condition was given"),
        }
    }

    /// The user's part of the item.
    pub fn plain(&self, key: &str, id: &str) -> Option<String> {
        self.read(key, id).ok().map(|text| plain(&text))
    }

    /// All items of a target over all pages, user's part only.
    pub fn feed(&self, target: &Target, max_items: u32) -> Vec<String> {
        let mut all = Vec::new();
        let mut page = Page {
            max_items: Some(max_items),
            ..Page::default()
        };
        for _ in 0..10_000 {
            let answer = self.engine.read_feed(&self.container, target, &page);
            let feed = answer.expect("the feed is readable").value;
            assert!(feed.count <= max_items);
            all.extend(rows(&feed).iter().map(|row| plain(row)));
            match feed.continuation {
                Some(token) => page.continuation = Some(token),
                None => return all,
            }
        }
        panic!("the feed does not end");
    }
}

pub fn open(
    store: &Arc<dyn Store>,
    clock: &Arc<TestClock>,
    limits: &Limits,
) -> Result<Engine, Error> {
    open_tuned(store, clock, limits, QueryTuning::default())
}

fn open_tuned(
    store: &Arc<dyn Store>,
    clock: &Arc<TestClock>,
    limits: &Limits,
    tuning: QueryTuning,
) -> Result<Engine, Error> {
    let config = EngineConfig {
        limits: limits.clone(),
        commit: CommitMode::Inline,
        tuning,
        ..EngineConfig::default()
    };
    Engine::open(
        Arc::clone(store),
        Arc::clone(clock) as Arc<dyn Clock>,
        Arc::new(TestEntropy::new(1)),
        config,
    )
}

pub fn spec(definition: &str, limits: &Limits) -> ContainerSpec {
    let mut body = json::parse_str(definition)
        .expect("the test's definition")
        .into_owned();
    if let Some(members) = body.as_object_mut() {
        members.insert("id", Value::from("c"));
    }
    ContainerSpec::parse(&body, limits).expect("the test's definition is valid")
}

pub fn parse_key(key: &str) -> PartitionKey {
    PartitionKey::parse_header(key).expect("the test's key")
}

pub fn request(kind: WriteKind, key: &str) -> WriteRequest {
    WriteRequest::new(kind, (!key.is_empty()).then(|| parse_key(key)))
}

pub fn operation(kind: BatchKind) -> BatchOperation {
    BatchOperation {
        kind,
        key: None,
        conditions: Conditions::default(),
        indexing: IndexingDirective::Default,
        minimal: false,
    }
}

/// The rows of a page, each canonical.
pub fn rows(page: &FeedPage) -> Vec<String> {
    let text = [b"[", page.rows.as_slice(), b"]"].concat();
    let parsed = json::parse(&text).expect("rows are JSON");
    let rows: Vec<String> = parsed
        .as_array()
        .expect("an array")
        .iter()
        .map(json::to_string)
        .collect();
    assert_eq!(rows.len(), page.count as usize);
    rows
}

/// An item without its system properties.
pub fn plain(item: &str) -> String {
    let mut value = json::parse_str(item).expect("an item is JSON").into_owned();
    let members = value.as_object_mut().expect("an item is an object");
    for name in ["_rid", "_self", "_etag", "_attachments", "_ts"] {
        assert!(
            members.remove(name).is_some(),
            "{name} is missing in {item}"
        );
    }
    json::to_string(&value)
}

/// The item outcome of a write.
pub fn item(answer: Answer<WriteOutcome>) -> ItemOutcome {
    match answer.value {
        WriteOutcome::Item(outcome) => outcome,
        other => panic!("not an item: {other:?}"),
    }
}

/// The member of an item as text.
pub fn member(item: &str, name: &str) -> String {
    let value = json::parse_str(item).expect("an item is JSON");
    match value.member(name) {
        Value::String(text) => text.to_string(),
        other => json::to_string(other),
    }
}

/// Whether it failed for this reason.
#[macro_export]
macro_rules! assert_refused {
    ($answer:expr, $error:pat) => {
        match $answer {
            Err(failure) => {
                let error = orrery_engine::Error::from(failure);
                assert!(matches!(error, $error), "{error:?}");
            }
            Ok(answer) => panic!("not refused: {answer:?}"),
        }
    };
}
