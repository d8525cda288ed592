//! A cursor over our own canonical text. It trusts that the text is canonical (compact, valid), but
//! no bytes make it panic or recurse without bound.

use std::borrow::Cow;

use memchr::{memchr2, memchr3};

use super::parse::MAX_DEPTH;
use super::project::PathTree;
use crate::value::{Number, Object, Value};

/// A place in canonical text.
pub(super) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// The start of a text.
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self::at(text, 0)
    }

    /// A place in a text where a value or a name starts.
    pub(super) fn at(text: &'a [u8], at: usize) -> Self {
        Self { text, at, depth: 0 }
    }

    /// How far it has read.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    pub(super) fn value(&mut self, tree: &PathTree) -> Option<Value<'a>> {
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
    pub(super) fn name(&mut self) -> Option<RawString<'a>> {
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
        let length = rest
            .iter()
            .position(|&byte| !IN_NUMBER[usize::from(byte)])
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
    pub(super) fn skip(&mut self) -> Option<()> {
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

/// The bytes that numbers are made of.
const IN_NUMBER: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"0123456789-+.eE";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// A string as it stands in the text, between its quotes.
pub(super) struct RawString<'a> {
    text: &'a [u8],
    is_escaped: bool,
}

impl<'a> RawString<'a> {
    pub(super) fn is(&self, other: &str) -> bool {
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

/// Where the first quote or backslash is. Most strings are short: eight bytes at a time are looked
/// at before the vector search, which has a start-up cost.
fn string_stop(text: &[u8]) -> Option<usize> {
    const SHORT: usize = 4;
    let (words, _) = text.as_chunks::<8>();
    for (place, word) in words.iter().take(SHORT).enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES);
        if found != 0 {
            return Some(place * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let passed = words.len().min(SHORT) * 8;
    memchr2(b'"', b'\\', text.get(passed..)?).map(|far| passed + far)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const QUOTES: u64 = ONES * 0x22;
const BACKSLASHES: u64 = ONES * 0x5C;

/// The high bits of the bytes that are zero; those behind the first of them may be wrong.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_stop_at_the_first_quote_or_backslash() {
        for length in 0..80 {
            for stop in [b'"', b'\\'] {
                let mut text = vec![b'!'; length];
                text.push(stop);
                text.extend_from_slice(b"\"#\\]~");
                assert_eq!(string_stop(&text), Some(length));
            }
            assert_eq!(string_stop(&vec![b'#'; length]), None);
        }
    }
}
