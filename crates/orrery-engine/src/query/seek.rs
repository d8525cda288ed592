//! Looking conditions up in the index of one partition.
//!
//! The answer may hold items that do not match (long strings are cut in entries, paths are
//! hashes), never too few; whoever uses it asks the program about each item.

use std::ops::Bound;

use orrery_model::charge::QueryCost;
use orrery_model::ids::DocId;
use orrery_model::index::{IndexTree, PathHash, STRING_LIMIT};
use orrery_model::ordered::{self, Decoded, Tag};
use orrery_model::value::Value;
use orrery_sql::filter::{IndexFilter, IndexStep, IndexTest, TextScan};
use orrery_storage::{Reader, Scan};

use super::docids::DocIds;
use super::prepare::steps;
use crate::error::Error;
use crate::layout::term;

/// Entries that one read of the store brings.
const CHUNK: usize = 4_096;

/// Index look-ups in one snapshot of a partition.
pub struct Seeker<'a> {
    /// The snapshot.
    pub reader: &'a dyn Reader,
    /// What is indexed.
    pub tree: &'a IndexTree,
    /// Entries that the whole look-up may bring; beyond that a scan of the items is cheaper.
    pub most_entries: u64,
    /// What was done.
    pub cost: QueryCost,
}

/// Entries between two keys, the second exclusive.
struct Span {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

impl Seeker<'_> {
    /// The items that may satisfy the filter; `None` when the index does not narrow them, or not
    /// enough to be worth it.
    pub fn items(&mut self, filter: &IndexFilter) -> Result<Option<DocIds>, Error> {
        match filter {
            IndexFilter::All => Ok(None),
            IndexFilter::Nothing => Ok(Some(DocIds::default())),
            IndexFilter::Path(path, test) => self.path(path, test),
            IndexFilter::And(branches) => self.all(branches),
            IndexFilter::Or(branches) => {
                let mut found = DocIds::default();
                for branch in branches {
                    match self.items(branch)? {
                        Some(items) => found = found.union(items),
                        None => return Ok(None),
                    }
                }
                Ok(Some(found))
            }
        }
    }

    /// Branches in order of how much they narrow; once few items are left it is cheaper to load
    /// them than to seek on.
    fn all(&mut self, branches: &[IndexFilter]) -> Result<Option<DocIds>, Error> {
        const FEW: usize = 64;
        let mut ordered: Vec<&IndexFilter> = branches.iter().collect();
        ordered.sort_by_key(|branch| selectivity(branch));
        let mut found: Option<DocIds> = None;
        for branch in ordered {
            if found.as_ref().is_some_and(|found| found.len() <= FEW) {
                break;
            }
            if let Some(items) = self.items(branch)? {
                found = Some(match found {
                    Some(found) => found.intersect(&items),
                    None => items,
                });
            }
        }
        Ok(found)
    }

    fn path(&mut self, path: &[IndexStep], test: &IndexTest) -> Result<Option<DocIds>, Error> {
        let steps = steps(path);
        let coverage = self.tree.coverage(&steps);
        let covered = match test {
            IndexTest::Defined => coverage.is_complete(),
            _ => coverage.scalars,
        };
        if !covered {
            return Ok(None);
        }
        let prefix = term::path_prefix(PathHash::of(&steps));
        let mut found = Vec::new();
        for span in spans(&prefix, test) {
            self.cost.seeks += 1;
            if !self.collect(span, test, prefix.len(), &mut found)? {
                return Ok(None);
            }
        }
        Ok(Some(DocIds::new(found)))
    }

    /// Adds the items of a span; false when there are too many.
    fn collect(
        &mut self,
        span: Span,
        test: &IndexTest,
        value_at: usize,
        found: &mut Vec<DocId>,
    ) -> Result<bool, Error> {
        let text = match test {
            IndexTest::Scan(text) => Some(text),
            _ => None,
        };
        let mut scan = Scan::range(span.from, span.to).max_rows(CHUNK);
        loop {
            let page = self.reader.scan(&scan)?;
            for row in &page.rows {
                let (_, docid) = term::parts(&row.key).ok_or(Error::Damaged("index term"))?;
                let value = row.key.get(value_at..).unwrap_or_default();
                if text.is_none_or(|text| may_match(text, value)) {
                    found.push(docid);
                }
            }
            if text.is_some() {
                self.cost.entries_scanned += page.rows.len() as u64;
            }
            if found.len() as u64 > self.most_entries {
                return Ok(false);
            }
            match page.resume {
                Some(key) => scan.resume = Some(key.to_vec()),
                None => return Ok(true),
            }
        }
    }
}

