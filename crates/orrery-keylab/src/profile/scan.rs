//! One pass over the text of an item: checks that it is JSON and notes where its values are.

use memchr::memchr2;
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
            let (start, end, _) = self.string("a member's name is missing")?;
            self.blank();
            self.expect(b':', "a colon is missing")?;
            self.blank();
            let path = match parent {
                Some(parent) => {
                    let path = paths.member(parent, &self.text[start..end]);
                    self.skipped += u64::from(path.is_none());
                    path
                }
                None => None,
            };
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
            let Some(found) = memchr2(b'"', b'\\', &self.text[self.at..]) else {
                self.at = self.text.len();
                return Err(self.broken("a string does not end"));
            };
            let end = self.at + found;
            if self.text[self.at..end].iter().any(|byte| *byte < 0x20) {
                return Err(self.broken("a control character in a string"));
            }
            if self.text[end] == b'"' {
                self.at = end + 1;
                return Ok((start, end, escaped));
            }
            escaped = true;
            self.at = end + 1;
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

#[cfg(test)]
mod tests {
    use super::*;

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
