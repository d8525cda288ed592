//! Recorded requests as a workload: traces, query logs, diagnostic logs.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use orrery_keylab::traffic::diagnostics::Diagnostics;
use orrery_keylab::traffic::trace::TraceReader;
use orrery_keylab::traffic::{Traffic, query_log};
use orrery_keylab::workload::Workload;

use super::data::{self, LineFaults};
use crate::import::csv_items::CsvOptions;
use crate::output;

/// Where requests were recorded.
#[derive(Debug, Args)]
pub struct TrafficArgs {
    /// A trace of `orrery serve --trace`: patterns, rates, charges and key values.
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,
    /// A query log: NDJSON with query, params, count, time, ru.
    #[arg(long, value_name = "FILE")]
    pub query_log: Vec<PathBuf>,
    /// Azure diagnostic logs (CDBDataPlaneRequests, CDBQueryRuntimeStatistics and others): rows of the
    /// tables, or lines of the export to a storage account.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub diagnostics: Vec<PathBuf>,
    /// Only requests to this container.
    #[arg(long = "in", value_name = "DATABASE/CONTAINER")]
    pub container: Option<String>,
    /// How long the recording took, where its requests carry no time.
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
}

/// What was recorded.
pub struct Recorded {
    /// The requests.
    pub traffic: Traffic,
    /// Items that they named, with key and id only.
    pub items: Vec<Vec<u8>>,
    /// What is to be known beside them.
    pub notes: Vec<String>,
    /// Whether every line could be read.
    pub is_whole: bool,
    seconds: Option<f64>,
}

impl Recorded {
    /// As a workload, with a first horizon of so many gigabytes.
    pub fn workload(&self, gb: f64) -> Result<Workload> {
        Ok(self.traffic.workload(self.seconds, gb)?)
    }

    /// The workload of a file with the recorded patterns in it.
    pub fn added_to(&self, file: Option<Workload>, gb: f64) -> Result<Workload> {
        let recorded = self.workload(gb)?;
        let Some(mut workload) = file else {
            return Ok(recorded);
        };
        // What people wrote counts; recorded patterns of other names come beside it.
        for pattern in recorded.workload {
            if !workload
                .workload
                .iter()
                .any(|known| known.name == pattern.name)
            {
                workload.workload.push(pattern);
            }
        }
        if workload.horizons.is_empty() {
            workload.horizons = recorded.horizons;
        }
        Ok(workload)
    }
}

impl TrafficArgs {
    /// Whether there is any.
    pub fn is_given(&self) -> bool {
        !(self.trace.is_empty() && self.query_log.is_empty() && self.diagnostics.is_empty())
    }

    /// Reads all of it; `csv` says how rows of CSV are read.
    pub fn read(&self, csv: &CsvOptions) -> Result<Option<Recorded>> {
        if !self.is_given() {
            return Ok(None);
        }
        if self
            .seconds
            .is_some_and(|seconds| !seconds.is_finite() || seconds <= 0.0)
        {
            bail!("--seconds must be more than nothing");
        }
        let mut traffic = Traffic::new();
        let mut items = Vec::new();
        let mut others = 0;
        let mut faults = LineFaults::default();
        for path in &self.trace {
            let name = path.display().to_string();
            let mut reader = TraceReader::new(&name, self.container.as_deref());
            data::lines(path, &mut faults, &mut |number, text| {
                Ok(reader.line(number, text, &mut traffic)?)
            })?;
            others += reader.others();
            items.extend(reader.into_items());
        }
        for path in &self.query_log {
            data::lines(path, &mut faults, &mut |_, text| {
                Ok(query_log::line(text, &mut traffic).err())
            })?;
        }
        let mut diagnostics = Diagnostics::new(self.container.as_deref());
        for path in &self.diagnostics {
            // What is wrong is told once, when requests are counted.
            let mut seen = LineFaults::default();
            data::rows(path, csv, &mut seen, &mut |row| diagnostics.learn(row))?;
        }
        for path in &self.diagnostics {
            data::rows(path, csv, &mut faults, &mut |row| {
                diagnostics.count(row, &mut traffic)
            })?;
        }
        if let (true, Some(first)) = (traffic.is_empty(), faults.first()) {
            bail!(
                "no request that reads or writes items, and {} could not be read; the first: {first}",
                crate::report::plural(faults.count(), "line")
            );
        }
        others += diagnostics.others();
        let mut notes = traffic.notes();
        notes.extend(diagnostics.note());
        if others > 0 {
            notes.push(format!(
                "{} of other containers are left out",
                crate::report::plural(others, "request")
            ));
        }
        notes.extend(faults.told());
        Ok(Some(Recorded {
            traffic,
            items,
            notes,
            is_whole: faults.count() == 0,
            seconds: self.seconds,
        }))
    }
}

/// Says on standard error what is to be known of recorded requests.
pub fn tell(recorded: &Recorded) -> Result<()> {
    for note in &recorded.notes {
        output::note(note)?;
    }
    Ok(())
}

/// A recording cannot be without requests: the message says which options would bring items.
pub fn items_of(recorded: Option<&Recorded>) -> Result<&[Vec<u8>]> {
    let items = recorded.map(|recorded| recorded.items.as_slice());
    items
        .filter(|items| !items.is_empty())
        .context("no items: name files with --data (a trace alone tells keys of its requests only)")
}
