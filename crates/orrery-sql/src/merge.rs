//! What a client does with the rows of several ranges, so that one query gives one result.
//!
//! The rules are those of the SDKs (protocol: sections 8.4 and 8.5): each range runs the text of
//! the plan, [`merge`] puts the rows together. Row streams are pulled, so that an ordered query
//! holds one row per range; aggregates, groups and DISTINCT hold their results.

mod aggregate;
mod hybrid;

pub use hybrid::{RunText, merge_hybrid};

use crate::plan::{DistinctType, QueryInfo};
use aggregate::{Partial, Partials};
use orrery_model::value::Value;
use orrery_model::{distinct_hash, json};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// The rows of one range, in its order.
pub type RangeRows<'r, E> = Box<dyn Iterator<Item = Result<Vec<u8>, E>> + 'r>;

/// What stands in for the filter on sort keys when nothing is resumed.
const FILTER: &str = "{documentdb-formattableorderbyquery-filter}";

/// Why rows could not be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError<E> {
    /// A range failed.
    #[error("{0}")]
    Range(E),
    /// A range sent a row of another shape than the plan asks for.
    #[error("A partition key range sent a row that the query plan does not describe.")]
    Row,
}

/// The text that each range runs: the plan's, or the query as it is.
pub fn range_text<'q>(original: &'q str, info: &QueryInfo) -> std::borrow::Cow<'q, str> {
    if info.rewritten.is_empty() {
        std::borrow::Cow::Borrowed(original)
    } else {
        std::borrow::Cow::Owned(info.rewritten.replace(FILTER, "true"))
    }
}

/// Merges the rows of ranges, given in range order; `emit` takes each row of the result and may
/// stop.
pub fn merge<E>(
    info: &QueryInfo,
    ranges: Vec<RangeRows<'_, E>>,
    emit: &mut dyn FnMut(Vec<u8>) -> ControlFlow<()>,
) -> Result<(), MergeError<E>> {
    let mut tail = Tail::new(info, emit);
    if info.distinct_count_alias.is_some() {
        return count_distinct(info, ranges, &mut tail);
    }
    if !info.group_by_expressions.is_empty()
        || !info.group_by_aliases.is_empty()
        || !info.aggregates.is_empty()
    {
        return grouped(info, ranges, &mut tail);
    }
    if !info.order_by.is_empty() {
        return ordered(info, ranges, &mut |row| tail.take_value(row));
    }
    for row in ranges.into_iter().flatten() {
        if tail.take(row.map_err(MergeError::Range)?).is_break() {
            break;
        }
    }
    Ok(())
}

/// DISTINCT, OFFSET, TOP and LIMIT, after everything else.
struct Tail<'e> {
    seen: Option<FxHashSet<u128>>,
    offset: u64,
    left: u64,
    emit: &'e mut dyn FnMut(Vec<u8>) -> ControlFlow<()>,
}

impl<'e> Tail<'e> {
    fn new(info: &QueryInfo, emit: &'e mut dyn FnMut(Vec<u8>) -> ControlFlow<()>) -> Self {
        Self {
            seen: (info.distinct != DistinctType::None && info.distinct_count_alias.is_none())
                .then(FxHashSet::default),
            offset: info.offset.unwrap_or(0),
            left: info
                .top
                .unwrap_or(u64::MAX)
                .min(info.limit.unwrap_or(u64::MAX)),
            emit,
        }
    }

