//! Functions about the item (query-language: section 8.5).

use super::{Arguments, answer};
use crate::eval::Val;

/// The low part of the item's number, read from its `_rid`: the last 8 of 16 bytes, of which the
/// upper byte says what kind of resource it is (protocol: section 5).
pub(super) fn document_id<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let item = call.get(0);
    let Some(rid) = item.member("_rid").as_str() else { return Val::UNDEFINED };
    answer(crate::rid::document_number(rid))
}
