//! Values as bytes whose order is the order of the values, across all types (query language:
//! section 5.1). Index keys are made of them.
//!
//! An encoding is never a prefix of another, so encodings can be joined, and complemented for
//! descending order.
//!
//! | Value | Bytes |
//! |---|---|
//! | undefined, null, false, true | one tag |
//! | number | tag, 8 bytes of the greatest double not above it, then what an integer has beyond it: `00`, or two bytes |
//! | string | tag, UTF-8 with `00` written `00 FF`, then `00 01`; cut strings end with `00 02` |
//! | array, object | tag, then the distinct hash, least significant byte first |

use std::borrow::Cow;

use crate::distinct_hash;
use crate::value::{Number, Value};

/// The first byte of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Tag {
    /// `Undefined`.
    Undefined = 0x05,
    /// Null.
    Null = 0x10,
    /// False.
    False = 0x20,
    /// True.
    True = 0x21,
    /// A number.
    Number = 0x30,
    /// A string.
    String = 0x40,
    /// An array.
    Array = 0x50,
    /// An object.
    Object = 0x60,
    /// Above every value; bounds ranges.
    End = 0x70,
}

const ESCAPED_ZERO: u8 = 0xff;
const COMPLETE: u8 = 0x01;
const CUT: u8 = 0x02;

/// What an encoding stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// A scalar, exactly.
    Value(Value<'static>),
    /// The first bytes of a string that was cut; maybe in the middle of a character.
    CutString(Vec<u8>),
    /// An array, by its distinct hash.
    Array([u8; 16]),
    /// An object, by its distinct hash.
    Object([u8; 16]),
}

/// Appends the encoding of a value. Strings are cut after `string_limit` bytes: values that
/// differ only behind it have equal encodings.
pub fn encode(value: &Value<'_>, string_limit: usize, out: &mut Vec<u8>) {
    match value {
        Value::Undefined => out.push(Tag::Undefined as u8),
        Value::Null => out.push(Tag::Null as u8),
        Value::Bool(false) => out.push(Tag::False as u8),
        Value::Bool(true) => out.push(Tag::True as u8),
        Value::Number(number) => {
            out.push(Tag::Number as u8);
            encode_number(*number, out);
        }
        Value::String(text) => encode_string(text, string_limit, out),
        Value::Array(_) => {
            out.push(Tag::Array as u8);
            out.extend_from_slice(&distinct_hash::order_key(value));
        }
        Value::Object(_) => {
            out.push(Tag::Object as u8);
            out.extend_from_slice(&distinct_hash::order_key(value));
        }
    }
}

/// Appends the encoding for descending order: all bits the other way round.
pub fn encode_descending(value: &Value<'_>, string_limit: usize, out: &mut Vec<u8>) {
    let start = out.len();
    encode(value, string_limit, out);
    out[start..].iter_mut().for_each(|byte| *byte = !*byte);
}

/// Appends the start of all strings with this prefix. The prefix must be within the limit that
/// the strings are cut at.
pub fn encode_string_prefix(prefix: &str, out: &mut Vec<u8>) {
    out.push(Tag::String as u8);
    push_escaped(prefix.as_bytes(), out);
}

/// Bytes behind the text of an encoded string.
pub const END_LENGTH: usize = 2;

/// Whether an encoding is that of a string that was cut.
pub fn is_cut(encoding: &[u8]) -> bool {
    encoding.first() == Some(&(Tag::String as u8)) && encoding.ends_with(&[0x00, CUT])
}

/// Appends the encoding that the same value has at a lower limit.
pub fn encode_cut(encoding: &[u8], string_limit: usize, out: &mut Vec<u8>) {
    match decode(encoding) {
        Some((Decoded::Value(Value::String(text)), _)) => encode_string(&text, string_limit, out),
        Some((Decoded::CutString(bytes), _)) => {
            out.push(Tag::String as u8);
            push_escaped(bytes.get(..string_limit).unwrap_or(&bytes), out);
            out.extend_from_slice(&[0x00, CUT]);
        }
        _ => out.extend_from_slice(encoding),
    }
}

fn encode_string(text: &str, limit: usize, out: &mut Vec<u8>) {
    out.push(Tag::String as u8);
    let bytes = text.as_bytes();
    if bytes.len() <= limit {
        push_escaped(bytes, out);
        out.extend_from_slice(&[0x00, COMPLETE]);
    } else {
        // Cut by bytes, not characters: all cut strings then have equal length and keep order.
        push_escaped(&bytes[..limit], out);
        out.extend_from_slice(&[0x00, CUT]);
    }
}

