//! `orrery keylab simulate`: the table of a scenario.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use orrery_keylab::report::{check, table};
use orrery_keylab::scenario::Scenario;
use orrery_keylab::simulate::{Simulation, simulate};
use serde::Serialize;

use crate::output;

const EXAMPLES: &str = "\
Examples:
  orrery keylab simulate examples/keylab/s01-orders.yaml
  orrery keylab simulate examples/keylab/*.yaml --check
  orrery keylab simulate mine.yaml --json > rows.json

The form of a scenario is in docs/keylab-scenarios.md.

Exit code: 0 computed (and, with --check, equal to what is expected); 1 a row differs or a file
cannot be read; 2 wrong usage.";

/// Options of `orrery keylab simulate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SimulateArgs {
    /// Scenario files.
    #[arg(required = true, value_name = "SPEC")]
    specs: Vec<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Compare with the rows that the scenario expects.
    #[arg(long)]
    check: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema: &'static str,
    simulations: Vec<Checked>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    #[serde(flatten)]
    simulation: Simulation,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<String>>,
}

/// Runs the command.
pub fn run(args: &SimulateArgs) -> Result<ExitCode> {
    let mut simulations = Vec::with_capacity(args.specs.len());
    let mut differences = 0;
    for path in &args.specs {
        let name = path.display().to_string();
        let text = super::read_text(path)?;
        let scenario = Scenario::from_yaml(&text, &name)?;
        let simulation = simulate(&scenario).with_context(|| name.clone())?;
        let found = args
            .check
            .then(|| check::differences(&scenario, &simulation));
        if !args.json {
            output::line(&table::render(&simulation))?;
            for line in found.iter().flatten() {
                output::line(&format!("differs: {line}"))?;
            }
        }
        differences += found.as_ref().map_or(0, Vec::len);
        simulations.push(Checked {
            simulation,
            differences: found,
        });
    }
    if args.json {
        let document = Document {
            schema: "orrery-keylab-simulation/1",
            simulations,
        };
        output::line(&serde_json::to_string_pretty(&document)?)?;
    } else if args.check {
        output::line(&match differences {
            0 => "every expected row agrees".to_owned(),
            count => format!("{count} differences from what is expected"),
        })?;
    }
    Ok(if differences == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
