//! How stored items spread over partitions, requests aside.

use serde::Serialize;

use crate::layout::{Groups, Layout, Sampled, group_text};
use crate::placement::EvenRanges;

/// Partitions at which the spread of stored items is shown.
pub const SPREAD_AT: [u32; 3] = [5, 10, 40];

/// How stored items spread under a key; names near those of `analyzeShardKey`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// The key.
    pub key: String,
    /// Whether every item has another value.
    pub is_unique: bool,
    /// Distinct values.
    pub num_distinct_values: f64,
    /// The effective number of values.
    pub effective_values: f64,
    /// The most common values with their share of the items.
    pub most_common_values: Vec<(String, f64)>,
    /// The fullest partition over the mean, by items, at [`SPREAD_AT`] partitions.
    pub max_over_mean: Vec<f64>,
    /// Partitions that stay empty.
    pub empty: Vec<u32>,
}

pub(super) fn of(sampled: &Sampled<'_>, layout: &Layout, groups: &Groups, key: String) -> Spread {
    /// Values that are shown.
    const SHOWN: usize = 5;
    let rows = sampled.table.rows.max(1) as f64;
    let (mut max_over_mean, mut empty) = (Vec::new(), Vec::new());
    for count in SPREAD_AT {
        let mut items = vec![0_u64; count as usize];
        let ranges = EvenRanges::new(count);
        for (position, of_group) in groups.positions.iter().zip(&groups.items) {
            items[ranges.owner(*position)] += u64::from(*of_group);
        }
        let most = items.iter().copied().max().unwrap_or(0);
        max_over_mean.push(most as f64 * f64::from(count) / rows);
        empty.push(items.iter().filter(|&&items| items == 0).count() as u32);
    }
    let mut order: Vec<usize> = (0..groups.len()).collect();
    let by_items = |&group: &usize| (std::cmp::Reverse(groups.items[group]), group);
    if order.len() > SHOWN {
        order.select_nth_unstable_by_key(SHOWN, by_items);
        order.truncate(SHOWN);
    }
    order.sort_by_key(by_items);
    Spread {
        key,
        is_unique: groups.is_unique(),
        num_distinct_values: layout.distinct,
        effective_values: layout.effective_values,
        most_common_values: order
            .into_iter()
            .map(|group| {
                let share = f64::from(groups.items[group]) / rows;
                (group_text(sampled.columns, groups, group), share)
            })
            .collect(),
        max_over_mean,
        empty,
    }
}
