//! Boxes of key values as the ranges of a query plan.

use super::boxes::{self, Boxes};
use super::constant::Fold;
use super::interval::Interval;
use super::point;
use crate::ast::Query;
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::partition_key::{
    KeyComponent, KeyRange, PartitionKey, PartitionKeyDefinition, PartitionKeyKind,
};

/// A range of a query plan in terms of key values.
#[derive(Debug, Clone, PartialEq)]
pub enum KeySpan {
    /// No item: from the lowest key to itself.
    Nothing,
    /// Every key.
    Everything,
    /// From one list of components to another.
    Between {
        /// Lower end.
        min: PartitionKey,
        /// Upper end.
        max: PartitionKey,
        /// Whether the lower end itself is inside.
        min_inclusive: bool,
        /// Whether the upper end itself is inside.
        max_inclusive: bool,
    },
}

impl KeySpan {
    fn point(key: PartitionKey) -> Self {
        Self::Between {
            min: key.clone(),
            max: key,
            min_inclusive: true,
            max_inclusive: true,
        }
    }
}

/// The ranges of a plan in terms of key values, those of hashed keys sorted by effective partition
/// key. Without a definition there is nothing to tell.
pub fn key_spans(
    query: &Query,
    fold: Fold<'_>,
    definition: Option<&PartitionKeyDefinition>,
) -> Vec<KeySpan> {
    if query.from.is_none() {
        return vec![KeySpan::Nothing];
    }
    let Some(definition) = definition else {
        return vec![KeySpan::Everything];
    };
    let boxes = match boxes::of_query(query, fold, definition) {
        Boxes::All => return vec![KeySpan::Everything],
        Boxes::Some(boxes) if boxes.is_empty() => return vec![KeySpan::Nothing],
        Boxes::Some(boxes) => boxes,
    };
    if definition.kind() == PartitionKeyKind::Range {
        let spans: Option<Vec<KeySpan>> = boxes.iter().map(|one| ordered_span(one)).collect();
        return spans.unwrap_or_else(|| vec![KeySpan::Everything]);
    }
    let keys: Option<Vec<PartitionKey>> = boxes.iter().map(|one| point(one, definition)).collect();
    match keys {
        Some(keys) => sort_keys(keys, definition)
            .into_iter()
            .map(KeySpan::point)
            .collect(),
        None => vec![KeySpan::Everything],
    }
}

/// The span of a box where keys are ordered by value; `None` when it has no first component.
fn ordered_span(intervals: &[Option<Interval>]) -> Option<KeySpan> {
    let known: Vec<&Interval> = intervals.iter().map_while(Option::as_ref).collect();
    if known.is_empty() {
        return None;
    }
    Some(KeySpan::Between {
        min: known.iter().map(|one| one.low.value.clone()).collect(),
        max: known.iter().map(|one| one.high.value.clone()).collect(),
        min_inclusive: known.iter().all(|one| one.low.inclusive),
        max_inclusive: known.iter().all(|one| one.high.inclusive),
    })
}

/// Sorts keys by effective partition key and drops repeats, and full keys below a given prefix.
pub(super) fn sort_keys(
    keys: Vec<PartitionKey>,
    definition: &PartitionKeyDefinition,
) -> Vec<PartitionKey> {
    let mut placed: Vec<(EffectivePartitionKey, PartitionKey)> = keys
        .into_iter()
        .map(|key| (definition.effective(&key), key))
        .collect();
    placed.sort_by(|(left, left_key), (right, right_key)| {
        left.cmp(right).then(left_key.len().cmp(&right_key.len()))
    });
    let mut kept: Vec<PartitionKey> = Vec::with_capacity(placed.len());
    for (_, key) in placed {
        if !kept.last().is_some_and(|last| last.is_prefix_of(&key)) {
            kept.push(key);
        }
    }
    kept
}

/// One range of effective partition keys as a plan writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRange {
    /// The two ends.
    pub range: EpkRange,
    /// Whether the upper end is inside: a single key, or nothing at all.
    pub max_inclusive: bool,
    /// Whether the lower end is inside.
    pub min_inclusive: bool,
}

/// The ranges of a plan over effective partition keys, sorted and disjoint.
pub fn epk_ranges(
    spans: &[KeySpan],
    definition: Option<&PartitionKeyDefinition>,
) -> Vec<PlanRange> {
    let mut ranges: Vec<PlanRange> = spans
        .iter()
        .map(|span| epk_range(span, definition))
        .collect();
    ranges.sort_by(|left, right| left.range.min.cmp(&right.range.min));
    let mut kept: Vec<PlanRange> = Vec::with_capacity(ranges.len());
    for next in ranges {
        match kept.last_mut() {
            Some(last) if touches(last, &next) => {
                if next.range.max >= last.range.max {
                    last.max_inclusive = next.max_inclusive
                        || (last.max_inclusive && last.range.max == next.range.max);
                    last.range.max = next.range.max;
                }
            }
            _ => kept.push(next),
        }
    }
    kept
}

fn touches(left: &PlanRange, right: &PlanRange) -> bool {
    right.range.min < left.range.max
        || (right.range.min == left.range.max && left.max_inclusive && right.min_inclusive)
}

fn epk_range(span: &KeySpan, definition: Option<&PartitionKeyDefinition>) -> PlanRange {
    let half_open = |range| PlanRange {
        range,
        min_inclusive: true,
        max_inclusive: false,
    };
    let closed = |key: EffectivePartitionKey| PlanRange {
        range: EpkRange::new(key.clone(), key),
        min_inclusive: true,
        max_inclusive: true,
    };
    match (span, definition) {
        (KeySpan::Nothing, _) => closed(EffectivePartitionKey::MIN),
        (KeySpan::Everything, _) | (_, None) => half_open(EpkRange::full()),
        (
            KeySpan::Between {
                min,
                max,
                min_inclusive,
                max_inclusive,
            },
            Some(definition),
        ) => {
            if min == max && min.components().iter().all(KeyComponent::is_value) {
                return match definition.key_range(min) {
                    KeyRange::Point(key) => closed(key),
                    KeyRange::Prefix(range) => half_open(range),
                };
            }
            let (low, high) = (definition.effective(min), definition.effective(max));
            if definition.is_full(max) {
                let (min_inclusive, max_inclusive) = (*min_inclusive, *max_inclusive);
                return PlanRange {
                    range: EpkRange::new(low, high),
                    min_inclusive,
                    max_inclusive,
                };
            }
            // Everything that begins with the last prefix is inside.
            half_open(EpkRange::new(low, high.end_of_prefix()))
        }
    }
}
