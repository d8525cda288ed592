//! Candidate keys from a sample and a workload (method: section 1).

use rustc_hash::FxHashMap;

use crate::demand::Demand;
use crate::roles::identity;
use crate::routing::Known;
use crate::scenario::{Concat, KeySpec, LabelRule, Suffix};
use crate::table::{Column, TRUNCATIONS, Table};

/// Most joined keys.
const MAX_CONCATENATIONS: usize = 50;
/// Most hierarchical keys.
const MAX_HIERARCHIES: usize = 200;
/// Most members of filters that are combined.
const MAX_COMBINED: usize = 8;

/// Candidates of the first round, and the paths that were left out with the reason.
pub struct Found {
    /// The keys.
    pub keys: Vec<KeySpec>,
    /// Columns that group the items as another one does.
    pub equal: Vec<(String, String)>,
}

/// Natural keys, and those that the workload's filters suggest.
pub fn first_round(table: &Table, demands: &[Demand<'_>]) -> Found {
    let mut found = Found {
        keys: Vec::new(),
        equal: Vec::new(),
    };
    let filtered = filtered_fields(table, demands);
    let mut seen: FxHashMap<u64, &str> = FxHashMap::default();
    let mut columns: Vec<&Column> = table
        .columns
        .iter()
        .filter(|column| column.values.len() > 1)
        .collect();
    // The shorter name is kept, but the id is always looked at.
    columns.sort_by_key(|column| (column.name != "id", column.name.len(), column.name.clone()));
    for column in columns {
        let grouping = fingerprint(&column.codes);
        // What requests name is looked at, even when a small sample cannot tell it from another.
        let is_set = |demand: &Demand<'_>| demand.pattern.sets.contains(&column.name);
        let is_named = filtered.contains(&column.name) || demands.iter().any(is_set);
        if let Some(known) = seen.get(&grouping).filter(|_| !is_named) {
            found.equal.push((column.name.clone(), (*known).to_owned()));
            continue;
        }
        seen.entry(grouping).or_insert(&column.name);
        found.keys.push(KeySpec::Path(format!("/{}", column.name)));
    }
    let together = pairs_in_filters(table, demands);
    for parts in together.iter().take(MAX_CONCATENATIONS) {
        found.keys.push(KeySpec::Concat {
            concat: Concat {
                of: parts.clone(),
                separator: "_".to_owned(),
            },
        });
    }
    let mut levels = filtered.clone();
    // What tells the items apart is the last level, whether requests name it or not.
    let identity = identity(table).map_or("id", |column| column.name.as_str());
    if !levels.iter().any(|name| name == identity) && table.column(identity).is_some() {
        levels.push(identity.to_owned());
    }
    // A level that requests change makes every such request a move (method: section 10).
    let is_set = |name: &String| {
        demands
            .iter()
            .any(|demand| demand.pattern.sets.contains(name))
    };
    levels.retain(|name| !is_set(name));
    let mut hierarchies = Vec::new();
    for first in &filtered {
        if first == identity || is_set(first) {
            continue;
        }
        for second in &levels {
            if second == first {
                continue;
            }
            hierarchies.push(vec![first.clone(), second.clone()]);
            if second == identity {
                continue;
            }
            for third in &levels {
                if third != first && third != second {
                    hierarchies.push(vec![first.clone(), second.clone(), third.clone()]);
                }
            }
        }
    }
    hierarchies.sort_by_key(Vec::len);
    found
        .keys
        .extend(hierarchies.into_iter().take(MAX_HIERARCHIES).map(|fields| {
            KeySpec::Hierarchy(
                fields
                    .into_iter()
                    .map(|field| format!("/{field}"))
                    .collect(),
            )
        }));
    found
}

/// What may cure a key that fails for its size or heat.
pub fn second_round(
    table: &Table,
    demands: &[Demand<'_>],
    field: &str,
    labels: u64,
) -> Vec<KeySpec> {
    let mut keys = Vec::new();
    let times = table
        .columns
        .iter()
        .filter(|column| column.is_time && column.name != field);
    for column in times.take(2) {
        for (unit, _) in TRUNCATIONS {
            let name = format!("{}@{unit}", column.name);
            keys.push(KeySpec::Concat {
                concat: Concat {
                    of: vec![field.to_owned(), name],
                    separator: "_".to_owned(),
                },
            });
        }
    }
    let labels = labels.clamp(2, 10_000);
    let suffix = |hash: Option<String>| KeySpec::Suffix {
        suffix: Suffix {
            of: field.to_owned(),
            buckets: labels,
            hash,
            only: Vec::new(),
            labels: LabelRule::Counted,
            start: 0,
            separator: ".".to_owned(),
        },
    };
    let by = filtered_fields(table, demands)
        .into_iter()
        .chain(table.column("id").map(|_| "id".to_owned()))
        .find(|name| name != field);
    if let Some(by) = by {
        keys.push(suffix(Some(by)));
    }
    keys.push(suffix(None));
    keys
}

/// The labels that one value needs (method: section 10).
pub fn labels_needed(demand: f64, budget: f64, gb: f64, partitions: f64, headroom: f64) -> u64 {
    /// Gigabytes of a value from which on it is too large.
    const ALERT_GB: f64 = 14.0;
    let collisions = if partitions > 1.0 && headroom > 0.0 {
        2.0 * partitions * partitions.ln() / (headroom * headroom)
    } else {
        1.0
    };
    let needed = (demand / budget.max(1.0))
        .max(gb / ALERT_GB)
        .max(collisions);
    needed.ceil().max(1.0) as u64
}

/// Members that filters compare with values, the most requested first.
fn filtered_fields(table: &Table, demands: &[Demand<'_>]) -> Vec<String> {
    let mut rates: Vec<(f64, &str)> = table
        .columns
        .iter()
        .filter_map(|column| {
            let rate: f64 = demands
                .iter()
                .filter(|demand| is_known(demand, &column.name))
                .map(|demand| demand.rate)
                .sum();
            (rate > 0.0).then_some((rate, column.name.as_str()))
        })
        .collect();
    rates.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    rates
        .into_iter()
        .take(MAX_COMBINED)
        .map(|(_, name)| name.to_owned())
        .collect()
}

fn is_known(demand: &Demand<'_>, field: &str) -> bool {
    demand
        .filter
        .as_ref()
        .is_some_and(|filter| filter.known(field) != Known::Nothing)
}

/// Pairs and triples of members that one filter compares.
fn pairs_in_filters(table: &Table, demands: &[Demand<'_>]) -> Vec<Vec<String>> {
    let fields = filtered_fields(table, demands);
    let mut combinations: Vec<Vec<String>> = Vec::new();
    for demand in demands {
        let known: Vec<&String> = fields
            .iter()
            .filter(|field| is_known(demand, field))
            .collect();
        for (at, first) in known.iter().enumerate() {
            for (next, second) in known.iter().enumerate().skip(at + 1) {
                combinations.push(vec![(*first).clone(), (*second).clone()]);
                for third in known.iter().skip(next + 1) {
                    combinations.push(vec![(*first).clone(), (*second).clone(), (*third).clone()]);
                }
            }
        }
    }
    combinations.sort_by_key(|parts| (parts.len(), parts.clone()));
    combinations.dedup();
    combinations
}

/// Equal for columns that group the rows alike.
fn fingerprint(codes: &[u32]) -> u64 {
    use std::hash::Hasher;
    let mut renumbered: FxHashMap<u32, u32> = FxHashMap::default();
    let mut hasher = rustc_hash::FxHasher::default();
    for code in codes {
        let next = renumbered.len() as u32;
        hasher.write_u32(*renumbered.entry(*code).or_insert(next));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_follow_from_demand_size_and_collisions() {
        assert_eq!(labels_needed(19_500.0, 1_500.0, 78.0, 1.0, 0.5), 13);
        assert_eq!(labels_needed(100.0, 1_500.0, 600.0, 1.0, 0.5), 43);
        // Section 4 of the method: 479 values for 20 partitions with half as much again.
        assert_eq!(labels_needed(0.0, 1_500.0, 0.0, 20.0, 0.5), 480);
    }

    #[test]
    fn groupings_are_told_by_shape() {
        assert_eq!(fingerprint(&[5, 6, 5]), fingerprint(&[1, 0, 1]));
        assert_ne!(fingerprint(&[5, 6, 5]), fingerprint(&[1, 0, 0]));
    }
}
