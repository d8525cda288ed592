//! What the tests need beside Rust, installed below the target folder: a Python environment and a
//! folder of Node packages, both with pinned versions.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{paths, process};

/// The Python SDK that everything is tested with.
pub const PYTHON_SDK: &str = "azure-cosmos==4.17.1";

const PYTHON_PACKAGES: [&str; 5] = [
    PYTHON_SDK,
    "aiohttp==3.14.5",
    "pytest==9.2.0",
    "pytest-asyncio==1.5.0",
    "pytest-timeout==2.4.0",
];

const BENCH_PACKAGES: [&str; 2] = ["duckdb==2.0.1", "psycopg[binary]==3.3.9"];

const NODE_PACKAGES: [&str; 1] = ["@azure/cosmos@4.10.1"];

const LIMIT: Duration = Duration::from_secs(600);

/// The interpreter of an environment that holds the Python SDK and pytest.
pub fn python() -> Result<PathBuf> {
    environment("python", &PYTHON_PACKAGES)
}

/// The interpreter of an environment that holds the clients of the databases beside us.
pub fn bench_python() -> Result<PathBuf> {
    environment("query-bench", &BENCH_PACKAGES)
}

fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = paths::installed(name)?;
    let python = folder.join("bin").join("python");
    let wanted = packages.join("\n");
    if is_done(&folder, &wanted) && python.exists() {
        return Ok(python);
    }
    let system = ["python3", "python"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
        .context("the SDK tests and the query bench need Python 3.9 or later on the PATH")?;
    process::run(
        Command::new(system)
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
        LIMIT,
    )
    .context("Python's venv module is needed (Debian: package python3-venv)")?;
    process::run(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args(packages),
        LIMIT,
    )?;
    mark_done(&folder, &wanted)?;
    Ok(python)
}

/// The folder whose `node_modules` holds the JavaScript SDK.
pub fn node_packages() -> Result<PathBuf> {
    let folder = paths::installed("node")?;
    let wanted = NODE_PACKAGES.join("\n");
    if is_done(&folder, &wanted) && folder.join("node_modules").exists() {
        return Ok(folder);
    }
    let version = process::output(Command::new("node").arg("--version"))
        .context("the SDK tests need Node.js 20 or later on the PATH")?;
    let major: u32 = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse().ok())
        .unwrap_or(0);
    if major < 20 {
        bail!(
            "the SDK tests need Node.js 20 or later, found {}",
            version.trim()
        );
    }
    std::fs::write(
        folder.join("package.json"),
        "{\"name\":\"orrery-sdk-tests\",\"private\":true}\n",
    )?;
    process::run(
        Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
            .args(NODE_PACKAGES)
            .current_dir(&folder),
        LIMIT,
    )?;
    mark_done(&folder, &wanted)?;
    Ok(folder)
}

fn marker(folder: &Path) -> PathBuf {
    folder.join("installed.txt")
}

fn is_done(folder: &Path, wanted: &str) -> bool {
    std::fs::read_to_string(marker(folder)).is_ok_and(|text| text == wanted)
}

fn mark_done(folder: &Path, wanted: &str) -> Result<()> {
    Ok(std::fs::write(marker(folder), wanted)?)
}
