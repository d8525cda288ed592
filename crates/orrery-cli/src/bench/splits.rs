//! Splits: how long a big one takes, how long it holds up writers, what its neighbours notice; and
//! that many ranges cost a request no more than one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orrery_engine::catalog::QuerySpec;
use orrery_engine::page::Target;
use orrery_engine::query::QueryOptions;
use orrery_engine::read::ReadOptions;
use orrery_engine::split::{Cut, Reshape, Stage};
use orrery_engine::write::{
    BatchKind, BatchOperation, Conditions, IndexingDirective, ItemRef, WriteKind, WriteRequest,
};
use orrery_engine::{Container, ContainerDraft, Engine, EngineConfig};
use orrery_model::container::ContainerSpec;
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::partition_key::PartitionKey;
use orrery_storage::{Durability, FjallStore, Options, Store, Writes};

use super::Sizes;
use super::table::{Bar, Row};
use crate::instance;

/// The only database and container.
const DATABASE: u32 = 1;
const CONTAINER: u32 = 1;
/// Writes a second into the range that is split.
const PACE: u64 = 1_000;
/// Writers of the other range.
const NEIGHBOURS: usize = 4;
/// Operations of a batch, and batches under way, while items are loaded.
const BATCH: u64 = 100;
const UNDER_WAY: usize = 32;

/// Runs it.
pub fn run(sizes: &Sizes) -> Result<Vec<Row>> {
    let mut rows = under_load(sizes)?;
    rows.extend(many_ranges(sizes)?);
    Ok(rows)
}

struct Bench {
    engine: Engine,
    container: Arc<Container>,
    store: Arc<dyn Store>,
}

impl Bench {
    fn engine(folder: &Path) -> Result<(Arc<dyn Store>, Engine)> {
        let options = Options {
            durability: Durability::Strict,
            ..Options::default()
        };
        let store: Arc<dyn Store> = Arc::new(FjallStore::open(folder, options)?);
        let engine = instance::open_engine(&store, EngineConfig::default())?;
        Ok((store, engine))
    }

    /// Closes and opens again, so that everything lies in files.
    fn reopen(self, folder: &Path) -> Result<Self> {
        self.close()?;
        let (store, engine) = Self::engine(folder)?;
        let container = engine
            .container_by_number(DATABASE, CONTAINER)
            .context("the container is gone")?;
        Ok(Self {
            engine,
            container,
            store,
        })
    }

