//! CSV: a header line names the members, every further line is an item.
//!
//! **Types.** Each column has one type, told by `--csv-types`/`--string` or inferred from the
//! first [`SAMPLE`] lines: number when every filled cell is a JSON-like number that the service's
//! doubles hold exactly (so `007` and 17-digit account numbers stay strings), boolean when every
//! filled cell is `true` or `false`, else string. An `id` column is always a string, as item ids
//! are. A cell that does not fit its column later on is a broken line for a told type and stays a
//! string for an inferred one. Empty cells and `--null` texts leave the member out (`--keep-nulls`
//! writes null).

mod cell;
mod quotes;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufReader, Read};
use std::sync::{Arc, PoisonError};

use anyhow::{Context as _, Result, bail};
use csv::StringRecord;

use super::record::{Broken, Record, Records};
pub use cell::ColumnType;
use quotes::{Found, Quotes};

/// How many lines types are inferred from.
pub const SAMPLE: usize = 1_000;

/// How a CSV input is read.
#[derive(Debug, Clone, Default)]
pub struct CsvOptions {
    /// Field separator; a comma by default.
    pub delimiter: Option<u8>,
    /// Types told by the user.
    pub types: BTreeMap<String, ColumnType>,
    /// Texts that mean "nothing", beside the empty cell.
    pub nulls: Vec<String>,
    /// Whether nothing is written as null instead of leaving the member out.
    pub keep_nulls: bool,
}

struct Column {
    name: String,
    /// `"name":` as JSON text.
    prefix: Vec<u8>,
    kind: ColumnType,
    told: bool,
}

/// The lines of a CSV input as records.
pub struct CsvItems<R> {
    reader: csv::Reader<Quotes<BufReader<R>>>,
    /// Lines that never came to be records.
    torn: Found,
    columns: Vec<Column>,
    sample: VecDeque<Result<StringRecord, Broken>>,
    /// Why the sample ended early, told behind it.
    ended: Option<io::Error>,
    options: CsvOptions,
    next: StringRecord,
}

impl<R: Read> CsvItems<R> {
    /// Reads the header and the sample, and settles the types.
    pub fn new(input: R, options: CsvOptions) -> Result<Self> {
        let delimiter = options.delimiter.unwrap_or(b',');
        let torn = Found::default();
        let input = BufReader::with_capacity(256 << 10, input);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .buffer_capacity(256 << 10)
            .from_reader(Quotes::new(input, delimiter, Arc::clone(&torn)));
        let header = reader.headers().context("reading the header line")?.clone();
        let mut columns = columns(&header, &options)?;
        let mut sample = VecDeque::new();
        let mut next = StringRecord::new();
        let mut ended = None;
        while sample.len() < SAMPLE {
            match read(&mut reader, &mut next) {
                Ok(None) => break,
                Ok(Some(Ok(()))) => sample.push_back(Ok(next.clone())),
                Ok(Some(Err(broken))) => sample.push_back(Err(broken)),
                Err(error) => {
                    ended = Some(error);
                    break;
                }
            }
        }
        check_delimiter(&header, &sample)?;
        for (at, column) in columns
            .iter_mut()
            .enumerate()
            .filter(|(_, column)| !column.told)
        {
            let cells = sample.iter().flatten().filter_map(|record| record.get(at));
            column.kind = cell::infer(cells.filter(|text| !is_null(&options, text)));
        }
        Ok(Self {
            reader,
            torn,
            columns,
            sample,
            ended,
            options,
            next,
        })
    }

    /// What the user may have wanted: a column that is a string only because one text, such as
    /// NA, stands where numbers are missing.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            if column.told || column.kind != ColumnType::String {
                continue;
            }
            let cells = self
                .sample
                .iter()
                .flatten()
                .filter_map(|record| record.get(at));
            let filled = cells.filter(|text| !is_null(&self.options, text));
            if let Some(text) = cell::odd_one(filled) {
                hints.push(format!(
                    "column `{}` holds numbers and `{text}`, so all its cells stay strings; --null {text} leaves those out",
                    column.name
                ));
            }
        }
        hints
    }

    fn item(&self, record: &StringRecord) -> Result<Record, Broken> {
        let line = record.position().map_or(0, csv::Position::line);
        let mut body = Vec::with_capacity(record.as_slice().len() * 2 + 64);
        body.push(b'{');
        for (column, text) in self.columns.iter().zip(record) {
            let nothing = is_null(&self.options, text);
            if nothing && !self.options.keep_nulls {
                continue;
            }
            if body.len() > 1 {
                body.push(b',');
            }
            body.extend_from_slice(&column.prefix);
            if nothing {
                body.extend_from_slice(b"null");
            } else if !cell::write(column.kind, text, &mut body) {
                if column.told {
                    let message =
                        format!("column `{}`: `{text}` is no {}", column.name, column.kind);
                    return Err(Broken { line, message });
                }
                cell::write(ColumnType::String, text, &mut body);
            }
        }
        body.push(b'}');
        Ok(Record { line, body })
    }
}

