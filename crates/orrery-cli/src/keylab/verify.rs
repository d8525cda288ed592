//! `orrery keylab verify`: a predicted key in the real engine, under a clock that is moved.

mod model;
mod replay;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use orrery_keylab::analysis::Laboratory;
use orrery_keylab::report::advice;
use orrery_keylab::scenario::{CandidateSpec, KeySpec, Scenario};
use orrery_keylab::simulate::simulate;
use orrery_keylab::verify::compare::{Check, compare};
use orrery_keylab::verify::{Subject, scaled_down};
use serde::Serialize;

use super::analyze::{self, CsvArgs};
use super::data::{self, DataReport};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  orrery keylab verify examples/keylab/s04-workflow.yaml
  orrery keylab verify examples/keylab/s01-orders.yaml --candidate /id --horizon 3y
  orrery keylab verify examples/keylab/*.yaml --all
  orrery keylab verify --data orders.csv --workload workload.yaml

The engine runs in memory, under a clock that does not wait, with rates and throughput scaled down.
The same seed gives the same numbers. What is compared, and the tolerances: docs/keylab.md.

Exit code: 0 everything within its tolerance; 3 so it is, but some of the data could not be read;
1 something is not, or it failed; 2 wrong usage.";

/// Options of `orrery keylab verify`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct VerifyArgs {
    /// Scenario files.
    #[arg(
        value_name = "SPEC",
        required_unless_present = "data",
        conflicts_with = "data"
    )]
    specs: Vec<PathBuf>,
    /// Files or folders with items, in the place of a scenario.
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "workload")]
    data: Vec<PathBuf>,
    #[command(flatten)]
    csv: CsvArgs,
    /// With --data: what is asked of the container.
    #[arg(long, value_name = "YAML")]
    workload: Option<PathBuf>,
    /// This key instead of the best one, by its name in the table.
    #[arg(long, value_name = "KEY")]
    candidate: Option<String>,
    /// Every candidate.
    #[arg(long, conflicts_with = "candidate")]
    all: bool,
    /// This horizon only.
    #[arg(long, value_name = "NAME")]
    horizon: Option<String>,
    /// Items to load.
    #[arg(long, default_value_t = 30_000)]
    items: u64,
    /// Most different values of a member.
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..))]
    values: u64,
    /// Visits of partitions to replay: rates and throughput are scaled down until there are about
    /// so many.
    #[arg(long, default_value_t = 150_000, value_parser = clap::value_parser!(u64).range(1..))]
    visits: u64,
    /// Seconds, on the engine's clock, that are measured after a fifth of them to warm up.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Another seed draws other items and requests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// How large the model is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Items to load.
    pub items: u64,
    /// Visits to replay.
    pub visits: u64,
    /// Seconds to measure.
    pub seconds: u64,
    /// Decides every draw.
    pub seed: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema: &'static str,
    runs: Vec<Run>,
}

/// One key at one horizon.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The scenario, or `data`.
    pub subject: String,
    /// The key.
    pub key: String,
    /// The horizon.
    pub horizon: String,
    /// Physical partitions.
    pub partitions: usize,
    /// Rates and throughput of the model against those of production.
    pub scale: f64,
    /// What was compared.
    pub checks: Vec<Check>,
}

impl Run {
    fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}

/// Runs the command.
pub fn run(args: &VerifyArgs) -> Result<ExitCode> {
    let mut runs = Vec::new();
    for path in &args.specs {
        of_scenario(args, path, &mut runs)?;
    }
    let mut report = DataReport::default();
    if args.specs.is_empty() {
        report = of_data(args, &mut runs)?;
    }
    let failed = runs.iter().filter(|run| !run.passed()).count();
    if args.json {
        let document = Document {
            schema: "orrery-keylab-verification/1",
            runs,
        };
        output::line(&serde_json::to_string_pretty(&document)?)?;
    } else {
        let checks: usize = runs.iter().map(|run| run.checks.len()).sum();
        output::line(&match failed {
            0 => format!("all {checks} comparisons are within their tolerances"),
            1 => "1 key is out of tolerance".to_owned(),
            count => format!("{count} keys are out of tolerance"),
        })?;
    }
    Ok(if failed == 0 {
        analyze::code(&report, None)
    } else {
        ExitCode::FAILURE
    })
}

impl VerifyArgs {
    fn size(&self) -> Size {
        Size {
            items: self.items,
            visits: self.visits,
            seconds: self.seconds,
            seed: self.seed,
        }
    }

    fn is_meant(&self, horizon: &str) -> bool {
        self.horizon.as_deref().is_none_or(|meant| meant == horizon)
    }

    fn verify(&self, subject: &Subject<'_>, names: [&str; 3], runs: &mut Vec<Run>) -> Result<()> {
        /// Partitions of the largest model: each has a store of its own in memory.
        const MOST_PARTITIONS: usize = 4_096;
        let [name, key, horizon] = names;
        let partitions = subject.places().len();
        if partitions > MOST_PARTITIONS {
            bail!(
                "{name}: {key} at {horizon}: {partitions} partitions are more than {MOST_PARTITIONS}, which is what fits into memory: name another horizon with --horizon, or lower its rates and gb"
            );
        }
        let measurement = replay::run(subject, self.size())
            .with_context(|| format!("{name}: {key} at {horizon}"))?;
        let prediction = subject.predict(&measurement.charges, measurement.scale)?;
        let run = Run {
            subject: name.to_owned(),
            key: key.to_owned(),
            horizon: horizon.to_owned(),
            partitions: subject.places().len(),
            scale: measurement.scale,
            checks: compare(subject, &prediction, &measurement)?,
        };
        if !self.json {
            output::line(&table::render(&run))?;
        }
        runs.push(run);
        Ok(())
    }
}

fn of_scenario(args: &VerifyArgs, path: &std::path::Path, runs: &mut Vec<Run>) -> Result<()> {
    let name = path.display().to_string();
    let scenario = Scenario::from_yaml(&super::read_text(path)?, &name)?;
    let winner = simulate(&scenario)?
        .rows
        .first()
        .map(|row| row.key.clone())
        .with_context(|| format!("{name}: no candidate"))?;
    let scenario = scaled_down(&scenario, args.values);
    let wanted = args.candidate.as_deref().unwrap_or(&winner);
    let is_wanted = |candidate: &&CandidateSpec| args.all || candidate.title() == wanted;
    let candidates: Vec<&CandidateSpec> = scenario.candidates.iter().filter(is_wanted).collect();
    if candidates.is_empty() {
        let known: Vec<String> = scenario
            .candidates
            .iter()
            .map(CandidateSpec::title)
            .collect();
        bail!(
            "{name}: no candidate is called {wanted}; there are {}",
            known.join(", ")
        );
    }
    let before = runs.len();
    for candidate in candidates {
        for horizon in &scenario.horizons {
            let only = &candidate.only_at;
            if !args.is_meant(&horizon.name) || !only.is_empty() && !only.contains(&horizon.name) {
                continue;
            }
            let subject = Subject::of_scenario(&scenario, candidate, &horizon.name)?;
            let names = [&*scenario.name, &*candidate.title(), &*horizon.name];
            args.verify(&subject, names, runs)?;
        }
    }
    if runs.len() == before {
        bail!("{name}: no such horizon");
    }
    Ok(())
}

fn of_data(args: &VerifyArgs, runs: &mut Vec<Run>) -> Result<DataReport> {
    let path = args.workload.as_deref().context("--workload is missing")?;
    let workload = super::analyze::read_workload(path)?;
    let (profile, report) = data::profile(&args.data, &args.csv.options())?;
    for message in report.messages() {
        output::note(message)?;
    }
    let laboratory = Laboratory::new(&profile, &workload)?;
    let analysis = laboratory.analyze();
    let keys: Vec<(&str, &KeySpec)> = match (&args.candidate, args.all) {
        (_, true) => analysis
            .rows
            .iter()
            .map(|row| (&*row.key, &row.definition))
            .collect(),
        (Some(name), _) => {
            let row = analysis.rows.iter().find(|row| row.key == *name);
            let row = row.with_context(|| format!("no candidate is called {name}"))?;
            vec![(&row.key, &row.definition)]
        }
        (None, _) => {
            let row = advice::winner(&analysis)
                .context("no key passes every gate; --candidate names one nevertheless")?;
            vec![(&row.key, &row.definition)]
        }
    };
    for (name, key) in keys {
        for horizon in &workload.horizons {
            if args.is_meant(&horizon.name) {
                let subject = Subject::of_sample(&laboratory, key, &horizon.name)?;
                args.verify(&subject, ["data", name, &horizon.name], runs)?;
            }
        }
    }
    if runs.is_empty() {
        bail!("no such horizon");
    }
    Ok(report)
}
