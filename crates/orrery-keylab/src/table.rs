//! The sample as columns: for each path the values of the sampled items, each value once.

mod column;

use orrery_model::partition_key::KeyComponent;
use rustc_hash::FxHashMap;

use crate::parallel;
use crate::profile::{Profile, ProfiledPath};
use column::Builder;
pub use column::Column;

/// Most columns; the paths that most items have come first.
const MAX_COLUMNS: usize = 100;
/// Paths that fewer items have are no keys.
const LEAST_PRESENT: f64 = 0.01;
/// Values of a calendar that a truncated time may have.
const MAX_PERIODS: usize = 100_000;

/// The sampled items by column.
#[derive(Debug, Clone)]
pub struct Table {
    /// Sampled items.
    pub rows: usize,
    /// Bytes of each item.
    pub bytes: Vec<u32>,
    /// Items that the sample stands for.
    pub items: u64,
    /// Bytes that the sample stands for.
    pub total_bytes: u64,
    /// The columns.
    pub columns: Vec<Column>,
    /// Whether some item is there in several versions.
    pub has_versions: bool,
    /// Paths that were left out, because few items have them or there are too many.
    pub left_out: Vec<String>,
    hash: fn(&KeyComponent) -> u128,
}

/// Lengths of ISO 8601 texts, cut at the year, month, day and hour.
pub const TRUNCATIONS: [(&str, usize); 4] = [("year", 4), ("month", 7), ("day", 10), ("hour", 13)];

impl Table {
    /// Columns of a profile's sample, placed by a hash; the named paths are taken whatever their
    /// presence.
    pub fn of(profile: &Profile, named: &[String], hash: fn(&KeyComponent) -> u128) -> Self {
        let items = profile.sample.items();
        let (wanted, left_out) = choose(profile, named);
        // Each core reads all items and takes some of the columns.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let parts: Vec<Vec<usize>> = (0..cores.min(wanted.len()))
            .map(|part| wanted.iter().copied().skip(part).step_by(cores).collect())
            .collect();
        let built = parallel::map(&parts, |paths| columns_of(profile, paths, hash));
        let mut columns: Vec<(usize, Column)> = built.into_iter().flatten().collect();
        columns.sort_unstable_by_key(|(path, _)| *path);
        let columns: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
        Self {
            has_versions: columns
                .iter()
                .any(|column| column.name == "id" && column.repeats()),
            hash,
            rows: items.len(),
            bytes: items.iter().map(|item| item.bytes).collect(),
            items: profile.items,
            total_bytes: profile.bytes,
            columns,
            left_out,
        }
    }

    /// The column of a path.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether every item of the data is in the sample.
    pub fn is_whole(&self) -> bool {
        self.rows as u64 == self.items
    }

    /// A time cut at its year, month, day or hour, as a column of its own.
    pub fn truncated(&self, name: &str, unit: &str) -> Option<Column> {
        let column = self.column(name).filter(|column| column.is_time)?;
        let (_, length) = TRUNCATIONS.iter().find(|(known, _)| *known == unit)?;
        // Values that no row has (the place of the undefined, mostly) make no period.
        let mut code_of = vec![u32::MAX; column.values.len()];
        let mut places: FxHashMap<&str, u32> = FxHashMap::default();
        let mut values = Vec::new();
        let mut codes = Vec::with_capacity(column.codes.len());
        for &code in &column.codes {
            let place = &mut code_of[code as usize];
            if *place == u32::MAX {
                let (text, value) = match &column.values[code as usize] {
                    KeyComponent::String(text) => {
                        let text = text.get(..*length).unwrap_or(text);
                        (text, KeyComponent::String(text.to_owned()))
                    }
                    _ => ("", KeyComponent::Undefined),
                };
                *place = *places.entry(text).or_insert_with(|| {
                    values.push(value);
                    values.len() as u32 - 1
                });
            }
            codes.push(*place);
        }
        if values.len() > MAX_PERIODS {
            return None;
        }
        let distinct = values.len() as f64;
        let name = format!("{name}@{unit}");
        Some(Column::new(name, codes, values, self.hash).with_distinct(distinct))
    }
}

/// Columns of these paths.
fn columns_of(
    profile: &Profile,
    paths: &[usize],
    hash: fn(&KeyComponent) -> u128,
) -> Vec<(usize, Column)> {
    let items = profile.sample.items();
    let mut place_of = vec![None; profile.paths.len()];
    for (place, &path) in paths.iter().enumerate() {
        place_of[path] = Some(place);
    }
    let mut builders: Vec<Builder<'_>> = paths.iter().map(|_| Builder::new(items.len())).collect();
    for (row, item) in items.iter().enumerate() {
        for (path, cell) in item.cells() {
            if let Some(place) = place_of.get(path).copied().flatten() {
                builders[place].set(row, cell);
            }
        }
    }
    paths
        .iter()
        .zip(builders)
        .map(|(&path, builder)| {
            (
                path,
                builder.finish(&profile.paths[path], profile.items, hash),
            )
        })
        .collect()
}

/// The paths that become columns, and the names of the others.
fn choose(profile: &Profile, named: &[String]) -> (Vec<usize>, Vec<String>) {
    let items = profile.items.max(1) as f64;
    let mut order: Vec<usize> = (0..profile.paths.len())
        .filter(|&path| profile.paths[path].stats.scalars() > 0)
        .collect();
    let is_named = |path: &ProfiledPath| path.name == "id" || named.contains(&path.name);
    order.sort_by_key(|&path| {
        let path = &profile.paths[path];
        (!is_named(path), std::cmp::Reverse(path.stats.scalars()))
    });
    let mut wanted = Vec::new();
    let mut left_out = Vec::new();
    for path in order {
        let profiled = &profile.paths[path];
        let is_present = profiled.stats.scalars() as f64 / items >= LEAST_PRESENT;
        if is_named(profiled) || (is_present && wanted.len() < MAX_COLUMNS) {
            wanted.push(path);
        } else {
            left_out.push(profiled.name.clone());
        }
    }
    wanted.sort_unstable();
    left_out.sort();
    (wanted, left_out)
}
