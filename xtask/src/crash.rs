//! Kills the server in the middle of writes, again and again, and checks after each restart that
//! every acknowledged write is there, that batches are whole, and that the change feed is complete
//! and in order. With `--splits` partitions are split and merged all the while: after each restart
//! the ranges must tile the key space, with parents or children, never both.

mod http;
mod reshaper;
mod verify;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::paths;
use crate::random::Random;
use crate::server::{Profile, Server};
use http::Connection;
use reshaper::Reshaper;
use verify::Verifier;
use writer::Writer;

/// Settings of `cargo xtask crash`.
pub struct Options {
    /// How often the server is killed.
    pub rounds: u64,
    /// Repeats a run.
    pub seed: u64,
    /// Concurrent writers.
    pub writers: u64,
    /// Whether partitions are split and merged meanwhile.
    pub splits: bool,
    /// How the server is compiled.
    pub profile: Profile,
}

/// The feed of the container's items.
const ITEMS: &str = "/dbs/crash/colls/items/docs";

/// Runs all rounds on one data folder.
pub fn run(options: &Options) -> Result<()> {
    let binary = options.profile.build()?;
    let data = paths::scratch("crash")?;
    println!("seed {}, data folder {}", options.seed, data.display());
    let mut random = Random::new(options.seed);
    let mut writers: Vec<Writer> = (0..options.writers)
        .map(|number| Writer::new(number, Random::part(options.seed, number + 1)))
        .collect();
    create_container(&binary, &data)?;
    let mut verifier = Verifier::default();
    let mut interrupted = 0;
    for round in 1..=options.rounds {
        let pause = Duration::from_millis(60 + random.below(900));
        let mut reshaper = options
            .splits
            .then(|| Reshaper::new(Random::part(options.seed, 1_000 + round)));
        let acknowledged = write_until_killed(&binary, &data, &mut writers, pause, &mut reshaper)
            .with_context(|| format!("round {round}"))?;
        let server = start(&binary, &data)?;
        let mut connection = Connection::open(server.port())?;
        if options.splits {
            verify::ranges(&mut connection).with_context(|| format!("round {round}"))?;
            reshaper::await_rest(&mut connection).with_context(|| format!("round {round}"))?;
        }
        let checked = verifier
            .check(&mut connection, &mut writers)
            .with_context(|| format!("round {round}, seed {}", options.seed))?;
        println!(
            "round {round}: killed after {} ms and {acknowledged} acknowledged writes; {checked}",
            pause.as_millis()
        );
        if let Some(reshaper) = reshaper {
            println!("round {round}: {}", reshaper.summary());
            interrupted += u64::from(reshaper.was_interrupted());
        }
    }
    if options.splits {
        println!(
            "killed inside of a split or merge: {interrupted} of {}",
            options.rounds
        );
    }
    std::fs::remove_dir_all(&data)?;
    println!("crash rounds: {} passed, 0 failed", options.rounds);
    Ok(())
}

fn start(binary: &Path, data: &Path) -> Result<Server> {
    let data = data.to_string_lossy();
    Server::start(binary, &["--data", &data, "--no-auth"])
}

fn create_container(binary: &Path, data: &Path) -> Result<()> {
    let server = start(binary, data)?;
    let mut connection = Connection::open(server.port())?;
    let database = connection.send("POST", "/dbs", &[], &json!({"id": "crash"}).to_string())?;
    let container = json!({
        "id": "items",
        "partitionKey": {"paths": ["/owner"], "kind": "Hash", "version": 2},
        "changeFeedPolicy": {"retentionDuration": 60},
    });
    let created = connection.send(
        "POST",
        "/dbs/crash/colls",
        &[("x-ms-offer-throughput", "30000")],
        &container.to_string(),
    )?;
    if database.status != 201 || created.status != 201 {
        bail!(
            "cannot create the container: {} {}",
            created.status,
            created.body
        );
    }
    server.kill()
}

/// A busy machine may be slow to acknowledge a first write, but not for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets the writers write for this long after the first acknowledged write, then kills the server
/// under them; gives the number of acknowledged writes.
fn write_until_killed(
    binary: &Path,
    data: &Path,
    writers: &mut [Writer],
    pause: Duration,
    reshaper: &mut Option<Reshaper>,
) -> Result<u64> {
    let server = start(binary, data)?;
    let port = server.port();
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let acknowledged = &acknowledged;
        let threads: Vec<_> = writers
            .iter_mut()
            .map(|writer| scope.spawn(move || writer.write_until_cut_off(port, acknowledged)))
            .collect();
        let reshaping = reshaper
            .as_mut()
            .map(|reshaper| scope.spawn(move || reshaper.run_until_cut_off(port)));
        let since = Instant::now();
        while acknowledged.load(Ordering::Relaxed) == 0 && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(pause);
        server.kill()?;
        if let Some(thread) = reshaping {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("the reshaper panicked"))??;
        }
        for thread in threads {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        let acknowledged = acknowledged.load(Ordering::Relaxed);
        if acknowledged == 0 {
            bail!("no write was acknowledged in {} s", PATIENCE.as_secs());
        }
        Ok(acknowledged)
    })
}
