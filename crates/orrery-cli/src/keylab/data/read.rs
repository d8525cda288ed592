//! Reading: files become blocks or pieces, which profilers take in turn, so that equal input gives
//! equal profiles.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Context as _, Result, bail};
use indicatif::ProgressBar;
use orrery_keylab::profile::Profiler;

use super::blocks::{self, Block, LineBlocks};
use super::faults::{Fault, Faults};
use super::hints;
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

/// How reading a file ended before its end.
enum Ended {
    /// At a damage of text.
    Text(String),
    /// At a damage of a Parquet file of so many bytes.
    Parquet(u64, String),
    /// Before it began.
    Unread(String),
}

impl Ended {
    fn told(&self, source: &Source, items: u64) -> String {
        let name = &source.name;
        match self {
            Self::Text(reason) => format!(
                "{name}: reading ended early after {}: {reason}; what was read before counts",
                report::plural(items, "item")
            ),
            Self::Parquet(bytes, reason) => format!(
                "{name}: reading ended early after {} of a Parquet file of {}: {reason}; what was read before counts (the list of columns is at the end: a file that was cut has none)",
                report::plural(items, "row"),
                report::plural(*bytes, "byte"),
            ),
            Self::Unread(reason) => format!("{name}: not read: {reason}"),
        }
    }
}

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
    /// Items of each file.
    items: Vec<u64>,
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
    let mut ended: BTreeMap<usize, Ended> = BTreeMap::new();
    let mut items: Vec<u64> = vec![0; sources.len()];
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
            ended: &mut ended,
        };
        let read = reading.all(sources);
        drop(reading);
        let mut whole: Option<Profiler> = None;
        for thread in threads {
            let found = thread
                .join()
                .map_err(|_| anyhow::anyhow!("a profiler panicked"))?;
            faults.merge(found.faults);
            lines.extend(found.lines);
            for (file, reason) in found.ended {
                ended.entry(file).or_insert(Ended::Text(reason));
            }
            for (sum, count) in items.iter_mut().zip(found.items) {
                *sum += count;
            }
            match &mut whole {
                Some(whole) => whole.merge(found.profiler),
                None => whole = Some(found.profiler),
            }
        }
        read?;
        whole.context("no profiler")
    })?;
    for (file, ended) in ended {
        report.unread.push(ended.told(&sources[file], items[file]));
    }
    for (source, items) in sources.iter().zip(&items) {
        report.hints.extend(wrapped(source, *items));
    }
    report.broken = faults.count();
    let before = |file, piece| {
        lines
            .range((file, 0)..(file, piece))
            .map(|(_, lines)| lines)
            .sum()
    };
    report.places = faults.told(sources, before);
    Ok((profiler, report))
}

/// The reading thread.
struct Reading<'a> {
    csv: &'a CsvOptions,
    bar: &'a ProgressBar,
    senders: Vec<SyncSender<Work>>,
    next: usize,
    faults: &'a mut Faults,
    ended: &'a mut BTreeMap<usize, Ended>,
}

/// A profiler is gone, so that no file can be read.
#[derive(Debug)]
struct Gone;

impl std::error::Error for Gone {}

impl fmt::Display for Gone {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a profiler ended early")
    }
}

