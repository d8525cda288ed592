//! Which partition keys a query can concern, told from its WHERE (protocol: section 8.3).
//!
//! The filter is an over-approximation: an item outside it never passes WHERE, an item inside may
//! or may not. It is the union of boxes; a box has, for each path of the partition key, nothing or
//! an interval of values ([`interval`]).

mod boxes;
mod constant;
mod interval;
mod ranges;

pub use constant::{Fold, constant, literal};
pub use interval::{Bound, Interval};
pub use ranges::{KeySpan, PlanRange, epk_ranges, key_spans};

use crate::ast::Query;
use boxes::Boxes;
use orrery_model::partition_key::{PartitionKey, PartitionKeyDefinition, PartitionKeyKind};

/// What WHERE says about the partition key.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyFilter {
    /// Nothing that narrows the search.
    Unconstrained,
    /// No item can pass.
    Contradictory,
    /// Only these keys; those of a hierarchical definition may be prefixes. Sorted by effective
    /// partition key, each once.
    Keys(Vec<PartitionKey>),
}

/// The keys that a query concerns. `fold` computes constant expressions: [`constant`] all of them,
/// [`literal`] those that are plain values.
pub fn key_filter(query: &Query, fold: Fold<'_>, definition: &PartitionKeyDefinition) -> KeyFilter {
    match boxes::of_query(query, fold, definition) {
        Boxes::All => KeyFilter::Unconstrained,
        Boxes::Some(boxes) if boxes.is_empty() => KeyFilter::Contradictory,
        Boxes::Some(boxes) => {
            let keys: Option<Vec<PartitionKey>> =
                boxes.iter().map(|one| point(one, definition)).collect();
            keys.map_or(KeyFilter::Unconstrained, |keys| {
                KeyFilter::Keys(ranges::sort_keys(keys, definition))
            })
        }
    }
}

/// The one key or prefix of a box; `None` when it is more than that.
fn point(
    intervals: &[Option<Interval>],
    definition: &PartitionKeyDefinition,
) -> Option<PartitionKey> {
    let values: Vec<_> = intervals
        .iter()
        .map_while(|interval| interval.as_ref().and_then(Interval::point).cloned())
        .collect();
    let enough = match definition.kind() {
        PartitionKeyKind::MultiHash => !values.is_empty(),
        PartitionKeyKind::Hash | PartitionKeyKind::Range => values.len() == intervals.len(),
    };
    enough.then_some(PartitionKey(values))
}

#[cfg(test)]
mod tests;
