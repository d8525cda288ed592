//! Measures the store: `measure FOLDER load ITEMS | open | commits WRITERS | pipeline PARTS |
//! synced WRITERS | drop`. The numbers in `docs/decisions/` come from here.
//!
//! An item is 1 KB of text and 23 short entries (id, key, change, 20 index terms), as the engine
//! writes them.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use orrery_storage::{
    Begin, CommitToken, Durability, FjallStore, Head, Options, PartId, PartState, Pending, Store,
    Writes,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const SECONDS: u64 = 8;
const LOAD_BATCH: u64 = 32;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (folder, command) = words.split_first().ok_or("FOLDER COMMAND [NUMBER]")?;
    let folder = Path::new(folder);
    let number = |word: &str| word.replace('_', "").parse::<u64>();
    match command {
        ["load", items] => load(folder, number(items)?),
        ["open"] => reopen(folder),
        ["commits", writers] => commits(folder, number(writers)?),
        ["pipeline", parts] => pipeline(folder, number(parts)?),
        ["synced", writers] => synced(folder, number(writers)?),
        ["drop"] => drop_all(folder),
        _ => Err("unknown command".into()),
    }
}

fn options() -> Result<Options> {
    let mut options = Options::default();
    if let Ok(mebibytes) = env::var("MEMTABLE") {
        options.memtable_bytes = mebibytes.parse::<u64>()? << 20;
    }
    if let Ok(mebibytes) = env::var("CACHE") {
        options.cache_bytes = mebibytes.parse::<u64>()? << 20;
    }
    if env::var("RELAXED").is_ok() {
        options.durability = Durability::Relaxed;
    }
    Ok(options)
}

fn open(folder: &Path, parts: u64) -> Result<FjallStore> {
    let store = FjallStore::open(folder, options()?)?;
    for part in 0..parts {
        store.create_part(PartId(part), Head::new(PartState::Active))?;
    }
    Ok(store)
}

