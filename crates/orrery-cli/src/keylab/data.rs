//! Data files for the laboratory: found, unpacked, cut into items, and profiled on every core.
//!
//! Plain NDJSON is read in pieces by the threads that profile it; other forms are read by one thread
//! and cut into blocks of whole lines. Each profiler takes every so many-th, so that equal input
//! gives equal profiles. Broken lines are counted and the first of them told; a file that ends early
//! counts for what it holds.

mod blocks;
mod faults;
mod hints;
mod parquet_rows;
mod pieces;
mod read;
mod source;
mod unpack;

use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use orrery_keylab::profile::{Profile, Profiler};

use crate::import::csv_items::{CsvItems, CsvOptions};
use crate::import::json_array::JsonArray;
use crate::import::json_lines::JsonLines;
use crate::import::record::Records;
use blocks::LineBlocks;
pub use faults::LineFaults;
use source::{Format, Source, format_of, open, source, sources};

/// Whole data up to this many items is computed exactly.
const WHOLE_ITEMS: usize = 400_000;
/// Sampled items of more data. Chance alone makes the fullest of 40 partitions 4 % fuller than the
/// mean of so many (method: section 4).
const SAMPLE_ITEMS: usize = 128_000;
/// Bytes of sampled items of each profiler.
const SAMPLE_BYTES: usize = 160 << 20;

/// What became of the files.
#[derive(Debug, Default)]
pub struct DataReport {
    /// Places that are no items.
    pub broken: u64,
    /// Sentences about the first of them, in order.
    pub places: Vec<String>,
    /// Sentences about files that were not read, or not to their end.
    pub unread: Vec<String>,
    /// What may have been meant.
    pub hints: Vec<String>,
}

impl DataReport {
    /// Every sentence, what matters most first.
    pub fn messages(&self) -> impl Iterator<Item = &String> {
        self.unread.iter().chain(&self.hints).chain(&self.places)
    }

    /// Whether everything was read.
    pub fn is_whole(&self) -> bool {
        self.broken == 0 && self.unread.is_empty()
    }
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
    let outcome = read::profile(&sources, csv, &bar);
    bar.finish_and_clear();
    let (profiler, report) = outcome?;
    let profile = profiler.finish();
    if profile.items == 0 {
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        bail!(
            "no item in {}{}",
            names.join(", "),
            report
                .messages()
                .next()
                .map_or_else(String::new, |first| format!(": {first}"))
        );
    }
    Ok((profile, report))
}

fn profiler() -> Profiler {
    Profiler::new(WHOLE_ITEMS, SAMPLE_ITEMS, SAMPLE_BYTES)
}

/// Profiles items that are in memory.
pub fn profile_items(items: &[Vec<u8>]) -> Result<Profile> {
    let mut profiler = profiler();
    for (index, item) in items.iter().enumerate() {
        profiler
            .item(index as u64, item)
            .map_err(|broken| anyhow::anyhow!("item {index}: {}", broken.message))?;
    }
    Ok(profiler.finish())
}

/// Takes a line with its number; says what is wrong with it, or why nothing can go on.
pub type TakeLine<'a> = dyn FnMut(u64, &[u8]) -> Result<Option<String>> + 'a;

/// Hands over the lines of a file, unpacked and not blank, each with its number from 1; the caller
/// says what is wrong with a line. Where the file ends early, that is the last of the faults.
pub fn lines(path: &Path, faults: &mut LineFaults, with: &mut TakeLine<'_>) -> Result<()> {
    let source = source(path.to_owned());
    let mut stream = open(&source, &ProgressBar::hidden())?;
    start(&source, &mut stream)?;
    let mut blocks = LineBlocks::new(0);
    let mut last = 0;
    loop {
        let block = blocks.next(&mut stream);
        for line in blocks.take_too_long() {
            let most = blocks::MAX_LINE >> 20;
            faults.push(&source.name, line, &format!("the line is over {most} MB"));
        }
        let block = match block {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(()),
            Err(error) => {
                faults.push(&source.name, last + 1, &ended_early(&error));
                return Ok(());
            }
        };
        let mut outcome = Ok(());
        block.each(|number, text| {
            last = number;
            if outcome.is_ok() {
                match with(number, text) {
                    Ok(Some(message)) => faults.push(&source.name, number, &message),
                    Ok(None) => {}
                    Err(error) => outcome = Err(error),
                }
            }
        });
        outcome?;
    }
}

/// Hands over the rows of a file of JSON objects or CSV, as JSON text; what is wrong with them goes
/// to the faults.
pub fn rows(
    path: &Path,
    csv: &CsvOptions,
    faults: &mut LineFaults,
    with: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<()> {
    let source = source(path.to_owned());
    let mut stream = open(&source, &ProgressBar::hidden())?;
    let first = start(&source, &mut stream)?;
    let mut last = 0;
    let mut of_records = |records: &mut dyn Records| loop {
        let (line, message) = match records.next() {
            Ok(None) => return,
            Ok(Some(Ok(record))) => {
                last = record.line;
                match with(&record.body) {
                    Ok(()) => continue,
                    Err(message) => (record.line, message),
                }
            }
            Ok(Some(Err(broken))) => (broken.line, broken.message),
            Err(error) => {
                faults.push(&source.name, last + 1, &ended_early(&error));
                return;
            }
        };
        faults.push(&source.name, line, &message);
    };
    match (format_of(path), first) {
        (Some(Format::Csv { tabs }), _) => {
            let mut options = csv.clone();
            options.delimiter = options.delimiter.or(tabs.then_some(b'\t'));
            let mut items = CsvItems::new(stream, options)
                .with_context(|| format!("reading {}", source.name))?;
            of_records(&mut items);
        }
        (_, Some(b'[')) => of_records(&mut JsonArray::new(stream)),
        _ => of_records(&mut JsonLines::new(stream)),
    }
    Ok(())
}

/// The first byte of a text that is not blank; UTF-16 is refused.
fn start(source: &Source, stream: &mut impl BufRead) -> Result<Option<u8>> {
    let wrong = || format!("reading {}", source.name);
    if hints::is_utf16(stream.fill_buf().with_context(wrong)?) {
        bail!("{}: {}", source.name, hints::UTF16);
    }
    source::first_byte(stream).with_context(wrong)
}

fn ended_early(error: &std::io::Error) -> String {
    format!("reading ended early: {error}; what was read before counts")
}
