//! Strings made from strings (query-language: section 8.2). Positions count characters.

use super::{Arguments, answer};
use crate::eval::Val;
use crate::eval::operators;
use orrery_model::value::Value;
use std::borrow::Cow;

/// The longest result of REPLICATE, in characters.
const MAX_REPLICATED: usize = 10_000;

/// A part of an argument, borrowed where the argument is.
pub(super) fn part(whole: Val<'_>, cut: impl FnOnce(&str) -> (usize, usize)) -> Val<'_> {
    match whole {
        Val::Ref(Value::String(text)) => {
            let (start, end) = cut(text);
            Val::Own(Value::String(Cow::Borrowed(
                text.get(start..end).unwrap_or_default(),
            )))
        }
        Val::Own(Value::String(text)) => {
            let (start, end) = cut(&text);
            Val::Own(Value::String(match text {
                Cow::Borrowed(text) => Cow::Borrowed(text.get(start..end).unwrap_or_default()),
                Cow::Owned(text) => Cow::Owned(text.get(start..end).unwrap_or_default().to_owned()),
            }))
        }
        _ => Val::UNDEFINED,
    }
}

/// The byte where the character of that number starts; the end when there are fewer.
pub(super) fn byte_of(text: &str, characters: u64) -> usize {
    let Ok(characters) = usize::try_from(characters) else {
        return text.len();
    };
    if text.is_ascii() {
        return characters.min(text.len());
    }
    text.char_indices()
        .nth(characters)
        .map_or(text.len(), |(place, _)| place)
}

pub(super) fn concat<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let mut parts = Vec::with_capacity(call.len());
    for index in 0..call.len() {
        match call.get(index).into_value() {
            Value::String(text) => parts.push(text),
            _ => return Val::UNDEFINED,
        }
    }
    Val::Own(operators::concat(&parts, call.run))
}

pub(super) fn left<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let Some(count) = call.integer(1) else {
        return Val::UNDEFINED;
    };
    part(call.get(0), |text| {
        (0, byte_of(text, u64::try_from(count).unwrap_or(0)))
    })
}

pub(super) fn right<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let Some(count) = call.integer(1) else {
        return Val::UNDEFINED;
    };
    let count = u64::try_from(count).unwrap_or(0);
    part(call.get(0), |text| {
        let length = text.chars().count() as u64;
        (byte_of(text, length.saturating_sub(count)), text.len())
    })
}

pub(super) fn substring<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (Some(start), Some(length)) = (call.integer(1), call.integer(2)) else {
        return Val::UNDEFINED;
    };
    let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(length)) else {
        return part(call.get(0), |_| (0, 0));
    };
    part(call.get(0), |text| {
        let from = byte_of(text, start);
        (
            from,
            from + byte_of(text.get(from..).unwrap_or_default(), length),
        )
    })
}

pub(super) fn length<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(call.get(0).as_str().map(|text| text.chars().count() as u64))
}

pub(super) fn lower<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(call.get(0).as_str().map(str::to_lowercase))
}

pub(super) fn upper<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(call.get(0).as_str().map(str::to_uppercase))
}

/// Which ends TRIM and its kind cut.
fn trimmed<'e>(call: &Arguments<'_, 'e>, start: bool, end: bool) -> Val<'e> {
    let set: Option<String> = if call.len() > 1 {
        match &*call.get(1) {
            Value::String(set) => Some(set.clone().into_owned()),
            _ => return Val::UNDEFINED,
        }
    } else {
        None
    };
    let goes = |letter: char| {
        set.as_ref()
            .map_or_else(|| letter.is_whitespace(), |set| set.contains(letter))
    };
    part(call.get(0), |text| {
        let from = if start {
            text.len() - text.trim_start_matches(goes).len()
        } else {
            0
        };
        let kept = text.get(from..).unwrap_or_default();
        let to = if end {
            from + kept.trim_end_matches(goes).len()
        } else {
            text.len()
        };
        (from, to)
    })
}

pub(super) fn trim<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    trimmed(call, true, true)
}

pub(super) fn trim_start<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    trimmed(call, true, false)
}

pub(super) fn trim_end<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    trimmed(call, false, true)
}

/// An empty search gives undefined (query-language: D14).
pub(super) fn replace<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (whole, search, new) = (call.get(0), call.get(1), call.get(2));
    let (Some(text), Some(search), Some(new)) = (whole.as_str(), search.as_str(), new.as_str())
    else {
        return Val::UNDEFINED;
    };
    if search.is_empty() {
        return Val::UNDEFINED;
    }
    let matches = text.matches(search).count();
    let length = text.len().saturating_add(matches.saturating_mul(new.len()));
    call.run.spend(length as u64 / 64);
    answer((length <= 2 * operators::MAX_TEXT).then(|| text.replace(search, new)))
}

pub(super) fn replicate<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let text = call.get(0);
    let (Some(text), Some(count)) = (text.as_str(), call.number(1)) else {
        return Val::UNDEFINED;
    };
    let count = count.trunc();
    let letters = text.chars().count();
    if !(count >= 0.0 && count.is_finite()) || count * letters as f64 > MAX_REPLICATED as f64 {
        return Val::UNDEFINED;
    }
    // The empty string may be repeated any number of times.
    answer(Some(if letters == 0 {
        String::new()
    } else {
        text.repeat(count as usize)
    }))
}

pub(super) fn reverse<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(
        call.get(0)
            .as_str()
            .map(|text| text.chars().rev().collect::<String>()),
    )
}

pub(super) fn join<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (list, separator) = (call.get(0), call.get(1));
    let (Some(list), Some(separator)) = (list.as_array(), separator.as_str()) else {
        return Val::UNDEFINED;
    };
    let parts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    let Some(parts) = parts else {
        return Val::UNDEFINED;
    };
    let gaps = separator.len().saturating_mul(parts.len());
    let length = parts
        .iter()
        .map(|part| part.len())
        .sum::<usize>()
        .saturating_add(gaps);
    call.run.spend(length as u64 / 64);
    answer((length <= 2 * operators::MAX_TEXT).then(|| parts.join(separator)))
}

pub(super) fn split<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (text, separator) = (call.get(0), call.get(1));
    let (Some(text), Some(separator)) = (text.as_str(), separator.as_str()) else {
        return Val::UNDEFINED;
    };
    call.run.spend(text.len() as u64 / 16);
    let parts: Vec<String> = if separator.is_empty() {
        vec![text.to_owned()]
    } else {
        text.split(separator).map(str::to_owned).collect()
    };
    answer(Some(parts))
}
