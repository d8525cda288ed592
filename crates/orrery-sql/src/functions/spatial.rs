//! Spatial functions over GeoJSON (query-language: section 8.7).

use super::{Arguments, answer};
use crate::eval::Val;
use orrery_model::container::GeospatialType;
use orrery_model::geo::{self, Shape};
use orrery_model::value::{Object, Value};

/// A valid shape; looking at it costs its points.
fn shape(call: &Arguments<'_, '_>, index: usize) -> Option<Shape> {
    let shape = geo::read(&call.get(index), call.run.settings.surface).ok()?;
    call.run.spend(shape.points() as u64);
    Some(shape)
}

fn two<'e, T: Into<Value<'e>>>(
    call: &Arguments<'_, 'e>,
    relation: impl FnOnce(&Shape, &Shape, GeospatialType) -> T,
) -> Val<'e> {
    let (Some(left), Some(right)) = (shape(call, 0), shape(call, 1)) else {
        return Val::UNDEFINED;
    };
    call.run
        .spend((left.points() as u64).saturating_mul(right.points() as u64) / 4);
    answer(Some(relation(&left, &right, call.run.settings.surface)))
}

pub(super) fn distance<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, geo::distance)
}

pub(super) fn within<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, geo::within)
}

pub(super) fn intersects<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, geo::intersects)
}

pub(super) fn area<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(shape(call, 0).map(|shape| geo::area(&shape, call.run.settings.surface)))
}

/// Why a value is no valid shape, or nothing.
fn fault(call: &Arguments<'_, '_>) -> Option<String> {
    let surface = call.run.settings.surface;
    let shape = match geo::read(&call.get(0), surface) {
        Ok(shape) => shape,
        Err(reason) => return Some(reason),
    };
    let crossings = (shape.points() as u64).saturating_mul(shape.points() as u64);
    call.run.spend(crossings / 4);
    if crossings > MAX_CROSSING_TESTS {
        return None;
    }
    geo::crosses_itself(&shape, surface)
        .then(|| "The Polygon input is not valid because a ring intersects itself.".to_owned())
}

/// Rings of more points than this allows are not tested for crossing themselves.
const MAX_CROSSING_TESTS: u64 = 4_000_000;

pub(super) fn is_valid<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    if call.get(0).is_undefined() {
        return Val::UNDEFINED;
    }
    answer(Some(fault(call).is_none()))
}

pub(super) fn is_valid_detailed<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    if call.get(0).is_undefined() {
        return Val::UNDEFINED;
    }
    let mut result = Object::new();
    let fault = fault(call);
    result.insert("valid", fault.is_none());
    if let Some(reason) = fault {
        result.insert("reason", reason);
    }
    Val::Own(Value::Object(result))
}