impl Reading<'_> {
    fn send(&mut self, work: Work) -> Result<()> {
        let sender = &self.senders[self.next % self.senders.len()];
        self.next += 1;
        sender.send(work).map_err(|_| Gone.into())
    }

    /// All files; one that cannot be read is told, and the others count.
    fn all(&mut self, sources: &[Source]) -> Result<()> {
        for (file, source) in sources.iter().enumerate() {
            let Err(error) = self.file(file, source) else {
                continue;
            };
            if error.downcast_ref::<Gone>().is_some() {
                return Err(error);
            }
            let ended = if error.downcast_ref::<io::Error>().is_some() {
                Ended::Text(error.root_cause().to_string())
            } else {
                Ended::Unread(format!("{error:#}"))
            };
            self.ended.insert(file, ended);
        }
        Ok(())
    }

    fn file(&mut self, file: usize, source: &Source) -> Result<()> {
        let content = source::content(source)?;
        if content == Content::Parquet {
            return self.parquet(file, source);
        }
        if let Some(bytes) = plain_lines(source, content)? {
            for piece in pieces::of_file(file, &source.path, bytes) {
                self.send(Work::Piece(piece))?;
            }
            return Ok(());
        }
        self.one(file, source, &mut source::open(source, self.bar)?)
    }

    fn parquet(&mut self, file: usize, source: &Source) -> Result<()> {
        let wrong = || format!("cannot open {}", source.name);
        let open = File::open(&source.path).with_context(wrong)?;
        let bytes = open.metadata().with_context(wrong)?.len();
        let mut block = Block::of_records(file);
        let read = parquet_rows::rows(open, &mut |number, body| {
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
                self.ended.insert(file, Ended::Parquet(bytes, reason));
                Ok(())
            }
            Err(parquet_rows::Ended::Caller(error)) => Err(error),
        }
    }

    fn one(
        &mut self,
        file: usize,
        source: &Source,
        stream: &mut BufReader<Box<dyn Read + Send>>,
    ) -> Result<()> {
        if hints::is_utf16(stream.fill_buf()?) {
            bail!(hints::UTF16);
        }
        let first = source::first_byte(stream)?;
        match (format_of(&source.path), first) {
            (Some(Format::Csv { tabs }), _) => {
                let mut options = self.csv.clone();
                options.delimiter = options.delimiter.or(tabs.then_some(b'\t'));
                let mut items = CsvItems::new(stream, options)?;
                for hint in items.hints() {
                    crate::output::note(&format!("hint: {}: {hint}", source.name))?;
                }
                self.records(file, &mut items)
            }
            (_, Some(b'[')) => self.records(file, &mut JsonArray::new(stream)),
            (Some(Format::Json | Format::Parquet), _) | (None, Some(b'{') | None) => {
                let mut blocks = LineBlocks::new(file);
                loop {
                    let block = blocks.next(stream);
                    for line in blocks.take_too_long() {
                        self.faults.push(too_long(file, 0, line));
                    }
                    match block? {
                        Some(block) => self.send(Work::Block(block))?,
                        None => return Ok(()),
                    }
                }
            }
            (None, Some(_)) => bail!(
                "it starts with neither {{ nor [; if it is CSV, give it a name that ends in .csv"
            ),
        }
    }

    /// Records of other forms, as blocks of lines that know their numbers.
    fn records(&mut self, file: usize, records: &mut dyn Records) -> Result<()> {
        let mut block = Block::of_records(file);
        let ended = loop {
            match records.next() {
                Ok(None) => break None,
                Err(error) => break Some(error),
                Ok(Some(Ok(record))) => {
                    block.push(record.line, &record.body);
                    if block.is_full() {
                        let full = std::mem::replace(&mut block, Block::of_records(file));
                        self.send(Work::Block(full))?;
                    }
                }
                Ok(Some(Err(fault))) => self.faults.push(Fault {
                    file,
                    piece: 0,
                    line: fault.line,
                    column: None,
                    message: fault.message,
                }),
            }
        };
        // What was read before an error counts.
        self.send(Work::Block(block))?;
        ended.map_or(Ok(()), |error| Err(error.into()))
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
    if content != Content::Plain {
        return Ok(None);
    }
    let mut stream = source::open(source, &ProgressBar::hidden())?;
    let is_plain =
        !hints::is_utf16(stream.fill_buf()?) && source::first_byte(&mut stream)? == Some(b'{');
    Ok(is_plain.then_some(metadata.len()))
}

/// What to say of a document that wraps its items in one object.
fn wrapped(source: &Source, items: u64) -> Option<String> {
    if items > 1 || format_of(&source.path).is_some_and(|format| format != Format::Json) {
        return None;
    }
    let mut stream = source::open(source, &ProgressBar::hidden()).ok()?;
    let name = hints::wrapped_items(&mut stream).ok()??;
    Some(format!(
        "hint: {}: one object with an array of objects in `{name}`; if they are the items, cut them out, for example with jq -c '.{name}[]'",
        source.name
    ))
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
        items: Vec::new(),
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
        match self.profiler.item(index, text) {
            Ok(()) => {
                if self.items.len() <= file {
                    self.items.resize(file + 1, 0);
                }
                self.items[file] += 1;
            }
            Err(fault) => self.faults.push(Fault {
                file,
                piece,
                line,
                column: Some(fault.at + 1),
                message: fault.message.to_owned(),
            }),
        }
    }
}
