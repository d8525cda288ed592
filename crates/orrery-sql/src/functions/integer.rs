//! 64-bit integers: a fractional argument gives undefined (query-language: section 8.3).

use super::{Arguments, answer};
use crate::eval::Val;

fn two<'e>(call: &Arguments<'_, 'e>, compute: impl FnOnce(i64, i64) -> Option<i64>) -> Val<'e> {
    let (Some(left), Some(right)) = (call.integer(0), call.integer(1)) else {
        return Val::UNDEFINED;
    };
    answer(compute(left, right))
}

pub(super) fn add<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, |left, right| Some(left.wrapping_add(right)))
}

pub(super) fn subtract<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, |left, right| Some(left.wrapping_sub(right)))
}

pub(super) fn multiply<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, |left, right| Some(left.wrapping_mul(right)))
}

pub(super) fn divide<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, |left, right| {
        (right != 0).then(|| left.wrapping_div(right))
    })
}

pub(super) fn modulo<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, |left, right| {
        (right != 0).then(|| left.wrapping_rem(right))
    })
}

pub(super) fn bit_and<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, |left, right| Some(left & right))
}

pub(super) fn bit_or<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, |left, right| Some(left | right))
}

pub(super) fn bit_xor<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, |left, right| Some(left ^ right))
}

pub(super) fn bit_not<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(call.integer(0).map(|value| !value))
}

/// Counts outside 0 to 63 give undefined (the reference does not tell).
fn shift<'e>(call: &Arguments<'_, 'e>, compute: fn(i64, u32) -> Option<i64>) -> Val<'e> {
    two(call, |value, count| {
        compute(value, u32::try_from(count).ok()?)
    })
}

pub(super) fn shift_left<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    shift(call, i64::checked_shl)
}

pub(super) fn shift_right<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    shift(call, i64::checked_shr)
}
