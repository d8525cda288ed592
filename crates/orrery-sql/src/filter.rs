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
    /// A shape that is near another: a look-up in a spatial index.
    Near(Box<Near>),
}

/// What a shape is near to.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// The other shape, as GeoJSON; it need not be valid.
    pub shape: Value<'static>,
    /// How far away the nearest point may be; at 0 the two share a point.
    pub distance: f64,
}

/// Tests that need every string of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum TextScan {
    /// CONTAINS; with `ignore_case` both sides are lowered.
    Contains {
        /** Sought. */
        text: String,
        /** Third argument. */
        ignore_case: bool,
    },
    /// ENDSWITH.
    EndsWith {
        /** Sought. */
        text: String,
        /** Third argument. */
        ignore_case: bool,
    },
    /// STARTSWITH that ignores case.
    StartsWith {
        /** Sought. */
        text: String,
    },
    /// STRINGEQUALS that ignores case.
    Equals {
        /** Sought. */
        text: String,
    },
    /// Anything else about a string (REGEXMATCH, other LIKE): only the type is known.
    AnyString,
}

pub(crate) mod build;
mod composites;
mod exact;
mod uses;

pub use composites::{Composable, Key, Served, steps};
pub use exact::{IndexAggregate, IndexGrouping};
pub use uses::PathUse;

impl IndexFilter {
    /// AND: contradictions and tautologies vanish, bounds of one path meet in one range.
    pub fn and(branches: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        for branch in branches {
            match branch {
                Self::All => {}
                Self::Nothing => return Self::Nothing,
                Self::And(inner) => flat.extend(inner),
                Self::Path(path, IndexTest::Range(low, high)) => {
                    join_range(&mut flat, path, low, high);
                }
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Self::All,
            1 => flat.swap_remove(0),
            _ => Self::And(flat),
        }
    }

    /// OR: equalities of one path become one IN.
    pub fn or(branches: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        for branch in branches {
            match branch {
                Self::All => return Self::All,
                Self::Nothing => {}
                Self::Or(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        let flat = join_equalities(flat);
        match flat.len() {
            0 => Self::Nothing,
            1 => flat.into_iter().next().unwrap_or(Self::Nothing),
            _ => Self::Or(flat),
        }
    }
}

fn join_range(
    flat: &mut Vec<IndexFilter>,
    path: Vec<IndexStep>,
    low: Bound<Value<'static>>,
    high: Bound<Value<'static>>,
) {
    // Two elements of an array may satisfy one bound each.
    let single = !path.contains(&IndexStep::AnyElement);
    for branch in flat.iter_mut().filter(|_| single) {
        let IndexFilter::Path(own, IndexTest::Range(own_low, own_high)) = branch else {
            continue;
        };
        if *own != path {
            continue;
        }
        let same_type = |own: &Bound<Value<'_>>, other: &Bound<Value<'_>>| match (own, other) {
            (
                Bound::Included(own) | Bound::Excluded(own),
                Bound::Included(other) | Bound::Excluded(other),
            ) => own.type_rank() == other.type_rank(),
            _ => false,
        };
        match (&*own_low, &*own_high, &low, &high) {
            (_, Bound::Unbounded, Bound::Unbounded, _) if same_type(own_low, &high) => {
                *own_high = high;
                return;
            }
            (Bound::Unbounded, _, _, Bound::Unbounded) if same_type(own_high, &low) => {
                *own_low = low;
                return;
            }
            _ => {}
        }
    }
    flat.push(IndexFilter::Path(path, IndexTest::Range(low, high)));
}

fn join_equalities(branches: Vec<IndexFilter>) -> Vec<IndexFilter> {
    let mut joined: Vec<IndexFilter> = Vec::new();
    let mut places: std::collections::BTreeMap<Vec<IndexStep>, usize> =
        std::collections::BTreeMap::new();
    for branch in branches {
        let (path, values) = match branch {
            IndexFilter::Path(path, IndexTest::Equal(value)) => (path, vec![value]),
            IndexFilter::Path(path, IndexTest::In(values)) => (path, values),
            other => {
                joined.push(other);
                continue;
            }
        };
        let place = *places.entry(path).or_insert_with_key(|path| {
            joined.push(IndexFilter::Path(path.clone(), IndexTest::In(Vec::new())));
            joined.len() - 1
        });
        if let IndexFilter::Path(_, IndexTest::In(known)) = &mut joined[place] {
            known.extend(values);
        }
    }
    for place in places.into_values() {
        if let IndexFilter::Path(_, test) = &mut joined[place]
            && let IndexTest::In(values) = test
        {
            *test = IndexTest::one_of(std::mem::take(values));
        }
    }
    joined
}

impl IndexTest {
    /// IN, or equality when one value is left.
    pub fn one_of(mut values: Vec<Value<'static>>) -> Self {
        values.sort_by(Value::order);
        values.dedup_by(|left, right| left.equals(right));
        if values.len() == 1 {
            Self::Equal(values.swap_remove(0))
        } else {
            Self::In(values)
        }
    }
}

impl TextScan {
    /// Whether a string passes.
    pub fn matches(&self, value: &str) -> bool {
        match self {
            Self::Contains {
                text,
                ignore_case: false,
            } => value.contains(text),
            Self::Contains {
                text,
                ignore_case: true,
            } => value.to_lowercase().contains(&text.to_lowercase()),
            Self::EndsWith {
                text,
                ignore_case: false,
            } => value.ends_with(text),
            Self::EndsWith {
                text,
                ignore_case: true,
            } => value.to_lowercase().ends_with(&text.to_lowercase()),
            Self::StartsWith { text } => value.to_lowercase().starts_with(&text.to_lowercase()),
            Self::Equals { text } => value.to_lowercase() == text.to_lowercase(),
            Self::AnyString => true,
        }
    }
}
