//! Writes beside the raw store: the engine runs once over a store that records, then the raw
//! store commits exactly those keys, then we do the same work durably.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use orrery_engine::write::{WriteKind, WriteRequest};
use orrery_engine::{CommitMode, Container, Engine, EngineConfig, MetadataOptions};
use orrery_model::resource_path::ResourcePath;
use orrery_storage::{Begin, CommitToken, FjallStore, Options, PartId, Pending, Store, Writes};

use super::child::Listening;
use super::point::loaded;
use super::recording::{Log, RecordingStore};
use super::table::{Bar, Row};
use super::{Sizes, renew};
use crate::import;
use crate::instance::open_engine;
use crate::load::worker;
use crate::report::count;

/// Writers of the durable create bench.
const WRITERS: usize = 32;
/// Items of a commit when the raw store imports: what a committer with much in line gathers.
const IMPORT_GROUP: usize = 256;
/// Filling of an item: about 1 KB with its other members.
const FILLING: usize = 650;

/// Durable creates with 32 writers.
pub fn writes(sizes: &Sizes) -> Result<Vec<Row>> {
    let bodies: Vec<Vec<u8>> = (0..sizes.writes)
        .map(|number| worker::item(number, sizes.writes, FILLING))
        .collect();
    let log = record(&bodies, "/pk")?;
    let raw = f64::max(
        grouped(&log, WRITERS, 1, &sizes.folder.join("raw-grouped"))?,
        threaded(&log, &sizes.folder.join("raw-threaded"))?,
    );
    let engine = engine_rate(&bodies, &sizes.folder.join("engine"))?;
    let folder = sizes.folder.join("http");
    let server = Listening::serve(&folder)?;
    let writers = WRITERS.to_string();
    let http = loaded(
        &server,
        sizes,
        0,
        &["--mix", "create", "--clients", &writers],
    )?;
    server.stop()?;
    let floor = format!("raw store {}/s", count(raw as u64));
    let row = |name: &str, rate: f64, bar| Row {
        name: name.to_owned(),
        ours: format!("{}/s", count(rate as u64)),
        floor: floor.clone(),
        figure: rate / raw,
        unit: "",
        bar,
    };
    Ok(vec![
        row(
            "durable create, 32 writers, over HTTP",
            http.rate(),
            Bar::AtLeast(0.5),
        ),
        row(
            "durable create, 32 writers, engine alone",
            engine,
            Bar::None,
        ),
    ])
}

/// Import of a file: generated items, or the user's.
pub fn import(sizes: &Sizes) -> Result<Vec<Row>> {
    let (file, keys, bodies) = match &sizes.file {
        Some((file, keys)) => (file.clone(), keys.clone(), import::bodies(file)?),
        None => {
            let file = sizes.folder.join("items.ndjson");
            (
                file.clone(),
                "/pk".to_owned(),
                generate(&file, sizes.import)?,
            )
        }
    };
    let items = bodies.len() as u64;
    let log = record(&bodies, &keys)?;
    drop(bodies);
    let raw = grouped(&log, IMPORT_GROUP, 4, &sizes.folder.join("raw-import"))?;
    drop(log);
    let since = Instant::now();
    let status = Command::new(std::env::current_exe()?)
        .args([
            "import",
            "--into",
            "load/items",
            "--partition-key",
            &keys,
            "--data",
        ])
        .arg(sizes.folder.join("import"))
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        bail!("the import ended with {status}");
    }
    // From the start of the process to its end: everything is durable then.
    let rate = items as f64 / since.elapsed().as_secs_f64();
    Ok(vec![Row {
        name: format!("import of {} items, default index", count(items)),
        ours: format!("{}/s", count(rate as u64)),
        floor: format!("raw store {}/s", count(raw as u64)),
        figure: rate / raw,
        unit: "",
        bar: Bar::AtLeast(0.6),
    }])
}