impl<R: Read> Records for CsvItems<R> {
    fn next(&mut self) -> io::Result<Option<Result<Record, Broken>>> {
        let torn = self
            .torn
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        if let Some(torn) = torn {
            return Ok(Some(Err(torn)));
        }
        if let Some(sampled) = self.sample.pop_front() {
            return Ok(Some(sampled.and_then(|record| self.item(&record))));
        }
        if let Some(error) = self.ended.take() {
            return Err(error);
        }
        let mut next = std::mem::take(&mut self.next);
        let outcome = read(&mut self.reader, &mut next)?;
        let answer = outcome.map(|read| read.and_then(|()| self.item(&next)));
        self.next = next;
        if answer.is_none() {
            // The last lines may have been torn.
            let mut torn = self.torn.lock().unwrap_or_else(PoisonError::into_inner);
            return Ok(torn.pop_front().map(Err));
        }
        Ok(answer)
    }
}

/// Reads one line; a line with the wrong number of fields or broken UTF-8 is told, not fatal.
fn read<R: Read>(
    reader: &mut csv::Reader<R>,
    record: &mut StringRecord,
) -> io::Result<Option<Result<(), Broken>>> {
    match reader.read_record(record) {
        Ok(true) => Ok(Some(Ok(()))),
        Ok(false) => Ok(None),
        Err(error) => {
            let line = error.position().map_or(0, csv::Position::line);
            let message = match error.kind() {
                csv::ErrorKind::Io(_) => {
                    return match error.into_kind() {
                        csv::ErrorKind::Io(error) => Err(error),
                        _ => Ok(None),
                    };
                }
                csv::ErrorKind::UnequalLengths {
                    expected_len, len, ..
                } => {
                    format!("{len} fields instead of {expected_len}")
                }
                csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
                _ => error.to_string(),
            };
            Ok(Some(Err(Broken { line, message })))
        }
    }
}

/// One column in which every line holds another separator as often as the header: the separator
/// is not the one that was told.
fn check_delimiter(
    header: &StringRecord,
    sample: &VecDeque<Result<StringRecord, Broken>>,
) -> Result<()> {
    let (1, Some(name)) = (header.len(), header.get(0)) else {
        return Ok(());
    };
    for (letter, shown) in [(',', ","), (';', ";"), ('\t', "tab"), ('|', "|")] {
        let count = name.matches(letter).count();
        let mut lines = sample.iter().flatten().filter_map(|record| record.get(0));
        if count > 0 && lines.all(|line| line.matches(letter).count() == count) {
            bail!(
                "the header names one column, `{name}`; its cells seem to be separated by {shown}: try --delimiter '{shown}'"
            );
        }
    }
    Ok(())
}

fn columns(header: &StringRecord, options: &CsvOptions) -> Result<Vec<Column>> {
    let mut columns: Vec<Column> = Vec::with_capacity(header.len());
    for (at, name) in header.iter().enumerate() {
        let name = name.trim_start_matches('\u{feff}').trim();
        // Row names that R and pandas write have an empty header.
        let name = if name.is_empty() {
            format!("column{}", at + 1)
        } else {
            name.to_owned()
        };
        if columns.iter().any(|column| column.name == name) {
            bail!("the header names the column `{name}` twice");
        }
        let told = options.types.get(&name).copied();
        let told = told.or((name == "id").then_some(ColumnType::String));
        let mut prefix = serde_json::to_vec(&name)?;
        prefix.push(b':');
        columns.push(Column {
            name,
            prefix,
            kind: told.unwrap_or(ColumnType::String),
            told: told.is_some(),
        });
    }
    if let Some(unknown) = options
        .types
        .keys()
        .find(|name| columns.iter().all(|column| column.name != **name))
    {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        bail!(
            "there is no column `{unknown}`; the header has: {}",
            names.join(", ")
        );
    }
    Ok(columns)
}

