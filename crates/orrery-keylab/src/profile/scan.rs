//! One pass over the text of an item: checks that it is JSON and notes where its values are.

use orrery_model::json::MAX_DEPTH;

use super::leaf::{Kind, Leaf};
use super::paths::{PathId, Paths};

/// An item that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The byte at which reading ended, from 0.
    pub at: usize,
    /// What is wrong there.
    pub message: &'static str,
}

/// Notes the leaves of an item; returns how many values were not noted because their path is
/// beyond the limit.
pub(crate) fn scan(text: &[u8], paths: &mut Paths, leaves: &mut Vec<Leaf>) -> Result<u64, Broken> {
    if let Err(error) = std::str::from_utf8(text) {
        return Err(Broken {
            at: error.valid_up_to(),
            message: "not UTF-8",
        });
    }
    if u32::try_from(text.len()).is_err() {
        return Err(Broken {
            at: 0,
            message: "larger than 4 GB",
        });
    }
    let mut scanner = Scanner {
        text,
        at: 0,
        skipped: 0,
    };
    scanner.blank();
    if scanner.peek() != Some(b'{') {
        return Err(scanner.broken("an item is a JSON object"));
    }
    scanner.object(Some(PathId::ROOT), paths, leaves, 0)?;
    scanner.blank();
    if scanner.at < text.len() {
        return Err(scanner.broken("something stands behind the item"));
    }
    Ok(scanner.skipped)
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    skipped: u64,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn broken(&self, message: &'static str) -> Broken {
        Broken {
            at: self.at,
            message,
        }
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, message: &'static str) -> Result<(), Broken> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.broken(message))
        }
    }

    /// An object whose members are noted under `parent`; under nothing inside arrays.
    fn object(
        &mut self,
        parent: Option<PathId>,
        paths: &mut Paths,
        leaves: &mut Vec<Leaf>,
        depth: usize,
    ) -> Result<(), Broken> {
        if depth >= MAX_DEPTH {
            return Err(self.broken("nested too deep"));
        }
        self.at += 1;
        self.blank();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let path = if let Some(parent) = parent {
                self.member(parent, paths)?
            } else {
                self.string("a member's name is missing")?;
                None
            };
            self.blank();
            self.expect(b':', "a colon is missing")?;
            self.blank();
            self.value(path, paths, leaves, depth)?;
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.broken("a comma or } is missing")),
            }
            self.blank();
        }
    }

    /// The name of a member, as its path; none when there are too many.
    fn member(&mut self, parent: PathId, paths: &mut Paths) -> Result<Option<PathId>, Broken> {
        if self.peek() == Some(b'"')
            && let Some((path, length)) = paths.expected(parent, &self.text[self.at + 1..])
        {
            self.at += length + 2;
            return Ok(Some(path));
        }
        let (start, end, _) = self.string("a member's name is missing")?;
        let path = paths.member(parent, &self.text[start..end]);
        self.skipped += u64::from(path.is_none());
        Ok(path)
    }

    fn value(
        &mut self,
        path: Option<PathId>,
        paths: &mut Paths,
        leaves: &mut Vec<Leaf>,
        depth: usize,
    ) -> Result<(), Broken> {
        let begin = self.at;
        let (kind, start, end) = match self.peek() {
            Some(b'"') => {
                let (start, end, escaped) = self.string("")?;
                (
                    if escaped { Kind::Escaped } else { Kind::String },
                    start,
                    end,
                )
            }
            Some(b'{') => {
                if let Some(path) = path {
                    leaves.push(Leaf::new(path, Kind::Object, begin, begin));
                }
                return self.object(path, paths, leaves, depth + 1);
            }
            Some(b'[') => {
                let elements = self.array(paths, leaves, depth + 1)?;
                (Kind::Array(elements), begin, self.at)
            }
            Some(b't') => (self.word(b"true", Kind::True)?, begin, self.at),
            Some(b'f') => (self.word(b"false", Kind::False)?, begin, self.at),
            Some(b'n') => (self.word(b"null", Kind::Null)?, begin, self.at),
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                (Kind::Number, begin, self.at)
            }
            Some(_) => return Err(self.broken("no JSON value")),
            None => return Err(self.broken("the item ends early")),
        };
        if let Some(path) = path {
            leaves.push(Leaf::new(path, kind, start, end));
        }
        Ok(())
    }

    fn array(
        &mut self,
        paths: &mut Paths,
        leaves: &mut Vec<Leaf>,
        depth: usize,
    ) -> Result<u32, Broken> {
        if depth >= MAX_DEPTH {
            return Err(self.broken("nested too deep"));
        }
        self.at += 1;
        self.blank();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(0);
        }
        let mut elements = 0_u32;
        loop {
            self.value(None, paths, leaves, depth)?;
            elements = elements.saturating_add(1);
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(elements);
                }
                _ => return Err(self.broken("a comma or ] is missing")),
            }
            self.blank();
        }
    }

    /// A string: where its text begins and ends, and whether it has escapes.
    fn string(&mut self, message: &'static str) -> Result<(usize, usize, bool), Broken> {
        self.expect(b'"', message)?;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain(&self.text[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok((start, self.at - 1, escaped));
                }
                Some(b'\\') => {}
                Some(_) => return Err(self.broken("a control character in a string")),
                None => return Err(self.broken("a string does not end")),
            }
            escaped = true;
            self.at += 1;
            match self.peek() {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                Some(b'u') => {
                    let digits = self.text.get(self.at + 1..self.at + 5);
                    if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                        return Err(self.broken("an escape without four digits"));
                    }
                    self.at += 5;
                }
                _ => return Err(self.broken("an unknown escape")),
            }
        }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Result<Kind, Broken> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(kind)
        } else {
            Err(self.broken("no JSON value"))
        }
    }

    fn digits(&mut self) -> Result<(), Broken> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.broken("a digit is missing"));
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Broken> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.broken("a number begins with 0"));
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }
}

