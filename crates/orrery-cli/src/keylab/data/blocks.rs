//! Blocks of whole lines: what travels from the reader to a profiler.

use std::io::{self, BufRead};

/// Longest line that is kept; an item may have 2 MB, escapes may double it.
pub const MAX_LINE: usize = 8 << 20;
/// Bytes of a block.
const BLOCK: usize = 1 << 20;

/// Lines that travel together.
pub struct Block {
    /// The file that they come from.
    pub file: usize,
    text: Vec<u8>,
    first_line: u64,
    /// Where each record ends, and its line; absent when lines follow each other.
    records: Option<Vec<(usize, u64)>>,
}

impl Block {
    /// An empty block of records.
    pub fn of_records(file: usize) -> Self {
        Self {
            file,
            text: Vec::new(),
            first_line: 0,
            records: Some(Vec::new()),
        }
    }

    /// Adds a record.
    pub fn push(&mut self, line: u64, body: &[u8]) {
        self.text.extend_from_slice(body);
        if let Some(records) = &mut self.records {
            records.push((self.text.len(), line));
        }
    }

    /// Whether it is time to send it.
    pub fn is_full(&self) -> bool {
        self.text.len() >= BLOCK
    }

    /// Every line that is not blank, with its number.
    pub fn each(&self, mut visit: impl FnMut(u64, &[u8])) {
        if let Some(records) = &self.records {
            let mut start = 0;
            for &(end, line) in records {
                visit(line, &self.text[start..end]);
                start = end;
            }
            return;
        }
        let mut line = self.first_line;
        let mut rest = self.text.as_slice();
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let text = rest[..end].trim_ascii();
            if !text.is_empty() {
                visit(line, text);
            }
            line += 1;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }
}

/// Cuts a stream into blocks at line ends.
pub struct LineBlocks {
    file: usize,
    line: u64,
    carried: Vec<u8>,
    too_long: Vec<u64>,
    is_skipping: bool,
    /// Why reading ended, told once the whole lines before are handed over.
    ended: Option<io::Error>,
}

impl LineBlocks {
    /// Starts at the first line.
    pub fn new(file: usize) -> Self {
        Self {
            file,
            line: 1,
            carried: Vec::new(),
            too_long: Vec::new(),
            is_skipping: false,
            ended: None,
        }
    }

    /// Lines that were too long to keep.
    pub fn take_too_long(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.too_long)
    }

    /// The next block; `None` at the end.
    pub fn next(&mut self, stream: &mut impl BufRead) -> io::Result<Option<Block>> {
        if let Some(error) = self.ended.take() {
            return Err(error);
        }
        let mut text = std::mem::take(&mut self.carried);
        loop {
            let buffer = match stream.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) => {
                    // The line that the error cuts is no item.
                    text.truncate(memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1));
                    if text.is_empty() {
                        return Err(error);
                    }
                    self.ended = Some(error);
                    return Ok(Some(self.block(text)));
                }
            };
            if buffer.is_empty() {
                let is_rest = !text.is_empty();
                let block = self.block(text);
                return Ok(is_rest.then_some(block));
            }
            let taken = buffer.len();
            if self.is_skipping {
                let end = memchr::memchr(b'\n', buffer);
                let used = end.map_or(taken, |end| end + 1);
                stream.consume(used);
                if end.is_some() {
                    self.is_skipping = false;
                    self.line += 1;
                }
                continue;
            }
            text.extend_from_slice(buffer);
            stream.consume(taken);
            if text.len() < BLOCK {
                continue;
            }
            if let Some(end) = memchr::memrchr(b'\n', &text) {
                self.carried = text.split_off(end + 1);
                return Ok(Some(self.block(text)));
            }
            if text.len() >= MAX_LINE {
                self.too_long.push(self.line);
                text.clear();
                self.is_skipping = true;
            }
        }
    }

    fn block(&mut self, text: Vec<u8>) -> Block {
        let first_line = self.line;
        self.line += memchr::memchr_iter(b'\n', &text).count() as u64;
        Block {
            file: self.file,
            text,
            first_line,
            records: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> (Vec<(u64, usize)>, Vec<u64>) {
        let mut blocks = LineBlocks::new(0);
        let mut stream = io::BufReader::with_capacity(1 << 16, text);
        let mut found = Vec::new();
        while let Some(block) = blocks.next(&mut stream).expect("memory can be read") {
            block.each(|line, text| found.push((line, text.len())));
        }
        (found, blocks.take_too_long())
    }

    #[test]
    fn lines_keep_their_numbers_over_blocks() {
        let mut text = Vec::new();
        for _ in 0..40_000 {
            text.extend_from_slice(&[b'x'; 79]);
            text.extend_from_slice(b"\n\n");
        }
        text.extend_from_slice(b"end");
        let (found, _) = lines(&text);
        assert_eq!(found.len(), 40_001);
        assert_eq!(found[39_999], (79_999, 79));
        assert_eq!(found[40_000], (80_001, 3));
    }

    #[test]
    fn a_line_without_end_is_skipped_and_told() {
        let mut text = b"{}\n".to_vec();
        text.extend_from_slice(&vec![b'x'; MAX_LINE + (1 << 20)]);
        text.extend_from_slice(b"\n{}\n");
        let (found, too_long) = lines(&text);
        assert_eq!(found, [(1, 2), (3, 2)]);
        assert_eq!(too_long, [2]);
    }
}
