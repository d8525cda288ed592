//! The operators on values (query-language: section 6).

use super::Run;
use crate::program::node::{Arithmetic, Comparison, Prefix};
use orrery_model::value::{Number, Value};
use std::cmp::Ordering;

/// The total order, with equal numbers of both forms equal.
pub(crate) fn order(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    left.order(right)
}

/// Null, Boolean, number or string.
pub(crate) fn is_scalar(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)
    )
}

fn is_nan(value: &Value<'_>) -> bool {
    matches!(value, Value::Number(Number::Double(number)) if number.is_nan())
}

/// `=`: unknown beside undefined and NaN, false across types (query-language: D9).
pub(crate) fn equal(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    if left.is_undefined() || right.is_undefined() || is_nan(left) || is_nan(right) {
        return None;
    }
    Some(left.equals(right))
}

/// All comparisons.
pub(crate) fn compare(comparison: Comparison, left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    match comparison {
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => equal(left, right).map(|known| !known),
        Comparison::Less => relation(left, right).map(Ordering::is_lt),
        Comparison::LessOrEqual => relation(left, right).map(Ordering::is_le),
        Comparison::Greater => relation(left, right).map(Ordering::is_gt),
        Comparison::GreaterOrEqual => relation(left, right).map(Ordering::is_ge),
    }
}

/// The order of two scalars of the same type.
fn relation(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => left.compare(*right),
        (Value::String(left), Value::String(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        _ => None,
    }
}

/// `a BETWEEN x AND y`: a false side wins over an unknown one.
pub(crate) fn between(value: &Value<'_>, low: &Value<'_>, high: &Value<'_>) -> Option<bool> {
    let above = compare(Comparison::GreaterOrEqual, value, low);
    let below = compare(Comparison::LessOrEqual, value, high);
    match (above, below) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// A prefix operator.
pub(crate) fn prefix<'e>(operator: Prefix, operand: &Value<'_>) -> Value<'e> {
    match (operator, operand) {
        (Prefix::Not, Value::Bool(known)) => Value::Bool(!known),
        (Prefix::Minus, Value::Number(Number::Int(value))) => value
            .checked_neg()
            .map_or_else(|| Value::from(-(*value as f64)), Value::from),
        (Prefix::Minus, Value::Number(number)) => Value::from(-number.as_f64()),
        (Prefix::Plus, Value::Number(number)) => Value::Number(*number),
        (Prefix::BitNot, Value::Number(number)) => Value::from(!to_int32(number.as_f64())),
        _ => Value::Undefined,
    }
}

/// An operator on two numbers, or `||` on two strings.
pub(crate) fn arithmetic<'e>(
    operator: Arithmetic,
    left: &Value<'_>,
    right: &Value<'_>,
    run: &Run<'_>,
) -> Value<'e> {
    let (left, right) = match (left, right) {
        (Value::Number(left), Value::Number(right)) => (left.as_f64(), right.as_f64()),
        (Value::String(left), Value::String(right)) if operator == Arithmetic::Concat => {
            return concat(&[left, right], run);
        }
        _ => return Value::Undefined,
    };
    // The reference computes with doubles, also on integers (query-language: D7).
    match operator {
        Arithmetic::Add => Value::from(left + right),
        Arithmetic::Subtract => Value::from(left - right),
        Arithmetic::Multiply => Value::from(left * right),
        Arithmetic::Divide => Value::from(left / right),
        Arithmetic::Modulo => Value::from(left % right),
        Arithmetic::BitAnd => Value::from(to_int32(left) & to_int32(right)),
        Arithmetic::BitOr => Value::from(to_int32(left) | to_int32(right)),
        Arithmetic::BitXor => Value::from(to_int32(left) ^ to_int32(right)),
        Arithmetic::ShiftLeft => Value::from(to_int32(left).wrapping_shl(to_int32(right) as u32)),
        Arithmetic::ShiftRight => Value::from(to_int32(left).wrapping_shr(to_int32(right) as u32)),
        Arithmetic::ShiftRightZero => {
            let shifted = (to_int32(left) as u32).wrapping_shr(to_int32(right) as u32);
            // Recorded: -100 >>> 1 is 2147483598, the unsigned reading.
            Value::from(shifted)
        }
        Arithmetic::Concat => Value::Undefined,
    }
}

/// The longest string that an operator or a function makes: no item may hold a longer one.
pub(crate) const MAX_TEXT: usize = 2 << 20;

/// Joined text; undefined beyond [`MAX_TEXT`].
pub(crate) fn concat<'e, T: AsRef<str>>(parts: &[T], run: &Run<'_>) -> Value<'e> {
    let length = parts.iter().map(|part| part.as_ref().len()).sum::<usize>();
    if length > MAX_TEXT {
        return Value::Undefined;
    }
    run.spend(length as u64 / 64);
    let mut text = String::with_capacity(length);
    for part in parts {
        text.push_str(part.as_ref());
    }
    Value::from(text)
}

/// A double as JavaScript's bit operators see it.
pub(crate) fn to_int32(value: f64) -> i32 {
    if !value.is_finite() {
        return 0;
    }
    let wrapped = value.trunc().rem_euclid(4_294_967_296.0);
    wrapped as u32 as i32
}

/// A number as an array index.
pub(crate) fn exact_index(number: Number) -> Option<u64> {
    number.as_i64().and_then(|index| u64::try_from(index).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_operators_work_on_32_bits() {
        assert_eq!(to_int32(130679749712577953.0), 1022657952);
        assert_eq!(!to_int32(130679749712577953.0), -1022657953);
        assert_eq!(to_int32(-1.5), -1);
        assert_eq!(to_int32(4294967296.0 + 5.0), 5);
        assert_eq!(to_int32(2147483648.0), i32::MIN);
        assert_eq!(to_int32(f64::INFINITY), 0);
    }

    #[test]
    fn types_do_not_compare_but_differ() {
        let one = Value::from(1);
        let text = Value::from("1");
        assert_eq!(equal(&one, &text), Some(false));
        assert_eq!(
            compare(Comparison::NotEqual, &one, &Value::Null),
            Some(true)
        );
        assert_eq!(compare(Comparison::Less, &one, &text), None);
        assert_eq!(equal(&one, &Value::Undefined), None);
        assert_eq!(
            compare(Comparison::LessOrEqual, &Value::Null, &Value::Null),
            Some(true)
        );
    }

    #[test]
    fn a_false_side_of_between_wins() {
        let [one, five, nine, text] = [
            Value::from(1),
            Value::from(5),
            Value::from(9),
            Value::from("x"),
        ];
        assert_eq!(between(&five, &one, &nine), Some(true));
        assert_eq!(between(&one, &five, &text), Some(false));
        assert_eq!(between(&five, &one, &text), None);
    }
}
