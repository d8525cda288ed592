//! Arrays (query-language: section 8.4).

use super::{Arguments, answer};
use crate::eval::Val;
use crate::eval::operators;
use orrery_model::value::{Object, Value};
use std::cmp::Ordering;

/// The longest array that a function makes.
const MAX_ELEMENTS: usize = 1 << 20;

pub(super) fn concat<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let mut all = Vec::new();
    for index in 0..call.len() {
        let list = call.get(index);
        call.run.spend_on(&list);
        match list.into_value() {
            Value::Array(elements) => all.extend(elements),
            _ => return Val::UNDEFINED,
        }
        // Arrays of constants and of the row were copied, and are not held yet.
        call.run
            .hold(all.len().saturating_mul(size_of::<Value<'_>>()));
        if all.len() > MAX_ELEMENTS || call.run.exhausted() {
            return Val::UNDEFINED;
        }
    }
    call.run.spend(all.len() as u64);
    Val::Own(Value::Array(all))
}

pub(super) fn contains<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let list = call.get(0);
    let Some(list) = list.as_array() else {
        return Val::UNDEFINED;
    };
    let sought = call.get(1);
    if sought.is_undefined() {
        return Val::UNDEFINED;
    }
    call.run.spend(list.len() as u64);
    let partial = call.flag(2);
    answer(Some(list.iter().any(|element| {
        if partial {
            is_part(element, &sought)
        } else {
            element.equals(&sought)
        }
    })))
}

/// True when `element` equals `sought`, or as an object has all its members.
fn is_part(element: &Value<'_>, sought: &Value<'_>) -> bool {
    match (element, sought) {
        (Value::Object(element), Value::Object(sought)) => sought
            .iter()
            .all(|(name, member)| element.get(name).is_some_and(|own| is_part(own, member))),
        _ => element.equals(sought),
    }
}

/// OR (`wanted`) or AND (not `wanted`) of membership over the further arguments, three-valued.
fn members<'e>(call: &Arguments<'_, 'e>, wanted: bool) -> Val<'e> {
    let list = call.get(0);
    let Some(list) = list.as_array() else {
        return Val::UNDEFINED;
    };
    let mut unknown = false;
    for index in 1..call.len() {
        let sought = call.get(index);
        call.run.spend(list.len() as u64);
        if sought.is_undefined() {
            unknown = true;
        } else if list.iter().any(|element| element.equals(&sought)) == wanted {
            return answer(Some(wanted));
        }
    }
    answer((!unknown).then_some(!wanted))
}

pub(super) fn contains_any<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    members(call, true)
}

pub(super) fn contains_all<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    members(call, false)
}

pub(super) fn length<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(call.get(0).as_array().map(|list| list.len() as u64))
}

/// A negative start counts from the end.
pub(super) fn slice<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let list = call.get(0);
    let (Some(list), Some(start)) = (list.as_array(), call.integer(1)) else {
        return Val::UNDEFINED;
    };
    let count = list.len() as i64;
    let length = if call.len() > 2 {
        call.integer(2)
    } else {
        Some(count)
    };
    let Some(length) = length else {
        return Val::UNDEFINED;
    };
    let from = if start < 0 {
        count.saturating_add(start).max(0)
    } else {
        start.min(count)
    };
    let to = from.saturating_add(length.max(0)).min(count);
    call.run.spend(list.len() as u64);
    Val::Own(Value::Array(list[from as usize..to as usize].to_vec()))
}

fn numbers(call: &Arguments<'_, '_>) -> Option<Vec<f64>> {
    let list = call.get(0);
    let list = list.as_array()?;
    call.run.spend(list.len() as u64);
    list.iter().map(Value::as_f64).collect()
}

pub(super) fn sum<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(numbers(call).map(|list| list.iter().sum::<f64>() + 0.0))
}

pub(super) fn average<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let list = numbers(call).filter(|list| !list.is_empty());
    answer(list.map(|list| list.iter().sum::<f64>() / list.len() as f64))
}

pub(super) fn median<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let Some(mut list) = numbers(call).filter(|list| !list.is_empty()) else {
        return Val::UNDEFINED;
    };
    list.sort_by(f64::total_cmp);
    let middle = list.len() / 2;
    answer(Some(if list.len() % 2 == 1 {
        list[middle]
    } else {
        f64::midpoint(list[middle - 1], list[middle])
    }))
}

fn extreme<'e>(call: &Arguments<'_, 'e>, wanted: Ordering) -> Val<'e> {
    let list = call.get(0);
    let Some(list) = list.as_array() else {
        return Val::UNDEFINED;
    };
    call.run.spend(list.len() as u64);
    if !list.iter().all(operators::is_scalar) {
        return Val::UNDEFINED;
    }
    let best = list.iter().reduce(|best, next| {
        if next.order(best) == wanted {
            next
        } else {
            best
        }
    });
    Val::Own(best.map_or(Value::Undefined, |best| best.clone().into_owned()))
}

pub(super) fn min<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    extreme(call, Ordering::Less)
}

pub(super) fn max<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    extreme(call, Ordering::Greater)
}

pub(super) fn from_object<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let value = call.get(0);
    let Some(object) = value.as_object() else {
        return Val::UNDEFINED;
    };
    let mut names = ["k".to_owned(), "v".to_owned()];
    for (index, name) in names.iter_mut().enumerate().take(call.len() - 1) {
        match &*call.get(index + 1) {
            Value::String(given) => *name = given.clone().into_owned(),
            _ => return Val::UNDEFINED,
        }
    }
    call.run.spend(object.len() as u64);
    let pairs = object.iter().map(|(name, member)| {
        let mut pair = Object::with_capacity(2);
        pair.insert(names[0].clone(), name.to_owned());
        pair.insert(names[1].clone(), member.clone().into_owned());
        Value::Object(pair)
    });
    Val::Own(Value::Array(pairs.collect()))
}
