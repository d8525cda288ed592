//! Newline-delimited JSON: one item a line, so that a broken line spoils nothing but itself.

use std::io::{self, BufRead, Read as _};

use super::record::{Broken, Record, Records};

/// Longest line that is kept; an item may have 2 MB, escapes may double it.
const MAX_LINE: usize = 8 << 20;

/// The lines of an input as records.
pub struct JsonLines<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> JsonLines<R> {
    /// Starts at the first line.
    pub fn new(input: R) -> Self {
        Self { input, line: 0 }
    }
}

impl<R: BufRead> Records for JsonLines<R> {
    fn next(&mut self) -> io::Result<Option<Result<Record, Broken>>> {
        loop {
            let mut body = Vec::new();
            let read = self
                .input
                .by_ref()
                .take(MAX_LINE as u64)
                .read_until(b'\n', &mut body)?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            if read == MAX_LINE && body.last() != Some(&b'\n') {
                skip_line(&mut self.input)?;
                let message = format!("the line is over {} MB", MAX_LINE >> 20);
                return Ok(Some(Err(Broken {
                    line: self.line,
                    message,
                })));
            }
            if self.line == 1 && body.starts_with(b"\xEF\xBB\xBF") {
                body.drain(..3);
            }
            body.truncate(body.trim_ascii_end().len());
            if !body.trim_ascii_start().is_empty() {
                return Ok(Some(Ok(Record {
                    line: self.line,
                    body,
                })));
            }
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let (used, done) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_and_blank_ones_are_skipped() {
        let mut records = JsonLines::new(&b"\xEF\xBB\xBF{\"a\":1}\r\n\n  \n{\"a\":2}"[..]);
        let first = records.next().unwrap().unwrap().unwrap();
        assert_eq!((first.line, first.body.as_slice()), (1, &b"{\"a\":1}"[..]));
        let second = records.next().unwrap().unwrap().unwrap();
        assert_eq!(
            (second.line, second.body.as_slice()),
            (4, &b"{\"a\":2}"[..])
        );
        assert!(records.next().unwrap().is_none());
    }

    #[test]
    fn a_line_without_end_is_broken_and_the_next_one_is_read() {
        let mut text = vec![b'x'; MAX_LINE + 10];
        text.extend_from_slice(b"\n{}\n");
        let mut records = JsonLines::new(text.as_slice());
        assert_eq!(records.next().unwrap().unwrap().unwrap_err().line, 1);
        assert_eq!(records.next().unwrap().unwrap().unwrap().line, 2);
    }
}
