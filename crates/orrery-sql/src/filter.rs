//! What WHERE says about paths of the item, for an index.
//!
//! The tree over-approximates: every item that the query accepts satisfies it, some others may
//! too, so whoever uses it still asks [`crate::program::Program`] about each item. Array
//! positions are collapsed ([`IndexStep::AnyElement`]), as index terms are.

use orrery_model::value::Value;
use std::ops::Bound;

/// A condition over the index terms of one item.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexFilter {
    /// Nothing is known: every item.
    All,
    /// No item can match.
    Nothing,
    /// Every branch holds; never empty, never nested in itself.
    And(Vec<IndexFilter>),
    /// A branch holds; never empty, never nested in itself.
    Or(Vec<IndexFilter>),
    /// Some value at the path passes the test.
    Path(Vec<IndexStep>, IndexTest),
}

/// A step of an indexed path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IndexStep {
    /// A member of an object.
    Member(String),
    /// Any element of an array.
    AnyElement,
}

/// What a value at a path must satisfy. All constants are null, Booleans, numbers or strings.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexTest {
    /// Equals the constant: one seek.
    Equal(Value<'static>),
    /// Equals one of the constants: a seek each. Sorted, without repetition, at least two.
    In(Vec<Value<'static>>),
    /// Between two constants of the same type; at least one bound is given and an unbounded side
    /// ends where the type ends.
    Range(Bound<Value<'static>>, Bound<Value<'static>>),
    /// A string that starts with the text: a precise scan.
    StartsWith(String),
    /// A string, looked at term by term: a full scan of the path's strings.
    Scan(TextScan),
    /// The path exists, with a value of any type.
    Defined,
}

/// Tests that need every string of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum TextScan {
    /// CONTAINS; with `ignore_case` both sides are lowered.
    Contains { /** Sought. */ text: String, /** Third argument. */ ignore_case: bool },
    /// ENDSWITH.
    EndsWith { /** Sought. */ text: String, /** Third argument. */ ignore_case: bool },
    /// STARTSWITH that ignores case.
    StartsWith { /** Sought. */ text: String },
    /// STRINGEQUALS that ignores case.
    Equals { /** Sought. */ text: String },
    /// Anything else about a string (REGEXMATCH, other LIKE): only the type is known.
    AnyString,
}
