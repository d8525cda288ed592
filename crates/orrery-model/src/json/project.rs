//! Reading of our own canonical text: only the members that are asked for, the rest skipped.
//!
//! The text is trusted to be canonical (compact, valid), as it came from [`super::write()`], but no
//! bytes make this panic or recurse without bound: what cannot be read is `Undefined`.

use std::borrow::Cow;

use memchr::{memchr2, memchr3};

use super::parse::MAX_DEPTH;
use crate::value::{Number, Object, Value};

/// Which members of an item are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathTree {
    /// The whole value.
    All,
    /// Only these members of an object. Of an array, the elements with these members each.
    /// Other values are read whole, being small.
    Members(Vec<(String, PathTree)>),
}

impl PathTree {
    /// A tree that reads nothing yet.
    pub fn none() -> Self {
        Self::Members(Vec::new())
    }

    /// Adds a path of member names; all below its end is read.
    pub fn add<S: AsRef<str>>(&mut self, path: &[S]) {
        let Self::Members(members) = self else { return };
        let Some((name, rest)) = path.split_first() else {
            *self = Self::All;
            return;
        };
        let name = name.as_ref();
        let place = members
            .iter()
            .position(|(own, _)| own == name)
            .unwrap_or_else(|| {
                members.push((name.to_owned(), Self::none()));
                members.len() - 1
            });
        members[place].1.add(rest);
    }
}

/// Reads the parts of canonical text that the tree names.
pub fn project<'a>(canonical: &'a [u8], tree: &PathTree) -> Value<'a> {
    if *tree == PathTree::All {
        // Nothing to skip: the checked parser is the faster one then.
        return super::parse(canonical).unwrap_or(Value::Undefined);
    }
    let mut reader = Reader {
        text: canonical,
        at: 0,
        depth: 0,
    };
    reader.value(tree).unwrap_or(Value::Undefined)
}

