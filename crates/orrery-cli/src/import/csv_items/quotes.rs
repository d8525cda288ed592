//! Quotes that are never closed.
//!
//! To a CSV reader a quote that nobody closes makes one field of everything behind it. This reader
//! stands before it: a record is passed on once it is whole; where it cannot become whole, its first
//! line is told as broken and blanked (the lines keep their numbers), and reading goes on behind it.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use super::Broken;

/// The most bytes of one record; an item may have 2 MB, quotes and escapes may double it.
const MAX_RECORD: usize = 8 << 20;
/// The most lines of one record.
const MAX_LINES: usize = 1_000;

/// Broken lines that were found on the way.
pub(super) type Found = Arc<Mutex<VecDeque<Broken>>>;

/// Passes on whole records.
pub(super) struct Quotes<R> {
    input: R,
    delimiter: u8,
    /// The lines of the record at hand, the end of each included.
    lines: VecDeque<Vec<u8>>,
    /// The number of the first of them.
    first: u64,
    bytes: usize,
    state: State,
    ready: Vec<u8>,
    taken: usize,
    found: Found,
    at_end: bool,
}

/// Where in a record a byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind a quote in a quoted field: its end, or half of a doubled one.
    QuoteInQuoted,
}

/// What a line makes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Whole,
    Open,
    /// A quoted field over several lines ends in the middle of text: its quote was not meant so.
    Torn,
}

impl<R: BufRead> Quotes<R> {
    pub(super) fn new(input: R, delimiter: u8, found: Found) -> Self {
        Self {
            input,
            delimiter,
            lines: VecDeque::new(),
            first: 1,
            bytes: 0,
            state: State::FieldStart,
            ready: Vec::new(),
            taken: 0,
            found,
            at_end: false,
        }
    }

    /// Continues the record with a line.
    fn judge(&mut self, line: &[u8], is_first: bool) -> Verdict {
        for &byte in line {
            self.state = match (self.state, byte) {
                (State::Quoted, b'"') => State::QuoteInQuoted,
                (State::Quoted, _) | (State::QuoteInQuoted, b'"') => State::Quoted,
                (_, b'\n' | b'\r') => State::FieldStart,
                (_, byte) if byte == self.delimiter => State::FieldStart,
                (State::FieldStart, b'"') => State::Quoted,
                (State::QuoteInQuoted, _) if !is_first => return Verdict::Torn,
                _ => State::Unquoted,
            };
        }
        if self.state == State::Quoted {
            Verdict::Open
        } else {
            Verdict::Whole
        }
    }

    /// Reads until a record is ready; false at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        self.ready.clear();
        self.taken = 0;
        while self.ready.is_empty() {
            let mut line = Vec::new();
            let room = (MAX_RECORD - self.bytes.min(MAX_RECORD)).max(1) as u64;
            let read = self
                .input
                .by_ref()
                .take(room)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                if self.lines.is_empty() {
                    return Ok(false);
                }
                self.at_end = true;
                self.give_up();
                continue;
            }
            self.add(line);
        }
        Ok(true)
    }

    fn add(&mut self, line: Vec<u8>) {
        let is_first = self.lines.is_empty();
        let verdict = self.judge(&line, is_first);
        self.bytes += line.len();
        self.lines.push_back(line);
        match verdict {
            Verdict::Whole => self.pass_on(),
            Verdict::Open if self.bytes < MAX_RECORD && self.lines.len() < MAX_LINES => {}
            Verdict::Open | Verdict::Torn => self.give_up(),
        }
    }

    fn pass_on(&mut self) {
        self.first += self.lines.len() as u64;
        for line in self.lines.drain(..) {
            self.ready.extend_from_slice(&line);
        }
        self.bytes = 0;
        self.state = State::FieldStart;
    }

    /// Tells the first line as broken and takes those behind it for what they are.
    fn give_up(&mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        let first = lines.pop_front();
        self.bytes = 0;
        self.state = State::FieldStart;
        if let Some(first) = first {
            self.found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push_back(Broken {
                    line: self.first,
                    message: "a quote is not closed".to_owned(),
                });
            // A line that was too long to be read whole has no end yet.
            if first.ends_with(b"\n") {
                self.ready.push(b'\n');
                self.first += 1;
            }
        }
        for line in lines {
            self.add(line);
        }
        if self.at_end && !self.lines.is_empty() {
            self.give_up();
        }
    }
}

impl<R: BufRead> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ready.len() && !self.fill()? {
            return Ok(0);
        }
        let left = self.ready.get(self.taken..).unwrap_or_default();
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: &str) -> (String, Vec<u64>) {
        let found = Found::default();
        let mut out = String::new();
        Quotes::new(text.as_bytes(), b',', Arc::clone(&found))
            .read_to_string(&mut out)
            .expect("memory can be read");
        let found = found.lock().expect("no holder panics");
        (out, found.iter().map(|broken| broken.line).collect())
    }

    #[test]
    fn whole_records_pass_unchanged() {
        for text in [
            "",
            "a,b\n1,2",
            "a,\"b\nc\",d\r\n\"x\"\"y\",\"\"\n",
            "a,b\"c,\"d\"e\nf\n",
        ] {
            assert_eq!(passed(text), (text.to_owned(), Vec::new()), "{text:?}");
        }
    }

    #[test]
    fn a_quote_without_end_costs_its_own_line() {
        let (out, broken) = passed("a,b\n1,\"x\n2,y\n3,z\n");
        assert_eq!((out.as_str(), broken), ("a,b\n\n2,y\n3,z\n", vec![2]));
        let (out, broken) = passed("a,b\n1,\"x\n2,\"y\"\n3,\"z\n4,\"w\n");
        assert_eq!(
            (out.as_str(), broken),
            ("a,b\n\n2,\"y\"\n\n\n", vec![2, 4, 5])
        );
    }

    #[test]
    fn a_record_over_too_many_lines_is_given_up() {
        let text = format!("a,\"b\n{}", "c,d\n".repeat(3 * MAX_LINES));
        let (out, broken) = passed(&text);
        assert_eq!(broken, [1]);
        assert_eq!(out, format!("\n{}", "c,d\n".repeat(3 * MAX_LINES)));
    }
}
