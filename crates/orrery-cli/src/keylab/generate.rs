//! `orrery keylab generate`: the data and workload of a scenario.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use orrery_keylab::generate::{Generator, workload};
use orrery_keylab::scenario::Scenario;

use crate::output;

const EXAMPLES: &str = "\
Examples:
  orrery keylab generate examples/keylab/s04-workflow.yaml --items 100000 --out tasks
  orrery keylab analyze --data tasks/items.ndjson --workload tasks/workload.yaml

The same seed gives the same bytes.

Exit code: 0 written; 1 failed; 2 wrong usage.";

/// Options of `orrery keylab generate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct GenerateArgs {
    /// The scenario file.
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// How many items.
    #[arg(long, default_value_t = 100_000)]
    items: u64,
    /// Another seed gives other items of the same shares.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder for items.ndjson and workload.yaml.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(args: &GenerateArgs) -> Result<ExitCode> {
    let name = args.spec.display().to_string();
    let scenario = Scenario::from_yaml(&super::read_text(&args.spec)?, &name)?;
    let mut generator = Generator::new(&scenario, args.seed)?;
    let wrong = || format!("cannot write into {}", args.out.display());
    std::fs::create_dir_all(&args.out).with_context(wrong)?;
    std::fs::write(args.out.join("workload.yaml"), workload(&scenario)?).with_context(wrong)?;
    let file = File::create(args.out.join("items.ndjson")).with_context(wrong)?;
    let mut items = BufWriter::with_capacity(1 << 20, file);
    for _ in 0..args.items {
        items.write_all(&generator.item()).with_context(wrong)?;
        items.write_all(b"\n").with_context(wrong)?;
    }
    items.flush().with_context(wrong)?;
    output::note(&format!(
        "{} and the workload are in {}",
        crate::report::plural(args.items, "item"),
        args.out.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
