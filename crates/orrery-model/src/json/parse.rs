//! Parsing of untrusted text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::value::{Number, Object, Value};

/// How deep arrays and objects may nest (request units: section 9).
pub const MAX_DEPTH: usize = 128;

/// Why a text is not JSON that the service takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at line {line} column {column}")]
pub struct JsonError {
    /// What is wrong.
    pub message: String,
    /// Line, from 1; 0 where the position is unknown.
    pub line: usize,
    /// Column, from 1, in bytes.
    pub column: usize,
}

/// Parses one value that borrows its strings from the text. Integers that fit 64 bits are exact,
/// the last one of a repeated name wins, nesting ends at [`MAX_DEPTH`].
pub fn parse(text: &[u8]) -> Result<Value<'_>, JsonError> {
    // One check of the whole text is cheaper than one per string.
    let text =
        std::str::from_utf8(text).map_err(|error| invalid_utf8(text, error.valid_up_to()))?;
    parse_str(text)
}

/// Parses a text whose values of interest lie below so many levels of wrapping, which do not count
/// as their nesting.
pub fn parse_wrapped(text: &[u8], levels: usize) -> Result<Value<'_>, JsonError> {
    let text =
        std::str::from_utf8(text).map_err(|error| invalid_utf8(text, error.valid_up_to()))?;
    parse_to_depth(text, MAX_DEPTH + levels)
}

/// Parses one value of a text that is known to be UTF-8.
pub fn parse_str(text: &str) -> Result<Value<'_>, JsonError> {
    parse_to_depth(text, MAX_DEPTH)
}

fn parse_to_depth(text: &str, deepest: usize) -> Result<Value<'_>, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The limit of serde_json ends one level too early; `ValueSeed` counts for itself.
    deserializer.disable_recursion_limit();
    let value = ValueSeed { left: deepest }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| json_error(&error))
}

fn invalid_utf8(text: &[u8], at: usize) -> JsonError {
    let before = &text[..at];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    JsonError {
        message: "invalid UTF-8".to_owned(),
        line: memchr::memchr_iter(b'\n', before).count() + 1,
        column: at - line_start + 1,
    }
}

fn json_error(error: &serde_json::Error) -> JsonError {
    let text = error.to_string();
    // serde_json appends the position to its message; ours has fields for it.
    let message = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(message, _)| message);
    JsonError {
        message: message.to_owned(),
        line: error.line(),
        column: error.column(),
    }
}

#[derive(Clone, Copy)]
struct ValueSeed {
    /// Levels that may still open.
    left: usize,
}

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl ValueSeed {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left }),
            None => Err(E::custom(format_args!(
                "nested deeper than {MAX_DEPTH} levels"
            ))),
        }
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = Value<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(Number::Int(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(Number::from(value)))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value<'de>, E> {
        if value.is_finite() {
            Ok(Value::Number(Number::from(value)))
        } else {
            Err(E::custom("number out of range"))
        }
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Owned(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value<'de>, A::Error> {
        let seed = self.deeper()?;
        let mut elements = Vec::new();
        while let Some(element) = access.next_element_seed(seed)? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value<'de>, A::Error> {
        let seed = self.deeper()?;
        let mut members = Vec::new();
        while let Some(name) = access.next_key_seed(NameSeed)? {
            members.push((name, access.next_value_seed(seed)?));
        }
        Ok(Value::Object(Object::from_members(members)))
    }
}

struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a member name")
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_ends_at_the_limit() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(parse_str(&nested(MAX_DEPTH)).is_ok());
        let error = parse_str(&nested(MAX_DEPTH + 1)).expect_err("one too deep");
        assert!(error.message.contains("128"), "{error}");
        assert!(parse_str(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn positions_are_reported() {
        let error = parse(b"{\"a\":1,\n  x}").expect_err("no member name");
        assert_eq!((error.line, error.column), (2, 3));
        let error = parse(b"\"a\n\xff\"").expect_err("not UTF-8");
        assert_eq!((error.line, error.column), (2, 1));
    }
}
