//! JSON pointers of patch paths: `/a/0/b`, with `~1` for `/` and `~0` for `~`.

use std::fmt;

use crate::layout::record::is_system_property;

/// Deepest path; an item nests no deeper.
const MAX_SEGMENTS: usize = 128;

/// A place in an item; never the item itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    segments: Vec<String>,
}

impl Pointer {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix('/').filter(|rest| !rest.is_empty()) else {
            return Err(format!(
                "The path '{text}' does not start with '/' and a name"
            ));
        };
        let segments: Vec<String> = rest
            .split('/')
            .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
            .collect();
        if segments.len() > MAX_SEGMENTS {
            return Err("The path is too deep".to_owned());
        }
        Ok(Self { segments })
    }

    /// The way to the parent, and the last segment.
    pub fn split_last(&self) -> (&[String], &str) {
        match self.segments.split_last() {
            Some((last, parents)) => (parents, last),
            None => (&[], ""),
        }
    }

    /// Whether this is below `other` (not the same).
    pub fn is_inside(&self, other: &Self) -> bool {
        self.segments.len() > other.segments.len() && self.segments.starts_with(&other.segments)
    }

    /// Why a patch may not change this place, if it may not.
    pub fn refused<'a>(&self, keys: impl Iterator<Item = &'a [String]>) -> Option<String> {
        let first = self.segments.first().map_or("", String::as_str);
        if is_system_property(first) {
            return Some(format!(
                "System property '{self}' cannot be changed by a patch"
            ));
        }
        if self.segments == ["id"] {
            return Some("The id cannot be changed by a patch".to_owned());
        }
        for key in keys {
            if self.segments.starts_with(key) || key.starts_with(&self.segments) {
                return Some(format!(
                    "Partition key path '{self}' cannot be changed by a patch"
                ));
            }
        }
        None
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments
            .iter()
            .try_for_each(|segment| write!(f, "/{}", segment.replace('~', "~0").replace('/', "~1")))
    }
}
