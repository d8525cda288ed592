//! `cargo xtask fuzz`: runs the fuzz targets of `fuzz/` for some minutes each.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{paths, process};

/// Settings of `cargo xtask fuzz`.
pub struct Options {
    /// Minutes for each target.
    pub minutes: u64,
    /// Only this target.
    pub target: Option<String>,
}

/// Runs the targets one after another.
pub fn run(options: &Options) -> Result<()> {
    let folder = paths::repository().join("fuzz");
    let host = nightly_host()?;
    let mut targets: Vec<String> = std::fs::read_dir(folder.join("fuzz_targets"))?
        .filter_map(|entry| {
            Some(
                entry
                    .ok()?
                    .path()
                    .file_stem()?
                    .to_string_lossy()
                    .into_owned(),
            )
        })
        .filter(|name| options.target.as_ref().is_none_or(|wanted| wanted == name))
        .collect();
    targets.sort();
    if targets.is_empty() {
        bail!("no such fuzz target in {}", folder.display());
    }
    let build = paths::target().join("fuzz");
    let mut command = Command::new("cargo");
    command
        // Naming the host keeps the counters out of build scripts.
        .args(["+nightly", "build", "--release", "--target", &host])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &build)
        .env("RUSTFLAGS", SANITIZER);
    process::run(&mut command, Duration::from_secs(1800))?;
    let mut failed = Vec::new();
    for target in &targets {
        let corpus = paths::installed(&format!("fuzz-corpus/{target}"))?;
        let findings = paths::installed("fuzz-findings")?;
        let mut command = Command::new(build.join(&host).join("release").join(target));
        command
            .arg(&corpus)
            .args(seeds(target))
            .arg(format!("-max_total_time={}", options.minutes * 60))
            .args([
                "-max_len=8192",
                "-timeout=10",
                "-rss_limit_mb=2048",
                "-print_final_stats=1",
            ])
            .arg(format!("-artifact_prefix={}/{target}-", findings.display()));
        let limit = Duration::from_secs(options.minutes * 60 + 120);
        if let Err(error) = process::run(&mut command, limit) {
            println!(
                "{target}: {error:#}; the input is in {}",
                findings.display()
            );
            failed.push(target.as_str());
        }
    }
    println!(
        "fuzz targets: {} passed, {} failed",
        targets.len() - failed.len(),
        failed.len()
    );
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("findings in {}", failed.join(", "))
    }
}

/// What makes the compiler count the edges that an input reaches, as libFuzzer expects.
const SANITIZER: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions";

fn seeds(target: &str) -> Option<std::path::PathBuf> {
    let folder = paths::repository().join("fuzz/seeds").join(target);
    folder.is_dir().then_some(folder)
}

/// The machine that the nightly compiler builds for.
fn nightly_host() -> Result<String> {
    let output = Command::new("rustc")
        .args(["+nightly", "--version", "--verbose"])
        .output()
        .context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    match host {
        Some(host) if output.status.success() => Ok(host.to_owned()),
        _ => bail!(
            "fuzzing needs the nightly compiler (for its coverage counters), which is not installed: \
             `rustup toolchain install nightly --profile minimal`"
        ),
    }
}
