//! Names and numbers that must not be mixed up.

use std::fmt;

/// Longest id of an item, in bytes (request units: section 9).
pub const MAX_ITEM_ID_BYTES: usize = 1023;
/// Longest name of any other resource, in characters (request units: section 9).
pub const MAX_NAME_CHARS: usize = 255;

/// Why an id is refused, in the service's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The body has no `id`, or it is no string.
    #[error("The input content is invalid because the required properties - 'id; ' - are missing")]
    Missing,
    /// Empty or too long.
    #[error(
        "The input name '{name}' is invalid. Ensure to provide a unique non-empty string less than '{limit}' characters."
    )]
    Length {
        /// The id, cut for display.
        name: String,
        /// The first length that is refused.
        limit: usize,
    },
    /// A character that cannot stand in a link, or a space at the end.
    #[error(
        "The input name '{name}' is invalid. Ensure that it does not contain '/', '\\', '?', '#', control characters or a trailing space."
    )]
    Character {
        /// The id, cut for display.
        name: String,
    },
}

fn shown(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

fn check_characters(name: &str) -> Result<(), IdError> {
    let forbidden = |c: char| matches!(c, '/' | '\\' | '?' | '#' | '\t' | '\r' | '\n' | '\0');
    if name.ends_with(' ') || name.contains(forbidden) {
        return Err(IdError::Character { name: shown(name) });
    }
    Ok(())
}

/// The `id` of an item: unique in its logical partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(String);

impl ItemId {
    /// Checks an id that a new item wants to have.
    pub fn new(id: impl Into<String>) -> Result<Self, IdError> {
        let id = id.into();
        Self::check(&id)?;
        Ok(Self(id))
    }

    /// Checks an id without keeping it.
    pub fn check(id: &str) -> Result<(), IdError> {
        if id.is_empty() || id.len() > MAX_ITEM_ID_BYTES {
            return Err(IdError::Length {
                name: shown(id),
                limit: MAX_ITEM_ID_BYTES + 1,
            });
        }
        check_characters(id)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The `id` of a resource that is not an item: database, container, user, script, ...
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceName(String);

impl ResourceName {
    /// Checks a name that a new resource wants to have.
    pub fn new(name: impl Into<String>) -> Result<Self, IdError> {
        let name = name.into();
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
            return Err(IdError::Length {
                name: shown(&name),
                limit: MAX_NAME_CHARS + 1,
            });
        }
        check_characters(&name)?;
        Ok(Self(name))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, by value.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The id of a partition key range: counts up per container, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionKeyRangeId(pub u32);

impl PartitionKeyRangeId {
    /// Reads the decimal text of headers and bodies.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok().map(Self))?
    }
}

impl fmt::Display for PartitionKeyRangeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Position in the log of a physical partition; each commit takes the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Number of an item in its container: the last eight bytes of its `_rid`, in order of insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u64);

/// A version of a resource, with its quotes as the wire has it (protocol: section 5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Etag(String);

impl Etag {
    /// The etag of a version: quotes around a GUID made of the 128 bits.
    pub fn from_bits(bits: u128) -> Self {
        let guid = ActivityId(bits).text();
        let mut text = String::with_capacity(ActivityId::LENGTH + 2);
        text.push('"');
        text.push_str(std::str::from_utf8(&guid).unwrap_or_default());
        text.push('"');
        Self(text)
    }

    /// From the text as it stands in a body or header, with its quotes.
    pub fn from_wire(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text with its quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text with its quotes, owned.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Whether an `If-Match` or `If-None-Match` value names this version: exactly, without
    /// quotes, as one of a list, or by `*`.
    pub fn matches(&self, condition: &str) -> bool {
        condition.split(',').map(str::trim).any(|condition| {
            let condition = condition.strip_prefix("W/").unwrap_or(condition);
            condition == "*" || condition == self.0 || unquoted(condition) == unquoted(&self.0)
        })
    }
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}

impl fmt::Display for Etag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Names one request in answers and logs; a GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActivityId(pub u128);

impl ActivityId {
    /// Characters of the text.
    pub const LENGTH: usize = 36;

    /// The GUID's text: every answer carries one or two, so it does not pass the formatter.
    pub fn text(self) -> [u8; Self::LENGTH] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        /// Where the two digits of each byte stand, between the dashes.
        const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
        let mut text = [b'-'; Self::LENGTH];
        for (byte, place) in self.0.to_be_bytes().into_iter().zip(PLACES) {
            text[place] = DIGITS[usize::from(byte >> 4)];
            text[place + 1] = DIGITS[usize::from(byte & 0xf)];
        }
        text
    }

    /// Reads a GUID with or without hyphens.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bits = 0_u128;
        let mut digits = 0;
        for byte in text.bytes().filter(|&byte| byte != b'-') {
            digits += 1;
            if digits > 32 {
                return None;
            }
            bits = (bits << 4) | u128::from(char::from(byte).to_digit(16)?);
        }
        (digits == 32).then_some(Self(bits))
    }
}

impl fmt::Display for ActivityId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text();
        formatter.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}
