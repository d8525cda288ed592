//! `orrery keylab analyze`: candidates from real data, judged by a workload.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use orrery_keylab::analysis::{Analysis, Laboratory};
use orrery_keylab::emit::{self, Target};
use orrery_keylab::placement::GIGABYTE;
use orrery_keylab::profile::Profile;
use orrery_keylab::report::{advice, explain, html, json, markdown, terminal};
use orrery_keylab::simulate::Row;
use orrery_keylab::workload::Workload;

use super::container::SampleArgs;
use super::data::{self, DataReport};
use super::traffic::{self, Recorded, TrafficArgs};
use crate::import::csv_items::CsvOptions;
use crate::output;

/// Exit code when some of the data could not be read.
const SOME_BROKEN: u8 = 3;

const EXAMPLES: &str = "\
Examples:
  orrery keylab analyze --data orders.csv                      what the data alone can tell
  orrery keylab init --data orders.csv > workload.yaml         a workload file to fill in
  orrery keylab analyze --data orders.csv --workload workload.yaml
  orrery keylab analyze --data items/ --workload workload.yaml --out report
  orrery keylab analyze --data items.ndjson.gz --workload workload.yaml --emit bicep
  orrery keylab analyze --data orders.csv --workload workload.yaml --key /shop   why not this one
  orrery keylab analyze --trace trace.ndjson                   recorded requests as the workload
  orrery keylab analyze --data orders.csv --diagnostics PT1H.json
  orrery keylab analyze --endpoint http://127.0.0.1:8081 --in shop/orders --workload workload.yaml

Data: a running container, or files: NDJSON, JSON arrays, CSV and TSV with a header line, gzip or zstd of these, Parquet, folders of them.

Exit code: 0 analysed; 3 analysed, but some of the data could not be read; 1 failed; 2 wrong usage.";

/// Options of `orrery keylab analyze`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AnalyzeArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    sample: SampleArgs,
    /// What is asked of the container, and how much there will be.
    #[arg(long, value_name = "YAML")]
    workload: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Write report.json, report.md and report.html into this folder.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print what deploys the recommended key.
    #[arg(long, value_enum)]
    emit: Option<EmitArg>,
    /// Explain this key, by its name in the report; with --emit, deploy it instead of the recommended one.
    #[arg(long, value_name = "KEY", conflicts_with = "json")]
    key: Option<String>,
}

/// Where the data is.
#[derive(Debug, Args)]
pub struct DataArgs {
    /// Files or folders with items.
    #[arg(
        long = "data",
        required_unless_present_any =
            ["trace", "query_log", "diagnostics", "endpoint", "connection_string"],
        num_args = 1..,
        value_name = "FILE"
    )]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub csv: CsvArgs,
}

/// How CSV is read.
#[derive(Debug, Args)]
pub struct CsvArgs {
    /// CSV: a text that means nothing, such as NA.
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,
    /// CSV: separator; tab for .tsv, else a comma.
    #[arg(long, value_name = "CHAR", value_parser = crate::import::delimiter)]
    delimiter: Option<u8>,
}

impl CsvArgs {
    /// As the reader takes it.
    pub fn options(&self) -> CsvOptions {
        CsvOptions {
            nulls: self.null.clone(),
            delimiter: self.delimiter,
            ..CsvOptions::default()
        }
    }
}

