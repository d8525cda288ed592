//! Where a page of sorted rows ended, by value: the next page goes on behind it whatever index or
//! sorting brings its rows, and even when the client has put another filter into its text
//! (protocol: section 8.4).

use super::Item;
use super::sorter::compare_key;
use crate::eval::item::ItemText;
use crate::program::Program;
use crate::program::node::{Node, SortKey};
use orrery_model::ordered::{self, Tag};
use orrery_model::value::Value;
use std::cmp::Ordering;

/// Strings are cut here, so that continuations stay small.
const STRING_LIMIT: usize = 256;
/// More keys than any ORDER BY has.
const MOST_KEYS: usize = 64;

/// The last row of a page of sorted rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortPlace {
    /// The sort values in order-preserving form.
    keys: Vec<Vec<u8>>,
    doc: u64,
    rows: u64,
}

/// How a row stands to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was delivered.
    Before,
    /// The place's own document, or one that differs only behind the cut of a string:
    /// [`SortPlace::start`] tells.
    Near,
    /// It is still to come.
    Behind,
}

impl SortPlace {
    /// All rows of the document were delivered.
    pub const ALL_ROWS: u64 = u64::MAX;

    pub(crate) fn new(keys: &[Value<'_>], doc: u64, rows: u64) -> Self {
        let keys = keys.iter().map(encoded).collect();
        Self { keys, doc, rows }
    }

    /// The sort values as [`ordered`] encodes them.
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// The document of the last row.
    pub fn doc(&self) -> u64 {
        self.doc
    }

    /// How many rows of that document were delivered.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The place in a pipeline's resume state, if it has one.
    pub fn of_state(state: &[u8]) -> Option<Self> {
        super::resume::State::from_bytes(state).ok()?.place
    }

    /// How a row of these sort values and this document stands to the place.
    pub fn standing(&self, program: &Program, keys: &[Value<'_>], doc: u64) -> Standing {
        self.standing_in(&program.order, keys, doc)
    }

    pub(crate) fn standing_in(&self, order: &[SortKey], keys: &[Value<'_>], doc: u64) -> Standing {
        let mut is_cut = false;
        for (key, (own, row)) in order.iter().zip(self.keys.iter().zip(keys)) {
            let row_key = encoded(row);
            let is_undefined = |bytes: &[u8]| bytes == [Tag::Undefined as u8];
            let by_key = if key.undefined_last && (is_undefined(own) || row.is_undefined()) {
                row.is_undefined().cmp(&is_undefined(own))
            } else if key.descending {
                own.as_slice().cmp(&row_key)
            } else {
                row_key.as_slice().cmp(own)
            };
            match by_key {
                Ordering::Less if is_cut => return Standing::Near,
                Ordering::Greater if is_cut => return Standing::Near,
                Ordering::Less => return Standing::Before,
                Ordering::Greater => return Standing::Behind,
                Ordering::Equal => is_cut |= ordered::is_cut(own),
            }
        }
        if is_cut || doc == self.doc {
            return Standing::Near;
        }
        let by_doc = doc.cmp(&self.doc);
        let descending = order.first().is_some_and(|key| key.descending);
        match if descending { by_doc.reverse() } else { by_doc } {
            Ordering::Greater => Standing::Behind,
            _ => Standing::Before,
        }
    }

    /// How many of the rows that are near, in their order, were delivered. When the document is
    /// gone it cannot be told: rather none, for a row must not be lost.
    pub fn start(&self, docs: &[u64]) -> usize {
        let Some(first) = docs.iter().position(|&doc| doc == self.doc) else {
            return 0;
        };
        let own = docs.iter().skip(first).take_while(|&&doc| doc == self.doc);
        let own = own.count() as u64;
        first + usize::try_from(own.min(self.rows)).unwrap_or(usize::MAX)
    }

    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        for part in [self.doc, self.rows, self.keys.len() as u64] {
            bytes.extend(part.to_be_bytes());
        }
        for key in &self.keys {
            bytes.extend((key.len() as u64).to_be_bytes());
            bytes.extend(key);
        }
    }

    pub(crate) fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut number = || {
            let (number, rest) = bytes.split_first_chunk::<8>()?;
            bytes = rest;
            Some(u64::from_be_bytes(*number))
        };
        let (doc, rows, count) = (number()?, number()?, number()?);
        let count = usize::try_from(count)
            .ok()
            .filter(|&count| count <= MOST_KEYS)?;
        let mut keys = Vec::with_capacity(count);
        for _ in 0..count {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
            let (key, rest) = rest.split_at_checked(length)?;
            // The tag decides where it lies in an index.
            if !matches!(ordered::decode(key), Some((_, []))) {
                return None;
            }
            keys.push(key.to_vec());
            bytes = rest;
        }
        bytes.is_empty().then_some(Self { keys, doc, rows })
    }
}

fn encoded(value: &Value<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    ordered::encode(value, STRING_LIMIT, &mut key);
    key
}

impl Program {
    /// The sort values of an item, for a program whose [`Program::order_keys`] are paths of it.
    pub fn sort_values(&self, item: Item<'_>) -> Vec<Value<'static>> {
        let text = ItemText::new(item.text, item.system, &self.finders);
        let value = |key: &SortKey| match &key.node {
            Node::Path(_, steps) => text.path(steps).into_owned(),
            _ => Value::Undefined,
        };
        self.order.iter().map(value).collect()
    }

    /// The order of two documents by their sort values, then by their numbers.
    pub fn sort_order(
        &self,
        (left, left_doc): (&[Value<'_>], u64),
        (right, right_doc): (&[Value<'_>], u64),
    ) -> Ordering {
        let keys = self.order.iter().zip(left.iter().zip(right));
        let by_keys = keys
            .map(|(key, (left, right))| compare_key(key, left, right))
            .find(|order| order.is_ne());
        let by_doc = left_doc.cmp(&right_doc);
        let descending = self.order.first().is_some_and(|key| key.descending);
        by_keys.unwrap_or(if descending { by_doc.reverse() } else { by_doc })
    }
}
