//! `orrery keylab init`: a workload file to fill in.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::analyze::{DataArgs, code};
use super::data;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  orrery keylab init --data orders.csv > workload.yaml

Exit code: 0 written; 3 written, but some of the data could not be read; 1 failed; 2 wrong usage.";

/// Options of `orrery keylab init`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InitArgs {
    #[command(flatten)]
    data: DataArgs,
}

/// Runs the command.
pub fn run(args: &InitArgs) -> Result<ExitCode> {
    let (profile, report) = data::profile(&args.data.files, &args.data.csv())?;
    for message in &report.messages {
        output::note(message)?;
    }
    output::text(&orrery_keylab::init::workload(&profile))?;
    Ok(code(&report))
}
