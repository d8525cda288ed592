//! Reading of our own canonical text: only the members that are asked for, the rest skipped.
//!
//! The text is trusted to be canonical (compact, valid), as it came from [`super::write()`], but no
//! bytes make this panic or recurse without bound: what cannot be read is `Undefined`.

use super::reader::Reader;
use crate::value::Value;

/// Which members of an item are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathTree {
    /// The whole value.
    All,
    /// Only these members of an object. Of an array, the elements with these members each.
    /// Other values are read whole, being small.
    Members(Vec<(String, PathTree)>),
}

impl PathTree {
    /// A tree that reads nothing yet.
    pub fn none() -> Self {
        Self::Members(Vec::new())
    }

    /// Adds a path of member names; all below its end is read.
    pub fn add<S: AsRef<str>>(&mut self, path: &[S]) {
        let Self::Members(members) = self else { return };
        let Some((name, rest)) = path.split_first() else {
            *self = Self::All;
            return;
        };
        let name = name.as_ref();
        let place = members
            .iter()
            .position(|(own, _)| own == name)
            .unwrap_or_else(|| {
                members.push((name.to_owned(), Self::none()));
                members.len() - 1
            });
        members[place].1.add(rest);
    }
}

/// Reads the parts of canonical text that the tree names.
pub fn project<'a>(canonical: &'a [u8], tree: &PathTree) -> Value<'a> {
    if *tree == PathTree::All && matches!(canonical.first(), Some(b'{' | b'[')) {
        // Nothing to skip: the checked parser is the faster one then.
        return super::parse(canonical).unwrap_or(Value::Undefined);
    }
    let mut reader = Reader::new(canonical);
    let value = reader.value(tree).unwrap_or(Value::Undefined);
    if *tree == PathTree::All && !reader.is_at_end() {
        return Value::Undefined;
    }
    value
}
