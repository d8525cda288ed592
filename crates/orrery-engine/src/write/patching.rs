//! A patch against a stored item.

use std::collections::VecDeque;

use orrery_model::json;
use orrery_model::value::Value;

use super::IndexingDirective;
use super::prepare::{Preparation, PreparedItem};
use crate::error::Error;
use crate::patch::PatchDocument;

/// The version of the item that the patch makes of the stored one. Whether the item is indexed
/// stays as it was.
pub fn patched(
    preparation: &Preparation<'_>,
    stored: &[u8],
    indexing: IndexingDirective,
    document: &PatchDocument,
) -> Result<PreparedItem, Error> {
    let mut item = json::parse(stored)
        .map_err(|_| Error::Damaged("item"))?
        .into_owned();
    if let Some(condition) = &document.condition
        && !condition.holds(stored)?
    {
        return Err(Error::PatchConditionFailed);
    }
    document.apply(&mut item)?;
    if nests_deeper(&item, preparation.limits.nesting) {
        return Err(Error::bad_request(format!(
            "The input content is invalid: it nests deeper than {} levels.",
            preparation.limits.nesting
        )));
    }
    preparation.value(item, None, indexing)
}

fn nests_deeper(item: &Value<'_>, limit: usize) -> bool {
    let mut waiting = VecDeque::from([(item, 1)]);
    while let Some((value, depth)) = waiting.pop_front() {
        let below: Vec<&Value<'_>> = match value {
            Value::Array(elements) => elements.iter().collect(),
            Value::Object(members) => members.iter().map(|(_, value)| value).collect(),
            _ => continue,
        };
        if depth > limit {
            return true;
        }
        waiting.extend(below.into_iter().map(|value| (value, depth + 1)));
    }
    false
}