    fn open(folder: &Path, ranges: u32) -> Result<Self> {
        let (store, engine) = Self::engine(folder)?;
        let body = json::parse_str(r#"{"id":"items","partitionKey":{"paths":["/pk"]}}"#)?;
        let draft = ContainerDraft {
            database: DATABASE,
            number: CONTAINER,
            alt_path: "dbs/bench/colls/items".to_owned(),
            spec: ContainerSpec::parse(&body, &Limits::default())?,
            ranges,
        };
        let container = engine.add_container(draft, Writes::new())?;
        Ok(Self {
            engine,
            container,
            store,
        })
    }

    /// So many key values of a range.
    fn keys_of(&self, range: usize, count: usize) -> Result<Vec<String>> {
        let state = self.container.state();
        let ranges = self.container.ranges();
        let partition = ranges.partitions().get(range).context("no such range")?;
        let mut keys = Vec::with_capacity(count);
        for number in 0_u64.. {
            let key = format!("customer-{number}");
            let epk = state.key_definition().effective(&key_of(&key)?);
            if partition.range().contains(&epk) {
                keys.push(key);
            }
            if keys.len() == count {
                break;
            }
        }
        Ok(keys)
    }

    /// Fills with items, many at a time.
    fn load(&self, items: u64, keys: &[String]) -> Result<()> {
        let waiting = Arc::new((Mutex::new(0_usize), Condvar::new()));
        let failed = Arc::new(AtomicU64::new(0));
        let lock = |count: &Mutex<usize>| -> usize {
            *count.lock().unwrap_or_else(PoisonError::into_inner)
        };
        for first in (0..items).step_by(BATCH as usize) {
            let operations = (first..(first + BATCH).min(items)).map(|number| {
                let key = &keys[number as usize % keys.len()];
                Ok(BatchOperation {
                    kind: BatchKind::Create {
                        body: item(number, key),
                    },
                    key: Some(key_of(key)?),
                    conditions: Conditions::default(),
                    indexing: IndexingDirective::Default,
                    minimal: false,
                })
            });
            let kind = WriteKind::Batch {
                operations: operations.collect::<Result<_>>()?,
                atomic: false,
                continue_on_error: true,
            };
            let (count, changed) = &*waiting;
            let mut under_way = count.lock().unwrap_or_else(PoisonError::into_inner);
            while *under_way >= UNDER_WAY {
                under_way = changed
                    .wait(under_way)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            *under_way += 1;
            drop(under_way);
            let (waiting, failed) = (Arc::clone(&waiting), Arc::clone(&failed));
            let request = WriteRequest::new(kind, None);
            self.engine.submit(&self.container, request, move |result| {
                failed.fetch_add(u64::from(result.is_err()), Ordering::Relaxed);
                let (count, changed) = &*waiting;
                *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
                changed.notify_one();
            });
        }
        while lock(&waiting.0) > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        if failed.load(Ordering::Relaxed) > 0 {
            bail!("items could not be loaded");
        }
        Ok(())
    }

    fn split(&self, range: u32, into: u32) -> Result<Arc<Reshape>> {
        let range = PartitionKeyRangeId(range);
        let asked = self
            .engine
            .split_range(&self.container, range, Cut::Hash, into)?;
        while !asked.is_over() {
            instance::work_on_reshapes(&self.engine)?;
        }
        if asked.progress().stage != Stage::Done {
            bail!("the split failed: {:?}", asked.progress().failure);
        }
        Ok(asked)
    }

    fn close(self) -> Result<()> {
        drop((self.engine, self.container));
        Ok(self.store.close()?)
    }
}

fn key_of(value: &str) -> Result<PartitionKey> {
    PartitionKey::parse_header(&format!("[\"{value}\"]"))
        .map_err(|_| anyhow::anyhow!("`{value}` is no key"))
}

fn item(number: u64, key: &str) -> Vec<u8> {
    format!(
        r#"{{"id":"{number}","pk":"{key}","n":{number},"state":"{}","total":{}.5,"note":"{}"}}"#,
        ["new", "paid", "sent"][number as usize % 3],
        number % 977,
        "a note of some length ".repeat(6),
    )
    .into_bytes()
}

/// What the writers of the split range notice.
#[derive(Default)]
struct Noticed {
    longest_us: AtomicU64,
    failed: AtomicU64,
    written: AtomicU64,
}

fn under_load(sizes: &Sizes) -> Result<Vec<Row>> {
    let bench = Bench::open(&sizes.folder.join("split"), 2)?;
    let (mine, others) = (bench.keys_of(0, 1_000)?, bench.keys_of(1, 100)?);
    bench.load(sizes.large, &mine)?;
    let stop = AtomicBool::new(false);
    let neighbours = AtomicU64::new(0);
    let noticed = Arc::new(Noticed::default());
    let measured = std::thread::scope(|scope| -> Result<(f64, f64, Arc<Reshape>, f64)> {
        let paced = scope.spawn(|| pace(&bench, &mine, sizes.large, &stop, &noticed));
        for own in 0..NEIGHBOURS {
            let (bench, others, stop, neighbours) = (&bench, &others, &stop, &neighbours);
            scope.spawn(move || neighbour(bench, others, own as u64, stop, neighbours));
        }
        let rate = |during: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
            let (before, since) = (neighbours.load(Ordering::Relaxed), Instant::now());
            during()?;
            let written = neighbours.load(Ordering::Relaxed) - before;
            Ok(written as f64 / since.elapsed().as_secs_f64())
        };
        let outcome = (|| {
            std::thread::sleep(sizes.time / 4);
            let alone = rate(&mut || {
                std::thread::sleep(sizes.time);
                Ok(())
            })?;
            noticed.longest_us.store(0, Ordering::Relaxed);
            let mut split = None;
            let since = Instant::now();
            let beside = rate(&mut || {
                split = Some(bench.split(0, 2)?);
                Ok(())
            })?;
            let split = split.context("no split")?;
            Ok((alone, beside, split, since.elapsed().as_secs_f64()))
        })();
        stop.store(true, Ordering::Relaxed);
        let _ = paced.join();
        outcome
    });
    let (alone, beside, split, seconds) = measured?;
    let failed = noticed.failed.load(Ordering::Relaxed);
    if failed > 0 {
        bail!("{failed} writes failed during the split");
    }
    bench.close()?;
    let pause = split.progress().pause_us as f64 / 1e3;
    let name = format!("split of {} items under {PACE} writes/s", sizes.large);
    let row = |what: &str, ours: String, floor: String, figure, unit, bar| Row {
        name: format!("{name}: {what}"),
        ours,
        floor,
        figure,
        unit,
        bar,
    };
    let longest = noticed.longest_us.load(Ordering::Relaxed) as f64 / 1e3;
    Ok(vec![
        row(
            "in all",
            String::new(),
            String::new(),
            seconds,
            " s",
            Bar::AtMost(60.0),
        ),
        row(
            "writes paused",
            String::new(),
            String::new(),
            pause,
            " ms",
            Bar::AtMost(50.0),
        ),
        row(
            "longest write",
            String::new(),
            String::new(),
            longest,
            " ms",
            Bar::None,
        ),
        row(
            "another range",
            format!("{beside:.0} writes/s"),
            format!("before {alone:.0} writes/s"),
            beside / alone,
            "",
            Bar::AtLeast(0.9),
        ),
    ])
}

/// Writes at an even pace, whatever comes of it.
fn pace(bench: &Bench, keys: &[String], from: u64, stop: &AtomicBool, noticed: &Arc<Noticed>) {
    let started = Instant::now();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let due = Duration::from_micros(number * 1_000_000 / PACE);
        std::thread::sleep(due.saturating_sub(started.elapsed()));
        let key = &keys[number as usize % keys.len()];
        let Ok(partition_key) = key_of(key) else {
            return;
        };
        let body = item(from + number, key);
        let request = WriteRequest::new(WriteKind::Upsert { body }, Some(partition_key));
        let (noticed, since) = (Arc::clone(noticed), Instant::now());
        bench
            .engine
            .submit(&bench.container, request, move |result| {
                let took = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
                noticed.longest_us.fetch_max(took, Ordering::Relaxed);
                let count = if result.is_ok() {
                    &noticed.written
                } else {
                    &noticed.failed
                };
                count.fetch_add(1, Ordering::Relaxed);
            });
        number += 1;
    }
}

