//! `orrery import`: items from NDJSON, JSON arrays and CSV into a container.
//!
//! One thread reads and cuts the input into records, some parse them and settle their ids, and a
//! [`Sink`] takes them: the engine itself when nobody serves the data folder (many writes under
//! way, the group committer shares each sync among them), else bulk batches over HTTP. Every
//! item counted as imported is durable.

pub mod csv_items;
mod identity;
mod inputs;
pub mod json_array;
pub mod json_lines;
mod local;
mod progress;
pub mod record;
mod remote;
mod tally;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use clap::Args;

use crate::client::account::{ContainerName, Creation};
use crate::output;
use crate::report;
use crate::target::{Target, TargetArgs};
use csv_items::{ColumnType, CsvOptions};
use identity::IdRule;
use inputs::{Format, Inputs};
use progress::Progress;
use record::Record;
use tally::{Origin, Tally};

/// Exit code when some lines could not be imported.
const SOME_BROKEN: u8 = 3;
/// Records that travel together between threads.
const CHUNK: usize = 64;

const EXAMPLES: &str = "\
Examples:
  orrery import orders.ndjson --into shop/orders --partition-key /customer
  orrery import flights.csv --into air/flights --partition-key /carrier,/origin --throughput 20000
  cat items.json | orrery import - --into shop/items          into a container that exists

Inputs:
  NDJSON (.ndjson .jsonl .json)  one item a line; broken lines are reported and skipped
  JSON array (.json)             streamed, so the file may be larger than memory
  CSV (.csv .tsv)                the header names the members; see below

CSV types: a column is a number when all its filled cells in the first 1,000 lines are numbers
that a double holds exactly (007 and 17-digit account numbers stay strings), a boolean when all
are true or false, else a string; `id` is always a string. --csv-types and --string decide
otherwise. Empty cells leave the member out. Data from R writes NA: use --null NA.

Ids: the member `id`, or --id MEMBER,... (joined by -), else a new GUID for each item.

Where: the data folder when no server holds it (fastest), else the server that does, or
--endpoint. Items are durable when the command says they are imported.

Exit code: 0 all imported (or there already); 3 some lines were broken; 1 failed; 2 wrong usage.";

/// Options of `orrery import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// Files to import; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Container to import into.
    #[arg(long, value_name = "DB/CONTAINER")]
    into: ContainerName,
    /// Partition key paths, to create the container (and its database) when it is missing; more
    /// than one make a hierarchical key.
    #[arg(long, value_delimiter = ',', value_name = "/PATH,...", value_parser = key_path)]
    partition_key: Vec<String>,
    /// Throughput of the container, if it is created.
    #[arg(long, value_name = "RU/S")]
    throughput: Option<u32>,
    /// What the files are; by default their names or first bytes tell.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Members that make the id, joined by -.
    #[arg(long, value_delimiter = ',', value_name = "MEMBER,...")]
    id: Vec<String>,
    /// Replace items that exist; by default they are left as they are.
    #[arg(long)]
    upsert: bool,
    /// CSV: types of columns: string, number, boolean, json.
    #[arg(long, value_delimiter = ',', value_name = "COLUMN:TYPE,...", value_parser = column_type)]
    csv_types: Vec<(String, ColumnType)>,
    /// CSV: columns that are strings whatever they hold.
    #[arg(long, value_delimiter = ',', value_name = "COLUMN,...")]
    string: Vec<String>,
    /// CSV: a text that means nothing, such as NA or \N.
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,
    /// CSV: write null for nothing instead of leaving the member out.
    #[arg(long)]
    keep_nulls: bool,
    /// CSV: separator; tab for .tsv, else a comma.
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Stop after so many broken lines.
    #[arg(long, value_name = "N")]
    max_errors: Option<u64>,
    #[command(flatten)]
    target: TargetArgs,
}

