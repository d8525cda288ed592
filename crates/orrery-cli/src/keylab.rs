//! `orrery keylab`: the partition-key laboratory. Files, progress and exit codes are here; the
//! method is in the crate `orrery-keylab`.

mod analyze;
mod check;
mod container;
mod data;
mod generate;
mod init;
mod simulate;
mod traffic;
mod verify;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  orrery keylab analyze --data orders.csv
  orrery keylab init --data orders.csv > workload.yaml
  orrery keylab analyze --data orders.csv --workload workload.yaml
  orrery keylab simulate examples/keylab/s01-orders.yaml
  orrery keylab verify examples/keylab/s01-orders.yaml

Exit code: that of the command; see its own help.";

/// Options of `orrery keylab`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct KeylabArgs {
    #[command(subcommand)]
    command: KeylabCommand,
}

#[derive(Debug, Subcommand)]
enum KeylabCommand {
    /// Find and judge candidate keys in real data.
    Analyze(analyze::AnalyzeArgs),
    /// Judge the keys that infrastructure code declares: a gate for pull requests.
    Check(check::CheckArgs),
    /// Write the data and workload of a scenario.
    Generate(generate::GenerateArgs),
    /// Write a workload file to fill in.
    Init(init::InitArgs),
    /// Compute the candidates of a scenario from its shares, without data.
    Simulate(simulate::SimulateArgs),
    /// Replay a workload on the engine and compare with what is predicted.
    Verify(verify::VerifyArgs),
}

/// Runs the command.
pub fn run(args: &KeylabArgs) -> Result<ExitCode> {
    match &args.command {
        KeylabCommand::Analyze(args) => analyze::run(args),
        KeylabCommand::Check(args) => check::run(args),
        KeylabCommand::Generate(args) => generate::run(args),
        KeylabCommand::Init(args) => init::run(args),
        KeylabCommand::Simulate(args) => simulate::run(args),
        KeylabCommand::Verify(args) => verify::run(args),
    }
}

/// A text file; one that is not UTF-8 is told with the place.
fn read_text(path: &Path) -> Result<String> {
    let name = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = memchr::memchr_iter(b'\n', &error.as_bytes()[..at]).count() + 1;
        anyhow::anyhow!("{name}: line {line}: not UTF-8")
    })
}
