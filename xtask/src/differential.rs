//! `cargo xtask differential`: many random queries over random items, answered with the index and
//! without, by the engine's own test, optimised.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::{paths, process};

/// Settings of `cargo xtask differential`.
pub struct Options {
    /// How many queries.
    pub queries: u64,
    /// The first seed; later ones follow it.
    pub seed: u64,
}

/// Runs the queries; a failure prints the seed that repeats it.
pub fn run(options: &Options) -> Result<()> {
    println!("{} queries from seed {} on", options.queries, options.seed);
    let mut command = Command::new("cargo");
    command
        .args(["test", "--release", "-p", "orrery-engine", "--test", "it"])
        .arg("query::differential::")
        .current_dir(paths::repository())
        .env("ORRERY_DIFFERENTIAL_QUERIES", options.queries.to_string())
        .env("ORRERY_DIFFERENTIAL_SEED", options.seed.to_string());
    // Building, and about twenty milliseconds a query at the worst.
    let limit = Duration::from_secs(1_800 + options.queries / 50);
    process::run(&mut command, limit)
}
