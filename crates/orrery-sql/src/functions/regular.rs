//! Regular expressions, without backtracking and with a bound on their size
//! (query-language: section 8.2).

use super::{Arguments, answer};
use crate::eval::{Compiled, Val};
use orrery_model::value::Value;
use regex::{Regex, RegexBuilder};

/// Bytes that a compiled expression may take.
const SIZE_LIMIT: usize = 1 << 20;
/// The smallest bound that is tried.
const SMALLEST: usize = 4 << 10;
/// What compiling an expression costs, in steps.
const BUILD_STEPS: u64 = 1_000;
/// Bytes of text times bytes of the expression that one call may need at worst: some seconds.
const MOST_WORK: u64 = 1 << 35;
/// How much of that is worth a step, as a power of two.
const WORK_SHIFT: u32 = 15;
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
        || {
            call.run.spend(BUILD_STEPS + pattern.len() as u64);
            build(pattern, modifiers)
        },
        |compiled| {
            // Without backtracking, each character meets each state at most once.
            let work_bytes = text.len() as u64 * compiled.bytes as u64;
            call.run.spend(work_bytes >> WORK_SHIFT);
            if work_bytes > MOST_WORK {
                call.run.spend(u64::MAX);
            }
            if call.run.exhausted() {
                return Value::Undefined;
            }
            work(&compiled.regex, text)
        },
    );
    Val::Own(result.unwrap_or(Value::Undefined))
}

fn build(pattern: &str, modifiers: &str) -> Option<Compiled> {
    let mut builder = RegexBuilder::new(pattern);
    builder.dfa_size_limit(SIZE_LIMIT);
    for modifier in modifiers.chars() {
        match modifier {
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            _ => return None,
        };
    }
    // How large it is, is not told: the smallest bound that it keeps is near.
    let mut bytes = SMALLEST;
    loop {
        match builder.size_limit(bytes).build() {
            Ok(regex) => return Some(Compiled { regex, bytes }),
            Err(regex::Error::CompiledTooBig(_)) if bytes < SIZE_LIMIT => bytes *= 4,
            Err(_) => return None,
        }
    }
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