/// A cheap scrambler: index terms must not arrive in order.
fn scramble(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn add_item(writes: &mut Writes, docid: u64, body: &mut Vec<u8>) {
    let id = scramble(docid);
    body.clear();
    while body.len() < 1_000 {
        let at = body.len() as u64;
        let _ = write!(body, "\"name{at}\":\"{:x}\",", scramble(id ^ at));
    }
    let key = |kind: u8, parts: &[u64]| {
        let mut key = vec![kind];
        for part in parts {
            key.extend_from_slice(&part.to_be_bytes());
        }
        key
    };
    writes.put(&key(b'i', &[docid]), body);
    writes.put(&key(b'd', &[id, id]), &docid.to_be_bytes());
    writes.put(&key(b'k', &[id, docid]), &1_000u32.to_be_bytes());
    writes.put(&key(b'c', &[docid]), &docid.to_be_bytes());
    for path in 0..20 {
        // Some paths have few values, some have many.
        let value = scramble(id ^ path) % (10 << path);
        writes.put(&key(b't', &[scramble(path), value, docid]), b"");
    }
}

/// Commits the next `items` items of a part.
fn commit(store: &FjallStore, part: PartId, items: u64, body: &mut Vec<u8>) -> Result<Pending> {
    let Begin::Open { txn, head, .. } = store.begin(part, 1, &[])? else {
        return Err("moved".into());
    };
    let mut writes = Writes::new();
    for item in 1..=items {
        add_item(&mut writes, head.lsn + item, body);
    }
    let lsn = head.lsn + items;
    Ok(txn.commit(writes, head.advanced(lsn, CommitToken(u128::from(lsn))))?)
}

fn load(folder: &Path, items: u64) -> Result<()> {
    let store = open(folder, 1)?;
    let mut body = Vec::new();
    let mut longest = Duration::ZERO;
    let mut longest_append = Duration::ZERO;
    let start = Instant::now();
    let mut done = 0;
    while done < items {
        let count = LOAD_BATCH.min(items - done);
        let began = Instant::now();
        let pending = commit(&store, PartId(0), count, &mut body)?;
        longest_append = longest_append.max(began.elapsed());
        pending.wait()?;
        longest = longest.max(began.elapsed());
        done += count;
        if done % 100_000 < LOAD_BATCH {
            say(&format!(
                "{done} items, {:.0} items/s, longest commit {longest:?} (append {longest_append:?}), {:?}",
                done as f64 / start.elapsed().as_secs_f64(),
                store.metrics()
            ));
        }
    }
    say(&format!(
        "load: {:.0} items/s, longest commit {longest:?} (append {longest_append:?}), {}",
        items as f64 / start.elapsed().as_secs_f64(),
        usage()
    ));
    let began = Instant::now();
    store.close()?;
    drop(store);
    say(&format!("close: {:?}, {}", began.elapsed(), usage()));
    Ok(())
}

fn reopen(folder: &Path) -> Result<()> {
    let began = Instant::now();
    let store = open(folder, 0)?;
    let opened = began.elapsed();
    say(&format!("open {opened:?}, {}", usage()));
    let mut first = None;
    for i in 1..1_000u64 {
        let docid = scramble(i) % 10_000 + 1;
        let key = [&b"i"[..], &docid.to_be_bytes()].concat();
        let (_, values) = store.get_many(PartId(0), &[&key])?;
        if values[0].is_none() {
            return Err(format!("item {docid} is missing").into());
        }
        first.get_or_insert(began.elapsed());
    }
    say(&format!(
        "open {opened:?}, first read at {first:?}, 1,000 reads at {:?}, {}",
        began.elapsed(),
        usage()
    ));
    thread::sleep(Duration::from_secs(3));
    say(&format!("after 3 s: {}", usage()));
    let began = Instant::now();
    drop(store);
    say(&format!("close: {:?}, {}", began.elapsed(), usage()));
    Ok(())
}

/// Each writer has its own part, commits one item and waits.
fn commits(folder: &Path, writers: u64) -> Result<()> {
    let store = open(folder, writers)?;
    let before = store.metrics();
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let slowest = AtomicU64::new(0);
    thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..writers)
            .map(|part| {
                let (store, slowest) = (&store, &slowest);
                scope.spawn(move || -> Result<()> {
                    let mut body = Vec::new();
                    while Instant::now() < end {
                        let began = Instant::now();
                        commit(store, PartId(part), 1, &mut body)?.wait()?;
                        slowest.fetch_max(began.elapsed().as_micros() as u64, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        for thread in threads {
            thread.join().map_err(|_| "a writer panicked")??;
        }
        Ok(())
    })?;
    let after = store.metrics();
    say(&format!(
        "group sync, {writers} writers: {} commits/s, {} syncs/s, slowest {} us",
        (after.commits - before.commits) / SECONDS,
        (after.syncs - before.syncs) / SECONDS,
        slowest.into_inner(),
    ));
    Ok(())
}

/// One committer for many parts, which never waits: at most four commits of a part are on their
/// way.
fn pipeline(folder: &Path, parts: u64) -> Result<()> {
    let store = open(folder, parts)?;
    let before = store.metrics();
    let (sender, receiver) = mpsc::channel();
    let mut free: Vec<u64> = (0..parts).flat_map(|part| [part; 4]).collect();
    let mut body = Vec::new();
    let end = Instant::now() + Duration::from_secs(SECONDS);
    while Instant::now() < end {
        match free.pop() {
            Some(part) => {
                let sender = sender.clone();
                commit(&store, PartId(part), 1, &mut body)?.then(move |result| {
                    if result.is_ok() {
                        let _ = sender.send(part);
                    }
                });
            }
            None => free.push(receiver.recv()?),
        }
        free.extend(receiver.try_iter());
    }
    let after = store.metrics();
    say(&format!(
        "pipeline, {parts} parts: {} commits/s, {} syncs/s",
        (after.commits - before.commits) / SECONDS,
        (after.syncs - before.syncs) / SECONDS,
    ));
    Ok(())
}

/// The alternative: every writer's commit syncs for itself, under the engine's journal lock.
fn synced(folder: &Path, writers: u64) -> Result<()> {
    let database = fjall::Database::builder(folder).open()?;
    let data = database.keyspace("parts", fjall::KeyspaceCreateOptions::default)?;
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let commits = AtomicU64::new(0);
    thread::scope(|scope| {
        for part in 0..writers {
            let (database, data, commits) = (&database, &data, &commits);
            scope.spawn(move || -> Result<()> {
                let mut body = Vec::new();
                let mut docid = 0;
                while Instant::now() < end {
                    docid += 1;
                    let mut writes = Writes::new();
                    add_item(&mut writes, docid, &mut body);
                    let mut batch = database
                        .batch()
                        .durability(Some(fjall::PersistMode::SyncData));
                    for (key, value) in writes.iter() {
                        let key = [&part.to_be_bytes()[..], key].concat();
                        batch.insert(data, key, value.unwrap_or_default());
                    }
                    batch.commit()?;
                    commits.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
    });
    say(&format!(
        "sync per commit, {writers} writers: {} commits/s",
        commits.into_inner() / SECONDS
    ));
    Ok(())
}

fn drop_all(folder: &Path) -> Result<()> {
    let store = open(folder, 0)?;
    let began = Instant::now();
    for (part, _) in store.list_parts()? {
        store.drop_part(part)?;
    }
    say(&format!("gone after {:?}", began.elapsed()));
    while store
        .create_part(PartId(0), Head::new(PartState::Active))
        .is_err()
    {
        thread::sleep(Duration::from_millis(20));
    }
    say(&format!("reclaimed after {:?}", began.elapsed()));
    Ok(())
}

/// Processor time and memory so far. Wall time says little on a busy machine.
fn usage() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    // utime and stime, in hundredths of a second.
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    let memory = lines.collect::<Vec<_>>().join(" ").replace('\t', "");
    format!("{} ms of processor, {memory}", ticks * 10)
}

fn say(line: &str) {
    // Nobody to tell if the output is closed.
    let _ = writeln!(std::io::stdout(), "{line}");
}
