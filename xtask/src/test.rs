//! `cargo xtask test`: installs what the tests need into the target folder and runs all of them.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::apps::{self, Language};
use crate::server::{Binary, Profile};
use crate::{cases, crash, golden, install, paths, process};

type Part = fn() -> Result<()>;

/// Runs every test and names the parts that failed.
pub fn run() -> Result<()> {
    let started = Instant::now();
    let parts: [(&str, Part); 6] = [
        ("what the tests need", needs),
        ("Rust tests", rust),
        ("cases", shared_cases),
        ("sdk applications", applications),
        ("golden scripts through the SDKs", golden_scripts),
        ("crash", crashes),
    ];
    let mut failed = Vec::new();
    for (name, part) in parts {
        println!("== {name}");
        if let Err(error) = part() {
            println!("{name}: {error:#}");
            failed.push(name);
        }
    }
    println!("== all parts, {} s", started.elapsed().as_secs());
    println!(
        "{} passed, {} failed",
        parts.len() - failed.len(),
        failed.len()
    );
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("failed: {}", failed.join(", "))
    }
}

fn needs() -> Result<()> {
    install::python()?;
    install::node_packages()?;
    Ok(())
}

fn rust() -> Result<()> {
    let mut command = process::cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]);
    process::run(&mut command, Duration::from_secs(2400))
}

fn shared_cases() -> Result<()> {
    cases::run(&cases::Options {
        root: paths::repository().join("../shared/cases"),
        show: 1,
        filter: None,
    })
}

fn applications() -> Result<()> {
    apps::run(&[Language::Python, Language::JavaScript], Profile::Debug)
}

fn golden_scripts() -> Result<()> {
    golden::run(&golden::Options {
        languages: vec![Language::Python, Language::JavaScript],
        full: false,
        binary: Binary::Built(Profile::Debug),
        filter: None,
    })
}

fn crashes() -> Result<()> {
    for splits in [false, true] {
        crash::run(&crash::Options {
            rounds: 2,
            seed: 1,
            writers: 16,
            splits,
            profile: Profile::Debug,
        })?;
    }
    Ok(())
}
