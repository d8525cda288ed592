//! Numbers (query-language: section 8.3). Results outside a function's domain are NaN, which may
//! be tested but not returned.

use super::{Arguments, answer};
use crate::eval::Val;
use orrery_model::distinct_hash;
use orrery_model::value::{Number, Value};

fn one<'e>(call: &Arguments<'_, 'e>, compute: impl FnOnce(f64) -> f64) -> Val<'e> {
    answer(call.number(0).map(compute))
}

/// Rounding functions leave integers alone, beyond 2^53 too.
fn rounded<'e>(call: &Arguments<'_, 'e>, compute: impl FnOnce(f64) -> f64) -> Val<'e> {
    match call.get(0).as_number() {
        Some(Number::Int(value)) => answer(Some(value)),
        Some(number) => answer(Some(compute(number.as_f64()))),
        None => Val::UNDEFINED,
    }
}

pub(super) fn abs<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    match call.get(0).as_number() {
        Some(Number::Int(value)) if value != i64::MIN => answer(Some(value.abs())),
        Some(number) => answer(Some(number.as_f64().abs())),
        None => Val::UNDEFINED,
    }
}

pub(super) fn ceiling<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    rounded(call, f64::ceil)
}

pub(super) fn floor<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    rounded(call, f64::floor)
}

/// Halves go away from zero.
pub(super) fn round<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    rounded(call, f64::round)
}

pub(super) fn trunc<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    rounded(call, f64::trunc)
}

pub(super) fn sign<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, |value| {
        if value == 0.0 || value.is_nan() {
            value
        } else {
            value.signum()
        }
    })
}

pub(super) fn acos<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::acos)
}

pub(super) fn asin<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::asin)
}

pub(super) fn atan<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::atan)
}

pub(super) fn cos<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::cos)
}

pub(super) fn cot<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, |value| value.tan().recip())
}

pub(super) fn sin<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::sin)
}

pub(super) fn tan<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::tan)
}

pub(super) fn degrees<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, |value| value * (180.0 / std::f64::consts::PI))
}

pub(super) fn radians<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, |value| value * (std::f64::consts::PI / 180.0))
}

pub(super) fn exp<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::exp)
}

pub(super) fn log10<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::log10)
}

pub(super) fn sqrt<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, f64::sqrt)
}

pub(super) fn square<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    one(call, |value| value * value)
}

/// Natural, or to the base of the second argument.
pub(super) fn log<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    if call.len() == 1 {
        return one(call, f64::ln);
    }
    two(call, |value, base| value.ln() / base.ln())
}

fn two<'e>(call: &Arguments<'_, 'e>, compute: impl FnOnce(f64, f64) -> f64) -> Val<'e> {
    let (Some(left), Some(right)) = (call.number(0), call.number(1)) else {
        return Val::UNDEFINED;
    };
    answer(Some(compute(left, right)))
}

pub(super) fn atan2<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, f64::atan2)
}

pub(super) fn power<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, f64::powf)
}

pub(super) fn pi<'e>(_: &Arguments<'_, 'e>) -> Val<'e> {
    answer(Some(std::f64::consts::PI))
}

pub(super) fn rand<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(Some(call.run.random()))
}

/// `floor(x / size) * size`. The documented results (37.7 for a size of 0.1) need the product
/// corrected: a size such as 0.1 is taken as the division by its whole reciprocal.
pub(super) fn number_bin<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let size = if call.len() > 1 {
        call.number(1)
    } else {
        Some(1.0)
    };
    let (Some(value), Some(size)) = (call.number(0), size) else {
        return Val::UNDEFINED;
    };
    if size == 0.0 {
        return Val::UNDEFINED;
    }
    let bins = (value / size).floor();
    let whole = size.recip().round();
    let exact = size.abs() < 1.0 && whole.recip() == size;
    answer(Some(if exact { bins / whole } else { bins * size }))
}

/// The reference tells only that the result is a number: ours is the low half of the distinct
/// hash, cut to the integers that a double holds, or its remainder.
pub(super) fn hash<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let value = call.get(0);
    if value.is_undefined() {
        return Val::UNDEFINED;
    }
    let low = distinct_hash::hash(&value) as u64 >> 11;
    if call.len() == 1 {
        return Val::Own(Value::from(low));
    }
    match call
        .integer(1)
        .and_then(|modulo| u64::try_from(modulo).ok())
    {
        Some(modulo) if modulo > 0 => answer(Some(low % modulo)),
        _ => Val::UNDEFINED,
    }
}
