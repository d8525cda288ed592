//! Data files for the laboratory: found, unpacked, cut into items, and profiled on every core.
//!
//! One thread reads and cuts the input into blocks of whole lines; each profiler takes every
//! so many-th block, so that equal input gives equal profiles. Broken lines are counted and the
//! first of them told; a file that ends early counts for what it holds.

mod blocks;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use orrery_keylab::profile::{Profile, Profiler};

use crate::import::csv_items::{CsvItems, CsvOptions};
use crate::import::json_array::JsonArray;
use crate::import::json_lines::JsonLines;
use crate::import::record::Records;
use crate::report;
use blocks::{Block, LineBlocks};

/// Sampled items; whole data up to this many items is computed exactly.
const SAMPLE_ITEMS: usize = 400_000;
/// Bytes of sampled items of each profiler.
const SAMPLE_BYTES: usize = 160 << 20;
/// Broken places that are told one by one.
const TOLD: usize = 5;
/// Blocks that wait for a profiler.
const WAITING: usize = 4;

/// What became of the files.
#[derive(Debug, Default)]
pub struct DataReport {
    /// Places that are no items.
    pub broken: u64,
    /// Sentences about them, in order.
    pub messages: Vec<String>,
    /// Files that ended early.
    pub cut_short: u64,
}

struct Source {
    name: String,
    path: PathBuf,
}

/// Profiles files and folders of files.
pub fn profile(paths: &[PathBuf], csv: &CsvOptions) -> Result<(Profile, DataReport)> {
    let sources = sources(paths)?;
    let bytes = sources
        .iter()
        .filter_map(|source| std::fs::metadata(&source.path).ok())
        .map(|metadata| metadata.len())
        .sum();
    let bar = ProgressBar::new(bytes).with_style(
        ProgressStyle::with_template("{bar:30} {percent:>3}% {bytes}/{total_bytes} ETA {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let workers = std::thread::available_parallelism()
        .map_or(2, std::num::NonZero::get)
        .clamp(1, 8);
    let outcome: Result<(Profiler, Vec<Fault>, DataReport)> = std::thread::scope(|scope| {
        let (mut senders, mut threads) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (sender, receiver) = sync_channel::<Block>(WAITING);
            senders.push(sender);
            threads.push(scope.spawn(move || work(&receiver)));
        }
        let mut report = DataReport::default();
        let mut broken = Vec::new();
        let read = read_all(&sources, csv, &bar, &senders, &mut report, &mut broken);
        drop(senders);
        let mut whole: Option<Profiler> = None;
        for thread in threads {
            let (profiler, found) = thread
                .join()
                .map_err(|_| anyhow::anyhow!("a profiler panicked"))?;
            broken.extend(found);
            match &mut whole {
                Some(whole) => whole.merge(profiler),
                None => whole = Some(profiler),
            }
        }
        read?;
        let whole = whole.context("no profiler")?;
        Ok((whole, broken, report))
    });
    bar.finish_and_clear();
    let (profiler, mut broken, mut report) = outcome?;
    broken.sort();
    report.broken = broken.len() as u64;
    for fault in broken.iter().take(TOLD) {
        let name = &sources[fault.file].name;
        report.messages.push(match fault.column {
            Some(column) => format!("{name}:{}:{column}: {}", fault.line, fault.message),
            None => format!("{name}:{}: {}", fault.line, fault.message),
        });
    }
    if broken.len() > TOLD {
        report.messages.push(format!(
            "and {} more",
            report::plural((broken.len() - TOLD) as u64, "broken place")
        ));
    }
    let profile = profiler.finish();
    if profile.items == 0 {
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        bail!(
            "no item in {}{}",
            names.join(", "),
            report
                .messages
                .first()
                .map_or_else(String::new, |first| format!(": {first}"))
        );
    }
    Ok((profile, report))
}

/// Profiles items that are in memory.
pub fn profile_items(items: &[Vec<u8>]) -> Result<Profile> {
    let mut profiler = Profiler::new(SAMPLE_ITEMS, SAMPLE_BYTES);
    for (index, item) in items.iter().enumerate() {
        profiler
            .item(index as u64, item)
            .map_err(|broken| anyhow::anyhow!("item {index}: {}", broken.message))?;
    }
    Ok(profiler.finish())
}

/// Hands over the lines of a file, unpacked, each with its number from 1.
pub fn lines(path: &Path, with: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
    let source = source(path.to_owned());
    let mut stream = open(&source, &ProgressBar::hidden())?;
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = stream
            .by_ref()
            .take(blocks::MAX_LINE as u64)
            .read_until(b'\n', &mut line)
            .with_context(|| format!("reading {}", source.name))?;
        if read == 0 {
            return Ok(());
        }
        number += 1;
        if read == blocks::MAX_LINE {
            bail!(
                "{}:{number}: the line is over {} MB",
                source.name,
                blocks::MAX_LINE >> 20
            );
        }
        if !line.trim_ascii().is_empty() {
            with(number, line.trim_ascii())?;
        }
    }
}

