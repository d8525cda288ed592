//! The paths of a profile as a report shows them.

use serde::Serialize;

use crate::profile::Profile;

/// A path with its counts as shares of the items.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathSummary {
    /// The path, `/address/city`.
    pub path: String,
    /// Share of the items that lack it.
    pub missing: f64,
    /// Shares by type.
    pub types: Types,
    /// Distinct values in the data, within 1 %.
    pub num_distinct_values: f64,
    /// Share of the most frequent value: lower and upper bound.
    pub largest_share: (f64, f64),
    /// Share of the bytes of the items with the largest value: lower and upper bound.
    pub largest_share_of_bytes: (f64, f64),
    /// Elements of the longest array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_elements: Option<u64>,
    /// Share of the bytes that arrays hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array_share_of_bytes: Option<f64>,
}

/// Shares of the items by type of the value.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Types {
    /// null
    pub null: f64,
    /// true or false
    pub boolean: f64,
    /// A number.
    pub number: f64,
    /// A string.
    pub string: f64,
    /// An array.
    pub array: f64,
    /// An object.
    pub object: f64,
}

pub(super) fn summaries(profile: &Profile) -> Vec<PathSummary> {
    let items = profile.items.max(1) as f64;
    let share = |count: u64| count as f64 / items;
    profile
        .paths
        .iter()
        .map(|path| {
            let stats = &path.stats;
            PathSummary {
                path: format!("/{}", path.name),
                missing: 1.0 - share(stats.present().min(profile.items)),
                types: Types {
                    null: share(stats.nulls),
                    boolean: share(stats.booleans),
                    number: share(stats.numbers),
                    string: share(stats.strings),
                    array: share(stats.arrays),
                    object: share(stats.objects),
                },
                num_distinct_values: stats.distinct.estimate(),
                largest_share: stats.frequent.largest_by_items(),
                largest_share_of_bytes: stats.frequent.largest_by_bytes(),
                most_elements: (stats.arrays > 0).then_some(stats.most_elements),
                array_share_of_bytes: (stats.arrays > 0)
                    .then(|| stats.array_bytes as f64 / profile.bytes.max(1) as f64),
            }
        })
        .collect()
}
