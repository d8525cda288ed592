//! A JSON array, streamed: its elements are cut out one by one, so that a file of any size needs
//! the memory of one element. `export` and `query` cut pages with the same scanner.

use std::io::{self, BufRead};

use super::record::{Broken, Record, Records};

/// Longest element that is kept.
const MAX_ELEMENT: usize = 8 << 20;

/// The elements of a top-level array as records, numbered by the line on which they start.
pub struct JsonArray<R> {
    input: R,
    line: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Inside,
    Done,
}

impl<R: BufRead> JsonArray<R> {
    /// Starts before the opening bracket.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: 1,
            state: State::Start,
        }
    }

    /// The next byte that is not white space, left in the input.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let at = buffer.iter().position(|byte| !byte.is_ascii_whitespace());
            let used = at.unwrap_or(buffer.len());
            self.line += newlines(&buffer[..used]);
            let found = at.map(|at| buffer[at]);
            self.input.consume(used);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Takes the closing bracket; text behind it is no item.
    fn close(&mut self) -> io::Result<Option<Result<Record, Broken>>> {
        self.input.consume(1);
        self.state = State::Done;
        Ok(self
            .peek()?
            .map(|_| self.broken("there is text behind the closing ]; it is skipped")))
    }

    fn broken(&mut self, message: &str) -> Result<Record, Broken> {
        self.state = State::Done;
        Err(Broken {
            line: self.line,
            message: message.to_owned(),
        })
    }

    fn element(&mut self) -> io::Result<Option<Result<Record, Broken>>> {
        let line = self.line;
        let mut body = Vec::new();
        let mut scanner = ElementScanner::default();
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(Some(self.broken("the file ends within an item")));
            }
            let (used, ended) = scanner.advance(buffer);
            body.extend_from_slice(&buffer[..used]);
            self.line += newlines(&buffer[..used]);
            self.input.consume(used);
            if ended {
                body.truncate(body.trim_ascii_end().len());
                return Ok(Some(Ok(Record { line, body })));
            }
            if body.len() > MAX_ELEMENT {
                return Ok(Some(
                    self.broken("the item is over 8 MB; the rest of the file is skipped"),
                ));
            }
        }
    }
}

impl<R: BufRead> Records for JsonArray<R> {
    fn next(&mut self) -> io::Result<Option<Result<Record, Broken>>> {
        if self.state == State::Done {
            return Ok(None);
        }
        let first = self.peek()?;
        match (self.state, first) {
            (State::Start, Some(b'[')) => {
                self.input.consume(1);
                if self.peek()? == Some(b']') {
                    return self.close();
                }
                self.state = State::Inside;
                self.element()
            }
            (State::Start, None) => Ok(None),
            (State::Start, Some(_)) => Ok(Some(self.broken("the file does not start with ["))),
            (_, Some(b',')) => {
                self.input.consume(1);
                self.peek()?;
                self.element()
            }
            (_, Some(b']')) => self.close(),
            (_, Some(_)) => Ok(Some(
                self.broken("a comma or ] was expected; the rest of the file is skipped"),
            )),
            (_, None) => Ok(Some(self.broken("the file ends before the closing ]"))),
        }
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

/// Finds where an array element ends: at a comma or bracket outside strings and nested values.
/// It checks no syntax; whoever parses the element does.
#[derive(Debug, Default)]
struct ElementScanner {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl ElementScanner {
    /// How many bytes belong to the element, and whether it ends there.
    fn advance(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b',' | b']' if self.depth == 0 => return (at, true),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        (bytes.len(), false)
    }
}

/// The elements of the array at the start of `text`, as they are written there.
pub fn elements(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let text = text.trim_ascii_start();
    let Some(mut rest) = text.strip_prefix(b"[") else {
        return found;
    };
    loop {
        let (used, ended) = ElementScanner::default().advance(rest);
        let element = rest[..used].trim_ascii();
        if !element.is_empty() {
            found.push(element);
        }
        if !ended || rest.get(used) != Some(&b',') {
            return found;
        }
        rest = &rest[used + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Result<(u64, String), String>> {
        // A tiny buffer makes every element cross a boundary.
        let mut records = JsonArray::new(io::BufReader::with_capacity(3, text.as_bytes()));
        let mut found = Vec::new();
        while let Some(record) = records.next().unwrap() {
            found.push(match record {
                Ok(record) => Ok((record.line, String::from_utf8(record.body).unwrap())),
                Err(broken) => Err(format!("{}: {}", broken.line, broken.message)),
            });
        }
        found
    }

    #[test]
    fn elements_are_cut_at_top_level_commas_only() {
        let text = "[ {\"a\":\"],\\\"\"},\n{\"b\":[1,{}]} ,\n 3]";
        let found: Vec<_> = all(text).into_iter().map(Result::unwrap).collect();
        assert_eq!(
            found,
            [
                (1, "{\"a\":\"],\\\"\"}".to_owned()),
                (2, "{\"b\":[1,{}]}".to_owned()),
                (3, "3".to_owned())
            ]
        );
        assert!(all("[]").is_empty());
        assert!(all(" ").is_empty());
    }

    #[test]
    fn a_cut_off_file_is_reported_where_it_ends() {
        assert_eq!(
            all("[{},\n{\"a\":").last().unwrap().as_ref().unwrap_err(),
            "2: the file ends within an item"
        );
        assert!(all("[{}").last().unwrap().is_err());
        assert!(all("{}").last().unwrap().is_err());
        assert!(all("[{} {}]").last().unwrap().is_ok());
        for (text, items) in [("[{}]\nxx", 1), ("[]\n[{}]", 0)] {
            let found = all(text);
            assert_eq!(found.len(), items + 1);
            assert_eq!(
                found[items],
                Err("2: there is text behind the closing ]; it is skipped".to_owned())
            );
        }
    }

    #[test]
    fn elements_of_a_page_are_borrowed() {
        assert_eq!(
            elements(b"[1,{\"a\":[2,3]},\"]\"],x"),
            [&b"1"[..], b"{\"a\":[2,3]}", b"\"]\""]
        );
        assert!(elements(b"[]").is_empty());
        assert!(elements(b"{}").is_empty());
    }
}