/// Bytes before the first that is special in a string: a quotation mark, a backslash, a control
/// character.
fn plain(text: &[u8]) -> usize {
    const WORD: usize = 8;
    const LANES: usize = 32;
    let mut at = 0;
    // Most strings are short: eight bytes at a time, as one number.
    while at < LANES {
        let Some(word) = text[at..].first_chunk::<WORD>() else {
            return at + plain_by_bytes(&text[at..]);
        };
        let marks = special(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += WORD;
    }
    // A long one: many bytes at once, which the compiler makes vectors of.
    while let Some(lanes) = text[at..].first_chunk::<LANES>() {
        let marks = lanes
            .iter()
            .fold(0, |marks, &byte| marks | u8::from(is_special(byte)));
        if marks != 0 {
            break;
        }
        at += LANES;
    }
    at + plain_by_bytes(&text[at..])
}

fn plain_by_bytes(text: &[u8]) -> usize {
    text.iter()
        .position(|&byte| is_special(byte))
        .unwrap_or(text.len())
}

fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The top bit of the first special byte is set, and none before it.
fn special(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    // A byte is zero, or below a number, when subtracting borrows into its top bit.
    let below = |word: u64, number: u8| word.wrapping_sub(ONES * u64::from(number)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (equal(b'"') | equal(b'\\') | below(word, 0x20)) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_bytes_are_found_wherever_they_stand() {
        for special in [b'"', b'\\', 0, 0x1f] {
            for length in 0..100 {
                for ordinary in [b'x', 0x20, 0x7f, 0x80, 0xff, b'!', b'#', b'[', b']'] {
                    let mut text = vec![ordinary; 100];
                    assert_eq!(plain(&text), 100);
                    text[length] = special;
                    assert_eq!(plain(&text), length);
                    text.truncate(length);
                    assert_eq!(plain(&text), length);
                }
            }
        }
    }

    fn kinds(text: &str) -> Result<Vec<(String, Kind)>, Broken> {
        let mut paths = Paths::new();
        let mut leaves = Vec::new();
        scan(text.as_bytes(), &mut paths, &mut leaves)?;
        Ok(leaves
            .iter()
            .map(|leaf| (paths.name(leaf.path), leaf.kind))
            .collect())
    }

    #[test]
    fn leaves_have_paths() {
        let found = kinds(r#" {"a":1.5e3,"b":{"c":"x\n","d":null},"e":[1,{"f":2}],"g":true} "#);
        let expected = [
            ("a", Kind::Number),
            ("b", Kind::Object),
            ("b/c", Kind::Escaped),
            ("b/d", Kind::Null),
            ("e", Kind::Array(2)),
            ("g", Kind::True),
        ];
        let expected = expected
            .map(|(name, kind)| (name.to_owned(), kind))
            .to_vec();
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn what_is_refused_is_what_the_parser_refuses() {
        let texts: [&[u8]; 20] = [
            b"",
            b"[]",
            b"{",
            b"{}",
            b"{\"a\"}",
            b"{\"a\":}",
            b"{\"a\":1,}",
            b"{\"a\":01}",
            b"{\"a\":1.}",
            b"{\"a\":-}",
            b"{\"a\":1e}",
            b"{\"a\":\"\\x\"}",
            b"{\"a\":\"\\u12\"}",
            b"{\"a\":\"\x01\"}",
            b"{\"a\":[1 2]}",
            b"{\"a\":tru}",
            b"{\"a\":1} x",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":[]}",
            b"{\"a\":{\"b\":[[{}]]}}",
        ];
        for text in texts {
            let ours = scan(text, &mut Paths::new(), &mut Vec::new()).is_ok();
            let theirs =
                orrery_model::json::parse(text).is_ok_and(|value| value.as_object().is_some());
            assert_eq!(ours, theirs, "{}", String::from_utf8_lossy(text));
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(300), "]".repeat(300));
        assert!(kinds(&deep).is_err());
    }

    #[test]
    fn names_beyond_the_limit_are_counted() {
        let mut paths = Paths::new();
        let mut skipped = 0;
        for number in 0..3_000 {
            let text = format!("{{\"k{number}\":1}}");
            skipped += scan(text.as_bytes(), &mut paths, &mut Vec::new()).expect("item");
        }
        assert_eq!(skipped, 1_000);
    }
}