fn push_escaped(mut bytes: &[u8], out: &mut Vec<u8>) {
    while let Some(zero) = memchr::memchr(0x00, bytes) {
        out.extend_from_slice(&bytes[..zero]);
        out.extend_from_slice(&[0x00, ESCAPED_ZERO]);
        bytes = &bytes[zero + 1..];
    }
    out.extend_from_slice(bytes);
}

fn encode_number(number: Number, out: &mut Vec<u8>) {
    let (floor, beyond) = match number.canonical() {
        Number::Int(value) => floor_double(value),
        Number::Double(value) => (value, 0),
    };
    out.extend_from_slice(&ordered_bits(floor).to_be_bytes());
    if beyond == 0 {
        out.push(0);
    } else {
        // At most 1023, so the high part stays small and can be told from the single zero.
        out.extend_from_slice(&[1 + (beyond >> 8) as u8, beyond as u8]);
    }
}

/// The greatest double not above an integer, and the rest.
fn floor_double(value: i64) -> (f64, u64) {
    let nearest = value as f64;
    let exact = |double: f64| double as i128;
    let floor = if exact(nearest) > i128::from(value) {
        nearest.next_down()
    } else {
        nearest
    };
    (floor, (i128::from(value) - exact(floor)) as u64)
}

fn ordered_bits(value: f64) -> u64 {
    if value.is_nan() {
        return 0;
    }
    // Adding zero removes the sign of zero.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 {
        bits | (1 << 63)
    } else {
        !bits
    }
}

fn from_ordered_bits(bits: u64) -> f64 {
    match bits {
        0 => f64::NAN,
        _ if bits >> 63 == 1 => f64::from_bits(bits & !(1 << 63)),
        _ => f64::from_bits(!bits),
    }
}

/// Reads one encoding at the start of the bytes; answers it and the bytes behind. `None` for
/// bytes that no value encodes to.
pub fn decode(bytes: &[u8]) -> Option<(Decoded, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let scalar = |value| Some((Decoded::Value(value), rest));
    match tag {
        tag if tag == Tag::Undefined as u8 => scalar(Value::Undefined),
        tag if tag == Tag::Null as u8 => scalar(Value::Null),
        tag if tag == Tag::False as u8 => scalar(Value::Bool(false)),
        tag if tag == Tag::True as u8 => scalar(Value::Bool(true)),
        tag if tag == Tag::Number as u8 => {
            let (number, rest) = decode_number(rest)?;
            Some((Decoded::Value(Value::Number(number)), rest))
        }
        tag if tag == Tag::String as u8 => decode_string(rest),
        tag if tag == Tag::Array as u8 => rest
            .split_first_chunk()
            .map(|(hash, rest)| (Decoded::Array(*hash), rest)),
        tag if tag == Tag::Object as u8 => rest
            .split_first_chunk()
            .map(|(hash, rest)| (Decoded::Object(*hash), rest)),
        _ => None,
    }
}

fn decode_number(bytes: &[u8]) -> Option<(Number, &[u8])> {
    let (bits, rest) = bytes.split_first_chunk()?;
    let floor = from_ordered_bits(u64::from_be_bytes(*bits));
    let (&high, rest) = rest.split_first()?;
    if high == 0 {
        return Some((Number::from(floor), rest));
    }
    let (&low, rest) = rest.split_first()?;
    let beyond = (i64::from(high - 1) << 8) | i64::from(low);
    match Number::from(floor) {
        Number::Int(floor) => Some((Number::Int(floor.checked_add(beyond)?), rest)),
        Number::Double(_) => None,
    }
}

fn decode_string(mut bytes: &[u8]) -> Option<(Decoded, &[u8])> {
    let mut text = Vec::new();
    loop {
        let zero = memchr::memchr(0x00, bytes)?;
        text.extend_from_slice(&bytes[..zero]);
        let (&mark, rest) = bytes[zero + 1..].split_first()?;
        match mark {
            ESCAPED_ZERO => text.push(0x00),
            COMPLETE => {
                let text = String::from_utf8(text).ok()?;
                return Some((Decoded::Value(Value::String(Cow::Owned(text))), rest));
            }
            CUT => return Some((Decoded::CutString(text), rest)),
            _ => return None,
        }
        bytes = rest;
    }
}
