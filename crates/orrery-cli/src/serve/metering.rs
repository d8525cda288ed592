//! What `serve` is told about throughput, limits and the trace.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use orrery_engine::{Engine, Metering};
use orrery_gateway::trace::Trace;
use orrery_model::json;
use orrery_model::limits::{Limits, Scale};
use tokio::sync::watch;

use crate::report::{bytes, count};
use crate::trace::TraceFile;

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It is on.
    On,
    /// It is off.
    Off,
}

/// Options of throughput, limits and the trace.
#[derive(Debug, Args)]
pub struct MeteringArgs {
    /// Refuse requests over the budget of their physical partition with 429, as the service does;
    /// charges are told in any case.
    #[arg(long, value_enum, value_name = "on|off", default_value = "off", num_args = 0..=1, default_missing_value = "on")]
    throttle: Switch,
    /// Scale of the service's limits and budgets.
    #[arg(long, default_value = "1", value_name = "1/N", value_parser = scale)]
    scale: Scale,
    /// JSON file of limits that take the place of the scaled ones, by the names that
    /// `GET /_orrery/limits` shows.
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// Let idle partitions save throughput for bursts, as accounts with burst capacity do.
    #[arg(long)]
    burst: bool,
    /// A serverless account: containers have no throughput of their own.
    #[arg(long)]
    serverless: bool,
    /// Keep statistics of ranges, keys and queries.
    #[arg(
        long,
        value_enum,
        value_name = "on|off",
        default_value = "on",
        hide = true
    )]
    statistics: Switch,
    /// Write every request to items into this file, a JSON object a line (docs/trace.md).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write hashes instead of key values, ids and literals.
    #[arg(long, requires = "trace")]
    trace_hash_keys: bool,
    /// Most megabytes of the trace; the older half goes when it is reached.
    #[arg(long, default_value_t = 1_024, value_name = "MB", requires = "trace")]
    trace_limit: u64,
}

impl MeteringArgs {
    /// The limits to run with.
    pub fn limits(&self) -> Result<Limits> {
        let limits = Limits::default().scaled(self.scale);
        let Some(path) = &self.limits else {
            return Ok(limits);
        };
        let shown = path.display();
        let text = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        let changes = json::parse(&text).map_err(|error| anyhow::anyhow!("{shown}: {error}"))?;
        limits
            .with(&changes)
            .map_err(|error| anyhow::anyhow!("{shown}: {error}; GET /_orrery/limits shows all"))
    }

    /// How the engine meters.
    pub fn metering(&self) -> Metering {
        Metering {
            throttle: self.throttle == Switch::On,
            burst: self.burst,
            serverless: self.serverless,
            statistics: self.statistics == Switch::On,
        }
    }

    /// Opens the trace, if there is to be one.
    pub fn open_trace(&self) -> Result<Option<Arc<TraceFile>>> {
        let Some(path) = &self.trace else {
            return Ok(None);
        };
        let most_bytes = self.trace_limit.saturating_mul(1 << 20);
        TraceFile::create(path, most_bytes, self.trace_hash_keys).map(Some)
    }

    /// The values that the server runs with, for its greeting.
    pub fn shown(&self, limits: &Limits) -> String {
        let mut text = format!(
            "Throttling         {}\n\
             Partitions         {} RU/s and {} each, a key value up to {} (scale {})\n",
            match self.throttle {
                Switch::On => "on: 429 where a physical partition is over its budget",
                Switch::Off => "off: charges are told, nothing is refused (--throttle)",
            },
            count(limits.physical_partition_rate),
            bytes(limits.physical_partition_bytes),
            bytes(limits.logical_partition_bytes),
            self.scale,
        );
        if let Some(path) = &self.trace {
            let _ = writeln!(
                text,
                "Trace              {}, up to {} MB{}",
                path.display(),
                count(self.trace_limit),
                if self.trace_hash_keys {
                    ", keys hashed"
                } else {
                    ""
                },
            );
        }
        text
    }
}

/// The gateway's end of a trace.
pub fn gateway_trace(file: Option<&Arc<TraceFile>>) -> Trace {
    Trace(file.map(|file| Arc::clone(file) as Arc<dyn orrery_gateway::trace::Recorder>))
}

/// How often the trace is told the sizes of partitions. One look walks over the keys of what was
/// written since the last one.
const WEIGH_PAUSE: Duration = Duration::from_secs(300);

/// Tells the trace the sizes of partitions, now and then and at the end.
pub async fn weigh(trace: Arc<TraceFile>, engine: Engine, mut stopping: watch::Receiver<bool>) {
    loop {
        let stop = stopping.wait_for(|stop| *stop);
        let is_last = tokio::time::timeout(WEIGH_PAUSE, stop).await.is_ok();
        let (scribe, worker) = (Arc::clone(&trace), engine.clone());
        let weighed = tokio::task::spawn_blocking(move || scribe.weigh(&worker)).await;
        if let Err(error) = &weighed {
            log::error!("the weighing of partitions ended: {error}");
        }
        if is_last || weighed.is_err() {
            return;
        }
    }
}

/// Reads `1/1000`, or a fraction.
fn scale(text: &str) -> Result<Scale> {
    let parsed = text.parse::<Scale>();
    match parsed {
        Ok(scale) => Ok(scale),
        Err(error) => bail!("{error}; an example is 1/1000"),
    }
}
