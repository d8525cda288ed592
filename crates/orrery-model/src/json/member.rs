//! The text of one member of an object, found without reading the others.

use std::ops::Range;

use memchr::{memchr, memmem};

use super::reader::Reader;

/// The text of one member of an object in canonical text.
pub fn member_slice<'a>(canonical: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut reader = Reader::new(canonical);
    reader.expect(b'{')?;
    if reader.peek()? == b'}' {
        return None;
    }
    loop {
        let own = reader.name()?;
        reader.expect(b':')?;
        let start = reader.place();
        reader.skip()?;
        if own.is(name) {
            return canonical.get(start..reader.place());
        }
        if reader.next()? != b',' {
            return None;
        }
    }
}

/// Where the members that some finders are for lie in canonical text of an object, in one pass:
/// calls `found` with the number of the finder.
pub fn find_members(
    canonical: &[u8],
    finders: &[MemberFinder],
    mut found: impl FnMut(usize, Range<usize>),
) {
    // Text that is broken has no further members.
    let _ = walk(canonical, finders, &mut found);
}

fn walk(
    canonical: &[u8],
    finders: &[MemberFinder],
    found: &mut impl FnMut(usize, Range<usize>),
) -> Option<()> {
    let mut reader = Reader::new(canonical);
    reader.expect(b'{')?;
    if reader.peek()? == b'}' {
        return None;
    }
    let mut left = finders.len();
    while left > 0 {
        let own = reader.name()?;
        reader.expect(b':')?;
        let start = reader.place();
        reader.skip()?;
        if let Some(number) = finders.iter().position(|finder| own.is(&finder.name)) {
            found(number, start..reader.place());
            left -= 1;
        }
        if reader.next()? != b',' {
            break;
        }
    }
    Some(())
}

/// Whether the object that is read ends where the text does: it is the outermost one.
fn ends_the_text(mut reader: Reader<'_>) -> bool {
    loop {
        match reader.next() {
            Some(b',') => {}
            Some(b'}') => return reader.is_at_end(),
            _ => return false,
        }
        let member = reader.name().and_then(|_| reader.expect(b':'));
        if member.and_then(|()| reader.skip()).is_none() {
            return false;
        }
    }
}

/// Finds the members of one name in many texts.
#[derive(Debug, Clone)]
pub struct MemberFinder {
    name: String,
    /// The name as it stands in text, with quotes and colon; `None` for names that it would not do
    /// to search for.
    pattern: Option<memmem::Finder<'static>>,
}

/// What a look at a text tells of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Glance {
    /// Its text lies here.
    At(Range<usize>),
    /// The object has no such member.
    Absent,
    /// The text has to be read.
    Unclear,
}

impl MemberFinder {
    /// Finds members of this name.
    pub fn new(name: &str) -> Self {
        // Such names are written without escapes, and nothing behind the end of a string looks
        // like them.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let pattern = (!name.is_empty() && name.bytes().all(is_plain))
            .then(|| memmem::Finder::new(&format!("\"{name}\":")).into_owned());
        Self {
            name: name.to_owned(),
            pattern,
        }
    }

    /// Whose members it finds.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Looks for the member in canonical text of an object, without reading what comes before.
    pub fn glance(&self, canonical: &[u8]) -> Glance {
        let Some(pattern) = &self.pattern else {
            return Glance::Unclear;
        };
        let Some(found) = pattern.find(canonical) else {
            return Glance::Absent;
        };
        let before = canonical.get(..found).unwrap_or_default();
        let start = found + pattern.needle().len();
        let mut reader = Reader::at(canonical, start);
        if reader.skip().is_none() {
            return Glance::Unclear;
        }
        let end = reader.place();
        // Quotes inside strings are escaped, so behind a comma or a brace this is the name of a
        // member.
        let is_own = match before {
            [b'{'] => true,
            [b'{', rest @ .., b','] => {
                memchr(b'{', rest).is_none()
                    || (canonical.len() - end < found && ends_the_text(reader))
            }
            _ => false,
        };
        if is_own {
            Glance::At(start..end)
        } else {
            Glance::Unclear
        }
    }

    /// The text of the member in canonical text of an object.
    pub fn find<'a>(&self, canonical: &'a [u8]) -> Option<&'a [u8]> {
        match self.glance(canonical) {
            Glance::At(place) => canonical.get(place),
            Glance::Absent => None,
            Glance::Unclear => member_slice(canonical, &self.name),
        }
    }
}
