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
    let mut parts = raw.split(|byte| *byte == b'%');
    let mut length = 0;
    let mut put = |bytes: &[u8]| {
        buffer[length..length + bytes.len()].copy_from_slice(bytes);
        length += bytes.len();
    };
    put(parts.next().unwrap_or_default());
    for part in parts {
        let escaped = match part {
            [high, low, ..] => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                put(&[high << 4 | low]);
                put(&part[2..]);
            }
            None => {
                put(b"%");
                put(part);
            }
        }
    }
    length
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
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
