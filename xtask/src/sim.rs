//! `cargo xtask sim`: the simulation of `crates/orrery-sim`, for a long time.

use std::time::Duration;

use anyhow::Result;

use crate::process;

/// Settings of `cargo xtask sim`.
pub struct Options {
    /// For how long runs begin.
    pub minutes: u64,
    /// The first seed.
    pub seed: u64,
    /// Steps of a run.
    pub steps: u64,
}

/// Builds and runs.
pub fn run(options: &Options) -> Result<()> {
    let mut command = process::cargo();
    command
        .args([
            "run",
            "--release",
            "--quiet",
            "--package",
            "orrery-sim",
            "--",
        ])
        .args(["--minutes", &options.minutes.to_string()])
        .args(["--seed", &options.seed.to_string()])
        .args(["--steps", &options.steps.to_string()]);
    process::run(
        &mut command,
        Duration::from_secs(options.minutes * 60 + 1_800),
    )
}
