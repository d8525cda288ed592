//! Unique keys: what an item occupies (request units: section 9; scoped to the logical
//! partition, a missing value counts as null).

use orrery_model::distinct_hash;
use orrery_model::json;
use orrery_model::path::ItemPath;
use orrery_model::value::Value;

/// Values longer than this enter the key as a hash: keys of the store are short.
const LONGEST_PLAIN: usize = 400;

/// The unique keys of a container, each a list of paths.
#[derive(Debug, Clone, Default)]
pub struct UniqueKeys {
    constraints: Vec<Vec<ItemPath>>,
}

impl UniqueKeys {
    /// From the policy's paths.
    pub fn new(constraints: Vec<Vec<ItemPath>>) -> Self {
        Self { constraints }
    }

    /// What the item occupies, one byte string for each constraint: equal bytes, equal values
    /// (for long values: equal 128-bit hashes).
    pub fn of(&self, item: &Value<'_>) -> Vec<Vec<u8>> {
        self.constraints
            .iter()
            .map(|paths| occupied(paths, item))
            .collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.constraints.is_empty()
    }
}

fn occupied(paths: &[ItemPath], item: &Value<'_>) -> Vec<u8> {
    let values = paths.iter().map(|path| match path.evaluate(item) {
        Value::Undefined => Value::Null,
        value => value.borrowed(),
    });
    let values = Value::Array(values.collect());
    let mut bytes = vec![b'='];
    json::write(&values, &mut bytes);
    if bytes.len() > LONGEST_PLAIN {
        bytes.clear();
        bytes.push(b'#');
        bytes.extend_from_slice(&distinct_hash::hash(&values).to_be_bytes());
    }
    bytes
}
