//! The condition of a patch: a query without its SELECT, over the item alone.

use orrery_model::value::Value;

use crate::error::Error;

/// Whether the condition (`from c where …`) holds for the item.
pub fn holds(condition: &str, item: &Value<'_>) -> Result<bool, Error> {
    let _ = item;
    Err(Error::bad_request(format!(
        "The patch condition '{condition}' cannot be evaluated."
    )))
}
