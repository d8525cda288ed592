//! `orrery load`: a load generator that speaks the public protocol.
//!
//! Closed loop (`--clients N`): every connection sends its next request when the last one is
//! answered; the figure is the rate. Open loop (`--rate R`): requests are due on a fixed
//! schedule whatever the server does, and latency counts from the moment a request was *due*, so
//! that a stall of the server shows in every request that had to wait behind it.

pub mod histogram;
mod keys;
mod mix;
pub mod outcome;
pub mod worker;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use orrery_model::json;

use crate::client::account::{Account, ContainerInfo, ContainerName, Creation};
use crate::client::bulk::BulkWriter;
use crate::client::{Endpoint, PUBLISHED_KEY, Request};
use crate::report;
use keys::{Distribution, Keys};
use mix::Mix;
use outcome::Outcome;
use worker::{Run, Worker};

const EXAMPLES: &str = "\
Examples:
  orrery load                                   point reads as fast as 16 connections can
  orrery load --mix read=80,create=10,query=10 --clients 32 --duration 30s
  orrery load --rate 2000 --mix create          open loop: 2,000 creates a second, whatever the server does
  orrery load --keys zipf --zipf 0.9 --items 100000 --json

The container (default load/items) is created when missing, partitioned by /pk, and filled with
--items items before the run. Latency in the closed loop is the time of a request; in the open
loop it counts from the moment when the request was due, so waiting is included.

Exit code: 0; 1 when the load could not run or no request was answered.";

/// Options of `orrery load`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LoadArgs {
    /// Server to load.
    #[arg(long, default_value = "http://127.0.0.1:8081", value_name = "URL")]
    endpoint: String,
    /// Master key; the published emulator key by default.
    #[arg(long, default_value = PUBLISHED_KEY, hide_default_value = true)]
    key: String,
    /// Container to work in.
    #[arg(long = "in", default_value = "load/items", value_name = "DB/CONTAINER")]
    name: ContainerName,
    /// Throughput of the container, if it is created.
    #[arg(long, value_name = "RU/S")]
    throughput: Option<u32>,
    /// Operations and their shares: read, create, upsert, replace, patch, query, batch.
    #[arg(long, default_value = "read", value_name = "OP=SHARE,...")]
    mix: Mix,
    /// Connections; in the open loop the most requests under way at once.
    #[arg(long, default_value_t = 16, value_name = "N")]
    clients: usize,
    /// Open loop: requests due per second.
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// How long to measure, as 500ms, 30s or 2m.
    #[arg(long, default_value = "10s", value_parser = duration)]
    duration: Duration,
    /// Measure so many requests at most.
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// How long to run before measuring.
    #[arg(long, default_value = "1s", value_parser = duration)]
    warm_up: Duration,
    /// Items that are loaded before the run.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    items: u64,
    /// Logical partitions that the items have; as many as items by default.
    #[arg(long, value_name = "N")]
    partitions: Option<u64>,
    /// Filling of an item, in bytes; an item has about 350 more.
    #[arg(long, default_value_t = 650, value_name = "BYTES")]
    item_size: usize,
    /// Operations of a batch.
    #[arg(long, default_value_t = 10, value_name = "N")]
    batch_size: usize,
    /// Which items are asked for.
    #[arg(long, value_enum, default_value = "uniform")]
    keys: Distribution,
    /// Exponent of the Zipf distribution, between 0 and 1.
    #[arg(long, default_value_t = 0.99, value_name = "S")]
    zipf: f64,
    /// Share of the hot key.
    #[arg(long, default_value_t = 0.9, value_name = "SHARE")]
    hot: f64,
    /// Seed of keys and operations; equal seeds ask for the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &LoadArgs) -> Result<ExitCode> {
    let outcome = perform(args)?;
    if args.json {
        crate::output::line(&serde_json::to_string_pretty(&outcome.to_json())?)?;
    } else {
        crate::output::text(&outcome.to_text())?;
    }
    if outcome.answered() == 0 {
        bail!(
            "no request was answered: {}",
            outcome
                .failure
                .as_deref()
                .unwrap_or("the run was too short")
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Fills the container and measures.
pub fn perform(args: &LoadArgs) -> Result<Outcome> {
    if args
        .rate
        .is_some_and(|rate| !(rate > 0.0 && rate.is_finite()))
    {
        bail!("--rate must be a number above 0");
    }
    if args.clients == 0 || args.clients > 4096 {
        bail!("--clients must be between 1 and 4096");
    }
    if args.batch_size == 0 || args.batch_size > 100 {
        bail!("--batch-size must be between 1 and 100, the service's limit");
    }
    let mut account = Account::new(Endpoint::parse(&args.endpoint, Some(&args.key))?);
    let creation = Creation {
        partition_key: vec!["/pk".to_owned()],
        throughput: args.throughput,
    };
    let info = account.open_container(&args.name, Some(&creation))?;
    fill(&mut account, args, &info)?;
    Ok(measure(&account, args))
}

/// Measures without filling anything: for servers that answer a constant.
pub fn unfilled(args: &LoadArgs) -> Result<Outcome> {
    Ok(measure(
        &Account::new(Endpoint::parse(&args.endpoint, Some(&args.key))?),
        args,
    ))
}

/// Loads the items that are missing: those of an earlier run with other sizes are kept.
fn fill(account: &mut Account, args: &LoadArgs, info: &ContainerInfo) -> Result<()> {
    let Some(last) = args.items.checked_sub(1) else {
        return Ok(());
    };
    let partitions = args.partitions.unwrap_or(args.items).max(1);
    let partition = format!("[\"key-{}\"]", last % partitions);
    let link = format!("{}/docs/item-{last}", args.name.link());
    let mut connection = account.connection();
    let found = connection.send(&Request {
        verb: "GET",
        path: &format!("{}/docs/item-{last}", args.name.path()),
        resource_type: "docs",
        link: &link,
        headers: &[("x-ms-documentdb-partitionkey", &partition)],
        body: b"",
    })?;
    if found.status == 200 {
        return Ok(());
    }
    if !args.json {
        crate::output::note(&format!(
            "loading {} ...",
            report::plural(args.items, "item")
        ))?;
    }
    let threads = 4_u64;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let account = account.another();
                scope.spawn(move || fill_share(account, args, info, partitions, thread, threads))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .map_err(|_| anyhow::anyhow!("a loader panicked"))?
        })
    })
}

