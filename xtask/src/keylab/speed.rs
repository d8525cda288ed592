//! `cargo xtask keylab speed`: profile and all candidates of ten million items, beside parsing the
//! same file with the fastest parser on the same cores, in turn.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::process::Guarded;
use crate::server::Binary;
use crate::{paths, process};

/// Items of the file: about five gigabytes.
pub const ITEMS: u64 = 10_000_000;
/// Times the time that parsing takes.
const MOST_TIME: f64 = 3.0;
/// Bytes of memory.
const MOST_MEMORY: u64 = 1 << 30;
/// Longest run.
const LIMIT: Duration = Duration::from_secs(1_200);

/// What to measure.
pub struct Options {
    /// The binary.
    pub binary: Binary,
    /// Items of the file.
    pub items: u64,
    /// How often.
    pub rounds: u64,
    /// A folder with items.ndjson and workload.yaml, instead of generated items.
    pub folder: Option<PathBuf>,
    /// Leave the generated file there.
    pub keep: bool,
}

/// Generates the file, measures both in turn, compares the best of each.
pub fn run(options: &Options) -> Result<()> {
    let binary = options.binary.path()?;
    let parser = parser()?;
    let (folder, is_ours) = match &options.folder {
        Some(folder) => (folder.clone(), false),
        None => (generated(&binary, options.items)?, true),
    };
    let (mut parsing, mut analysing): (Option<Value>, Option<Measured>) = (None, None);
    for round in 1..=options.rounds.max(1) {
        let parsed = process::output(Command::new(&parser).arg(folder.join("items.ndjson")))?;
        let parsed: Value = serde_json::from_str(&parsed)?;
        if parsed["broken"] != 0 {
            bail!("the parser takes {} lines for broken", parsed["broken"]);
        }
        let measured = measure(
            Command::new(&binary)
                .current_dir(&folder)
                .args(["keylab", "analyze", "--data", "items.ndjson"])
                .args(["--workload", "workload.yaml", "--json"]),
        )?;
        println!(
            "round {round}: parsing {:.2} s, analysis {:.2} s with {} MB",
            seconds(&parsed),
            measured.seconds,
            measured.memory >> 20
        );
        if parsing
            .as_ref()
            .is_none_or(|best| seconds(&parsed) < seconds(best))
        {
            parsing = Some(parsed);
        }
        let is_better = |best: &Measured| measured.seconds < best.seconds;
        if analysing.as_ref().is_none_or(is_better) {
            analysing = Some(measured);
        }
    }
    if is_ours && !options.keep {
        std::fs::remove_dir_all(&folder)?;
    }
    told(
        &parsing.context("no round")?,
        &analysing.context("no round")?,
    )
}

fn told(parsing: &Value, analysing: &Measured) -> Result<()> {
    if analysing.report["numDocsTotal"] != parsing["items"] {
        bail!(
            "{} items were analysed, {} parsed",
            analysing.report["numDocsTotal"],
            parsing["items"]
        );
    }
    let times = analysing.seconds / seconds(parsing);
    println!(
        "{}",
        json!({
            "items": parsing["items"],
            "bytes": parsing["bytes"],
            "cores": parsing["cores"],
            "candidates": analysing.report["spreads"].as_array().map_or(0, Vec::len),
            "recommended": analysing.report["recommended"],
            "parsingSeconds": parsing["seconds"],
            "analysisSeconds": analysing.seconds,
            "times": times,
            "mostTimes": MOST_TIME,
            "memoryBytes": analysing.memory,
            "mostMemoryBytes": MOST_MEMORY,
        })
    );
    if times > MOST_TIME {
        bail!("{times:.2} times the time of parsing, more than {MOST_TIME}");
    }
    if analysing.memory > MOST_MEMORY {
        bail!("{} MB of memory", analysing.memory >> 20);
    }
    Ok(())
}

fn seconds(parsed: &Value) -> f64 {
    parsed["seconds"].as_f64().unwrap_or(f64::NAN)
}

/// The floor, compiled for this processor.
fn parser() -> Result<PathBuf> {
    let target = paths::installed("keylab")?.join("parser");
    let manifest = paths::repository().join("tests/keylab/parser/Cargo.toml");
    process::run(
        process::cargo()
            .args(["build", "--release", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(&target)
            .env("RUSTFLAGS", "-C target-cpu=native"),
        LIMIT,
    )?;
    Ok(target.join("release").join("json-floor"))
}

fn generated(binary: &Path, items: u64) -> Result<PathBuf> {
    let folder = paths::installed("keylab")?.join(format!("speed-{items}"));
    let is_done = folder.join("done");
    if is_done.exists() {
        return Ok(folder);
    }
    process::run(
        Command::new(binary)
            .args(["keylab", "generate"])
            .arg(paths::repository().join("tests/keylab/speed.yaml"))
            .args(["--items", &items.to_string(), "--out"])
            .arg(&folder),
        LIMIT,
    )?;
    std::fs::write(is_done, [])?;
    Ok(folder)
}

struct Measured {
    seconds: f64,
    /// The most that was resident.
    memory: u64,
    report: Value,
}

/// Runs a command and watches its memory, which Linux tells as long as it runs.
fn measure(command: &mut Command) -> Result<Measured> {
    let begin = Instant::now();
    let child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("the binary cannot be started")?;
    let mut child = Guarded(child);
    let mut printed = child.0.stdout.take().context("no output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut printed, &mut text).map(|_| text)
    });
    let mut memory = 0;
    let status = loop {
        memory = memory.max(resident(child.0.id()).unwrap_or(0));
        if let Some(status) = child.0.try_wait()? {
            break status;
        }
        if begin.elapsed() > LIMIT {
            bail!("the analysis was still running after {} s", LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let seconds = begin.elapsed().as_secs_f64();
    if !status.success() {
        bail!("the analysis failed: {status}");
    }
    let text = reader
        .join()
        .map_err(|_| anyhow::anyhow!("reading panicked"))??;
    Ok(Measured {
        seconds,
        memory,
        report: serde_json::from_str(&text)?,
    })
}

/// The most bytes that a process has had in memory.
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
