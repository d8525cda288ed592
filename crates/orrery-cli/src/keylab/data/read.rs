//! Reading: files become blocks or pieces, which profilers take in turn, so that equal input gives
//! equal profiles.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Context as _, Result, bail};
use indicatif::ProgressBar;
use orrery_keylab::profile::Profiler;

use super::blocks::{self, Block, LineBlocks};
use super::faults::{Fault, Faults};
use super::parquet_rows;
use super::pieces::{self, Piece, PieceReader};
use super::source::{self, Content, Format, Source, format_of};
use super::{DataReport, profiler};
use crate::import::csv_items::{CsvItems, CsvOptions};
use crate::import::json_array::JsonArray;
use crate::import::record::Records;
use crate::report;

/// Blocks that wait for a profiler.
const WAITING: usize = 4;
/// Bits of an item's index that tell its place in the file.
const PLACE_BITS: u32 = 44;

/// What a profiler takes.
enum Work {
    /// Lines that were read.
    Block(Block),
    /// Lines to read.
    Piece(Piece),
}

/// What a thread has found.
struct Found {
    profiler: Profiler,
    faults: Faults,
    /// Lines of each piece.
    lines: Vec<((usize, u64), u64)>,
    /// Files that could not be read to the end, with the reason.
    ended: Vec<(usize, String)>,
}

/// Profiles files on every core.
pub fn profile(
    sources: &[Source],
    csv: &CsvOptions,
    bar: &ProgressBar,
) -> Result<(Profiler, DataReport)> {
    let workers = std::thread::available_parallelism()
        .map_or(2, std::num::NonZero::get)
        .clamp(1, 8);
    let mut faults = Faults::default();
    let mut report = DataReport::default();
    let mut lines: BTreeMap<(usize, u64), u64> = BTreeMap::new();
    let mut ended: BTreeMap<usize, String> = BTreeMap::new();
    let profiler = std::thread::scope(|scope| -> Result<Profiler> {
        let (mut senders, mut threads) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (sender, receiver) = sync_channel::<Work>(WAITING);
            senders.push(sender);
            let bar = bar.clone();
            threads.push(scope.spawn(move || work(&receiver, &bar)));
        }
        let mut reading = Reading {
            csv,
            bar,
            senders,
            next: 0,
            faults: &mut faults,
        };
        let read = reading.all(sources, &mut report);
        drop(reading);
        let mut whole: Option<Profiler> = None;
        for thread in threads {
            let found = thread
                .join()
                .map_err(|_| anyhow::anyhow!("a profiler panicked"))?;
            faults.merge(found.faults);
            lines.extend(found.lines);
            ended.extend(found.ended);
            match &mut whole {
                Some(whole) => whole.merge(found.profiler),
                None => whole = Some(found.profiler),
            }
        }
        read?;
        whole.context("no profiler")
    })?;
    for (file, reason) in ended {
        report.cut_short += 1;
        report.messages.push(format!(
            "{}: reading ended early: {reason}; what was read before counts",
            sources[file].name
        ));
    }
    report.broken = faults.count();
    let before = |file, piece| {
        lines
            .range((file, 0)..(file, piece))
            .map(|(_, lines)| lines)
            .sum()
    };
    report.messages.extend(faults.told(sources, before));
    Ok((profiler, report))
}

/// The reading thread.
struct Reading<'a> {
    csv: &'a CsvOptions,
    bar: &'a ProgressBar,
    senders: Vec<SyncSender<Work>>,
    next: usize,
    faults: &'a mut Faults,
}