fn fill_share(
    account: Account,
    args: &LoadArgs,
    info: &ContainerInfo,
    partitions: u64,
    thread: u64,
    threads: u64,
) -> Result<()> {
    let mut writer = BulkWriter::new(account, args.name.clone(), info.clone());
    let mut failure = None;
    let mut done = |(): (), outcome: crate::client::bulk::Outcome| {
        if outcome.status >= 300 {
            failure.get_or_insert(outcome.message);
        }
    };
    for number in (thread..args.items).step_by(threads as usize) {
        let body = worker::item(number, partitions, args.item_size);
        let value = json::parse(&body)?;
        let key = info
            .spec
            .partition_key
            .extract(&value)
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        writer.add("Upsert", &body, &key, (), &mut done)?;
    }
    writer.flush(&mut done)?;
    match failure {
        Some(message) => bail!("loading the items: {message}"),
        None => Ok(()),
    }
}

fn measure(account: &Account, args: &LoadArgs) -> Outcome {
    let started = Instant::now();
    let measured_from = started + args.warm_up;
    let stamp = std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_micros());
    let run = Arc::new(Run {
        name: args.name.clone(),
        mix: args.mix.clone(),
        keys: Keys::new(args.keys, args.items, args.zipf, args.hot),
        partitions: args.partitions.unwrap_or(args.items).max(1),
        filling: args.item_size,
        batch: args.batch_size,
        interval: args.rate.map(|rate| Duration::from_secs_f64(1.0 / rate)),
        requests: args.requests,
        measured_from,
        until: measured_from + args.duration,
        started,
        next: AtomicU64::new(0),
        measured: AtomicU64::new(0),
        stamp: format!("{stamp:x}"),
    });
    let workers: Vec<Worker> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.clients)
            .map(|label| {
                let mut worker =
                    Worker::new(Arc::clone(&run), account.connection(), label, args.seed);
                scope.spawn(move || {
                    worker.work();
                    worker
                })
            })
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let elapsed = measured_from.elapsed();
    Outcome::new(args.mix.clone(), args.clients, args.rate, elapsed, &workers)
}

/// Reads `500ms`, `30s`, `2m`, or seconds.
pub fn duration(text: &str) -> Result<Duration> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number
        .parse()
        .with_context(|| format!("`{text}` is no duration; write 500ms, 30s or 2m"))?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => bail!("`{text}` is no duration; write 500ms, 30s or 2m"),
    };
    Duration::try_from_secs_f64(seconds).with_context(|| format!("`{text}` is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        assert_eq!(duration("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(duration("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(duration("7").unwrap(), Duration::from_secs(7));
        assert!(duration("fast").is_err());
        assert!(duration("3 weeks").is_err());
        assert!(duration("1e999s").is_err());
    }
}
