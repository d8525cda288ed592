//! How rows are printed: a table for people, NDJSON or one JSON array for programs.

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use orrery_model::json;
use orrery_model::value::Value;

use crate::report::SYSTEM_PROPERTIES;

/// How many rows decide the columns and widths of a table.
const SAMPLE: usize = 500;
/// Widest cell of a table.
const MAX_CELL: usize = 48;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns; nested values as JSON text, long ones cut.
    Table,
    /// One JSON value a line.
    Ndjson,
    /// One JSON array.
    Json,
}

/// Prints rows as they come.
pub struct Printer<W: Write> {
    out: W,
    format: Format,
    system: bool,
    rows: u64,
    table: Table,
}

#[derive(Default)]
struct Table {
    sample: Vec<Value<'static>>,
    columns: Vec<(String, usize)>,
    settled: bool,
}

impl<W: Write> Printer<W> {
    /// A printer; `system` also shows the system properties in tables.
    pub fn new(out: W, format: Format, system: bool) -> Self {
        Self {
            out,
            format,
            system,
            rows: 0,
            table: Table::default(),
        }
    }

    /// Prints one row.
    pub fn row(&mut self, text: &[u8]) -> Result<()> {
        self.rows += 1;
        match self.format {
            Format::Ndjson => {
                self.out.write_all(text)?;
                self.out.write_all(b"\n")?;
            }
            Format::Json => {
                self.out
                    .write_all(if self.rows == 1 { b"[\n " } else { b",\n " })?;
                self.out.write_all(text)?;
            }
            Format::Table => {
                let row = json::parse(text)?.into_owned();
                if self.table.settled {
                    self.line(&row)?;
                } else {
                    self.table.sample.push(row);
                    if self.table.sample.len() == SAMPLE {
                        self.settle()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the output.
    pub fn finish(mut self) -> Result<()> {
        match self.format {
            Format::Ndjson => {}
            Format::Json if self.rows == 0 => self.out.write_all(b"[]\n")?,
            Format::Json => self.out.write_all(b"\n]\n")?,
            Format::Table if self.table.settled => {}
            Format::Table => self.settle()?,
        }
        self.out.flush()?;
        Ok(())
    }

    /// Chooses the columns from the sample and prints it.
    fn settle(&mut self) -> Result<()> {
        self.table.settled = true;
        let sample = std::mem::take(&mut self.table.sample);
        for row in &sample {
            for (name, value) in cells(row, self.system) {
                let width = width(&cell(value)).max(width(name));
                match self
                    .table
                    .columns
                    .iter_mut()
                    .find(|(known, _)| known == name)
                {
                    Some((_, known)) => *known = width.max(*known),
                    None => self.table.columns.push((name.to_owned(), width)),
                }
            }
        }
        if self.table.columns.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = self
            .table
            .columns
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        self.padded(&names)?;
        let rules: Vec<String> = self
            .table
            .columns
            .iter()
            .map(|(_, width)| "-".repeat(*width))
            .collect();
        self.padded(&rules)?;
        for row in &sample {
            self.line(row)?;
        }
        Ok(())
    }

    fn line(&mut self, row: &Value<'_>) -> Result<()> {
        let texts: Vec<String> = self
            .table
            .columns
            .iter()
            .map(|(name, _)| {
                let found = cells(row, self.system)
                    .into_iter()
                    .find(|(known, _)| known == name);
                found.map_or_else(String::new, |(_, value)| cell(value))
            })
            .collect();
        self.padded(&texts)
    }

    fn padded(&mut self, texts: &[String]) -> Result<()> {
        let mut line = String::new();
        for (text, (_, wide)) in texts.iter().zip(&self.table.columns) {
            line.push_str(text);
            line.extend(std::iter::repeat_n(
                ' ',
                wide.saturating_sub(width(text)) + 2,
            ));
        }
        writeln!(self.out, "{}", line.trim_end())?;
        Ok(())
    }
}

/// The name of the only column of rows that are no objects.
const VALUE_COLUMN: &str = "value";

fn cells<'r>(row: &'r Value<'_>, system: bool) -> Vec<(&'r str, &'r Value<'r>)> {
    match row {
        Value::Object(object) => object
            .iter()
            .filter(|(name, _)| system || !SYSTEM_PROPERTIES.contains(name))
            .collect(),
        other => vec![(VALUE_COLUMN, other)],
    }
}

fn cell(value: &Value<'_>) -> String {
    let text = match value {
        Value::String(text) => text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect(),
        other => json::to_string(other),
    };
    if width(&text) <= MAX_CELL {
        return text;
    }
    let mut cut: String = text.chars().take(MAX_CELL - 1).collect();
    cut.push('…');
    cut
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: Format, rows: &[&str]) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, format, false);
        for row in rows {
            printer.row(row.as_bytes()).unwrap();
        }
        printer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_has_the_columns_of_all_rows() {
        let text = printed(
            Format::Table,
            &[
                r#"{"id":"a","n":1,"_ts":5}"#,
                r#"{"id":"bbb","tags":["x"]}"#,
            ],
        );
        assert_eq!(
            text,
            "id   n  tags\n---  -  -----\na    1\nbbb     [\"x\"]\n"
        );
        assert_eq!(
            printed(Format::Table, &["1", "null"]),
            "value\n-----\n1\nnull\n"
        );
        assert_eq!(printed(Format::Table, &[]), "");
    }

    #[test]
    fn long_cells_are_cut_between_characters() {
        let long = format!("\"{}\"", "ü".repeat(100));
        let text = printed(Format::Table, &[&long]);
        assert!(text.lines().nth(2).unwrap().ends_with('…'));
        assert_eq!(text.lines().nth(2).unwrap().chars().count(), MAX_CELL);
    }

    #[test]
    fn json_is_one_array_and_ndjson_a_line_each() {
        assert_eq!(printed(Format::Json, &["1", "2"]), "[\n 1,\n 2\n]\n");
        assert_eq!(printed(Format::Json, &[]), "[]\n");
        assert_eq!(printed(Format::Ndjson, &["1", "2"]), "1\n2\n");
    }
}