/// Takes items; every worker has its own.
trait Sink: Send {
    /// Takes an item. An error ends the import; a refusal of this one item goes to the tally.
    fn put(&mut self, origin: Origin, body: Vec<u8>) -> Result<()>;

    /// Waits until everything taken has met its fate.
    fn finish(&mut self) -> Result<()>;
}

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<ExitCode> {
    let inputs = Inputs::open(&args.files, args.format, args.csv_options())?;
    let target = args.target.open(true)?;
    let creation = Creation {
        partition_key: args.partition_key.clone(),
        throughput: args.throughput,
    };
    let tally = Arc::new(Tally::new(inputs.names(), args.max_errors));
    let outcome = {
        let sinks = sinks(&target, args, &creation, &tally)?;
        let progress = Progress::start(&inputs, Arc::clone(&tally));
        let outcome = pump(inputs, &progress, sinks, &args.id, &tally);
        progress.finish();
        outcome
    };
    // The folder closes before success is claimed: closing syncs what is left.
    target.close()?;
    report(&tally, &args.into, outcome.is_err())?;
    outcome?;
    Ok(if tally.broken() > 0 {
        ExitCode::from(SOME_BROKEN)
    } else {
        ExitCode::SUCCESS
    })
}

/// The items of a file as they would be imported, for the benches.
pub fn bodies(file: &Path) -> Result<Vec<Vec<u8>>> {
    let inputs = Inputs::open(&[file.to_owned()], None, CsvOptions::default())?;
    let tally = Arc::new(Tally::new(inputs.names(), None));
    let progress = Progress::start(&inputs, tally);
    let rule = IdRule::new(&[]);
    let mut bodies = Vec::new();
    for input in inputs {
        let mut records = input.records(&progress)?;
        while let Some(record) = records.next()? {
            let record = record
                .map_err(|broken| anyhow::anyhow!("line {}: {}", broken.line, broken.message))?;
            bodies.push(rule.apply(record.body).map_err(anyhow::Error::msg)?);
        }
    }
    progress.finish();
    Ok(bodies)
}

fn sinks(
    target: &Target,
    args: &ImportArgs,
    creation: &Creation,
    tally: &Arc<Tally>,
) -> Result<Vec<Box<dyn Sink>>> {
    let mut account = target.account();
    let info = account.open_container(&args.into, Some(creation))?;
    let threads = std::thread::available_parallelism()
        .map_or(2, std::num::NonZero::get)
        .clamp(2, 8);
    match target.engine() {
        Some(engine) => {
            let shared = local::Shared::new(engine, &args.into, args.upsert, Arc::clone(tally))?;
            Ok((0..threads)
                .map(|_| Box::new(local::LocalSink::new(Arc::clone(&shared))) as _)
                .collect())
        }
        None => Ok((0..threads)
            .map(|_| {
                let sink = remote::RemoteSink::new(
                    account.another(),
                    args.into.clone(),
                    info.clone(),
                    args.upsert,
                    Arc::clone(tally),
                );
                Box::new(sink) as _
            })
            .collect()),
    }
}

type Chunk = Vec<(Origin, Vec<u8>)>;

/// Moves all records from the inputs to the sinks.
fn pump(
    inputs: Inputs,
    progress: &Progress,
    sinks: Vec<Box<dyn Sink>>,
    id: &[String],
    tally: &Tally,
) -> Result<()> {
    let (sender, receiver) = sync_channel::<Chunk>(32);
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        let workers: Vec<_> = sinks
            .into_iter()
            .map(|sink| scope.spawn(|| work(sink, &receiver, &IdRule::new(id), tally)))
            .collect();
        let read = read(inputs, progress, &sender, tally);
        drop(sender);
        let mut outcome = read;
        for worker in workers {
            let worked = worker
                .join()
                .map_err(|_| anyhow::anyhow!("an import worker panicked"))?;
            // A worker's failure explains why reading stopped.
            outcome = worked.and(outcome);
        }
        // The last lines may have been judged after reading ended.
        outcome.and_then(|()| tally.stopped())
    })
}