/// Writes generated items to a file and keeps them.
fn generate(file: &Path, items: u64) -> Result<Vec<Vec<u8>>> {
    let mut bodies = Vec::new();
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    for number in 0..items {
        let body = worker::item(number, items, FILLING);
        out.write_all(&body)?;
        out.write_all(b"\n")?;
        bodies.push(body);
    }
    out.flush()?;
    Ok(bodies)
}

/// What the engine commits for these items, one commit each.
fn record(bodies: &[Vec<u8>], keys: &str) -> Result<Log> {
    let (store, log) = RecordingStore::new();
    let store: Arc<dyn Store> = Arc::new(store);
    let (engine, container) = account(&store, CommitMode::Inline, keys)?;
    for body in bodies {
        create(&engine, &container, body)?;
    }
    let parts: Vec<PartId> = container
        .ranges()
        .partitions()
        .iter()
        .map(|partition| partition.part())
        .collect();
    drop(engine);
    let mut log = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
    log.parts.retain(|(part, _)| parts.contains(part));
    log.commits.retain(|(part, _)| parts.contains(part));
    Ok(log)
}

/// An account with one container, partitioned by these paths.
fn account(
    store: &Arc<dyn Store>,
    commit: CommitMode,
    keys: &str,
) -> Result<(Engine, Arc<Container>)> {
    let engine = open_engine(
        store,
        EngineConfig {
            commit,
            ..EngineConfig::default()
        },
    )?;
    let create = |feed: &str, body: &[u8]| -> Result<()> {
        let path = ResourcePath::parse(feed).map_err(|error| anyhow::anyhow!("{error}"))?;
        engine
            .catalog()
            .create(&path, body, &MetadataOptions::default())
            .map(|_| ())
            .map_err(|failure| anyhow::anyhow!("{}", failure.error))
    };
    create("/dbs", br#"{"id":"load"}"#)?;
    let paths: Vec<&str> = keys.split(',').collect();
    let kind = if paths.len() > 1 { "MultiHash" } else { "Hash" };
    let body = serde_json::json!({
        "id": "items",
        "partitionKey": { "paths": paths, "kind": kind, "version": 2 },
    });
    create("/dbs/load/colls", body.to_string().as_bytes())?;
    let path =
        ResourcePath::parse("/dbs/load/colls/items").map_err(|error| anyhow::anyhow!("{error}"))?;
    let container = engine
        .container(&path)
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((engine, container))
}

fn create(engine: &Engine, container: &Arc<Container>, body: &[u8]) -> Result<()> {
    let request = WriteRequest::new(
        WriteKind::Create {
            body: body.to_vec(),
        },
        None,
    );
    engine
        .write(container, request)
        .map(|_| ())
        .map_err(|failure| anyhow::anyhow!("{}", failure.error))
}

/// Items per second of the engine with 32 threads that wait for their creates.
fn engine_rate(bodies: &[Vec<u8>], folder: &Path) -> Result<f64> {
    renew(folder)?;
    let store: Arc<dyn Store> = Arc::new(FjallStore::open(folder, Options::default())?);
    let (engine, container) = account(&store, CommitMode::Threads(2), "/pk")?;
    let since = Instant::now();
    shared_out(bodies.len(), |number| {
        create(&engine, &container, &bodies[number])
    })?;
    let rate = bodies.len() as f64 / since.elapsed().as_secs_f64();
    drop(engine);
    store.close()?;
    Ok(rate)
}

/// Does all jobs on 32 threads.
fn shared_out(jobs: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let worker = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= jobs {
                    return anyhow::Ok(());
                }
                work(number)?;
            }
        };
        let threads: Vec<_> = (0..WRITERS).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a writer panicked"))?
        })
    })
}

fn raw_store(log: &Log, folder: &Path) -> Result<FjallStore> {
    renew(folder)?;
    let store = FjallStore::open(folder, Options::default())?;
    for (part, head) in &log.parts {
        store.create_part(*part, *head)?;
    }
    Ok(store)
}

