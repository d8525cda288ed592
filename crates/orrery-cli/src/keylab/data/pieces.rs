//! Pieces of a plain file: lines that begin in a stretch of bytes. Whoever profiles a piece reads it
//! by itself, so that no thread reads for the others.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use memchr::memchr;

use super::blocks::MAX_LINE;

/// Bytes of a piece: a core's own cache holds it beside what is counted.
const PIECE: u64 = 128 << 10;
/// Bytes that are read beyond a piece at first, for its last line; for a long one more and more.
const FURTHER: usize = 2 << 10;
/// Marks text that was written on some systems.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A piece of a file.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The file's number.
    pub file: usize,
    /// The piece's number, from 0.
    pub number: u64,
    path: Arc<Path>,
}

/// The pieces of a file of so many bytes, in order.
pub fn of_file(file: usize, path: &Path, bytes: u64) -> impl Iterator<Item = Piece> {
    let path: Arc<Path> = path.into();
    (0..bytes.div_ceil(PIECE)).map(move |number| Piece {
        file,
        number,
        path: Arc::clone(&path),
    })
}

/// A line of a piece.
pub struct Line<'a> {
    /// Where it begins in the file.
    pub at: u64,
    /// Its number in the piece, from 1.
    pub number: u64,
    /// Its text, blanks around it aside; `None` when it is too long to be an item.
    pub text: Option<&'a [u8]>,
}

/// Reads pieces, one after the other into the same memory.
#[derive(Default)]
pub struct PieceReader {
    open: Option<(usize, File)>,
    text: Vec<u8>,
}

impl PieceReader {
    /// Hands over the lines of a piece that are not blank, and counts all of them.
    pub fn each(&mut self, piece: &Piece, mut visit: impl FnMut(Line<'_>)) -> io::Result<u64> {
        let start = piece.number * PIECE;
        // The byte before tells whether a line begins at the first.
        let from = start.saturating_sub(1);
        self.fill(piece, from, (start + PIECE - from) as usize)?;
        let mut at = if start == 0 {
            let is_marked = self.text.starts_with(BYTE_ORDER_MARK);
            if is_marked { BYTE_ORDER_MARK.len() } else { 0 }
        } else {
            match memchr(b'\n', &self.text) {
                Some(end) => end + 1,
                None => return Ok(0),
            }
        };
        let stretch = (start + PIECE - from) as usize;
        let mut number = 0;
        while at < self.text.len().min(stretch) {
            number += 1;
            let end = match memchr(b'\n', &self.text[at..]) {
                Some(length) => Some(at + length),
                None => self.finish_line(at)?,
            };
            let text = &self.text[at..end.unwrap_or(at)];
            let line = Line {
                at: from + at as u64,
                number,
                text: end.map(|_| text.trim_ascii()),
            };
            if line.text.is_none_or(|text| !text.is_empty()) {
                visit(line);
            }
            let Some(end) = end else { break };
            at = end + 1;
        }
        Ok(number)
    }

    /// Reads so many bytes, fewer at the end of the file.
    fn fill(&mut self, piece: &Piece, from: u64, bytes: usize) -> io::Result<()> {
        if self
            .open
            .as_ref()
            .is_none_or(|(file, _)| *file != piece.file)
        {
            self.open = Some((piece.file, File::open(&piece.path)?));
        }
        if let Some((_, file)) = &mut self.open {
            file.seek(SeekFrom::Start(from))?;
        }
        self.text.resize(bytes, 0);
        let mut filled = 0;
        let filled = loop {
            match self.read(filled)? {
                0 => break filled,
                more => filled += more,
            }
        };
        self.text.truncate(filled);
        Ok(())
    }

    /// Reads into the memory from a place on.
    fn read(&mut self, at: usize) -> io::Result<usize> {
        let Some((_, file)) = &mut self.open else {
            return Ok(0);
        };
        loop {
            match file.read(&mut self.text[at..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Reads on until the line that begins here ends; `None` when it is too long.
    fn finish_line(&mut self, line: usize) -> io::Result<Option<usize>> {
        loop {
            let had = self.text.len();
            self.text.resize(had + FURTHER.max((had - line) / 2), 0);
            let more = self.read(had)?;
            self.text.truncate(had + more);
            if more == 0 {
                return Ok(Some(had));
            }
            if let Some(end) = memchr(b'\n', &self.text[had..]) {
                let end = had + end;
                return Ok((end - line <= MAX_LINE).then_some(end));
            }
            if self.text.len() - line > MAX_LINE {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, text: &[u8]) -> Vec<(u64, u64, Option<usize>)> {
        let folder = std::env::temp_dir().join(format!("orrery-pieces-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file can be written");
        let mut reader = PieceReader::default();
        let (mut found, mut before) = (Vec::new(), 0);
        for piece in of_file(0, &path, text.len() as u64) {
            let counted = reader.each(&piece, |line| {
                found.push((line.at, before + line.number, line.text.map(<[u8]>::len)));
            });
            before += counted.expect("a file can be read");
        }
        std::fs::remove_file(&path).expect("a file can be removed");
        found
    }

    #[test]
    fn every_line_belongs_to_one_piece() {
        // Lines of every length around the cuts, blank ones between them.
        let mut text = BYTE_ORDER_MARK.to_vec();
        let mut expected = Vec::new();
        for number in 0..30_000_u64 {
            let length = (number % 97) as usize;
            if length > 0 {
                expected.push((text.len() as u64, number + 1, Some(length)));
            }
            text.extend_from_slice(&vec![b'x'; length]);
            text.push(b'\n');
        }
        expected.push((text.len() as u64, 30_001, Some(3)));
        text.extend_from_slice(b"end");
        assert!(text.len() as u64 > 2 * PIECE);
        assert_eq!(lines("many", &text), expected);
    }

    #[test]
    fn a_line_may_begin_with_a_piece() {
        let mut text = vec![b'x'; PIECE as usize - 1];
        text.extend_from_slice(b"\nsecond\n");
        let found = lines("cut", &text);
        assert_eq!(
            found,
            [(0, 1, Some(PIECE as usize - 1)), (PIECE, 2, Some(6))]
        );
    }

    #[test]
    fn a_line_without_end_is_told_once() {
        let mut text = b"{}\n".to_vec();
        text.extend_from_slice(&vec![b'x'; MAX_LINE + (1 << 20)]);
        text.extend_from_slice(b"\n{}\n");
        let last = text.len() as u64 - 3;
        assert_eq!(
            lines("long", &text),
            [(0, 1, Some(2)), (3, 2, None), (last, 3, Some(2))]
        );
    }
}
