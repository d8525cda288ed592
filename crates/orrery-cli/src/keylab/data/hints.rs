//! Files that are no lists of items, told with what to do about them.

use std::io::{self, BufRead};

/// Whether a text begins as UTF-16 does: with its mark, or with letters of two bytes each.
pub fn is_utf16(start: &[u8]) -> bool {
    /// Letters that are looked at.
    const LETTERS: usize = 8;
    if start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF") {
        return true;
    }
    let mut pairs = start.chunks_exact(2).take(LETTERS);
    let every = |low: usize| move |pair: &[u8]| pair[low] != 0 && pair[1 - low] == 0;
    start.len() >= 4 && (pairs.clone().all(every(0)) || pairs.all(every(1)))
}

/// What to say of such a text.
pub const UTF16: &str = "the text is UTF-16, which is not read; make it UTF-8, for example with iconv -f UTF-16 -t UTF-8";

/// The first member of a JSON object that is an array of objects: the items of a document that
/// wraps them. Looks at the beginning only.
pub fn wrapped_items(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let (mut depth, mut in_string, mut is_escaped) = (0_u32, false, false);
    // The last string at the top level, and what stands behind it so far.
    let (mut name, mut behind) = (Vec::new(), Vec::new());
    for &byte in stream.fill_buf()? {
        if in_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_string = false,
                _ if depth == 1 => name.push(byte),
                _ => {}
            }
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        match byte {
            b'"' => {
                in_string = true;
                if depth == 1 {
                    name.clear();
                    behind.clear();
                }
                continue;
            }
            b'{' if depth == 2 && behind == b":[" => {
                return Ok(Some(String::from_utf8_lossy(&name).into_owned()));
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth <= 2 && behind.len() < 3 {
            behind.push(byte);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_is_told_from_other_texts() {
        let little: Vec<u8> = "{\"a\":1}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let big: Vec<u8> = "a,b\n1,2"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert!(is_utf16(&little) && is_utf16(&big) && is_utf16(b"\xFF\xFEa\0"));
        assert!(
            !is_utf16(b"")
                && !is_utf16(b"{\"a\":1}")
                && !is_utf16(b"a\0b,c")
                && !is_utf16(b"\0\0\0\0")
        );
    }

    #[test]
    fn documents_that_wrap_their_items_are_known() {
        let found = |text: &str| wrapped_items(&mut text.as_bytes()).expect("memory can be read");
        assert_eq!(
            found("{\n \"count\": 2,\n \"items\": [\n {\"a\":1}]}").as_deref(),
            Some("items")
        );
        assert_eq!(
            found(r#"{"a":{"b":[{}]},"c":["{"],"d":[1],"e":[{"#).as_deref(),
            Some("e")
        );
        assert_eq!(found(r#"{"a":[[{}]],"b":"[{"}"#), None);
        assert_eq!(found(""), None);
    }
}
