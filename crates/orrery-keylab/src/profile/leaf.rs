//! Leaves: the scalars, arrays and objects of one item, as places in its text.

use super::paths::PathId;

/// What a leaf is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    False,
    True,
    Number,
    /// A string without escapes: its text is its value.
    String,
    /// A string with escapes.
    Escaped,
    /// An array of so many elements.
    Array(u32),
    Object,
}

impl Kind {
    /// A number that keeps equal texts of different types apart.
    pub(crate) fn tag(self) -> u64 {
        match self {
            Self::Null => 0x11,
            Self::False => 0x22,
            Self::True => 0x33,
            Self::Number => 0x44,
            Self::String | Self::Escaped => 0x55,
            Self::Array(_) => 0x66,
            Self::Object => 0x77,
        }
    }
}

/// One value of an item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf {
    pub(crate) path: PathId,
    pub(crate) kind: Kind,
    start: u32,
    end: u32,
}

impl Leaf {
    pub(crate) fn new(path: PathId, kind: Kind, start: usize, end: usize) -> Self {
        Self {
            path,
            kind,
            start: start as u32,
            end: end as u32,
        }
    }

    /// Its text; that of a string is between the quotation marks.
    pub(crate) fn slice(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..self.end as usize]
    }
}