/// Items per second of the raw store when a committer gathers `group` items for each commit and
/// has `in_flight` commits on their way to the disk.
fn grouped(log: &Log, group: usize, in_flight: usize, folder: &Path) -> Result<f64> {
    let store = raw_store(log, folder)?;
    let since = Instant::now();
    let mut waiting: VecDeque<Pending> = VecDeque::new();
    for chunk in log.commits.chunks(group) {
        let mut left: Vec<&(PartId, Writes)> = chunk.iter().collect();
        while let Some((part, _)) = left.first().copied() {
            let (mine, others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|(other, _)| other == part);
            left = others;
            let mut all = Writes::new();
            for (_, writes) in &mine {
                append(&mut all, writes);
            }
            waiting.push_back(commit(&store, *part, all, mine.len() as u64)?);
            if waiting.len() >= in_flight {
                waiting.pop_front().context("not empty")?.wait()?;
            }
        }
    }
    for pending in waiting {
        pending.wait()?;
    }
    let rate = log.commits.len() as f64 / since.elapsed().as_secs_f64();
    store.close()?;
    Ok(rate)
}

/// Items per second of the raw store when 32 threads each commit an item and wait for it.
fn threaded(log: &Log, folder: &Path) -> Result<f64> {
    let store = raw_store(log, folder)?;
    let since = Instant::now();
    shared_out(log.commits.len(), |number| {
        let (part, writes) = &log.commits[number];
        commit(&store, *part, writes.clone(), 1)?.wait()?;
        Ok(())
    })?;
    let rate = log.commits.len() as f64 / since.elapsed().as_secs_f64();
    store.close()?;
    Ok(rate)
}

fn append(all: &mut Writes, more: &Writes) {
    for (key, value) in more.iter() {
        match value {
            Some(value) => all.put(key, value),
            None => all.delete(key),
        }
    }
}

fn commit(store: &FjallStore, part: PartId, writes: Writes, items: u64) -> Result<Pending> {
    match store.begin(part, 1, &[])? {
        Begin::Open { txn, head, .. } => {
            let lsn = head.lsn + items;
            Ok(txn.commit(writes, head.advanced(lsn, CommitToken(u128::from(lsn))))?)
        }
        Begin::Moved(_) => bail!("a part moved"),
    }
}

#[cfg(test)]
mod tests {
    use orrery_storage::{MemoryStore, Scan};

    use super::*;

    /// The floor is one only if the raw store ends up with what the engine would have stored.
    #[test]
    fn replaying_commits_the_same_keys() {
        let bodies: Vec<Vec<u8>> = (0..40).map(|number| worker::item(number, 5, 50)).collect();
        let log = record(&bodies, "/pk").unwrap();
        assert_eq!(log.commits.len(), bodies.len());
        let contents = |commits: &[Writes], part: PartId, head| {
            let store = MemoryStore::new();
            store.create_part(part, head).unwrap();
            for writes in commits {
                let Begin::Open { txn, head, .. } = store.begin(part, 1, &[]).unwrap() else {
                    panic!("a new part is open")
                };
                let head = head.advanced(head.lsn + 1, CommitToken(1));
                txn.commit(writes.clone(), head).unwrap().wait().unwrap();
            }
            let page = store.scan(part, &Scan::all()).unwrap();
            let rows = page
                .rows
                .iter()
                .map(|row| (row.key.to_vec(), row.value.to_vec()));
            rows.collect::<Vec<_>>()
        };
        let (part, head) = log.parts[0];
        let single: Vec<Writes> = log
            .commits
            .iter()
            .map(|(_, writes)| writes.clone())
            .collect();
        let mut all = Writes::new();
        for writes in &single {
            append(&mut all, writes);
        }
        let stored = contents(&single, part, head);
        assert_eq!(stored, contents(&[all], part, head));
        assert!(
            stored.len() > bodies.len() * 10,
            "items, ids, terms, changes"
        );
    }
}
