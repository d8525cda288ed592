//! The rows of a sample by the values of a key.

use orrery_model::partition_key::KeyComponent;
use rustc_hash::FxHashMap;

use super::scenario::join;
use crate::placement::Hash;
use crate::report::text::key_text;
use crate::scenario::KeySpec;
use crate::table::{Column, Table};

/// The rows by key.
pub struct Groups {
    /// For each row its group.
    pub of_row: Vec<u32>,
    /// For each group a row that shows its values.
    pub shown_by: Vec<u32>,
    /// Items of each group.
    pub items: Vec<u32>,
    /// Bytes of each group.
    pub bytes: Vec<u64>,
    /// Where the key of each group lies, labels and further levels aside.
    pub positions: Vec<u128>,
}

impl Groups {
    /// Groups rows that have equal values in all columns.
    pub fn of(table: &Table, key: &KeySpec, columns: &[&Column], hash: Hash<'_>) -> Self {
        /// Pairs of a group and a code that are counted without a map.
        const DENSE: usize = 1 << 22;
        let mut of_row = vec![0_u32; table.rows];
        let mut count = 1_u32;
        for column in columns {
            // Few pairs of the groups so far and the codes have a place each.
            let codes = column.values.len();
            let pairs = codes.saturating_mul(count as usize);
            let is_dense = pairs <= DENSE;
            let mut dense = vec![u32::MAX; if is_dense { pairs } else { 0 }];
            let mut paired: FxHashMap<u64, u32> = FxHashMap::default();
            if !is_dense {
                paired.reserve(table.rows);
            }
            let mut next = 0;
            for (row, group) in of_row.iter_mut().enumerate() {
                let code = column.codes[row];
                let place = if is_dense {
                    &mut dense[*group as usize * codes + code as usize]
                } else {
                    let pair = u64::from(*group) << 32 | u64::from(code);
                    paired.entry(pair).or_insert(u32::MAX)
                };
                if *place == u32::MAX {
                    *place = next;
                    next += 1;
                }
                *group = *place;
            }
            count = next;
        }
        let mut groups = Self {
            shown_by: vec![u32::MAX; count as usize],
            items: vec![0; count as usize],
            bytes: vec![0; count as usize],
            positions: Vec::new(),
            of_row,
        };
        for (row, &group) in groups.of_row.iter().enumerate() {
            let group = group as usize;
            if groups.items[group] == 0 {
                groups.shown_by[group] = row as u32;
            }
            groups.items[group] += 1;
            groups.bytes[group] += u64::from(table.bytes[row]);
        }
        groups.positions = groups.placed(key, columns, hash);
        groups
    }

    fn placed(&self, key: &KeySpec, columns: &[&Column], hash: Hash<'_>) -> Vec<u128> {
        let KeySpec::Concat { concat } = key else {
            let of_row = |&row: &u32| columns[0].positions[columns[0].codes[row as usize] as usize];
            return self.shown_by.iter().map(of_row).collect();
        };
        let mut whole = KeyComponent::String(String::new());
        (0..self.len())
            .map(|group| {
                if let KeyComponent::String(text) = &mut whole {
                    text.clear();
                    let parts = columns.iter().map(|column| component(column, self, group));
                    join(parts, &concat.separator, text);
                }
                hash(&whole)
            })
            .collect()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.shown_by.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shown_by.is_empty()
    }

    /// Whether every item has another value.
    pub fn is_unique(&self) -> bool {
        self.len() > 1 && self.items.iter().all(|&items| items == 1)
    }

    /// The effective number of values, without bias from the sample's size.
    pub fn effective(&self) -> f64 {
        let rows: f64 = self.items.iter().map(|&items| f64::from(items)).sum();
        let pairs: f64 = self
            .items
            .iter()
            .map(|&items| f64::from(items) * (f64::from(items) - 1.0))
            .sum();
        if pairs <= 0.0 {
            f64::INFINITY
        } else {
            rows * (rows - 1.0) / pairs
        }
    }
}

/// The values of a group, for people.
pub fn group_text(columns: &[&Column], groups: &Groups, group: usize) -> String {
    let row = groups.shown_by[group] as usize;
    let values: Vec<String> = columns
        .iter()
        .map(|column| key_text(&column.values[column.codes[row] as usize]))
        .collect();
    values.join(", ")
}

pub(super) fn component<'a>(column: &'a Column, groups: &Groups, group: usize) -> &'a KeyComponent {
    let row = groups.shown_by[group] as usize;
    &column.values[column.codes[row] as usize]
}