impl Reading<'_> {
    fn send(&mut self, work: Work) -> Result<()> {
        let sender = &self.senders[self.next % self.senders.len()];
        self.next += 1;
        sender
            .send(work)
            .map_err(|_| anyhow::anyhow!("a profiler ended early"))
    }

    fn all(&mut self, sources: &[Source], report: &mut DataReport) -> Result<()> {
        for (file, source) in sources.iter().enumerate() {
            let content = source::content(source)?;
            if content == Content::Parquet {
                self.parquet(file, source, report)?;
                continue;
            }
            if let Some(bytes) = plain_lines(source, content)? {
                for piece in pieces::of_file(file, &source.path, bytes) {
                    self.send(Work::Piece(piece))?;
                }
                continue;
            }
            let mut stream = source::open(source, self.bar)?;
            let mut lines = 0;
            match self.one(file, source, &mut stream, &mut lines) {
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

    fn parquet(&mut self, file: usize, source: &Source, report: &mut DataReport) -> Result<()> {
        let wrong = || format!("cannot open {}", source.name);
        let open = File::open(&source.path).with_context(wrong)?;
        let bytes = open.metadata().with_context(wrong)?.len();
        let mut block = Block::of_records(file);
        let mut rows = 0;
        let read = parquet_rows::rows(open, &mut |number, body| {
            rows = number;
            block.push(number, body);
            if block.is_full() {
                let full = std::mem::replace(&mut block, Block::of_records(file));
                self.send(Work::Block(full))?;
            }
            Ok(())
        });
        self.send(Work::Block(block))?;
        self.bar.inc(bytes);
        match read {
            Ok(()) => Ok(()),
            Err(parquet_rows::Ended::Damaged(reason)) => {
                report.cut_short += 1;
                report.messages.push(format!(
                    "{}: reading ended early after {} of a Parquet file of {}: {reason}; what was read before counts (the list of columns is at the end: a file that was cut has none)",
                    source.name,
                    report::plural(rows, "row"),
                    report::plural(bytes, "byte"),
                ));
                Ok(())
            }
            Err(parquet_rows::Ended::Caller(error)) => Err(error.context(source.name.clone())),
        }
    }

    fn one(
        &mut self,
        file: usize,
        source: &Source,
        stream: &mut BufReader<Box<dyn Read + Send>>,
        lines: &mut u64,
    ) -> Result<()> {
        let first = source::first_byte(stream)?;
        match (format_of(&source.path), first) {
            (Some(Format::Csv { tabs }), _) => {
                let mut options = self.csv.clone();
                options.delimiter = options.delimiter.or(tabs.then_some(b'\t'));
                let mut items = CsvItems::new(stream, options)
                    .with_context(|| format!("reading {}", source.name))?;
                for hint in items.hints() {
                    crate::output::note(&format!("hint: {}: {hint}", source.name))?;
                }
                self.records(file, &mut items, lines)
            }
            (_, Some(b'[')) => self.records(file, &mut JsonArray::new(stream), lines),
            (Some(Format::Json | Format::Parquet), _) | (None, Some(b'{') | None) => {
                let mut blocks = LineBlocks::new(file);
                loop {
                    let block = blocks.next(stream)?;
                    *lines = blocks.lines();
                    for line in blocks.take_too_long() {
                        self.faults.push(too_long(file, 0, line));
                    }
                    match block {
                        Some(block) => self.send(Work::Block(block))?,
                        None => return Ok(()),
                    }
                }
            }
            (None, Some(_)) => bail!(
                "{} starts with neither {{ nor [; if it is CSV, give it a name that ends in .csv",
                source.name
            ),
        }
    }

    /// Records of other forms, as blocks of lines that know their numbers.
    fn records(&mut self, file: usize, records: &mut dyn Records, lines: &mut u64) -> Result<()> {
        let mut block = Block::of_records(file);
        while let Some(record) = records.next()? {
            match record {
                Ok(record) => {
                    *lines = record.line;
                    block.push(record.line, &record.body);
                    if block.is_full() {
                        let full = std::mem::replace(&mut block, Block::of_records(file));
                        self.send(Work::Block(full))?;
                    }
                }
                Err(fault) => self.faults.push(Fault {
                    file,
                    piece: 0,
                    line: fault.line,
                    column: None,
                    message: fault.message,
                }),
            }
        }
        self.send(Work::Block(block))
    }
}

/// The size of a file that is lines of JSON as they are, so that any piece of it can be read by
/// itself.
fn plain_lines(source: &Source, content: Content) -> Result<Option<u64>> {
    let metadata =
        std::fs::metadata(&source.path).with_context(|| format!("cannot open {}", source.name))?;
    if !metadata.is_file() || matches!(format_of(&source.path), Some(Format::Csv { .. })) {
        return Ok(None);
    }
    let is_plain = content == Content::Plain
        && source::first_byte(&mut source::open(source, &ProgressBar::hidden())?)? == Some(b'{');
    Ok(is_plain.then_some(metadata.len()))
}

fn too_long(file: usize, piece: u64, line: u64) -> Fault {
    Fault {
        file,
        piece,
        line,
        column: None,
        message: format!("the line is over {} MB", blocks::MAX_LINE >> 20),
    }
}

/// A profiling thread.
fn work(taken: &Receiver<Work>, bar: &ProgressBar) -> Found {
    let mut found = Found {
        profiler: profiler(),
        faults: Faults::default(),
        lines: Vec::new(),
        ended: Vec::new(),
    };
    let mut reader = PieceReader::default();
    while let Ok(work) = taken.recv() {
        match work {
            Work::Block(block) => block.each(|line, text| {
                found.item(block.file, 0, line, line, text);
            }),
            Work::Piece(piece) => {
                let mut bytes = 0;
                let read = reader.each(&piece, |line| match line.text {
                    Some(text) => {
                        bytes += text.len() as u64 + 1;
                        found.item(piece.file, piece.number, line.number, line.at, text);
                    }
                    None => found
                        .faults
                        .push(too_long(piece.file, piece.number, line.number)),
                });
                bar.inc(bytes);
                match read {
                    Ok(lines) => found.lines.push(((piece.file, piece.number), lines)),
                    Err(error) => found.ended.push((piece.file, error.to_string())),
                }
            }
        }
    }
    found
}

impl Found {
    fn item(&mut self, file: usize, piece: u64, line: u64, place: u64, text: &[u8]) {
        let index = ((file as u64) << PLACE_BITS) | place;
        if let Err(fault) = self.profiler.item(index, text) {
            self.faults.push(Fault {
                file,
                piece,
                line,
                column: Some(fault.at + 1),
                message: fault.message.to_owned(),
            });
        }
    }
}
