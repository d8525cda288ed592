//! Date and time (query-language: section 8.6). Moments are counted in ticks of 100 ns since
//! 1970-01-01T00:00:00Z.

mod format;
pub(super) mod moment;

use super::{Arguments, answer};
use crate::eval::Val;
use moment::{Moment, Part};
use orrery_model::value::Value;

/// The first moment that DATETIMEBIN counts from: 1601-01-01.
const FIRST_BIN_START: i64 = -11_644_473_600 * moment::SECOND;

fn moment(call: &Arguments<'_, '_>, index: usize) -> Option<Moment> {
    call.get(index).as_str().and_then(moment::parse)
}

fn part_name(call: &Arguments<'_, '_>, index: usize) -> Option<Part> {
    call.get(index).as_str().and_then(Part::from_name)
}

fn text<'e>(result: Option<Moment>) -> Val<'e> {
    answer(result.map(Moment::to_text))
}

pub(super) fn add<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (part, count, start) = (part_name(call, 0), call.integer(1), moment(call, 2));
    text(part.and_then(|part| start?.add(part, count?)))
}

pub(super) fn diff<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (part, from, to) = (part_name(call, 0), moment(call, 1), moment(call, 2));
    answer(part.and_then(|part| to?.boundaries(part).checked_sub(from?.boundaries(part))))
}

pub(super) fn part<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (part, start) = (part_name(call, 0), moment(call, 1));
    answer(part.and_then(|part| Some(start?.part(part))))
}

fn fixed<'e>(call: &Arguments<'_, 'e>, part: Part) -> Val<'e> {
    answer(moment(call, 0).map(|start| start.part(part)))
}

pub(super) fn year<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    fixed(call, Part::Year)
}

pub(super) fn month<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    fixed(call, Part::Month)
}

pub(super) fn day<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    fixed(call, Part::Day)
}

pub(super) fn bin<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (Some(moment_in), Some(part)) = (moment(call, 0), part_name(call, 1)) else {
        return Val::UNDEFINED;
    };
    let size = if call.len() > 2 {
        call.integer(2)
    } else {
        Some(1)
    };
    let start = if call.len() > 3 {
        moment(call, 3)
    } else {
        Some(Moment(0))
    };
    let (Some(size), Some(start)) = (size.filter(|size| *size > 0), start) else {
        return Val::UNDEFINED;
    };
    if start.0 < FIRST_BIN_START {
        return Val::UNDEFINED;
    }
    text(moment_in.bin(part, size, start))
}

/// Year, month, day, then optionally hour, minute, second and ticks of the second.
pub(super) fn from_parts<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let mut parts = [0_i64; 7];
    for (index, place) in parts.iter_mut().enumerate().take(call.len()) {
        match call.integer(index) {
            Some(value) => *place = value,
            None => return Val::UNDEFINED,
        }
    }
    text(Moment::from_parts(parts))
}

pub(super) fn format<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let pattern = call.get(1);
    let (Some(start), Some(pattern)) = (moment(call, 0), pattern.as_str()) else {
        return Val::UNDEFINED;
    };
    answer(Some(format::format(start, pattern)))
}

pub(super) fn to_ticks<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(moment(call, 0).map(|start| start.0))
}

pub(super) fn to_timestamp<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(moment(call, 0).map(|start| start.0.div_euclid(moment::MILLISECOND)))
}

pub(super) fn from_ticks<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    text(call.integer(0).and_then(Moment::in_range))
}

pub(super) fn from_timestamp<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let ticks = call
        .integer(0)
        .and_then(|count| count.checked_mul(moment::MILLISECOND));
    text(ticks.and_then(Moment::in_range))
}

fn current(call: &Arguments<'_, '_>) -> Moment {
    Moment::in_range(call.run.settings.now_ticks).unwrap_or(Moment(0))
}

pub(super) fn current_date_time<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    text(Some(current(call)))
}

pub(super) fn current_ticks<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    Val::Own(Value::from(current(call).0))
}

pub(super) fn current_timestamp<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    Val::Own(Value::from(current(call).0.div_euclid(moment::MILLISECOND)))
}

/// Now, or now plus so many parts.
pub(super) fn now<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    if call.len() == 0 {
        return current_date_time(call);
    }
    let (part, count) = (part_name(call, 0), call.integer(1));
    text(part.and_then(|part| current(call).add(part, count?)))
}

/// Now minus so many parts.
pub(super) fn ago<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (part, count) = (part_name(call, 0), call.integer(1));
    text(part.and_then(|part| current(call).add(part, count?.checked_neg()?)))
}
