//! Looking conditions up in the index of one partition.
//!
//! The answer may hold items that do not match (long strings are cut in entries, paths are
//! hashes), never too few; whoever uses it asks the program about each item.

use std::ops::{Bound, ControlFlow};

use orrery_model::charge::QueryCost;
use orrery_model::ids::DocId;
use orrery_model::index::{COMPOSITE_STRING_LIMIT, Composite, PathHash, STRING_LIMIT};
use orrery_model::ordered::{self, Decoded, Tag};
use orrery_model::value::Value;
use orrery_sql::filter::{Composable, IndexFilter, IndexStep, IndexTest, Served, TextScan, steps};
use orrery_storage::{PartId, Reader, Scan};

use super::docid_stream::{self, DocIdStream};
use super::docids::DocIds;
use super::lists::ListCache;
use crate::container::ContainerState;
use crate::error::Error;
use crate::layout::term;

/// Entries that one read of the store brings.
const CHUNK: usize = 4_096;
/// So few items are cheaper to load than to narrow further.
const FEW: usize = 256;
/// More constants than this are looked up once and listed.
const MOST_SPANS: usize = 64;

/// Index look-ups in one snapshot of a partition.
pub struct Seeker<'a> {
    /// The snapshot.
    pub reader: &'a dyn Reader,
    /// Whose snapshot it is.
    pub part: PartId,
    /// Lists that were made before.
    pub lists: &'a ListCache,
    /// The container, which says what is indexed.
    pub state: &'a ContainerState,
    /// Entries that a look-up may list; beyond that a scan of the items is cheaper.
    pub most_entries: usize,
    /// Every condition must be looked up: nobody will ask the items.
    pub is_exact: bool,
    /// What was done.
    pub cost: QueryCost,
}

/// Entries between two keys, the second exclusive.
#[derive(Debug, Clone)]
pub struct KeyRange {
    /// The first.
    pub from: Vec<u8>,
    /// The end; `None` is the end of the part.
    pub to: Option<Vec<u8>>,
}

