//! `IS_…`: always true or false (query-language: section 8.1).

use super::{Arguments, datetime};
use crate::eval::Val;
use orrery_model::value::Value;

type Call<'a, 'e> = Arguments<'a, 'e>;

fn truth<'e>(known: bool) -> Val<'e> {
    Val::Own(Value::Bool(known))
}

pub(super) fn is_array<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(matches!(*call.get(0), Value::Array(_)))
}

pub(super) fn is_bool<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(matches!(*call.get(0), Value::Bool(_)))
}

pub(super) fn is_date_time<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(matches!(&*call.get(0), Value::String(text) if datetime::moment::parse(text).is_some()))
}

pub(super) fn is_defined<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(!call.get(0).is_undefined())
}

pub(super) fn is_finite_number<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(
        call.get(0)
            .as_number()
            .is_some_and(orrery_model::value::Number::is_finite),
    )
}

pub(super) fn is_integer<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(call.integer(0).is_some())
}

pub(super) fn is_null<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(matches!(*call.get(0), Value::Null))
}

pub(super) fn is_number<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(matches!(*call.get(0), Value::Number(_)))
}

pub(super) fn is_object<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(matches!(*call.get(0), Value::Object(_)))
}

pub(super) fn is_primitive<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(crate::eval::operators::is_scalar(&call.get(0)))
}

pub(super) fn is_string<'e>(call: &Call<'_, 'e>) -> Val<'e> {
    truth(matches!(*call.get(0), Value::String(_)))
}
