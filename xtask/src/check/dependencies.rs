//! Which crate may know which: the walls of ARCHITECTURE.md, read from cargo's own resolution.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

/// A crate and the crates of ours that it may use.
const ALLOWED: [(&str, &[&str]); 8] = [
    ("orrery-model", &[]),
    ("orrery-storage", &[]),
    ("orrery-sql", &["orrery-model"]),
    (
        "orrery-engine",
        &["orrery-model", "orrery-sql", "orrery-storage"],
    ),
    (
        "orrery-sim",
        &["orrery-model", "orrery-storage", "orrery-engine"],
    ),
    (
        "orrery-gateway",
        &["orrery-model", "orrery-sql", "orrery-engine"],
    ),
    ("orrery-keylab", &["orrery-model", "orrery-sql"]),
    (
        "orrery-cli",
        &[
            "orrery-model",
            "orrery-sql",
            "orrery-storage",
            "orrery-engine",
            "orrery-gateway",
            "orrery-keylab",
        ],
    ),
];

/// The crates that must stay free of hidden time, sockets and threads of a runtime.
const SYNCHRONOUS: [&str; 5] = [
    "orrery-model",
    "orrery-sql",
    "orrery-storage",
    "orrery-engine",
    "orrery-keylab",
];

/// What a synchronous crate must not reach, even through others.
const RUNTIMES: [&str; 5] = ["tokio", "hyper", "async-std", "smol", "mio"];

/// Checks the directions of dependencies.
pub fn check() -> Result<()> {
    let mut problems = directions()?;
    for name in SYNCHRONOUS {
        let tree = process::output(process::cargo().args([
            "tree",
            "--package",
            name,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]))?;
        for line in tree.lines() {
            let reached = line.split(' ').next().unwrap_or_default();
            if RUNTIMES.contains(&reached) {
                problems.push(format!(
                    "{name} reaches {reached}; it must stay synchronous"
                ));
            }
        }
    }
    problems.sort();
    problems.dedup();
    if problems.is_empty() {
        return Ok(());
    }
    for problem in &problems {
        println!("{problem}");
    }
    bail!("{} dependencies point the wrong way", problems.len())
}

fn directions() -> Result<Vec<String>> {
    let metadata = process::output(process::cargo().args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
    ]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let mut problems = Vec::new();
    for package in metadata["packages"].as_array().context("no packages")? {
        let name = package["name"].as_str().unwrap_or_default();
        if name == "xtask" {
            continue;
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            problems.push(format!(
                "{name} is not in the table of allowed dependencies"
            ));
            continue;
        };
        for dependency in package["dependencies"]
            .as_array()
            .context("no dependencies")?
        {
            let used = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"].as_str() == Some("dev");
            if used.starts_with("orrery-") && !allowed.contains(&used) && !for_tests {
                problems.push(format!("{name} must not know {used}"));
            }
        }
    }
    Ok(problems)
}
