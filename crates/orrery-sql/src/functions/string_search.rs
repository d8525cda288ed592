//! Looking for strings inside strings (query-language: section 8.2).

use super::string::part;
use super::{Arguments, answer};
use crate::eval::Val;
use orrery_model::value::Value;

/// Two strings and "ignore case", then a test on them.
fn test<'e>(call: &Arguments<'_, 'e>, found: impl Fn(&str, &str) -> bool) -> Val<'e> {
    let (text, sought) = (call.get(0), call.get(1));
    let (Some(text), Some(sought)) = (text.as_str(), sought.as_str()) else {
        return Val::UNDEFINED;
    };
    let ignore_case = call.flag(2);
    answer(Some(if ignore_case {
        found(&text.to_lowercase(), &sought.to_lowercase())
    } else {
        found(text, sought)
    }))
}

pub(super) fn contains<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    test(call, |text, sought| text.contains(sought))
}

pub(super) fn starts_with<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    test(call, |text, sought| text.starts_with(sought))
}

pub(super) fn ends_with<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    test(call, |text, sought| text.ends_with(sought))
}

pub(super) fn equals<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    test(call, |text, sought| text == sought)
}

/// OR (`wanted`) or AND (not `wanted`) of CONTAINS over the terms, three-valued.
fn terms<'e>(call: &Arguments<'_, 'e>, ignore_case: bool, wanted: bool) -> Val<'e> {
    let text = call.get(0);
    let Some(text) = text.as_str() else {
        return Val::UNDEFINED;
    };
    let lowered = if ignore_case {
        Some(text.to_lowercase())
    } else {
        None
    };
    let text = lowered.as_deref().unwrap_or(text);
    let mut unknown = false;
    for index in 1..call.len() {
        let term = call.get(index);
        let Some(term) = term.as_str() else {
            unknown = true;
            continue;
        };
        let found = if ignore_case {
            text.contains(&term.to_lowercase())
        } else {
            text.contains(term)
        };
        if found == wanted {
            return answer(Some(wanted));
        }
    }
    answer((!unknown).then_some(!wanted))
}

pub(super) fn contains_any_ci<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    terms(call, true, true)
}

pub(super) fn contains_any_cs<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    terms(call, false, true)
}

pub(super) fn contains_all_ci<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    terms(call, true, false)
}

pub(super) fn contains_all_cs<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    terms(call, false, false)
}

fn characters(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

pub(super) fn index_of<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (text, sought) = (call.get(0), call.get(1));
    let (Some(text), Some(sought)) = (text.as_str(), sought.as_str()) else {
        return Val::UNDEFINED;
    };
    let start = if call.len() > 2 {
        call.integer(2)
    } else {
        Some(0)
    };
    let Some(start) = start else {
        return Val::UNDEFINED;
    };
    let Ok(start) = u64::try_from(start) else {
        return Val::UNDEFINED;
    };
    let from = super::string::byte_of(text, start);
    let tail = text.get(from..).unwrap_or_default();
    let place = tail
        .find(sought)
        .map(|place| characters(text.get(..from + place).unwrap_or_default()));
    answer(Some(place.unwrap_or(-1)))
}

/// The position bounds the whole match, not its start.
pub(super) fn last_index_of<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (text, sought) = (call.get(0), call.get(1));
    let (Some(text), Some(sought)) = (text.as_str(), sought.as_str()) else {
        return Val::UNDEFINED;
    };
    let last = if call.len() > 2 {
        call.integer(2)
    } else {
        Some(i64::MAX)
    };
    let Some(last) = last else {
        return Val::UNDEFINED;
    };
    let Ok(last) = u64::try_from(last) else {
        return answer(Some(-1_i64));
    };
    let end = super::string::byte_of(text, last.saturating_add(1));
    let head = text.get(..end).unwrap_or_default();
    let place = head
        .rfind(sought)
        .map(|place| characters(head.get(..place).unwrap_or_default()));
    answer(Some(place.unwrap_or(-1)))
}

/// The part before or after a match. Without a match: the whole string before, nothing after,
/// as XPath has it (the reference does not tell).
fn beside<'e>(call: &Arguments<'_, 'e>, last: bool, after: bool) -> Val<'e> {
    let sought = call.get(1);
    let Value::String(sought) = &*sought else {
        return Val::UNDEFINED;
    };
    part(call.get(0), |text| {
        let place = if last {
            text.rfind(&**sought)
        } else {
            text.find(&**sought)
        };
        match (place, after) {
            (Some(place), true) => (place + sought.len(), text.len()),
            (Some(place), false) => (0, place),
            (None, true) => (0, 0),
            (None, false) => (0, text.len()),
        }
    })
}

pub(super) fn substring_after<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    beside(call, false, true)
}

pub(super) fn substring_before<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    beside(call, false, false)
}

pub(super) fn last_substring_after<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    beside(call, true, true)
}

pub(super) fn last_substring_before<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    beside(call, true, false)
}
