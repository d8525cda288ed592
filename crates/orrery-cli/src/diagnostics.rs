//! `orrery diagnostics`: a trace as the diagnostic logs that the service would have written, one
//! JSON object a line (request units: section 12).

mod category;
mod form;

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value as Json;

use crate::output;
use category::{Category, Source};
use form::Form;

const EXAMPLES: &str = "\
Examples:
  orrery serve --trace trace.ndjson
  orrery diagnostics trace.ndjson > logs.ndjson
  orrery diagnostics trace.ndjson --category PartitionKeyRUConsumption
  orrery diagnostics trace.ndjson --form table --category PartitionKeyStatistics

The lines come in the order of the trace. Query text is as in the trace, as with full-text query
enabled; what the trace does not hold (client addresses) is left out. PartitionKeyStatistics are in the
trace every five minutes and at the end of the server.

Exit code: 0; 1 when the file is no trace; 2 wrong usage.";

/// Options of `orrery diagnostics`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DiagnosticsArgs {
    /// A file that `orrery serve --trace` wrote.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Only these categories.
    #[arg(long, value_enum, value_delimiter = ',')]
    category: Vec<Category>,
    /// Name of the account in the logs.
    #[arg(long, default_value = "localhost", value_name = "NAME")]
    account: String,
    /// Name of the region in the logs.
    #[arg(long, default_value = "Local", value_name = "NAME")]
    region: String,
    /// Lines of the export to a storage account, or rows of the resource-specific tables.
    #[arg(long, value_enum, default_value = "storage-account")]
    form: Form,
}

/// Runs the command.
pub fn run(args: &DiagnosticsArgs) -> Result<ExitCode> {
    let shown = args.trace.display();
    let file = File::open(&args.trace).with_context(|| format!("cannot read {shown}"))?;
    let categories = if args.category.is_empty() {
        Category::ALL.to_vec()
    } else {
        args.category.clone()
    };
    let mut is_trace = false;
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {shown}"))?;
        let parsed: Json = match serde_json::from_str(&line) {
            Ok(parsed) => parsed,
            // A server that was killed may have written half a line.
            Err(_) if is_trace => continue,
            Err(error) => bail!("{shown} is no trace: line {}: {error}", number + 1),
        };
        if number == 0 {
            is_trace = parsed["orreryTrace"].as_u64() == Some(1);
            if !is_trace {
                bail!("{shown} is no trace of version 1; `orrery serve --trace FILE` writes one");
            }
            continue;
        }
        let source = Source {
            account: &args.account,
            region: &args.region,
            record: &parsed,
        };
        for category in &categories {
            for entry in category.entries(&source, args.form) {
                output::line(&entry.to_string())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
