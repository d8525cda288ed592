//! `orrery keylab check`: the gate for pull requests that change partition keys or queries.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use orrery_keylab::analysis::Laboratory;
use orrery_keylab::iac::{self, Declared};
use orrery_keylab::simulate::Row;
use orrery_keylab::verdict::Verdict;
use serde::{Deserialize, Serialize};

use super::container::AccountArgs;
use super::{analyze, data};
use crate::output;

/// Exit code when a key fails.
const FAILED: u8 = 4;
/// A charge may grow by this share before it counts as a regression.
const TOLERANCE: f64 = 0.05;
/// The form of a saved state.
const SCHEMA: &str = "orrery-keylab-baseline/1";

const EXAMPLES: &str = "\
Examples:
  orrery keylab check infra/main.bicep
  orrery keylab check infra/*.tf --container orders --data sample.ndjson --workload workload.yaml
  orrery keylab check infra/main.bicep --data s.ndjson --workload w.yaml --save baseline.json
  orrery keylab check infra/main.bicep --data s.ndjson --workload w.yaml --baseline baseline.json
  orrery keylab check --endpoint http://127.0.0.1:8081 --in shop/orders

Reads a running container (--endpoint or --connection-string, and --in), Bicep (partitionKey), ARM JSON and Terraform (azurerm_cosmosdb_sql_container).

Exit code: 0 every key passes; 4 a key is rejected, a query fans out that did not, or a charge grew
by more than 5 %; 1 it could not be checked; 2 wrong usage.";

/// Options of `orrery keylab check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Files that declare containers.
    #[arg(
        required_unless_present_any = ["endpoint", "connection_string"],
        value_name = "FILE"
    )]
    files: Vec<PathBuf>,
    #[command(flatten)]
    account: AccountArgs,
    /// With an account: the container whose key is checked.
    #[arg(long = "in", value_name = "DATABASE/CONTAINER")]
    inside: Option<String>,
    /// Only the container of this name.
    #[arg(long, value_name = "NAME")]
    container: Option<String>,
    /// Items of the container.
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "workload")]
    data: Vec<PathBuf>,
    #[command(flatten)]
    csv: analyze::CsvArgs,
    /// What is asked of the container.
    #[arg(long, value_name = "YAML", requires = "data")]
    workload: Option<PathBuf>,
    /// A saved state to compare with.
    #[arg(long, value_name = "FILE", requires = "data")]
    baseline: Option<PathBuf>,
    /// Save this state.
    #[arg(long, value_name = "FILE", requires = "data")]
    save: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Baseline {
    schema: String,
    containers: Vec<Saved>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    name: String,
    key: String,
    requests: Vec<SavedRequest>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedRequest {
    pattern: String,
    reach: String,
    charge: f64,
}

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<ExitCode> {
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    let declared = declared(args)?;
    let mut failures = 0;
    for (place, container) in &declared {
        for objection in container.objections() {
            failures += 1;
            output::line(&format!("{place}: {}: {objection}", container.name))?;
        }
    }
    let mut saved = Vec::new();
    if let Some(workload) = &args.workload {
        let workload = analyze::read_workload(workload)?;
        let (profile, report) = data::profile(&args.data, &args.csv.options())?;
        for message in report.messages() {
            output::note(message)?;
        }
        let laboratory = Laboratory::new(&profile, &workload)?;
        for (place, container) in &declared {
            let analysis = laboratory.judge(&[container.key()]);
            let Some(row) = analysis.rows.first() else {
                let reason = analysis
                    .excluded
                    .first()
                    .map_or("cannot be judged", |out| out.reason.as_str());
                failures += 1;
                output::line(&format!(
                    "{place}: {}: {}: {reason}",
                    container.name,
                    container.key().title()
                ))?;
                continue;
            };
            let state = state(&container.name, row);
            failures += judge(place, container, row, &state, baseline.as_ref())?;
            saved.push(state);
        }
    }
    if let Some(path) = &args.save {
        let document = Baseline {
            schema: SCHEMA.to_owned(),
            containers: saved,
        };
        let text = serde_json::to_string_pretty(&document)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if failures > 0 {
        return Ok(ExitCode::from(FAILED));
    }
    output::line(&match declared.len() {
        1 => "1 key passes".to_owned(),
        count => format!("{count} keys pass"),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The containers of all files, each with its place.
fn declared(args: &CheckArgs) -> Result<Vec<(String, Declared)>> {
    let mut found = Vec::new();
    if args.account.is_given() {
        let inside = args.inside.as_deref();
        let name = inside.context("name the container with --in DATABASE/CONTAINER")?;
        found.push((name.to_owned(), args.account.declared(name)?));
    }
    for path in &args.files {
        let name = path.display().to_string();
        let text = super::read_text(path)?;
        let containers = iac::containers(&name, &text)
            .map_err(|message| anyhow::anyhow!("{name}: {message}"))?;
        for container in containers {
            if args
                .container
                .as_ref()
                .is_none_or(|wanted| *wanted == container.name)
            {
                let place = if container.line > 0 {
                    format!("{name}:{}", container.line)
                } else {
                    name.clone()
                };
                found.push((place, container));
            }
        }
    }
    if found.is_empty() {
        bail!("no container with a partition key is declared there");
    }
    Ok(found)
}

fn read_baseline(path: &Path) -> Result<Baseline> {
    let name = path.display();
    let baseline: Baseline = serde_json::from_str(&super::read_text(path)?)
        .with_context(|| format!("{name} is no saved state"))?;
    if baseline.schema != SCHEMA {
        bail!(
            "{name} has the form {}, not {SCHEMA}: save it again",
            baseline.schema
        );
    }
    Ok(baseline)
}

fn state(name: &str, row: &Row) -> Saved {
    /// What a visited partition costs at least.
    const VISIT: f64 = 2.7;
    let partitions = row.horizons.last().map_or(1, |at| at.outcome.partitions) as f64;
    let requests = row.routes.iter().map(|route| SavedRequest {
        pattern: route.pattern.clone(),
        reach: route.reach.word().to_owned(),
        charge: route.cost(partitions, VISIT),
    });
    Saved {
        name: name.to_owned(),
        key: row.key.clone(),
        requests: requests.collect(),
    }
}

fn judge(
    place: &str,
    container: &Declared,
    row: &Row,
    state: &Saved,
    baseline: Option<&Baseline>,
) -> Result<u64> {
    let name = &container.name;
    let mut failures = 0;
    if row.verdict == Verdict::Reject {
        failures += 1;
        let why = row
            .first_failure
            .as_ref()
            .map_or_else(String::new, |failure| {
                format!(
                    ": {:?} ({}) at {}: {}",
                    failure.gate,
                    failure.gate.subject(),
                    failure.horizon,
                    failure.reason
                )
            });
        output::line(&format!("{place}: {name}: {} is rejected{why}", row.key))?;
    }
    let before =
        baseline.and_then(|baseline| baseline.containers.iter().find(|saved| saved.name == *name));
    for request in &state.requests {
        let Some(old) = before.and_then(|saved| {
            saved
                .requests
                .iter()
                .find(|old| old.pattern == request.pattern)
        }) else {
            continue;
        };
        if request.reach == "fan-out" && old.reach != "fan-out" {
            failures += 1;
            output::line(&format!(
                "{place}: {name}: '{}' visits every partition; it was {}",
                request.pattern, old.reach
            ))?;
        } else if request.charge > old.charge * (1.0 + TOLERANCE) {
            failures += 1;
            output::line(&format!(
                "{place}: {name}: '{}' costs {:.2} RU; it was {:.2}",
                request.pattern, request.charge, old.charge
            ))?;
        }
    }
    Ok(failures)
}
