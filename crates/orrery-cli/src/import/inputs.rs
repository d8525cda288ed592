//! The files of an import: opened before anything is written, their format found out, their
//! sizes added up for the progress line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use super::csv_items::{CsvItems, CsvOptions};
use super::json_array::JsonArray;
use super::json_lines::JsonLines;
use super::progress::Progress;
use super::record::Records;
use crate::output;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object a line.
    Ndjson,
    /// One JSON array of objects.
    Json,
    /// Comma-separated values with a header line.
    Csv,
}

/// All inputs, opened.
pub struct Inputs {
    inputs: Vec<Input>,
    bytes: Option<u64>,
}

/// One input.
pub struct Input {
    name: String,
    path: PathBuf,
    stream: Box<dyn Read + Send>,
    format: Option<Format>,
    csv: CsvOptions,
}

impl Inputs {
    /// Opens all files, so that a misspelt name is found before the first item is written.
    pub fn open(files: &[PathBuf], format: Option<Format>, csv: CsvOptions) -> Result<Self> {
        let mut inputs = Vec::with_capacity(files.len());
        let mut bytes = Some(0);
        for path in files {
            let stream: Box<dyn Read + Send> = if path.as_os_str() == "-" {
                bytes = None;
                Box::new(io::stdin())
            } else {
                let file =
                    File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
                let metadata = file.metadata()?;
                if metadata.is_dir() {
                    bail!("{} is a folder; name the files in it", path.display());
                }
                bytes = bytes.map(|sum: u64| sum.saturating_add(metadata.len()));
                Box::new(file)
            };
            let name = if path.as_os_str() == "-" {
                "standard input".to_owned()
            } else {
                path.display().to_string()
            };
            inputs.push(Input {
                name,
                path: path.clone(),
                stream,
                format,
                csv: csv.clone(),
            });
        }
        Ok(Self { inputs, bytes })
    }

    /// The inputs' names, for messages.
    pub fn names(&self) -> Vec<String> {
        self.inputs.iter().map(|input| input.name.clone()).collect()
    }

    /// Their size; unknown when one is a pipe.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }
}

impl IntoIterator for Inputs {
    type Item = Input;
    type IntoIter = std::vec::IntoIter<Input>;

    fn into_iter(self) -> Self::IntoIter {
        self.inputs.into_iter()
    }
}

impl Input {
    /// Its records.
    pub fn records(self, progress: &Progress) -> Result<Box<dyn Records>> {
        let mut stream = BufReader::with_capacity(256 << 10, progress.watch(self.stream));
        let first = first_byte(&mut stream).with_context(|| format!("reading {}", self.name))?;
        let format = self
            .format
            .or_else(|| by_name(&self.path))
            .filter(|format| {
                // A .json file may hold either form; its first byte tells.
                self.format.is_some() || *format != Format::Json
            });
        let format = match (format, first) {
            (Some(format), _) => format,
            (None, Some(b'[')) => Format::Json,
            (None, Some(b'{') | None) => Format::Ndjson,
            (None, Some(_)) => bail!(
                "{} starts with neither {{ nor [; if it is CSV, say --format csv",
                self.name
            ),
        };
        let name = self.name;
        Ok(match format {
            Format::Ndjson => Box::new(JsonLines::new(stream)),
            Format::Json => Box::new(JsonArray::new(stream)),
            Format::Csv => {
                let mut options = self.csv;
                let tabs = self
                    .path
                    .extension()
                    .is_some_and(|extension| extension == "tsv");
                options.delimiter = options.delimiter.or(tabs.then_some(b'\t'));
                let items =
                    CsvItems::new(stream, options).with_context(|| format!("reading {name}"))?;
                for hint in items.hints() {
                    output::note(&format!("hint: {name}: {hint}"))?;
                }
                Box::new(items)
            }
        })
    }
}

fn by_name(path: &Path) -> Option<Format> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "ndjson" | "jsonl" => Some(Format::Ndjson),
        "json" => Some(Format::Json),
        "csv" | "tsv" => Some(Format::Csv),
        _ => None,
    }
}

/// The first byte that is no white space, left in the stream with all before it: line numbers
/// must stay right. A byte order mark is taken away.
fn first_byte(stream: &mut impl BufRead) -> io::Result<Option<u8>> {
    let buffer = stream.fill_buf()?;
    if buffer.starts_with(b"\xEF\xBB\xBF") {
        stream.consume(3);
    }
    Ok(stream
        .fill_buf()?
        .iter()
        .copied()
        .find(|byte| !byte.is_ascii_whitespace()))
}