fn selectivity(filter: &IndexFilter) -> u8 {
    match filter {
        IndexFilter::Nothing => 0,
        IndexFilter::Path(_, IndexTest::Equal(_)) => 1,
        IndexFilter::Path(_, IndexTest::In(_)) => 2,
        IndexFilter::Path(_, IndexTest::StartsWith(_)) => 3,
        IndexFilter::Path(_, IndexTest::Range(..)) => 4,
        IndexFilter::And(_) | IndexFilter::Or(_) => 5,
        IndexFilter::Path(_, IndexTest::Scan(_)) => 6,
        IndexFilter::Path(_, IndexTest::Defined) => 7,
        IndexFilter::All => 8,
    }
}

/// Whether an entry's value (with the docid behind it) passes a test of its text. A string that
/// was cut passes: the item will tell.
fn may_match(text: &TextScan, value: &[u8]) -> bool {
    match ordered::decode(value) {
        Some((Decoded::Value(Value::String(value)), _)) => text.matches(&value),
        Some((Decoded::CutString(_), _)) => true,
        _ => false,
    }
}

fn spans(prefix: &[u8], test: &IndexTest) -> Vec<Span> {
    match test {
        IndexTest::Equal(value) => vec![equal(prefix, value)],
        IndexTest::In(values) => values.iter().map(|value| equal(prefix, value)).collect(),
        IndexTest::Range(low, high) => vec![range(prefix, low, high)],
        IndexTest::StartsWith(text) => vec![starts_with(prefix, text)],
        IndexTest::Scan(_) => vec![of_tag(prefix, Tag::String)],
        IndexTest::Defined => vec![of_prefix(prefix.to_vec())],
    }
}

fn encoded(prefix: &[u8], value: &Value<'_>) -> Vec<u8> {
    let mut key = prefix.to_vec();
    ordered::encode(value, STRING_LIMIT, &mut key);
    key
}

fn of_prefix(prefix: Vec<u8>) -> Span {
    let to = orrery_storage::scan::prefix_end(&prefix);
    Span { from: prefix, to }
}

// No encoding is a prefix of another, so these are the entries of just this value.
fn equal(prefix: &[u8], value: &Value<'_>) -> Span {
    of_prefix(encoded(prefix, value))
}

fn of_tag(prefix: &[u8], tag: Tag) -> Span {
    let mut from = prefix.to_vec();
    from.push(tag as u8);
    of_prefix(from)
}

fn starts_with(prefix: &[u8], text: &str) -> Span {
    let mut from = prefix.to_vec();
    let cut = text.floor_char_boundary(STRING_LIMIT);
    ordered::encode_string_prefix(text.get(..cut).unwrap_or_default(), &mut from);
    of_prefix(from)
}

fn range(prefix: &[u8], low: &Bound<Value<'_>>, high: &Bound<Value<'_>>) -> Span {
    let after = |value: &Value<'_>| {
        let key = encoded(prefix, value);
        orrery_storage::scan::prefix_end(&key).unwrap_or(key)
    };
    // Behind the cut, a string may be on either side of the bound.
    let is_cut = |value: &Value<'_>| value.as_str().is_some_and(|text| text.len() > STRING_LIMIT);
    let whole_type = |of: &Bound<Value<'_>>| match of {
        Bound::Included(value) | Bound::Excluded(value) => {
            let first = encoded(prefix, value).get(prefix.len()).copied();
            // false and true are one type with two tags.
            match (value, first) {
                (Value::Bool(_), _) => (Tag::False as u8, Tag::True as u8),
                (_, Some(tag)) => (tag, tag),
                (_, None) => (0, u8::MAX),
            }
        }
        Bound::Unbounded => (0, u8::MAX),
    };
    let tagged = |tag: u8| {
        let mut key = prefix.to_vec();
        key.push(tag);
        key
    };
    let from = match low {
        Bound::Included(value) => encoded(prefix, value),
        Bound::Excluded(value) if is_cut(value) => encoded(prefix, value),
        Bound::Excluded(value) => after(value),
        Bound::Unbounded => tagged(whole_type(high).0),
    };
    let to = match high {
        Bound::Included(value) => Some(after(value)),
        Bound::Excluded(value) if is_cut(value) => Some(after(value)),
        Bound::Excluded(value) => Some(encoded(prefix, value)),
        Bound::Unbounded => orrery_storage::scan::prefix_end(&tagged(whole_type(low).1)),
    };
    Span { from, to }
}
