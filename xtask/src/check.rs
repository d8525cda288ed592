//! `cargo xtask check`: everything that must hold before a change is shared.

mod dependencies;
mod tidy;

use std::time::Duration;

use anyhow::{Result, bail};

use crate::process;

type Step = fn() -> Result<()>;

const LIMIT: Duration = Duration::from_secs(2400);

/// Runs the checks in order of their price and names all that failed.
pub fn run() -> Result<()> {
    let steps: [(&str, Step); 6] = [
        ("format", format),
        ("tidy", tidy),
        ("dependencies", dependencies::check),
        ("lints", lints),
        ("documentation", documentation),
        ("tests", tests),
    ];
    let mut failed = Vec::new();
    for (name, step) in steps {
        println!("== {name}");
        if let Err(error) = step() {
            println!("{name}: {error:#}");
            failed.push(name);
        }
    }
    println!(
        "checks: {} passed, {} failed",
        steps.len() - failed.len(),
        failed.len()
    );
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("failed: {}", failed.join(", "))
    }
}

/// The rules on the text of the repository.
pub fn tidy() -> Result<()> {
    tidy::check()
}

/// The rules on which crate may know which.
pub fn dependencies() -> Result<()> {
    dependencies::check()
}

fn format() -> Result<()> {
    process::run(process::cargo().args(["fmt", "--all", "--check"]), LIMIT)
}

fn lints() -> Result<()> {
    let mut command = process::cargo();
    command.args([
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]);
    process::run(&mut command, LIMIT)
}

fn documentation() -> Result<()> {
    let mut command = process::cargo();
    command
        .args(["doc", "--quiet", "--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings");
    process::run(&mut command, LIMIT)
}

fn tests() -> Result<()> {
    process::run(
        process::cargo().args(["test", "--quiet", "--workspace"]),
        LIMIT,
    )
}
