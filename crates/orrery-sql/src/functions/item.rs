//! Functions about the item (query-language: section 8.5).

use super::{Arguments, answer};
use crate::eval::Val;
use orrery_model::rid::ResourceId;

/// The item's number, read from its `_rid` (protocol: section 5).
pub(super) fn document_id<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let item = call.get(0);
    let Some(rid) = item.member("_rid").as_str() else {
        return Val::UNDEFINED;
    };
    answer(ResourceId::parse(rid).ok().and_then(|rid| rid.number()))
}
