//! `orrery keylab init`: a workload file to fill in.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use orrery_keylab::placement::GIGABYTE;

use super::analyze::{DataArgs, code};
use super::container::SampleArgs;
use super::traffic::{self, TrafficArgs};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  orrery keylab init --data orders.csv > workload.yaml
  orrery keylab init --trace trace.ndjson > workload.yaml

Exit code: 0 written; 3 written, but some of the data could not be read; 1 failed; 2 wrong usage.";

/// Options of `orrery keylab init`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InitArgs {
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    sample: SampleArgs,
}

/// Runs the command.
pub fn run(args: &InitArgs) -> Result<ExitCode> {
    let recorded = args.traffic.read(&args.data.csv.options())?;
    let container = args.traffic.container.as_deref();
    let (profile, report) = args
        .data
        .profile(recorded.as_ref(), &args.sample, container)?;
    for message in report.messages() {
        output::note(message)?;
    }
    output::text(&match &recorded {
        Some(recorded) => {
            traffic::tell(recorded)?;
            let workload = recorded.workload(profile.bytes as f64 / GIGABYTE)?;
            orrery_keylab::init::recorded(&workload, recorded.traffic.observed())?
        }
        None => orrery_keylab::init::workload(&profile),
    })?;
    Ok(code(&report, recorded.as_ref()))
}
