//! Runs the tests that an SDK ships with itself against our server, and compares the failures with
//! the committed list of those that are expected, each with its cause.

mod expected;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::server::{Binary, KEY, Server};
use crate::{install, paths, process};
use expected::Expected;
use report::Report;

/// Settings of `cargo xtask conformance python`.
pub struct Options {
    /// The pytest mark that selects tests; all of [`MARKS`] by default.
    pub mark: Option<String>,
    /// A pytest `-k` expression that narrows the selection.
    pub filter: Option<String>,
    /// Processes that share the test files.
    pub jobs: usize,
    /// Seconds for one test.
    pub seconds: u32,
    /// Which server binary is tested.
    pub binary: Binary,
    /// A server that already runs, instead of one of our own (`https://localhost:8081/`).
    pub endpoint: Option<String>,
}

/// The marks of tests that need nothing but an account.
pub const MARKS: [&str; 3] = ["cosmosEmulator", "cosmosQuery", "cosmosSearchQuery"];

/// Of each mark, the share of the tests that send requests which must pass.
const BAR: f64 = 0.95;

/// Runs the selection, prints the figures and writes them as JSON.
pub fn python(options: &Options) -> Result<()> {
    let python = install::python()?;
    let suite = python_suite(&python)?;
    let scratch = paths::scratch("conformance")?;
    let binary = match options.endpoint {
        Some(_) => None,
        None => Some(options.binary.path()?),
    };
    let mut results = BTreeMap::new();
    let mut runs = Vec::new();
    for shard in 1..=options.jobs {
        let server = binary
            .as_ref()
            .map(|binary| Server::start_as_emulator(binary))
            .transpose()?;
        let host = match (&server, &options.endpoint) {
            (Some(server), _) => format!("{}/", server.https()),
            (None, endpoint) => endpoint.clone().context("no server")?,
        };
        let file = scratch.join(format!("results-{shard}.jsonl"));
        let mut command = pytest(&python, &suite, options, &host, &file);
        command.env("ORRERY_SHARD", format!("{shard}/{}", options.jobs));
        runs.push((server, file, command));
    }
    let outcomes: Vec<Result<(Option<Server>, PathBuf)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = runs
            .into_iter()
            .map(|(server, file, mut command)| {
                scope.spawn(move || {
                    process::status(&mut command, Duration::from_secs(3600))?;
                    Ok((server, file))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| bail!("a runner panicked")))
            .collect()
    });
    for outcome in outcomes {
        let (server, file) = outcome?;
        read_results(&file, &mut results)?;
        if let Some(mut server) = server
            && !server.is_alive()
        {
            bail!("the server ended during the tests:\n{}", server.log_tail());
        }
    }
    conclude(&results, options)
}

fn conclude(results: &BTreeMap<String, Value>, options: &Options) -> Result<()> {
    if results.is_empty() {
        bail!("no test ran");
    }
    let list = paths::repository().join("tests/conformance/python-expected.txt");
    let expected = Expected::load(&list)?;
    let report = Report::new(results, &expected);
    let name = options.mark.as_deref().unwrap_or("all");
    let file = paths::installed("conformance")?.join(format!("python-{name}.json"));
    std::fs::write(
        &file,
        serde_json::to_string_pretty(&json!({
            "figures": report.figures(),
            "tests": results.values().collect::<Vec<_>>(),
        }))?,
    )?;
    report.print();
    println!("results: {}", file.display());
    if options.filter.is_some() {
        return Ok(());
    }
    if let Some((mark, share)) = report.shares().into_iter().find(|(_, share)| *share < BAR) {
        bail!(
            "{:.1} % of the tests of {mark} that send requests pass; the bar is {:.0} %",
            share * 100.0,
            BAR * 100.0
        );
    }
    if !report.unexpected.is_empty() {
        bail!(
            "{} failures are not in {}",
            report.unexpected.len(),
            list.display()
        );
    }
    Ok(())
}

/// Downloads the SDK's source distribution and gives the folder of its tests.
fn python_suite(python: &Path) -> Result<PathBuf> {
    let folder = paths::installed("python-suite")?;
    let find = || -> Option<PathBuf> {
        std::fs::read_dir(&folder)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path().join("tests")))
            .find(|tests| tests.is_dir())
    };
    if let Some(tests) = find() {
        return Ok(tests);
    }
    process::run(
        Command::new(python)
            .args([
                "-m",
                "pip",
                "download",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args([
                "--no-deps",
                "--no-binary",
                "azure-cosmos",
                install::PYTHON_SDK,
                "--dest",
            ])
            .arg(&folder),
        Duration::from_secs(300),
    )?;
    let archive = std::fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|ending| ending == "gz"))
        .context("pip left no source distribution")?;
    process::run(
        Command::new(python)
            .args(["-m", "tarfile", "-e"])
            .arg(&archive)
            .arg(&folder),
        Duration::from_secs(60),
    )?;
    find().context("the source distribution holds no tests")
}

fn pytest(python: &Path, suite: &Path, options: &Options, host: &str, results: &Path) -> Command {
    let plugin = paths::repository().join("tests/conformance/plugin");
    let path = std::env::join_paths([plugin.as_path(), suite]).unwrap_or_default();
    let mut command = Command::new(python);
    command
        .current_dir(suite)
        .args([
            "-m",
            "pytest",
            "-p",
            "orrery_suite",
            "-p",
            "no:cacheprovider",
        ])
        .args([
            "-q",
            "--no-header",
            "--tb=short",
            "-W",
            "ignore",
            "--show-capture=no",
        ])
        .arg(format!("--timeout={}", options.seconds))
        .args([
            "-m",
            &options.mark.clone().unwrap_or_else(|| MARKS.join(" or ")),
        ])
        .env("PYTHONPATH", path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ACCOUNT_HOST", host)
        .env("ACCOUNT_KEY", KEY)
        .env("ORRERY_RESULTS", results);
    if let Some(filter) = &options.filter {
        command.args(["-k", filter]);
    }
    let log = results.with_extension("log");
    if let Ok(file) = std::fs::File::create(log)
        && let Ok(copy) = file.try_clone()
    {
        command.stdout(file).stderr(copy);
    }
    command
}

fn read_results(file: &Path, results: &mut BTreeMap<String, Value>) -> Result<()> {
    let log = file.with_extension("log");
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("no test ran; see {}", log.display()))?;
    for line in text.lines() {
        let record: Value = serde_json::from_str(line)?;
        let name = record["test"].as_str().unwrap_or_default().to_owned();
        results.insert(name, record);
    }
    Ok(())
}