/// Writes as fast as it is answered.
fn neighbour(bench: &Bench, keys: &[String], own: u64, stop: &AtomicBool, written: &AtomicU64) {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let key = &keys[number as usize % keys.len()];
        let Ok(partition_key) = key_of(key) else {
            return;
        };
        let body = item(own << 40 | number, key);
        let request = WriteRequest::new(WriteKind::Upsert { body }, Some(partition_key));
        if bench.engine.write(&bench.container, request).is_ok() {
            written.fetch_add(1, Ordering::Relaxed);
        }
        number += 1;
    }
}

/// Microseconds of a read and of a routed query, and what a query over all ranges costs.
struct Costs {
    read: f64,
    query: f64,
    read_charge: f64,
    query_charge: f64,
    fan_out_charge: f64,
}

fn many_ranges(sizes: &Sizes) -> Result<Vec<Row>> {
    let folder = sizes.folder.join("ranges");
    let bench = Bench::open(&folder, 1)?;
    let keys = bench.keys_of(0, 1_000)?;
    let items = sizes.large / 10;
    bench.load(items, &keys)?;
    // Opened afresh both times: what was written lately is in memory, and read faster.
    let bench = bench.reopen(&folder)?;
    let one = costs(&bench, &keys, items)?;
    bench.split(0, 64)?;
    let bench = bench.reopen(&folder)?;
    let many = costs(&bench, &keys, items)?;
    bench.close()?;
    let row = |name: &str, one: f64, many: f64, unit: &str| Row {
        name: format!("1 -> 64 ranges, {items} items: {name}"),
        ours: format!("{many:.2} {unit}"),
        floor: format!("1 range {one:.2} {unit}"),
        figure: many / one,
        unit: "",
        bar: match unit {
            // What a request notices of these few microseconds is measured over HTTP, in `point`.
            "us" => Bar::None,
            _ => Bar::AtMost(1.1),
        },
    };
    Ok(vec![
        row("point read inside", one.read, many.read, "us"),
        row("routed query inside", one.query, many.query, "us"),
        row("point read charge", one.read_charge, many.read_charge, "RU"),
        row(
            "routed query charge",
            one.query_charge,
            many.query_charge,
            "RU",
        ),
        Row {
            name: "1 -> 64 ranges: fan-out charge of a further range".to_owned(),
            ours: format!("{:.2} RU", many.fan_out_charge),
            floor: format!("1 range {:.2} RU", one.fan_out_charge),
            figure: (many.fan_out_charge - one.fan_out_charge) / 63.0,
            unit: " RU",
            bar: Bar::AtMost(3.2),
        },
    ])
}

