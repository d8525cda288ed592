//! Strings to values and values to strings (query-language: section 8.2).

use super::{Arguments, answer};
use crate::eval::Val;
use orrery_model::json;
use orrery_model::value::{Number, Value};

/// The JSON value in a string when it is of the wanted type.
fn parsed<'e>(call: &Arguments<'_, 'e>, wanted: impl Fn(&Value<'_>) -> bool) -> Val<'e> {
    let text = call.get(0);
    let Some(text) = text.as_str() else {
        return Val::UNDEFINED;
    };
    call.run.spend(text.len() as u64 / 16);
    match json::parse_str(text) {
        Ok(value) if wanted(&value) => Val::Own(value.into_owned()),
        _ => Val::UNDEFINED,
    }
}

pub(super) fn to_array<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    parsed(call, |value| matches!(value, Value::Array(_)))
}

pub(super) fn to_object<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    parsed(call, |value| matches!(value, Value::Object(_)))
}

pub(super) fn to_boolean<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    parsed(call, |value| matches!(value, Value::Bool(_)))
}

pub(super) fn to_null<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    parsed(call, |value| matches!(value, Value::Null))
}

pub(super) fn to_number<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    parsed(call, |value| matches!(value, Value::Number(_)))
}

pub(super) fn to_string<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let value = call.get(0);
    match &*value {
        Value::Undefined => Val::UNDEFINED,
        Value::String(_) => value,
        Value::Number(Number::Double(number)) if !number.is_finite() => {
            answer(Some(if number.is_nan() {
                "NaN"
            } else if *number > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            }))
        }
        other => answer(Some(json::to_string(other))),
    }
}
