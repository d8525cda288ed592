//! The text of the authorization header: URL-encoded `type=…&ver=…&sig=…`.

/// Signatures and resource tokens fit into this even with every character escaped: they
/// are decoded on the stack.
pub(super) const USUAL_LENGTH: usize = 512;
/// Longest header that is looked at; directory tokens are the longest kind.
const LONGEST: usize = 8 << 10;

/// The kinds of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A signature by a key of the account.
    Master,
    /// A permission's `_token`.
    Resource,
    /// A directory's JWT.
    Directory,
    /// Something else.
    Other,
}

/// The parts of an authorization header.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenHeader<'b> {
    /// From `type`.
    pub kind: TokenKind,
    /// From `sig`.
    pub signature: &'b str,
}

impl<'b> TokenHeader<'b> {
    /// Decodes a header into `buffer`. SDKs differ in what they escape (`%3d`, `%3D`
    /// or not at all), so escapes are decoded wherever they stand.
    pub fn decode(
        raw: &[u8],
        usual: &'b mut [u8; USUAL_LENGTH],
        long: &'b mut Vec<u8>,
    ) -> Option<Self> {
        let buffer: &'b mut [u8] = if raw.len() <= USUAL_LENGTH {
            usual
        } else if raw.len() <= LONGEST {
            long.resize(raw.len(), 0);
            long
        } else {
            return None;
        };
        let length = unescape(raw, buffer);
        Self::parse(std::str::from_utf8(&buffer[..length]).ok()?)
    }

    /// Takes the decoded text apart: parts are separated by `&`, and only the first
    /// `=` of a part separates.
    fn parse(text: &'b str) -> Option<Self> {
        // As nearly all clients write it.
        if let Some(signature) = text.strip_prefix("type=master&ver=1.0&sig=")
            && !signature.is_empty()
            && !signature.contains('&')
        {
            return Some(Self {
                kind: TokenKind::Master,
                signature,
            });
        }
        let (mut kind, mut version, mut signature) = (None, None, None);
        for part in text.split('&') {
            let (name, value) = part.split_once('=')?;
            match name {
                "type" => kind = Some(value),
                "ver" => version = Some(value),
                "sig" => signature = Some(value),
                _ => {}
            }
        }
        let kind = match kind? {
            kind if kind.eq_ignore_ascii_case("master") => TokenKind::Master,
            kind if kind.eq_ignore_ascii_case("resource") => TokenKind::Resource,
            kind if kind.eq_ignore_ascii_case("aad") => TokenKind::Directory,
            _ => TokenKind::Other,
        };
        let signature = signature.filter(|signature| !signature.is_empty())?;
        version
            .is_some_and(|version| matches!(version, "1" | "1.0"))
            .then_some(())?;
        Some(Self { kind, signature })
    }
}

/// Decodes `%XX` and keeps everything else; `buffer` is at least as long as `raw`.
fn unescape(raw: &[u8], buffer: &mut [u8]) -> usize {
    let (mut rest, mut length) = (raw, 0);
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        (buffer[length], rest) = match escaped {
            Some((high, low)) => (high << 4 | low, &after[2..]),
            None => (*first, after),
        };
        length += 1;
    }
    length
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_wherever_they_stand() {
        for (raw, expected) in [
            ("", ""),
            ("a%3Db%3d", "a=b="),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("%%41", "%A"),
            ("100%25", "100%"),
        ] {
            let mut buffer = [0; 16];
            let length = unescape(raw.as_bytes(), &mut buffer);
            assert_eq!(&buffer[..length], expected.as_bytes(), "{raw}");
        }
    }
}