impl DataArgs {
    /// The items' profile: of the files, else of a sample of the container, else of the items that
    /// recorded requests named.
    pub fn profile(
        &self,
        recorded: Option<&Recorded>,
        sample: &SampleArgs,
        container: Option<&str>,
    ) -> Result<(Profile, DataReport)> {
        if !self.files.is_empty() {
            return data::profile(&self.files, &self.csv.options());
        }
        if sample.account.is_given() {
            let sampled = sample.read(container)?;
            output::note(&sampled.note)?;
            return Ok((data::profile_items(&sampled.items)?, DataReport::default()));
        }
        let items = traffic::items_of(recorded)?;
        Ok((data::profile_items(items)?, DataReport::default()))
    }
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum EmitArg {
    Bicep,
    Arm,
    Terraform,
    Cli,
    Sdk,
}

impl From<EmitArg> for Target {
    fn from(argument: EmitArg) -> Self {
        match argument {
            EmitArg::Bicep => Self::Bicep,
            EmitArg::Arm => Self::Arm,
            EmitArg::Terraform => Self::Terraform,
            EmitArg::Cli => Self::Cli,
            EmitArg::Sdk => Self::Sdk,
        }
    }
}

/// Runs the command.
pub fn run(args: &AnalyzeArgs) -> Result<ExitCode> {
    // A mistake in the workload is told before gigabytes are read.
    let written = args.workload.as_deref().map(read_workload).transpose()?;
    let recorded = args.traffic.read(&args.data.csv.options())?;
    let container = args.traffic.container.as_deref();
    let (profile, report) = args
        .data
        .profile(recorded.as_ref(), &args.sample, container)?;
    let workload = match &recorded {
        Some(recorded) => recorded.added_to(written, profile.bytes as f64 / GIGABYTE)?,
        None => written.unwrap_or_default(),
    };
    let laboratory = Laboratory::new(&profile, &workload)?;
    let mut analysis = laboratory.analyze();
    told(&report, &mut analysis);
    for note in recorded.iter().flat_map(|recorded| &recorded.notes) {
        analysis.notes.push(note.clone());
    }
    if let Some(folder) = &args.out {
        write_reports(folder, &analysis)?;
    }
    if let Some(target) = args.emit {
        output::text(&emitted(
            &analysis,
            &workload,
            target.into(),
            args.key.as_deref(),
        )?)?;
    } else if let Some(key) = &args.key {
        output::text(&explain::render(&analysis, named(&analysis, key)?))?;
    } else if args.json {
        output::line(&json::render(&analysis)?)?;
    } else {
        output::text(&terminal::render(&analysis))?;
    }
    Ok(code(&report, recorded.as_ref()))
}

/// The exit code that the state of the data asks for.
pub fn code(report: &DataReport, recorded: Option<&Recorded>) -> ExitCode {
    if report.is_whole() && recorded.is_none_or(|recorded| recorded.is_whole) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(SOME_BROKEN)
    }
}

/// Reads a workload file.
pub fn read_workload(path: &Path) -> Result<Workload> {
    let name = path.display().to_string();
    Ok(Workload::from_yaml(&super::read_text(path)?, &name)?)
}

/// What could not be read stands in every form of the report.
fn told(report: &DataReport, analysis: &mut Analysis) {
    if report.broken > 0 {
        analysis.notes.push(format!(
            "{} of the data could not be read and are not part of this; the first: {}",
            crate::report::plural(report.broken, "place"),
            report.places.first().map_or("", String::as_str)
        ));
    }
    for message in report.messages() {
        // Standard error shows them even when the report goes into a file.
        let _ = output::note(message);
    }
    analysis.notes.extend(report.unread.iter().cloned());
}

fn write_reports(folder: &Path, analysis: &Analysis) -> Result<()> {
    let wrong = || format!("cannot write into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(wrong)?;
    let files = [
        ("report.json", json::render(analysis)? + "\n"),
        ("report.md", markdown::render(analysis)),
        ("report.html", html::render(analysis, "Partition key")),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).with_context(wrong)?;
    }
    Ok(())
}

/// The row of the key that was asked for.
fn named<'a>(analysis: &'a Analysis, key: &str) -> Result<&'a Row> {
    let excluded = analysis
        .excluded
        .iter()
        .find(|excluded| excluded.key == key);
    if let Some(excluded) = excluded {
        anyhow::bail!("{key} is no candidate of its own: it {}", excluded.reason);
    }
    explain::find(analysis, key).with_context(|| {
        format!(
            "no candidate is called {key}: --json lists them, and `candidates` in the workload file adds one"
        )
    })
}

fn emitted(
    analysis: &Analysis,
    workload: &Workload,
    target: Target,
    key: Option<&str>,
) -> Result<String> {
    if workload.workload.is_empty() {
        bail!(
            "--emit needs --workload (or --trace, --query-log, --diagnostics): without requests no key is judged, so that none can be recommended"
        );
    }
    let row = match key {
        Some(key) => named(analysis, key)?,
        None => advice::winner(analysis).context(
            "no key passes every gate, so there is nothing to deploy; --key names one nevertheless",
        )?,
    };
    Ok(emit::render(&emit::Plan::of(row, workload), target))
}
