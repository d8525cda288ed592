//! `orrery export`: a container's items as NDJSON, range by range, in order of insertion.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Args;
use orrery_model::json;

use crate::client::account::ContainerName;
use crate::import::json_array::elements;
use crate::output;
use crate::report::{self, SYSTEM_PROPERTIES};
use crate::target::{Target, TargetArgs};

const EXAMPLES: &str = "\
Examples:
  orrery export shop/orders > orders.ndjson
  orrery export shop/orders --output orders.ndjson --system
  orrery export shop/orders --endpoint http://127.0.0.1:8081 | gzip > orders.ndjson.gz

The output can be read back with `orrery import`. Items written meanwhile may or may not be in it.

Exit code: 0; 1 when not everything could be written; 2 wrong usage.";

/// Options of `orrery export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    /// Container to export.
    #[arg(value_name = "DB/CONTAINER")]
    name: ContainerName,
    /// File to write; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Keep the system properties (_rid, _self, _etag, _attachments, _ts).
    #[arg(long)]
    system: bool,
    #[command(flatten)]
    target: TargetArgs,
}

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<ExitCode> {
    let target = args.target.open(false)?;
    let outcome = export(args, &target);
    target.close()?;
    outcome?;
    Ok(ExitCode::SUCCESS)
}

fn export(args: &ExportArgs, target: &Target) -> Result<()> {
    let started = Instant::now();
    let mut account = target.account();
    let info = account.open_container(&args.name, None)?;
    let sink: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?,
        ),
        None => Box::new(io::stdout().lock()),
    };
    let mut out = BufWriter::with_capacity(256 << 10, sink);
    let (mut items, mut charge) = (0_u64, 0.0);
    for range in &info.ranges {
        let mut continuation = None;
        loop {
            let page = account.feed_page(&args.name, &range.id, continuation.as_deref())?;
            charge += page.charge;
            let rows =
                json::member_slice(&page.body, "Documents").context("a page without Documents")?;
            for row in elements(rows) {
                write_item(row, args.system, &mut out)?;
                items += 1;
            }
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
        }
    }
    out.flush()?;
    output::note(&format!(
        "exported {} of {} from {} in {:.2} s ({charge:.0} RU)",
        report::plural(items, "item"),
        args.name,
        report::plural(info.ranges.len() as u64, "range"),
        started.elapsed().as_secs_f64(),
    ))
}

fn write_item(row: &[u8], system: bool, out: &mut impl Write) -> Result<()> {
    if system {
        out.write_all(row)?;
    } else {
        let mut item = json::parse(row)?;
        if let Some(object) = item.as_object_mut() {
            for name in SYSTEM_PROPERTIES {
                object.remove(name);
            }
        }
        out.write_all(json::to_string(&item).as_bytes())?;
    }
    out.write_all(b"\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_properties_go_unless_wanted() {
        let row = br#"{"id":"a","_ts":1,"n":{"_ts":2},"_etag":"x"}"#;
        let written = |system| {
            let mut out = Vec::new();
            write_item(row, system, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(false), "{\"id\":\"a\",\"n\":{\"_ts\":2}}\n");
        assert_eq!(written(true).as_bytes(), [&row[..], b"\n"].concat());
    }
}
