//! Which parts of an item are indexed, and the index terms that follow from it.
//!
//! A term is a distinct (path, value) pair under an included path; array positions are collapsed
//! (request units: section 3). An entry is the eight bytes of the path's hash followed by the
//! value in order-preserving form ([`crate::ordered`]), so that entries of one path are together
//! and in order of value. Arrays and objects under included paths have an entry of their own,
//! one tag without their content: it finds items where the path is defined. Entries over-select
//! only: path hashes may collide and long strings are cut, so readers check what they load.
//!
//! Where the policy has a spatial index, a shape has an entry for each of a few cells that cover it:
//! the hash of [`Shapes::hash`] and the cell.

mod shapes;
mod terms;
mod tree;

pub use shapes::Shapes;
pub use terms::{Difference, Terms};
pub use tree::{Composite, Coverage, IndexTree};

use crate::murmur::murmur3_x64_128;
use crate::path::Step;

/// Strings are cut after this many bytes in entries; keys of the store stay below 2,500 bytes
/// even where every byte of the string is escaped.
pub const STRING_LIMIT: usize = 512;
/// The same for the strings of composite entries, of which there are up to eight.
pub const COMPOSITE_STRING_LIMIT: usize = 128;

/// The hash of a path, at the front of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathHash(pub u64);

impl PathHash {
    /// The hash of the empty path: the item itself.
    pub const ROOT: Self = Self(0x6f72_7265_7279_0001);

    const PROPERTY: u64 = 1;
    const ELEMENT: u64 = 2;
    const SHAPES: u64 = 3;

    /// The hash of a member of the value at this path.
    pub fn property(self, name: &str) -> Self {
        Self(murmur3_x64_128(name.as_bytes(), (self.0, Self::PROPERTY)).0)
    }

    /// The hash of the elements of the array at this path.
    pub fn element(self) -> Self {
        Self(murmur3_x64_128(&[], (self.0, Self::ELEMENT)).0)
    }

    /// At the front of the entries of shapes at this path; `definition` tells apart what is
    /// indexed in different ways.
    fn shapes(self, definition: &[u8]) -> Self {
        Self(murmur3_x64_128(definition, (self.0, Self::SHAPES)).0)
    }

    /// The hash of a path.
    pub fn of(steps: &[Step]) -> Self {
        steps.iter().fold(Self::ROOT, |hash, step| match step {
            Step::Property(name) => hash.property(name),
            Step::Element => hash.element(),
        })
    }

    /// The bytes at the front of entries.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}
