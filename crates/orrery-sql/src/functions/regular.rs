//! Regular expressions, without backtracking and with a bound on their size
//! (query-language: section 8.2).

use super::{Arguments, answer};
use crate::eval::Val;
use orrery_model::value::Value;
use regex::{Regex, RegexBuilder};

/// Bytes that a compiled expression may take.
const SIZE_LIMIT: usize = 1 << 20;
/// The most matches that REGEXEXTRACTALL returns.
const MAX_MATCHES: usize = 10_000;

/// Text, pattern and modifiers of a call, then work on the compiled expression. A bad pattern or
/// an unknown modifier gives undefined.
fn with<'e>(
    call: &Arguments<'_, 'e>,
    work: impl FnOnce(&Regex, &str) -> Value<'static>,
) -> Val<'e> {
    let (text, pattern) = (call.get(0), call.get(1));
    let (Some(text), Some(pattern)) = (text.as_str(), pattern.as_str()) else {
        return Val::UNDEFINED;
    };
    let modifiers = call.get(2);
    let modifiers = match (call.len() > 2, modifiers.as_str()) {
        (false, _) => "",
        (true, Some(modifiers)) => modifiers,
        (true, None) => return Val::UNDEFINED,
    };
    call.run.spend(1 + text.len() as u64 / 16);
    // No modifier contains a slash, so the key is unambiguous.
    let key = format!("{modifiers}/{pattern}");
    let result = call.run.with_regex(
        &key,
        || build(pattern, modifiers),
        |regex| work(regex, text),
    );
    Val::Own(result.unwrap_or(Value::Undefined))
}

fn build(pattern: &str, modifiers: &str) -> Option<Regex> {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT);
    for modifier in modifiers.chars() {
        match modifier {
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            _ => return None,
        };
    }
    builder.build().ok()
}

pub(super) fn matches<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    with(call, |regex, text| Value::Bool(regex.is_match(text)))
}

pub(super) fn extract<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let group = if call.len() > 3 {
        call.integer(3)
            .and_then(|group| usize::try_from(group).ok())
    } else {
        Some(0)
    };
    let Some(group) = group else {
        return Val::UNDEFINED;
    };
    with(call, |regex, text| {
        let found = regex
            .captures(text)
            .and_then(|captures| captures.get(group));
        Value::from(found.map(|found| found.as_str().to_owned()))
    })
}

/// The fourth argument is one group or an array of groups; without it the whole match.
pub(super) fn extract_all<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let groups: Option<Vec<usize>> = if call.len() > 3 {
        match &*call.get(3) {
            Value::Array(groups) => groups
                .iter()
                .map(|group| group.as_i64().and_then(|group| usize::try_from(group).ok()))
                .collect(),
            other => other
                .as_i64()
                .and_then(|group| usize::try_from(group).ok())
                .map(|group| vec![group]),
        }
    } else {
        Some(vec![0])
    };
    let Some(groups) = groups else {
        return answer(None::<bool>);
    };
    with(call, |regex, text| {
        let found = regex.captures_iter(text).take(MAX_MATCHES).map(|captures| {
            let parts = groups.iter().filter_map(|group| captures.get(*group));
            Value::Array(
                parts
                    .map(|part| Value::from(part.as_str().to_owned()))
                    .collect(),
            )
        });
        Value::Array(found.collect())
    })
}
