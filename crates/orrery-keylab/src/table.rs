//! The sample as columns: for each path the values of the sampled items, each value once.

use std::collections::hash_map::Entry;

use orrery_model::partition_key::KeyComponent;
use rustc_hash::FxHashMap;

use crate::profile::{Profile, ProfiledPath};

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
    /// Paths that were left out, because few items have them or there are too many.
    pub left_out: Vec<String>,
}

/// One path.
#[derive(Debug, Clone)]
pub struct Column {
    /// The path, or the path and a truncation: `placedAt@day`.
    pub name: String,
    /// For each row the place of its value.
    pub codes: Vec<u32>,
    /// The values.
    pub values: Vec<KeyComponent>,
    /// Share of the items in which it is an array or object.
    pub compound: f64,
    /// Distinct values in the data, by the sketch.
    pub distinct: f64,
    /// Whether the values look like times that grow.
    pub is_time: bool,
}

/// Lengths of ISO 8601 texts, cut at the year, month, day and hour.
pub const TRUNCATIONS: [(&str, usize); 4] = [("year", 4), ("month", 7), ("day", 10), ("hour", 13)];

impl Table {
    /// Columns of a profile's sample; the named paths are taken whatever their presence.
    pub fn of(profile: &Profile, named: &[String]) -> Self {
        let items = profile.sample.items();
        let (wanted, left_out) = choose(profile, named);
        let mut place_of = vec![None; profile.paths.len()];
        for (place, &path) in wanted.iter().enumerate() {
            place_of[path] = Some(place);
        }
        let mut builders: Vec<Builder> = wanted.iter().map(|_| Builder::new(items.len())).collect();
        for (row, item) in items.iter().enumerate() {
            for cell in item.cells() {
                let Some(place) = place_of.get(cell.path).copied().flatten() else {
                    continue;
                };
                if let Some(value) = cell.value {
                    builders[place].set(row, value);
                }
            }
        }
        let columns = wanted
            .iter()
            .zip(builders)
            .map(|(&path, builder)| builder.finish(&profile.paths[path], profile.items))
            .collect();
        Self {
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
        Some(Column {
            name: format!("{name}@{unit}"),
            codes,
            distinct: values.len() as f64,
            values,
            compound: 0.0,
            is_time: false,
        })
    }
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

/// A column under construction; the value at place 0 is undefined until the end.
struct Builder {
    codes: Vec<u32>,
    values: Vec<KeyComponent>,
    places: FxHashMap<Vec<u8>, u32>,
}

impl Builder {
    fn new(rows: usize) -> Self {
        Self {
            codes: vec![0; rows],
            values: vec![KeyComponent::Undefined],
            places: FxHashMap::default(),
        }
    }

    fn set(&mut self, row: usize, value: KeyComponent) {
        let mut bytes = Vec::with_capacity(24);
        orrery_model::partition_key::encoding::write_hashed_v2(&value, &mut bytes);
        self.codes[row] = match self.places.entry(bytes) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let code = self.values.len() as u32;
                self.values.push(value);
                *new.insert(code)
            }
        };
    }

    fn finish(self, path: &ProfiledPath, items: u64) -> Column {
        let compound = (path.stats.arrays + path.stats.objects) as f64 / items.max(1) as f64;
        let is_time = looks_like_time(&self.values[1..]);
        Column {
            name: path.name.clone(),
            codes: self.codes,
            values: self.values,
            compound,
            distinct: path.stats.distinct.estimate(),
            is_time,
        }
    }
}

/// Whether most of the values are ISO 8601 dates or times.
fn looks_like_time(values: &[KeyComponent]) -> bool {
    let looked_at = values.len().min(1_000);
    let step = (values.len() / looked_at.max(1)).max(1);
    let is_date = |value: &KeyComponent| match value {
        KeyComponent::String(text) => {
            let bytes = text.as_bytes();
            bytes.len() >= 10
                && bytes[4] == b'-'
                && bytes[7] == b'-'
                && [0, 1, 2, 3, 5, 6, 8, 9]
                    .iter()
                    .all(|&at| bytes[at].is_ascii_digit())
        }
        _ => false,
    };
    let seen: Vec<_> = values.iter().step_by(step).collect();
    let dates = seen.iter().filter(|value| is_date(value)).count();
    !seen.is_empty() && dates * 10 >= seen.len() * 9
}
