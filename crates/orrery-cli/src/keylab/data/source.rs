//! The files that data comes from: found, told apart, unpacked.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use indicatif::ProgressBar;

use super::unpack::{Sips, Zstd};

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const PARQUET: &[u8] = b"PAR1";

/// A file.
pub struct Source {
    /// As the user gave it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The files named, those of folders in order of their names.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>> {
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
                    "{} holds no .ndjson, .jsonl, .json, .csv, .tsv or .parquet files (or .gz, .zst of them)",
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

pub fn source(path: PathBuf) -> Source {
    Source {
        name: path.display().to_string(),
        path,
    }
}

/// What a file's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, one item a line or an array of them.
    Json,
    /// CSV, or TSV.
    Csv {
        /// Whether cells are parted by tabs.
        tabs: bool,
    },
    /// Parquet.
    Parquet,
}

/// What a file's name says, compression aside.
pub fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"))
        .unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "ndjson" | "jsonl" | "json" => Some(Format::Json),
        "parquet" => Some(Format::Parquet),
        "csv" => Some(Format::Csv { tabs: false }),
        "tsv" => Some(Format::Csv { tabs: true }),
        _ => None,
    }
}

/// The file's content, unpacked.
pub fn open(source: &Source, bar: &ProgressBar) -> Result<BufReader<Box<dyn Read + Send>>> {
    const BUFFER: usize = 256 << 10;
    let file = File::open(&source.path).with_context(|| format!("cannot open {}", source.name))?;
    let mut packed = BufReader::with_capacity(BUFFER, bar.wrap_read(file));
    let start = packed
        .fill_buf()
        .with_context(|| format!("reading {}", source.name))?;
    let stream: Box<dyn Read + Send> = if start.starts_with(GZIP) {
        Box::new(Sips(flate2::bufread::MultiGzDecoder::new(packed)))
    } else if start.starts_with(ZSTD) {
        Box::new(Zstd::new(packed))
    } else if start.starts_with(PARQUET) {
        bail!(
            "{} is Parquet, which is no recording of requests",
            source.name
        );
    } else {
        Box::new(packed)
    };
    Ok(BufReader::with_capacity(BUFFER, stream))
}

/// What stands in a file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Text as it is.
    Plain,
    /// Text that is packed.
    Packed,
    /// Parquet.
    Parquet,
}

/// Looks at the first bytes of a file.
pub fn content(source: &Source) -> Result<Content> {
    let wrong = || format!("cannot open {}", source.name);
    let mut start = [0; 4];
    let mut file = File::open(&source.path).with_context(wrong)?;
    let read = file.read(&mut start).with_context(wrong)?;
    let start = &start[..read];
    Ok(
        if start.starts_with(PARQUET) || format_of(&source.path) == Some(Format::Parquet) {
            Content::Parquet
        } else if start.starts_with(GZIP) || start.starts_with(ZSTD) {
            Content::Packed
        } else {
            Content::Plain
        },
    )
}

/// The first byte that is no blank, behind a byte order mark, which is taken away.
pub fn first_byte(stream: &mut impl BufRead) -> io::Result<Option<u8>> {
    if stream.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
        stream.consume(3);
    }
    let start = stream.fill_buf()?;
    Ok(start
        .iter()
        .copied()
        .find(|byte| !byte.is_ascii_whitespace()))
}