    fn take(&mut self, row: Vec<u8>) -> ControlFlow<()> {
        if self.left == 0 {
            return ControlFlow::Break(());
        }
        if let Some(seen) = &mut self.seen
            && !seen.insert(json::parse(&row).map_or(0, |value| distinct_hash::hash(&value)))
        {
            return ControlFlow::Continue(());
        }
        if self.offset > 0 {
            self.offset -= 1;
            return ControlFlow::Continue(());
        }
        self.left -= 1;
        (self.emit)(row)?;
        if self.left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn take_value(&mut self, value: &Value<'_>) -> ControlFlow<()> {
        if value.is_undefined() {
            return ControlFlow::Continue(());
        }
        let mut row = Vec::new();
        json::write(value, &mut row);
        self.take(row)
    }
}

fn count_distinct<E>(
    info: &QueryInfo,
    ranges: Vec<RangeRows<'_, E>>,
    tail: &mut Tail<'_>,
) -> Result<(), MergeError<E>> {
    let mut seen: FxHashSet<u128> = FxHashSet::default();
    for row in ranges.into_iter().flatten() {
        let row = row.map_err(MergeError::Range)?;
        seen.insert(distinct_hash::hash(
            &json::parse(&row).map_err(|_| MergeError::Row)?,
        ));
    }
    let count = Value::from(seen.len() as u64);
    let _ = match info.distinct_count_alias.as_deref() {
        None | Some("") => tail.take_value(&count),
        Some(alias) => tail.take_value(&Value::Object([(alias, count)].into_iter().collect())),
    };
    Ok(())
}

/// Groups of all ranges, in order of first appearance; without GROUP BY there is one.
fn grouped<E>(
    info: &QueryInfo,
    ranges: Vec<RangeRows<'_, E>>,
    tail: &mut Tail<'_>,
) -> Result<(), MergeError<E>> {
    let mut groups = Groups {
        info,
        places: FxHashMap::default(),
        list: Vec::new(),
    };
    if info.order_by.is_empty() {
        for row in ranges.into_iter().flatten() {
            let row = row.map_err(MergeError::Range)?;
            groups.take(&json::parse(&row).map_err(|_| MergeError::Row)?);
        }
    } else {
        ordered(info, ranges, &mut |row| {
            groups.take(row);
            ControlFlow::Continue(())
        })?;
    }
    for group in groups.list {
        if tail.take_value(&group.finish(info)).is_break() {
            break;
        }
    }
    Ok(())
}

struct Groups<'i> {
    info: &'i QueryInfo,
    places: FxHashMap<u128, usize>,
    list: Vec<Partials>,
}

impl Groups<'_> {
    fn take(&mut self, row: &Value<'_>) {
        let by_key = !self.info.group_by_expressions.is_empty();
        let key = if by_key {
            distinct_hash::hash(row.member("groupByItems"))
        } else {
            0
        };
        let place = *self.places.entry(key).or_insert_with(|| {
            self.list.push(Partials::new(self.info));
            self.list.len() - 1
        });
        // `SELECT VALUE aggregate` without groups sends the partial results as the row itself.
        let payload = if by_key || self.info.aggregates.is_empty() {
            row.member("payload")
        } else {
            row
        };
        self.list[place].take(self.info, payload);
    }
}

/// The next row of a range.
struct Head {
    keys: Vec<Value<'static>>,
    payload: Value<'static>,
}

fn next_head<E>(rows: &mut RangeRows<'_, E>) -> Result<Option<Head>, MergeError<E>> {
    let Some(row) = rows.next() else {
        return Ok(None);
    };
    let row = row.map_err(MergeError::Range)?;
    let row = json::parse(&row).map_err(|_| MergeError::Row)?;
    let items = row
        .member("orderByItems")
        .as_array()
        .ok_or(MergeError::Row)?;
    let keys = items
        .iter()
        .map(|item| item.member("item").clone().into_owned())
        .collect();
    Ok(Some(Head {
        keys,
        payload: row.member("payload").clone().into_owned(),
    }))
}

/// The order of two rows; rows without a score come last whatever the direction.
fn compare(info: &QueryInfo, left: &Head, right: &Head) -> Ordering {
    let keys = info.order_by.iter().zip(left.keys.iter().zip(&right.keys));
    keys.map(|((_, descending), (left, right))| {
        if info.non_streaming && (left.is_undefined() || right.is_undefined()) {
            return left.is_undefined().cmp(&right.is_undefined());
        }
        let order = left.order(right);
        if *descending { order.reverse() } else { order }
    })
    .find(|order| order.is_ne())
    .unwrap_or(Ordering::Equal)
}

/// Merges sorted ranges; among equal keys the earlier range goes first.
fn ordered<E>(
    info: &QueryInfo,
    mut ranges: Vec<RangeRows<'_, E>>,
    take: &mut dyn FnMut(&Value<'_>) -> ControlFlow<()>,
) -> Result<(), MergeError<E>> {
    let mut heads = Vec::with_capacity(ranges.len());
    for rows in &mut ranges {
        heads.push(next_head(rows)?);
    }
    loop {
        let open = heads
            .iter()
            .enumerate()
            .filter_map(|(place, head)| Some((place, head.as_ref()?)));
        let best = open
            .min_by(|(_, left), (_, right)| compare(info, left, right))
            .map(|(place, _)| place);
        let Some(place) = best else { return Ok(()) };
        let next = next_head(&mut ranges[place])?;
        let Some(head) = std::mem::replace(&mut heads[place], next) else {
            return Ok(());
        };
        if take(&head.payload).is_break() {
            return Ok(());
        }
    }
}

/// Merging of one aggregate, for those who keep partial results themselves.
pub fn combine(kind: crate::signatures::BuiltIn, partials: &[Value<'_>]) -> Value<'static> {
    let mut state = Partial::new(Some(kind));
    for partial in partials {
        state.take(partial);
    }
    state.finish()
}