fn read(
    inputs: Inputs,
    progress: &Progress,
    sender: &SyncSender<Chunk>,
    tally: &Tally,
) -> Result<()> {
    let mut chunk = Vec::with_capacity(CHUNK);
    for (file, opened) in inputs.into_iter().enumerate() {
        let mut records = opened.records(progress)?;
        while let Some(record) = records.next()? {
            match record {
                Ok(Record { line, body }) => chunk.push((Origin { file, line }, body)),
                Err(broken) => tally.broken_line(
                    Origin {
                        file,
                        line: broken.line,
                    },
                    &broken.message,
                ),
            }
            if tally.is_stopped() {
                return tally.stopped();
            }
            if chunk.len() == CHUNK {
                if sender.send(std::mem::take(&mut chunk)).is_err() {
                    return tally.stopped();
                }
                chunk.reserve(CHUNK);
            }
        }
    }
    if !chunk.is_empty() {
        let _ = sender.send(chunk);
    }
    tally.stopped()
}

fn work(
    mut sink: Box<dyn Sink>,
    receiver: &Mutex<Receiver<Chunk>>,
    rule: &IdRule,
    tally: &Tally,
) -> Result<()> {
    let next = || {
        receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv()
    };
    let outcome = (|| {
        while let Ok(chunk) = next() {
            for (origin, body) in chunk {
                if tally.is_stopped() {
                    break;
                }
                match rule.apply(body) {
                    Ok(body) => sink.put(origin, body)?,
                    Err(message) => tally.broken_line(origin, &message),
                }
            }
            if tally.is_stopped() {
                break;
            }
        }
        sink.finish()
    })();
    if outcome.is_err() {
        tally.stop();
    }
    // Whoever stops early takes what is left, or the reader would wait for room for ever.
    while tally.is_stopped() && next().is_ok() {}
    outcome
}

fn report(tally: &Tally, into: &ContainerName, failed: bool) -> Result<()> {
    for line in tally.messages() {
        output::note(&line)?;
    }
    let seconds = tally.elapsed().as_secs_f64().max(1e-6);
    let written = tally.written();
    let mut line = format!(
        "{} {} into {into} in {seconds:.2} s ({}/s, {:.0} RU)",
        if failed {
            "stopped after importing"
        } else {
            "imported"
        },
        report::plural(written, "item"),
        report::count((written as f64 / seconds) as u64),
        tally.charge(),
    );
    if tally.skipped() > 0 {
        let _ = write!(
            line,
            "; {} already there (--upsert replaces them)",
            report::count(tally.skipped())
        );
    }
    if tally.broken() > 0 {
        let _ = write!(line, "; {} broken", report::plural(tally.broken(), "line"));
    }
    output::line(&line)
}

impl ImportArgs {
    fn csv_options(&self) -> CsvOptions {
        let strings = self
            .string
            .iter()
            .map(|name| (name.clone(), ColumnType::String));
        CsvOptions {
            delimiter: self.delimiter,
            types: self.csv_types.iter().cloned().chain(strings).collect(),
            nulls: self.null.clone(),
            keep_nulls: self.keep_nulls,
        }
    }
}

fn key_path(text: &str) -> Result<String> {
    if !text.starts_with('/') || text.len() < 2 {
        bail!("a partition key path starts with /, for example /customer");
    }
    Ok(text.to_owned())
}

fn column_type(text: &str) -> Result<(String, ColumnType), String> {
    let (column, kind) = text
        .rsplit_once(':')
        .ok_or("write COLUMN:TYPE, for example zip:string")?;
    Ok((column.to_owned(), kind.parse()?))
}

/// A separator of cells.
pub(crate) fn delimiter(text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ if text == "\\t" || text == "tab" => Ok(b'\t'),
        _ => bail!("the separator is one ASCII character, or tab"),
    }
}