/// The text of one member of an object in canonical text.
pub fn member_slice<'a>(canonical: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut reader = Reader {
        text: canonical,
        at: 0,
        depth: 0,
    };
    reader.expect(b'{')?;
    if reader.peek()? == b'}' {
        return None;
    }
    loop {
        let own = reader.name()?;
        reader.expect(b':')?;
        let start = reader.at;
        reader.skip()?;
        if own.is(name) {
            return canonical.get(start..reader.at);
        }
        if reader.next()? != b',' {
            return None;
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn value(&mut self, tree: &PathTree) -> Option<Value<'a>> {
        match self.peek()? {
            b'"' => self.string().map(Value::String),
            b'{' => self.nested(|reader| reader.object(tree)),
            b'[' => self.nested(|reader| reader.array(tree)),
            b't' => self.word(b"true", Value::Bool(true)),
            b'f' => self.word(b"false", Value::Bool(false)),
            b'n' => self.word(b"null", Value::Null),
            _ => self.number().map(Value::Number),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn word(&mut self, word: &[u8], value: Value<'a>) -> Option<Value<'a>> {
        self.text.get(self.at..)?.starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn object(&mut self, tree: &PathTree) -> Option<Value<'a>> {
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(Value::Object(Object::new()));
        }
        let mut members = match tree {
            PathTree::All => Vec::with_capacity(8),
            PathTree::Members(wanted) => Vec::with_capacity(wanted.len()),
        };
        loop {
            let name = self.name()?;
            self.expect(b':')?;
            match tree {
                PathTree::All => members.push((name.text()?, self.value(tree)?)),
                PathTree::Members(wanted) => match wanted.iter().find(|(own, _)| name.is(own)) {
                    Some((_, below)) => {
                        members.push((name.text()?, self.value(below)?));
                        if members.len() == wanted.len() && self.depth == 1 {
                            // All found and nobody reads on behind the root object.
                            break;
                        }
                    }
                    None => self.skip()?,
                },
            }
            match self.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        Some(Value::Object(Object::from_unique(members)))
    }

    fn array(&mut self, tree: &PathTree) -> Option<Value<'a>> {
        let mut elements = Vec::new();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(Value::Array(elements));
        }
        loop {
            elements.push(self.value(tree)?);
            match self.next()? {
                b',' => {}
                b']' => return Some(Value::Array(elements)),
                _ => return None,
            }
        }
    }

    /// A string at its opening quote, not yet decoded.
    fn name(&mut self) -> Option<RawString<'a>> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        let stop = start + string_stop(self.text.get(start..)?)?;
        if self.text[stop] == b'"' {
            self.at = stop + 1;
            return Some(RawString {
                text: &self.text[start..stop],
                is_escaped: false,
            });
        }
        self.at = start;
        self.end_of_string()?;
        Some(RawString {
            text: self.text.get(start..self.at - 1)?,
            is_escaped: true,
        })
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.name()?.text()
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        self.end_of_string()
    }

    /// Passes the rest of a string and its closing quote.
    fn end_of_string(&mut self) -> Option<()> {
        loop {
            self.at += string_stop(self.text.get(self.at..)?)?;
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Some(());
            }
            self.at += 2;
        }
    }

    fn number_text(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..)?;
        let inside = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest
            .iter()
            .position(|byte| !inside(byte))
            .unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }

    fn number(&mut self) -> Option<Number> {
        let text = self.number_text()?;
        let (digits, sign) = match text {
            [b'-', digits @ ..] => (digits, -1),
            digits => (digits, 1),
        };
        // Up to 18 digits cannot overflow; nearly all numbers are such.
        if digits.len() <= 18 && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
            let add = |value: i64, digit: &u8| value * 10 + i64::from(digit - b'0');
            return Some(Number::Int(sign * digits.iter().fold(0, add)));
        }
        let text = std::str::from_utf8(text).ok()?;
        if let Ok(value) = text.parse::<i64>() {
            return Some(Number::Int(value));
        }
        text.parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .map(Number::from)
    }

    /// Passes over one value without reading it.
    fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'{' => self.skip_nested(b'{', b'}'),
            b'[' => self.skip_nested(b'[', b']'),
            b't' => self.word(b"true", Value::Null).map(drop),
            b'f' => self.word(b"false", Value::Null).map(drop),
            b'n' => self.word(b"null", Value::Null).map(drop),
            _ => self.number_text().map(drop),
        }
    }

    /// Only quotes and the bracket of the own kind matter for finding the end.
    fn skip_nested(&mut self, open: u8, close: u8) -> Option<()> {
        let mut level = 0_usize;
        loop {
            self.at += memchr3(b'"', open, close, self.text.get(self.at..)?)?;
            if self.text[self.at] == b'"' {
                self.skip_string()?;
                continue;
            }
            level = if self.text[self.at] == open {
                level + 1
            } else {
                level - 1
            };
            self.at += 1;
            if level == 0 {
                return Some(());
            }
        }
    }
}

/// A string as it stands in the text, between its quotes.
struct RawString<'a> {
    text: &'a [u8],
    is_escaped: bool,
}

impl<'a> RawString<'a> {
    fn is(&self, other: &str) -> bool {
        if self.is_escaped {
            self.text().is_some_and(|own| own == other)
        } else {
            self.text == other.as_bytes()
        }
    }

    fn text(&self) -> Option<Cow<'a, str>> {
        let text = std::str::from_utf8(self.text).ok()?;
        if !self.is_escaped {
            return Some(Cow::Borrowed(text));
        }
        // Escapes are rare and intricate: the checked parser reads them.
        match super::parse_str(&format!("\"{text}\"")).ok()? {
            Value::String(text) => Some(Cow::Owned(text.into_owned())),
            _ => None,
        }
    }
}

/// Where the first quote or backslash is. Most strings are short: a few bytes are looked at one
/// by one before the vector search, which has a start-up cost.
fn string_stop(text: &[u8]) -> Option<usize> {
    const SHORT: usize = 12;
    let near = text
        .iter()
        .take(SHORT)
        .position(|&byte| byte == b'"' || byte == b'\\');
    near.or_else(|| memchr2(b'"', b'\\', text.get(SHORT..)?).map(|far| SHORT + far))
}
