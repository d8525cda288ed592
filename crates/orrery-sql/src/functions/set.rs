//! Arrays as sets: results hold no element twice (query-language: section 8.4).

use super::{Arguments, answer};
use crate::eval::Val;
use orrery_model::distinct_hash;
use orrery_model::value::Value;
use rustc_hash::FxHashSet;

/// Both arrays, then a result of their elements.
fn sets<'e>(
    call: &Arguments<'_, 'e>,
    combine: impl FnOnce(&[Value<'e>], &[Value<'e>]) -> Vec<Value<'e>>,
) -> Val<'e> {
    let (left, right) = (call.get(0), call.get(1));
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return Val::UNDEFINED;
    };
    call.run.spend((left.len() + right.len()) as u64);
    Val::Own(Value::Array(combine(left, right)))
}

fn hashes(list: &[Value<'_>]) -> FxHashSet<u128> {
    list.iter().map(distinct_hash::hash).collect()
}

fn distinct<'e, 'v>(
    list: impl Iterator<Item = &'v Value<'e>>,
    keep: impl Fn(u128) -> bool,
) -> Vec<Value<'e>>
where
    'e: 'v,
{
    let mut seen = FxHashSet::default();
    list.filter(|element| {
        let hash = distinct_hash::hash(element);
        keep(hash) && seen.insert(hash)
    })
    .cloned()
    .collect()
}

pub(super) fn union<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    sets(call, |left, right| {
        distinct(left.iter().chain(right), |_| true)
    })
}

/// In the order of the second array, as the published sample shows.
pub(super) fn intersect<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    sets(call, |left, right| {
        let left = hashes(left);
        distinct(right.iter(), |hash| left.contains(&hash))
    })
}

pub(super) fn difference<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    sets(call, |left, right| {
        let right = hashes(right);
        distinct(left.iter(), |hash| !right.contains(&hash))
    })
}

pub(super) fn equal<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (left, right) = (call.get(0), call.get(1));
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return Val::UNDEFINED;
    };
    call.run.spend((left.len() + right.len()) as u64);
    answer(Some(hashes(left) == hashes(right)))
}