/// Hands over the rows of a file of JSON objects or CSV, as JSON text; a wrong one ends it.
pub fn rows(
    path: &Path,
    csv: &CsvOptions,
    with: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<()> {
    let source = source(path.to_owned());
    let mut stream = open(&source, &ProgressBar::hidden())?;
    let name = source.name.clone();
    let first = stream.fill_buf()?.trim_ascii_start().first().copied();
    let mut of_records = |records: &mut dyn Records| -> Result<()> {
        while let Some(record) = records.next()? {
            let record = record
                .map_err(|broken| anyhow::anyhow!("{name}:{}: {}", broken.line, broken.message))?;
            with(&record.body)
                .map_err(|message| anyhow::anyhow!("{name}:{}: {message}", record.line))?;
        }
        Ok(())
    };
    match (format_of(path), first) {
        (Some(Format::Csv { .. }), _) => {
            let mut items = CsvItems::new(stream, csv.clone())
                .with_context(|| format!("reading {}", source.name))?;
            of_records(&mut items)
        }
        (_, Some(b'[')) => of_records(&mut JsonArray::new(stream)),
        _ => of_records(&mut JsonLines::new(stream)),
    }
}

/// A place that is no item.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    file: usize,
    line: u64,
    column: Option<usize>,
    message: String,
}

/// The files named, those of folders in order of their names.
fn sources(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in paths {
        let metadata =
            std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
        if metadata.is_dir() {
            let mut files: Vec<PathBuf> = std::fs::read_dir(path)
                .with_context(|| format!("cannot open {}", path.display()))?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<io::Result<_>>()?;
            files.retain(|file| file.is_file() && format_of(file).is_some());
            files.sort();
            if files.is_empty() {
                bail!(
                    "{} holds no .ndjson, .jsonl, .json, .csv or .tsv files (or .gz, .zst of them)",
                    path.display()
                );
            }
            sources.extend(files.into_iter().map(source));
        } else {
            sources.push(source(path.clone()));
        }
    }
    Ok(sources)
}

fn source(path: PathBuf) -> Source {
    Source {
        name: path.display().to_string(),
        path,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Csv { tabs: bool },
}

/// What a file's name says, compression aside.
fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"))
        .unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "ndjson" | "jsonl" | "json" => Some(Format::Json),
        "csv" => Some(Format::Csv { tabs: false }),
        "tsv" => Some(Format::Csv { tabs: true }),
        _ => None,
    }
}

