//! The golden scripts of `tests/golden` through the SDKs: each runs every query with its own plans
//! and its own merge, over containers of several numbers of ranges, in pages of several sizes, with
//! a kill and a restart of the server in the middle of the walks.

#[path = "../../tests/golden/script.rs"]
mod script;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::apps::Language;
use crate::process::Guarded;
use crate::server::{Binary, KEY, Server};
use crate::{install, paths};
use script::{Case, Order, Script};

/// Settings of `cargo xtask golden`.
pub struct Options {
    /// Which SDKs.
    pub languages: Vec<Language>,
    /// All numbers of ranges and sizes of pages, or one.
    pub full: bool,
    /// Which server binary is tested.
    pub binary: Binary,
    /// Only scripts whose name contains this.
    pub filter: Option<String>,
}

/// `RANGES:PAGE-SIZE`; 0 leaves the size to the server.
const ONE: &str = "3:3";
const ALL: &str = "1:0,1:1,1:3,1:100,3:0,3:1,3:3,3:100,16:0,16:1,16:3,16:100";

/// Longest run of one SDK.
const LIMIT: Duration = Duration::from_secs(3600);

/// Runs the scripts.
pub fn run(options: &Options) -> Result<()> {
    let binary = options.binary.path()?;
    let folder = paths::scratch("golden")?;
    let scripts = folder.join("scripts.json");
    std::fs::write(&scripts, corpus(options)?.to_string())?;
    let settings = if options.full { ALL } else { ONE };
    let mut failed = Vec::new();
    for language in &options.languages {
        if let Err(error) = one(*language, &binary, &folder, &scripts, settings) {
            println!("{language:?}: {error:#}");
            failed.push(format!("{language:?}"));
        }
    }
    std::fs::remove_dir_all(&folder)?;
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("golden scripts failed: {}", failed.join(", "))
    }
}

/// All scripts as the drivers read them.
fn corpus(options: &Options) -> Result<Value> {
    let folder = paths::repository().join("tests/golden");
    let scripts = Script::load(&folder).map_err(anyhow::Error::msg)?;
    let wanted = |script: &&Script| {
        let filter = options.filter.as_ref();
        filter.is_none_or(|filter| script.name.contains(filter.as_str()))
    };
    let scripts: Vec<Value> = scripts
        .iter()
        .filter(wanted)
        .map(read)
        .collect::<Result<_>>()?;
    if scripts.is_empty() {
        bail!("no script in {}", folder.display());
    }
    Ok(Value::Array(scripts))
}

fn read(script: &Script) -> Result<Value> {
    let told = || format!("tests/golden/{}.txt", script.name);
    let parse = |text: &String| serde_json::from_str::<Value>(text).with_context(told);
    let cases = script.cases.iter().map(case).collect::<Result<Vec<_>>>();
    Ok(json!({
        "name": script.name,
        "container": parse(&script.container)?,
        "items": script.items.iter().map(parse).collect::<Result<Vec<_>>>()?,
        "cases": cases.with_context(told)?,
    }))
}

fn case(case: &Case) -> Result<Value> {
    let parse = |text: &String| {
        serde_json::from_str::<Value>(text).with_context(|| format!("`{}`: {text}", case.name))
    };
    let parameters = case
        .parameters
        .iter()
        .map(|(name, value)| anyhow::Ok(json!({ "name": name, "value": parse(value)? })));
    let rows: Vec<Value> = match case.order {
        Order::Error => case.rows.iter().map(|text| json!(text)).collect(),
        _ => case.rows.iter().map(parse).collect::<Result<_>>()?,
    };
    let (order, count) = match case.order {
        Order::Any => ("any", 0),
        Order::Exact => ("exact", 0),
        Order::Some(count) => ("some", count),
        Order::Error => ("error", 0),
    };
    let sdks = |list: &[(String, String)]| -> Vec<Value> {
        list.iter().map(|(sdk, _)| json!(sdk)).collect()
    };
    Ok(json!({
        "name": case.name,
        "query": case.query,
        "parameters": parameters.collect::<Result<Vec<_>>>()?,
        "key": case.key.as_ref().map(parse).transpose()?,
        "notMergedBy": sdks(&case.not_merged_by),
        "unplanned": sdks(&case.unplanned),
        "without": sdks(&case.without),
        "order": order,
        "count": count,
        "rows": rows,
    }))
}

/// Runs one SDK's driver, and restarts the server whenever it asks for that.
fn one(
    language: Language,
    binary: &Path,
    folder: &Path,
    scripts: &Path,
    settings: &str,
) -> Result<()> {
    let data = folder.join(format!("{language:?}")).display().to_string();
    let mut server = Server::start(binary, &["--data", &data])?;
    let port = server.port().to_string();
    let mut command = driver(language)?;
    command
        .args([&server.http(), KEY])
        .arg(scripts)
        .arg(settings)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = Guarded(command.spawn().context("cannot start the driver")?);
    let mut orders = child.0.stdin.take().context("a driver without input")?;
    let output = child.0.stdout.take().context("a driver without output")?;
    let started = Instant::now();
    for line in BufReader::new(output).lines() {
        let line = line?;
        if line == "RESTART" {
            server.kill()?;
            server = Server::start(binary, &["--data", &data, "--port", &port])?;
            writeln!(orders, "GO")?;
        } else {
            println!("{line}");
        }
        if started.elapsed() > LIMIT {
            bail!("still running after {} s", LIMIT.as_secs());
        }
    }
    let status = child.0.wait()?;
    if status.success() {
        Ok(())
    } else {
        bail!("{status}\n{}", server.log_tail())
    }
}

fn driver(language: Language) -> Result<Command> {
    let programs = paths::repository().join("tests/sdk/golden");
    Ok(match language {
        Language::Python => {
            let mut command = Command::new(install::python()?);
            command.arg(programs.join("golden.py"));
            command
        }
        Language::JavaScript => {
            let packages = install::node_packages()?;
            std::fs::copy(programs.join("golden.mjs"), packages.join("golden.mjs"))?;
            let mut command = Command::new("node");
            command.arg("golden.mjs").current_dir(packages);
            command
        }
    })
}
