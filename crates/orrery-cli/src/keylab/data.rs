//! Data files for the laboratory: found, unpacked, cut into items, and profiled on every core.
//!
//! Plain NDJSON is read in pieces by the threads that profile it; other forms are read by one thread
//! and cut into blocks of whole lines. Each profiler takes every so many-th, so that equal input
//! gives equal profiles. Broken lines are counted and the first of them told; a file that ends early
//! counts for what it holds.

mod blocks;
mod faults;
mod parquet_rows;
mod pieces;
mod read;
mod source;

use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use orrery_keylab::profile::{Profile, Profiler};

use crate::import::csv_items::{CsvItems, CsvOptions};
use crate::import::json_array::JsonArray;
use crate::import::json_lines::JsonLines;
use crate::import::record::Records;
use source::{Format, format_of, open, source, sources};

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
    /// Sentences about them, in order.
    pub messages: Vec<String>,
    /// Files that ended early.
    pub cut_short: u64,
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
                .messages
                .first()
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
