//! Writes beside the raw store: the engine runs once over a store that records, then the raw
//! store commits exactly those keys, then we do the same work durably.

mod replay;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};
use orrery_engine::write::{WriteKind, WriteRequest};
use orrery_engine::{CommitMode, Container, Engine, EngineConfig, MetadataOptions};
use orrery_model::resource_path::ResourcePath;
use orrery_storage::{FjallStore, Options, Store};

use super::child::Listening;
use super::point::loaded;
use super::table::{Bar, Row};
use super::{Sizes, renew};
use crate::import;
use crate::instance::open_engine;
use crate::load::worker;
use crate::report::count;
use replay::{gather, grouped, record, threaded};

/// Writers of the durable create bench.
const WRITERS: usize = 32;
/// Items of a commit when the raw store imports: what a committer with a full line gathers.
const IMPORT_GROUP: usize = 1024;
/// Commits that the raw store has on their way to the disk when it imports.
const IMPORT_IN_FLIGHT: usize = 4;
/// The arrangements in which the raw store serves 32 waiting writers: items of a commit, and
/// commits on their way to the disk. The best one is the floor.
const CREATE_GROUPS: [(usize, usize); 2] = [(WRITERS, 1), (WRITERS / 2, 2)];
/// Filling of an item: about 1 KB with its other members.
const FILLING: usize = 650;

/// Durable creates with 32 writers.
pub fn writes(sizes: &Sizes) -> Result<Vec<Row>> {
    let bodies: Vec<Vec<u8>> = (0..sizes.writes)
        .map(|number| worker::item(number, sizes.writes, FILLING))
        .collect();
    let log = record(&bodies, "/pk")?;
    let mut raw = threaded(&log, &sizes.folder.join("raw-threaded"))?;
    for (size, in_flight) in CREATE_GROUPS {
        let groups = gather(&log, size);
        let folder = sizes.folder.join("raw-grouped");
        raw = raw.max(grouped(&log, groups, in_flight, &folder)?);
    }
    drop(log);
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
    let (file, keys, bodies) = if let Some((file, keys)) = &sizes.file {
        (file.clone(), keys.clone(), import::bodies(file)?)
    } else {
        let file = sizes.folder.join("items.ndjson");
        let bodies = generate(&file, sizes.import)?;
        (file, "/pk".to_owned(), bodies)
    };
    let items = bodies.len() as u64;
    let log = record(&bodies, &keys)?;
    drop(bodies);
    let groups = gather(&log, IMPORT_GROUP);
    let folder = sizes.folder.join("raw-import");
    let raw = grouped(&log, groups, IMPORT_IN_FLIGHT, &folder)?;
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
