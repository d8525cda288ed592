//! The benches of `cargo xtask bench`: our figures beside floors that are measured in the same
//! run on the same machine (design: section 11). Ratios hold across machines, absolutes only
//! orient.

mod child;
pub mod floor;
mod memory;
mod metering;
mod point;
mod raw;
mod recording;
mod scan;
mod splits;
mod start;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::output;
use table::{Row, Table};

/// Options of `orrery bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Small sizes: minutes become seconds, figures become rough.
    #[arg(long)]
    quick: bool,
    /// Write the figures to a file as JSON too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only benches whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Import this file (NDJSON, JSON array, CSV) instead of generated items.
    #[arg(long, value_name = "FILE", requires = "partition_key")]
    file: Option<PathBuf>,
    /// Partition key paths for --file.
    #[arg(long, value_name = "/PATH,...")]
    partition_key: Option<String>,
    /// Folder for the benches' data, emptied before and removed after.
    #[arg(long, default_value = "target/bench-data", value_name = "DIR")]
    folder: PathBuf,
}

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Sizes {
    /// Items of the small container.
    pub small: u64,
    /// Items of the large container.
    pub large: u64,
    /// Items of write benches.
    pub writes: u64,
    /// Items of the import.
    pub import: u64,
    /// Time of each load.
    pub time: Duration,
    /// A file to import, and its partition key paths.
    pub file: Option<(PathBuf, String)>,
    /// Folder for data.
    pub folder: PathBuf,
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<ExitCode> {
    let folder = std::path::absolute(&args.folder)?;
    renew(&folder)?;
    let (small, large, writes, import, seconds) = if args.quick {
        (2_000, 20_000, 3_000, 10_000, 2)
    } else {
        (10_000, 1_000_000, 20_000, 100_000, 8)
    };
    let sizes = Sizes {
        small,
        large,
        writes,
        import,
        time: Duration::from_secs(seconds),
        file: args.file.clone().zip(args.partition_key.clone()),
        folder: folder.clone(),
    };
    type Bench = fn(&Sizes) -> Result<Vec<Row>>;
    let benches: [(&str, Bench); 7] = [
        ("writes", raw::writes),
        ("import", raw::import),
        ("scan", scan::run),
        ("point", point::run),
        ("metering", metering::run),
        ("start", start::run),
        ("splits", splits::run),
    ];
    let mut table = Table::default();
    for (name, bench) in benches {
        if args
            .only
            .as_ref()
            .is_some_and(|only| !name.contains(only.as_str()))
        {
            continue;
        }
        output::note(&format!("bench {name} ..."))?;
        table
            .rows
            .extend(bench(&sizes).with_context(|| format!("bench {name}"))?);
    }
    let _ = std::fs::remove_dir_all(&folder);
    output::text(&table.to_text())?;
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&table.to_json())?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An empty folder.
fn renew(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}