fn is_null(options: &CsvOptions, text: &str) -> bool {
    text.is_empty() || options.nulls.iter().any(|null| null == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> CsvOptions {
        CsvOptions {
            delimiter: None,
            types: BTreeMap::new(),
            nulls: vec!["NA".to_owned()],
            keep_nulls: false,
        }
    }

    fn bodies(text: &str, options: CsvOptions) -> Vec<Result<String, Broken>> {
        let mut records = CsvItems::new(text.as_bytes(), options).unwrap();
        let mut found = Vec::new();
        while let Some(record) = records.next().unwrap() {
            found.push(record.map(|record| String::from_utf8(record.body).unwrap()));
        }
        found
    }

    #[test]
    fn types_are_inferred_by_column_and_nothing_is_left_out() {
        let text = "id,n,zip,ok,name,big\n7,1,01234,true,\"a \"\"b\"\", c\",12345678901234567\n8,-2.50,10001,false,NA,1\n9,,,,,\n";
        let found: Vec<_> = bodies(text, options())
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(
            found,
            [
                r#"{"id":"7","n":1,"zip":"01234","ok":true,"name":"a \"b\", c","big":"12345678901234567"}"#,
                r#"{"id":"8","n":-2.50,"zip":"10001","ok":false,"big":"1"}"#,
                r#"{"id":"9"}"#,
            ]
        );
    }

    #[test]
    fn told_types_bind_and_keep_nulls_writes_them() {
        let mut told = options();
        told.types.insert("n".to_owned(), ColumnType::Number);
        told.types.insert("zip".to_owned(), ColumnType::String);
        told.keep_nulls = true;
        let found = bodies("n,zip\n1,2\nx,3\n,4\n", told);
        assert_eq!(found[0].as_ref().unwrap(), r#"{"n":1,"zip":"2"}"#);
        let broken = found[1].as_ref().unwrap_err();
        assert_eq!(
            (broken.line, broken.message.as_str()),
            (3, "column `n`: `x` is no number")
        );
        assert_eq!(found[2].as_ref().unwrap(), r#"{"n":null,"zip":"4"}"#);
    }

    #[test]
    fn a_late_misfit_of_an_inferred_column_stays_a_string() {
        let mut text = String::from("n\n");
        text.extend((0..SAMPLE).map(|number| format!("{number}\n")));
        text.push_str("late\n1,2\n");
        let found = bodies(&text, options());
        assert_eq!(found[SAMPLE].as_ref().unwrap(), r#"{"n":"late"}"#);
        assert_eq!(
            found[SAMPLE + 1].as_ref().unwrap_err().message,
            "2 fields instead of 1"
        );
    }

    #[test]
    fn a_text_for_missing_numbers_is_hinted_at() {
        let hints = |text: &str, nulls: &[&str]| {
            let nulls = nulls.iter().map(|text| (*text).to_owned()).collect();
            CsvItems::new(text.as_bytes(), CsvOptions { nulls, ..options() })
                .expect("a header is there")
                .hints()
        };
        let text = "delay,name\n1,a\n2,b\nNA,c\n4,d\n";
        assert_eq!(hints(text, &[]).len(), 1);
        assert!(hints(text, &[])[0].contains("--null NA"));
        assert!(hints(text, &["NA"]).is_empty());
        assert!(hints("n\n1\nx\ny\n2\n", &[]).is_empty());
    }

    #[test]
    fn a_quote_without_end_is_one_broken_line() {
        let found = bodies("a,b\n1,\"x\n2,y\n3,z\n", options());
        let lines: Vec<_> = found.iter().flatten().collect();
        assert_eq!(lines, [r#"{"a":2,"b":"y"}"#, r#"{"a":3,"b":"z"}"#]);
        let broken: Vec<_> = found
            .iter()
            .filter_map(|line| line.as_ref().err())
            .collect();
        assert_eq!(broken.len(), 1);
        assert_eq!(broken[0].line, 2);
    }

    #[test]
    fn another_separator_is_noticed() {
        let error = |text: &str| CsvItems::new(text.as_bytes(), options()).err();
        let told = error("a;b;c\n1;2;3\n4;5;6\n")
            .expect("another delimiter is told")
            .to_string();
        assert!(told.contains("--delimiter ';'"), "{told}");
        assert!(
            error("a\tb\n1\t2\n")
                .expect("another delimiter is told")
                .to_string()
                .contains("tab")
        );
        assert!(error("a;b\n1;2\nplain\n").is_none());
        assert!(error("text\n1;2\n").is_none());
    }

    #[test]
    fn header_mistakes_are_told_at_once() {
        assert!(CsvItems::new(&b"a,a\n"[..], options()).is_err());
        let mut told = options();
        told.types.insert("b".to_owned(), ColumnType::Number);
        let error = CsvItems::new(&b"a\n"[..], told).err().unwrap().to_string();
        assert!(error.contains("there is no column `b`"), "{error}");
    }
}