fn read_all(
    sources: &[Source],
    csv: &CsvOptions,
    bar: &ProgressBar,
    senders: &[SyncSender<Block>],
    report: &mut DataReport,
    broken: &mut Vec<Fault>,
) -> Result<()> {
    let mut next = 0;
    let mut send = |block: Block| {
        let sent = senders[next % senders.len()].send(block);
        next += 1;
        sent.map_err(|_| anyhow::anyhow!("a profiler ended early"))
    };
    for (file, source) in sources.iter().enumerate() {
        let mut stream = open(source, bar)?;
        let mut lines = 0;
        let read = read_one(
            file,
            source,
            &mut stream,
            csv,
            &mut lines,
            broken,
            &mut send,
        );
        match read {
            Ok(()) => {}
            Err(error) if error.downcast_ref::<io::Error>().is_some() => {
                report.cut_short += 1;
                report.messages.push(format!(
                    "{}: reading ended early after {}: {error}; what was read before counts",
                    source.name,
                    report::plural(lines, "line")
                ));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The file's content, unpacked.
fn open(source: &Source, bar: &ProgressBar) -> Result<BufReader<Box<dyn Read + Send>>> {
    const BUFFER: usize = 256 << 10;
    let file = File::open(&source.path).with_context(|| format!("cannot open {}", source.name))?;
    let mut packed = BufReader::with_capacity(BUFFER, bar.wrap_read(file));
    let start = packed
        .fill_buf()
        .with_context(|| format!("reading {}", source.name))?;
    let stream: Box<dyn Read + Send> = if start.starts_with(b"\x1f\x8b") {
        Box::new(flate2::bufread::MultiGzDecoder::new(packed))
    } else if start.starts_with(b"\x28\xb5\x2f\xfd") {
        let decoder = ruzstd::decoding::StreamingDecoder::new(packed)
            .map_err(|error| anyhow::anyhow!("{}: {error}", source.name))?;
        Box::new(decoder)
    } else if start.starts_with(b"PAR1") {
        bail!(
            "{} is Parquet, which is not read: export it as NDJSON or CSV, for example with DuckDB: COPY (FROM 'x.parquet') TO 'x.ndjson'",
            source.name
        );
    } else {
        Box::new(packed)
    };
    Ok(BufReader::with_capacity(BUFFER, stream))
}

fn read_one(
    file: usize,
    source: &Source,
    stream: &mut BufReader<Box<dyn Read + Send>>,
    csv: &CsvOptions,
    lines: &mut u64,
    broken: &mut Vec<Fault>,
    send: &mut dyn FnMut(Block) -> Result<()>,
) -> Result<()> {
    if stream.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
        stream.consume(3);
    }
    let first = stream
        .fill_buf()?
        .iter()
        .copied()
        .find(|byte| !byte.is_ascii_whitespace());
    match (format_of(&source.path), first) {
        (Some(Format::Csv { tabs }), _) => {
            let mut options = csv.clone();
            options.delimiter = options.delimiter.or(tabs.then_some(b'\t'));
            let mut items = CsvItems::new(stream, options)
                .with_context(|| format!("reading {}", source.name))?;
            for hint in items.hints() {
                crate::output::note(&format!("hint: {}: {hint}", source.name))?;
            }
            records(file, &mut items, lines, broken, send)
        }
        (_, Some(b'[')) => records(file, &mut JsonArray::new(stream), lines, broken, send),
        (Some(Format::Json), _) | (None, Some(b'{') | None) => {
            let mut blocks = LineBlocks::new(file);
            while let Some(block) = blocks.next(stream)? {
                *lines = blocks.lines();
                for line in blocks.take_too_long() {
                    let message = format!("the line is over {} MB", blocks::MAX_LINE >> 20);
                    broken.push(Fault {
                        file,
                        line,
                        column: None,
                        message,
                    });
                }
                send(block)?;
            }
            for line in blocks.take_too_long() {
                let message = format!("the line is over {} MB", blocks::MAX_LINE >> 20);
                broken.push(Fault {
                    file,
                    line,
                    column: None,
                    message,
                });
            }
            Ok(())
        }
        (None, Some(_)) => bail!(
            "{} starts with neither {{ nor [; if it is CSV, give it a name that ends in .csv",
            source.name
        ),
    }
}

/// Records of other forms, as blocks of lines that know their numbers.
fn records(
    file: usize,
    records: &mut dyn Records,
    lines: &mut u64,
    broken: &mut Vec<Fault>,
    send: &mut dyn FnMut(Block) -> Result<()>,
) -> Result<()> {
    let mut block = Block::of_records(file);
    while let Some(record) = records.next()? {
        match record {
            Ok(record) => {
                *lines = record.line;
                block.push(record.line, &record.body);
                if block.is_full() {
                    send(std::mem::replace(&mut block, Block::of_records(file)))?;
                }
            }
            Err(fault) => broken.push(Fault {
                file,
                line: fault.line,
                column: None,
                message: fault.message,
            }),
        }
    }
    send(block)
}

fn work(blocks: &Receiver<Block>) -> (Profiler, Vec<Fault>) {
    /// Bits of an index that tell the line.
    const LINE_BITS: u32 = 44;
    let mut profiler = Profiler::new(SAMPLE_ITEMS, SAMPLE_BYTES);
    let mut broken = Vec::new();
    while let Ok(block) = blocks.recv() {
        block.each(|line, text| {
            let index = ((block.file as u64) << LINE_BITS) | line;
            if let Err(fault) = profiler.item(index, text) {
                broken.push(Fault {
                    file: block.file,
                    line,
                    column: Some(fault.at + 1),
                    message: fault.message.to_owned(),
                });
            }
        });
    }
    (profiler, broken)
}
