//! One column of the sample: a value for each row, each different value once.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use orrery_model::json;
use orrery_model::partition_key::KeyComponent;
use orrery_model::value::Value;
use rustc_hash::FxHashMap;

use crate::gate::Finding;
use crate::profile::ProfiledPath;
use crate::profile::sample::Cell;

/// One path.
#[derive(Debug, Clone)]
pub struct Column {
    /// The path, or the path and a truncation: `placedAt@day`.
    pub name: String,
    /// For each row the place of its value.
    pub codes: Vec<u32>,
    /// The values.
    pub values: Arc<Vec<KeyComponent>>,
    /// Where each value lies.
    pub positions: Vec<u128>,
    /// Share of the items in which it is an array or object.
    pub compound: f64,
    /// Distinct values in the data, by the sketch.
    pub distinct: f64,
    /// Whether the values look like times that grow.
    pub is_time: bool,
    /// What speaks against it as a part of a key; filled by who asks first.
    pub(crate) validity: OnceLock<Vec<(Finding, f64, String)>>,
}

impl Column {
    /// A column of these values.
    pub(super) fn new(
        name: String,
        codes: Vec<u32>,
        values: Vec<KeyComponent>,
        hash: fn(&KeyComponent) -> u128,
    ) -> Self {
        Self {
            name,
            codes,
            positions: values.iter().map(hash).collect(),
            values: Arc::new(values),
            compound: 0.0,
            distinct: 0.0,
            is_time: false,
            validity: OnceLock::new(),
        }
    }

    pub(super) fn with_distinct(self, distinct: f64) -> Self {
        Self { distinct, ..self }
    }

    /// Whether two rows have the same value, the undefined aside.
    pub(super) fn repeats(&self) -> bool {
        let mut is_seen = vec![false; self.values.len()];
        self.codes.iter().any(|&code| {
            let code = code as usize;
            self.values[code] != KeyComponent::Undefined
                && std::mem::replace(&mut is_seen[code], true)
        })
    }
}

/// The place of the undefined.
const UNDEFINED: u32 = 0;

/// A column under construction.
pub(super) struct Builder<'a> {
    codes: Vec<u32>,
    values: Vec<KeyComponent>,
    texts: FxHashMap<Cow<'a, [u8]>, u32>,
    numbers: FxHashMap<u64, u32>,
    null: Option<u32>,
    booleans: [Option<u32>; 2],
}

impl<'a> Builder<'a> {
    pub(super) fn new(rows: usize) -> Self {
        Self {
            codes: vec![UNDEFINED; rows],
            values: vec![KeyComponent::Undefined],
            texts: FxHashMap::default(),
            numbers: FxHashMap::default(),
            null: None,
            booleans: [None; 2],
        }
    }

    pub(super) fn set(&mut self, row: usize, cell: Cell<'a>) {
        let next = self.values.len() as u32;
        let (code, value) = match cell {
            Cell::Compound => return,
            Cell::Null => (*self.null.get_or_insert(next), KeyComponent::Null),
            Cell::Bool(value) => {
                let known = &mut self.booleans[usize::from(value)];
                (*known.get_or_insert(next), KeyComponent::Bool(value))
            }
            Cell::Number(text) => {
                let number = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.parse().ok());
                let value = KeyComponent::number(number.unwrap_or(f64::NAN));
                let KeyComponent::Number(number) = value else {
                    return;
                };
                (*self.numbers.entry(number.to_bits()).or_insert(next), value)
            }
            Cell::String(text) => {
                if let Some(code) = self.texts.get(text) {
                    self.codes[row] = *code;
                    return;
                }
                self.texts.insert(Cow::Borrowed(text), next);
                (
                    next,
                    KeyComponent::String(String::from_utf8_lossy(text).into_owned()),
                )
            }
            Cell::Escaped(text) => {
                let text = unescaped(text);
                let code = *self
                    .texts
                    .entry(Cow::Owned(text.clone().into_bytes()))
                    .or_insert(next);
                (code, KeyComponent::String(text))
            }
        };
        self.codes[row] = code;
        if code == next {
            self.values.push(value);
        }
    }

    pub(super) fn finish(
        self,
        path: &ProfiledPath,
        items: u64,
        hash: fn(&KeyComponent) -> u128,
    ) -> Column {
        // What is there as a whole need not be estimated.
        let distinct = if self.codes.len() as u64 == items {
            (self.values.len() - 1) as f64
        } else {
            path.stats.distinct.estimate()
        };
        Column {
            compound: (path.stats.arrays + path.stats.objects) as f64 / items.max(1) as f64,
            distinct,
            is_time: looks_like_time(&self.values[1..]),
            ..Column::new(path.name.clone(), self.codes, self.values, hash)
        }
    }
}

/// The text that a string with escapes stands for; an escape that was cut stays as it is.
fn unescaped(text: &[u8]) -> String {
    let quoted = [b"\"", text, b"\""].concat();
    match json::parse(&quoted) {
        Ok(Value::String(text)) => text.into_owned(),
        _ => String::from_utf8_lossy(text).into_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::version2;

    #[test]
    fn equal_values_have_one_place_however_they_are_written() {
        let mut builder = Builder::new(7);
        let cells = [
            Cell::String(b"ab"),
            Cell::Escaped(b"a\\u0062"),
            Cell::Number(b"1"),
            Cell::Number(b"1.0"),
            Cell::String(b"1"),
            Cell::Bool(true),
            Cell::Compound,
        ];
        for (row, cell) in cells.into_iter().enumerate() {
            builder.set(row, cell);
        }
        assert_eq!(builder.codes, [1, 1, 2, 2, 3, 4, 0]);
        let column = Column::new("k".to_owned(), builder.codes, builder.values, version2);
        assert_eq!(column.positions[1], version2(&KeyComponent::from("ab")));
        assert!(column.repeats());
    }
}