fn costs(bench: &Bench, keys: &[String], items: u64) -> Result<Costs> {
    let Bench {
        engine, container, ..
    } = bench;
    let rounds = 20_000.min(items);
    let mut read_charge = 0.0;
    let mut read_round = || -> Result<f64> {
        let since = Instant::now();
        for round in 0..rounds {
            let number = round * 7_919 % items;
            let key = key_of(&keys[number as usize % keys.len()])?;
            let name = ItemRef::Id(number.to_string());
            let answer = engine
                .read_item(container, &key, &name, &ReadOptions::default())
                .map_err(|failure| failure.error)?;
            read_charge = answer.meta.charge.0;
        }
        Ok(since.elapsed().as_secs_f64() * 1e6 / rounds as f64)
    };
    let reads = [read_round()?, read_round()?, read_round()?];
    let spec = |text: String| QuerySpec {
        text,
        parameters: Vec::new(),
        resume_filter: None,
    };
    let query = |spec: &QuerySpec, target: &Target| {
        let options = QueryOptions {
            cross_partition: true,
            ..QueryOptions::default()
        };
        let answer = engine.query(container, spec, target, &options);
        answer.map_err(|failure| failure.error)
    };
    let mut query_charge = 0.0;
    let mut query_round = || -> Result<f64> {
        let since = Instant::now();
        for round in 0..rounds / 20 {
            let key = &keys[round as usize * 7 % keys.len()];
            let text = format!("SELECT * FROM c WHERE c.pk = '{key}' AND c.n < 5000");
            query_charge = query(&spec(text), &Target::All)?.meta.charge.0;
        }
        Ok(since.elapsed().as_secs_f64() * 1e6 / (rounds / 20) as f64)
    };
    let queries = [query_round()?, query_round()?, query_round()?];
    let mut fan_out_charge = 0.0;
    let nothing = spec("SELECT * FROM c WHERE c.state = 'lost'".to_owned());
    for partition in container.ranges().partitions() {
        let target = Target::Range {
            id: partition.id(),
            epk: None,
        };
        fan_out_charge += query(&nothing, &target)?.meta.charge.0;
    }
    let best = |of: [f64; 3]| of.into_iter().fold(f64::MAX, f64::min);
    Ok(Costs {
        read: best(reads),
        query: best(queries),
        read_charge,
        query_charge,
        fan_out_charge,
    })
}