impl Seeker<'_> {
    /// The items that may satisfy the filter; `None` when the index does not narrow them, or not
    /// enough to be worth it.
    pub fn items(&mut self, filter: &IndexFilter) -> Result<Option<DocIdStream>, Error> {
        match filter {
            IndexFilter::All => Ok(None),
            IndexFilter::Nothing => Ok(Some(DocIdStream::List(DocIds::default()))),
            IndexFilter::Path(path, test) => self.path(path, test),
            IndexFilter::And(branches) => self.all(branches),
            IndexFilter::Or(branches) => {
                let mut streams = Vec::with_capacity(branches.len());
                for branch in branches {
                    match self.items(branch)? {
                        Some(stream) => streams.push(stream),
                        None => return Ok(None),
                    }
                }
                Ok(Some(DocIdStream::any(streams)))
            }
        }
    }

    /// Branches in order of how much they narrow, until few items are left or the next one would
    /// read more entries than it saves items. A composite index answers several at once.
    fn all(&mut self, branches: &[IndexFilter]) -> Result<Option<DocIdStream>, Error> {
        let mut ordered: Vec<&IndexFilter> = branches.iter().collect();
        ordered.sort_by_key(|branch| selectivity(branch));
        let mut streams: Vec<DocIdStream> = Vec::new();
        if let Some((stream, answered)) = self.composite(branches)? {
            ordered.retain(|branch| !answered.contains(branch));
            streams.push(stream);
        }
        for branch in ordered {
            if let Some(last) = streams.last_mut()
                && !self.is_exact
                && (selectivity(branch) >= READS_A_PATH || last.is_few(self.reader, FEW)?)
            {
                break;
            }
            match self.items(branch)? {
                Some(stream) => streams.push(stream),
                None if self.is_exact => return Ok(None),
                None => {}
            }
        }
        Ok(match streams.len() {
            0 => None,
            1 => streams.pop(),
            _ => Some(DocIdStream::All(streams)),
        })
    }

    /// What the composite index of the most branches answers, and which branches these are.
    fn composite<'f>(
        &mut self,
        branches: &'f [IndexFilter],
    ) -> Result<Option<(DocIdStream, Vec<&'f IndexFilter>)>, Error> {
        let composable = Composable::of(branches, &[]);
        let mut composites: Vec<(&Composite, Served)> = self
            .state
            .composites()
            .filter_map(|composite| Some((composite, composable.served_by(composite)?)))
            .collect();
        if self.is_exact {
            composites.retain(|(_, served)| served.range.as_ref().is_none_or(is_whole));
        }
        composites.sort_by_key(|(composite, _)| std::cmp::Reverse(composite.paths.len()));
        let Some((composite, served)) = composites.into_iter().next() else {
            return Ok(None);
        };
        let prefix = composite_prefix(composite, &served.values);
        self.cost.seeks += 1;
        let last = composite.paths.get(served.values.len());
        let stream = match (&served.range, last) {
            (Some(test), Some(last)) => {
                let range = composite_range(&prefix, test, last.descending);
                let mut found = Vec::new();
                if !self.collect(range, test, prefix.len(), &mut found)? {
                    return Ok(None);
                }
                DocIdStream::List(DocIds::new(found))
            }
            _ => DocIdStream::Span(docid_stream::Span::new(prefix)),
        };
        let is_answered = |branch: &&IndexFilter| served.answers(composite, branch);
        let answered = branches.iter().filter(is_answered).collect();
        Ok(Some((stream, answered)))
    }

    /// How many items satisfy a filter that entries answer exactly; `None` when the index does not
    /// know.
    pub fn count(
        &mut self,
        filter: &IndexFilter,
        of_keys: Option<DocIdStream>,
    ) -> Result<Option<u64>, Error> {
        self.is_exact = true;
        if let (IndexFilter::Path(path, test), None) = (filter, &of_keys) {
            let steps = steps(path);
            if !is_covered(self.state, &steps, test) {
                return Ok(None);
            }
            let mut count = 0;
            for range in ranges(&term::path_prefix(PathHash::of(&steps)), test) {
                self.cost.seeks += 1;
                count += self.entries(range)?;
            }
            return Ok(Some(count));
        }
        let found = match filter {
            IndexFilter::All => None,
            filter => match self.items(filter)? {
                Some(found) => Some(found),
                None => return Ok(None),
            },
        };
        let mut stream = match (found, of_keys) {
            (Some(found), Some(of_keys)) => DocIdStream::All(vec![of_keys, found]),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return Ok(None),
        };
        let (mut count, mut after) = (0, None);
        loop {
            let page = stream.take(self.reader, after, CHUNK)?;
            count += page.len() as u64;
            self.cost.entries_scanned += page.len() as u64;
            match page.last() {
                Some(&last) if page.len() == CHUNK => after = Some(last),
                _ => return Ok(Some(count)),
            }
        }
    }

    /// How many entries lie in a range.
    pub fn entries(&mut self, range: KeyRange) -> Result<u64, Error> {
        let mut count = 0;
        self.reader
            .keys(&Scan::range(range.from, range.to), &mut |_| {
                count += 1;
                ControlFlow::Continue(())
            })?;
        self.cost.entries_scanned += count;
        Ok(count)
    }

    fn path(&mut self, path: &[IndexStep], test: &IndexTest) -> Result<Option<DocIdStream>, Error> {
        let steps = steps(path);
        if let IndexTest::Near(near) = test {
            return self.near(&steps, test, near);
        }
        if !is_covered(self.state, &steps, test) {
            return Ok(None);
        }
        let prefix = term::path_prefix(PathHash::of(&steps));
        let span = |value: &Value<'_>| {
            DocIdStream::Span(docid_stream::Span::new(encoded(
                &prefix,
                value,
                STRING_LIMIT,
            )))
        };
        match test {
            IndexTest::Equal(value) => {
                self.cost.seeks += 1;
                Ok(Some(span(value)))
            }
            IndexTest::In(values) if values.len() <= MOST_SPANS => {
                self.cost.seeks += values.len() as u64;
                Ok(Some(DocIdStream::any(values.iter().map(span).collect())))
            }
            IndexTest::Range(..) | IndexTest::StartsWith(_) => {
                let mut ranges = ranges(&prefix, test);
                let range = ranges.pop().filter(|_| ranges.is_empty());
                let found = match range {
                    Some(range) => self.range(range, test, prefix.len())?,
                    None => return Ok(None),
                };
                Ok(found.map(DocIdStream::List))
            }
            _ => {
                let mut found = Vec::new();
                for range in ranges(&prefix, test) {
                    self.cost.seeks += 1;
                    if !self.collect(range, test, prefix.len(), &mut found)? {
                        return Ok(None);
                    }
                }
                Ok(Some(DocIdStream::List(DocIds::new(found))))
            }
        }
    }

    /// The items of a range of entries that all pass the test; `None` when there are too many.
    fn range(
        &mut self,
        range: KeyRange,
        test: &IndexTest,
        value_at: usize,
    ) -> Result<Option<DocIds>, Error> {
        self.cost.seeks += 1;
        if let Some(known) = self.lists.get(self.part, self.reader, &range)? {
            return Ok((known.len() <= self.most_entries).then_some(known));
        }
        let mut found = Vec::new();
        if !self.collect(range.clone(), test, value_at, &mut found)? {
            return Ok(None);
        }
        let found = DocIds::new(found);
        self.lists.put(self.part, self.reader, &range, &found)?;
        Ok(Some(found))
    }

    /// Adds the items of a range of entries; false when there are too many.
    pub(super) fn collect(
        &mut self,
        range: KeyRange,
        test: &IndexTest,
        value_at: usize,
        found: &mut Vec<DocId>,
    ) -> Result<bool, Error> {
        let text = match test {
            IndexTest::Scan(text) => Some(text),
            _ => None,
        };
        let (mut entries, mut is_sound) = (0, true);
        let most = self.most_entries;
        let scan = Scan::range(range.from, range.to);
        self.reader.keys(&scan, &mut |key| {
            let Some((_, docid)) = term::parts(key) else {
                is_sound = false;
                return ControlFlow::Break(());
            };
            entries += 1;
            let value = key.get(value_at..).unwrap_or_default();
            if text.is_none_or(|text| may_match(text, value)) {
                found.push(docid);
            }
            if found.len() > most {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        if !is_sound {
            return Err(Error::Damaged("index term"));
        }
        if text.is_some() {
            self.cost.entries_scanned += entries;
        }
        Ok(found.len() <= most)
    }
}

/// Whether every item that passes the test has an entry of its value that tells so.
pub fn is_covered(
    state: &ContainerState,
    steps: &[orrery_model::path::Step],
    test: &IndexTest,
) -> bool {
    let coverage = state.coverage(steps);
    match test {
        IndexTest::Defined => coverage.is_complete(),
        IndexTest::Near(_) => false,
        _ => coverage.scalars,
    }
}

/// From here on a look-up reads all entries of a path.
const READS_A_PATH: u8 = 6;

fn selectivity(filter: &IndexFilter) -> u8 {
    match filter {
        IndexFilter::Nothing => 0,
        IndexFilter::Path(_, IndexTest::Equal(_)) => 1,
        IndexFilter::Path(_, IndexTest::In(_)) => 2,
        IndexFilter::Path(_, IndexTest::StartsWith(_)) => 3,
        IndexFilter::Path(_, IndexTest::Range(..)) => 4,
        IndexFilter::And(_) | IndexFilter::Or(_) | IndexFilter::Path(_, IndexTest::Near(_)) => 5,
        IndexFilter::Path(_, IndexTest::Scan(_)) => READS_A_PATH,
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

/// Whether the entries of a composite index keep all of the constants of a range.
fn is_whole(test: &IndexTest) -> bool {
    let fits = |text: &str| text.len() < COMPOSITE_STRING_LIMIT;
    let fits_bound = |bound: &Bound<Value<'_>>| match bound {
        Bound::Included(value) | Bound::Excluded(value) => value.as_str().is_none_or(fits),
        Bound::Unbounded => true,
    };
    match test {
        IndexTest::Range(low, high) => fits_bound(low) && fits_bound(high),
        IndexTest::StartsWith(text) => fits(text),
        _ => false,
    }
}

/// The start of the entries of a composite index with these first values.
pub fn composite_prefix(composite: &Composite, values: &[Value<'_>]) -> Vec<u8> {
    let mut prefix = term::path_prefix(composite.hash);
    for (part, value) in composite.paths.iter().zip(values) {
        if part.descending {
            ordered::encode_descending(value, COMPOSITE_STRING_LIMIT, &mut prefix);
        } else {
            ordered::encode(value, COMPOSITE_STRING_LIMIT, &mut prefix);
        }
    }
    prefix
}

/// The entries of a composite index behind a prefix whose next value passes a test of a range.
pub fn composite_range(prefix: &[u8], test: &IndexTest, descending: bool) -> KeyRange {
    let behind = |bytes: &[u8]| [prefix, bytes].concat();
    let end = |bytes: &[u8]| orrery_storage::scan::prefix_end(&behind(bytes));
    let ascending = ranges_cut(&[], test, COMPOSITE_STRING_LIMIT);
    let Some(KeyRange { from, to }) = ascending.into_iter().next() else {
        return of_prefix(prefix.to_vec());
    };
    if !descending {
        return KeyRange {
            from: behind(&from),
            to: to.map_or_else(|| end(&[]), |to| Some(behind(&to))),
        };
    }
    // The last of the values comes first, and every byte is the other way round.
    let complement = |bytes: &[u8]| bytes.iter().map(|byte| !byte).collect::<Vec<u8>>();
    KeyRange {
        from: to
            .and_then(|to| end(&complement(&to)))
            .unwrap_or_else(|| behind(&[])),
        to: end(&complement(&from)),
    }
}

/// The entries that a test concerns.
pub fn ranges(prefix: &[u8], test: &IndexTest) -> Vec<KeyRange> {
    ranges_cut(prefix, test, STRING_LIMIT)
}

/// [`ranges`] of entries whose strings are cut after `limit` bytes.
fn ranges_cut(prefix: &[u8], test: &IndexTest, limit: usize) -> Vec<KeyRange> {
    match test {
        IndexTest::Equal(value) => vec![equal(prefix, value, limit)],
        IndexTest::In(values) => values
            .iter()
            .map(|value| equal(prefix, value, limit))
            .collect(),
        IndexTest::Range(low, high) => vec![range(prefix, low, high, limit)],
        IndexTest::StartsWith(text) => vec![starts_with(prefix, text, limit)],
        IndexTest::Scan(_) => vec![of_tag(prefix, Tag::String)],
        IndexTest::Defined => vec![of_prefix(prefix.to_vec())],
        // No values of the path, but cells.
        IndexTest::Near(_) => Vec::new(),
    }
}

fn encoded(prefix: &[u8], value: &Value<'_>, limit: usize) -> Vec<u8> {
    let mut key = prefix.to_vec();
    ordered::encode(value, limit, &mut key);
    key
}

/// The entries behind a prefix.
pub fn of_prefix(prefix: Vec<u8>) -> KeyRange {
    let to = orrery_storage::scan::prefix_end(&prefix);
    KeyRange { from: prefix, to }
}

// No encoding is a prefix of another, so these are the entries of just this value.
fn equal(prefix: &[u8], value: &Value<'_>, limit: usize) -> KeyRange {
    of_prefix(encoded(prefix, value, limit))
}

fn of_tag(prefix: &[u8], tag: Tag) -> KeyRange {
    let mut from = prefix.to_vec();
    from.push(tag as u8);
    of_prefix(from)
}

fn starts_with(prefix: &[u8], text: &str, limit: usize) -> KeyRange {
    let mut from = prefix.to_vec();
    let is_end = |end: &usize| text.is_char_boundary(*end);
    let cut = (0..=limit.min(text.len())).rev().find(is_end);
    let start = cut.and_then(|cut| text.get(..cut)).unwrap_or_default();
    ordered::encode_string_prefix(start, &mut from);
    of_prefix(from)
}

fn range(prefix: &[u8], low: &Bound<Value<'_>>, high: &Bound<Value<'_>>, limit: usize) -> KeyRange {
    let encoded = |value: &Value<'_>| encoded(prefix, value, limit);
    let after = |value: &Value<'_>| {
        let key = encoded(value);
        orrery_storage::scan::prefix_end(&key).unwrap_or(key)
    };
    // Behind the cut, a string may be on either side of the bound.
    let is_cut = |value: &Value<'_>| value.as_str().is_some_and(|text| text.len() > limit);
    let whole_type = |of: &Bound<Value<'_>>| match of {
        Bound::Included(value) | Bound::Excluded(value) => {
            let first = encoded(value).get(prefix.len()).copied();
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
        Bound::Included(value) => encoded(value),
        Bound::Excluded(value) if is_cut(value) => encoded(value),
        Bound::Excluded(value) => after(value),
        Bound::Unbounded => tagged(whole_type(high).0),
    };
    let to = match high {
        Bound::Included(value) => Some(after(value)),
        Bound::Excluded(value) if is_cut(value) => Some(after(value)),
        Bound::Excluded(value) => Some(encoded(value)),
        Bound::Unbounded => orrery_storage::scan::prefix_end(&tagged(whole_type(low).1)),
    };
    KeyRange { from, to }
}
