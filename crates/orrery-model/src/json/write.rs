//! Writing of canonical text: compact, members in their order, shortest numbers.

use std::io::Write as _;

use crate::value::{Number, Value};

/// Appends the canonical text of a value. `Undefined` members and elements are left out; a
/// number that JSON cannot hold is written as null (the language refuses to return one).
pub fn write(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Undefined | Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(*number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(elements) => {
            out.push(b'[');
            let mut first = true;
            for element in elements.iter().filter(|element| !element.is_undefined()) {
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                write(element, out);
            }
            out.push(b']');
        }
        Value::Object(object) => {
            out.push(b'{');
            let mut first = true;
            for (name, member) in object.iter().filter(|(_, member)| !member.is_undefined()) {
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                write_string(name, out);
                out.push(b':');
                write(member, out);
            }
            out.push(b'}');
        }
    }
}

/// The canonical text of a value as a string.
pub fn to_string(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    write(value, &mut out);
    String::from_utf8(out).expect("JSON is written from strings and ASCII")
}

/// Appends a number: integers as digits, doubles as the shortest text that reads back the same,
/// with an exponent outside 1e-7 to 1e21 as JavaScript does.
pub fn write_number(number: Number, out: &mut Vec<u8>) {
    match number.canonical() {
        Number::Int(value) => write_integer(value, out),
        Number::Double(value) if !value.is_finite() => out.extend_from_slice(b"null"),
        Number::Double(value) => {
            let magnitude = value.abs();
            let written = if (1e-5..1e16).contains(&magnitude) {
                // The same digits as below, by a faster algorithm.
                serde_json::to_writer(&mut *out, &value).map_err(Into::into)
            } else if (1e-7..1e21).contains(&magnitude) {
                write!(out, "{value}")
            } else {
                write!(out, "{value:e}")
            };
            written.expect("a vector takes all bytes");
        }
    }
}

fn write_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a string with quotes; only what JSON demands is escaped.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let bytes = text.as_bytes();
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    // Without early exit the compiler looks at many bytes at once.
    if !bytes
        .iter()
        .fold(false, |found, &byte| found | special(byte))
    {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    let mut written = 0;
    for (at, &byte) in bytes.iter().enumerate().filter(|&(_, &byte)| special(byte)) {
        out.extend_from_slice(&bytes[written..at]);
        written = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}
