//! IIF and CHOOSE (query-language: sections 8.3, 8.5).

use super::Arguments;
use crate::eval::Val;

/// Only `true` selects the first.
pub(super) fn iif<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    call.get(if call.flag(0) { 1 } else { 2 })
}

/// One-based; what is not chosen is not looked at.
pub(super) fn choose<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    match call
        .integer(0)
        .and_then(|index| usize::try_from(index).ok())
    {
        Some(index) if index >= 1 => call.get(index),
        _ => Val::UNDEFINED,
    }
}
