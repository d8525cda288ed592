//! Spatial functions over GeoJSON (query-language: section 8.7).

mod geojson;
mod plane;
mod relations;
mod sphere;

use super::{Arguments, answer};
use crate::environment::Surface;
use crate::eval::Val;
use geojson::Shape;
use orrery_model::value::{Object, Value};
use plane::Plane;
use relations::Model;
use sphere::Ellipsoid;

/// A valid shape; looking at it costs its points.
fn shape(call: &Arguments<'_, '_>, index: usize) -> Option<Shape> {
    let shape = geojson::read(&call.get(index), call.run.settings.surface).ok()?;
    call.run.spend(shape.points() as u64);
    Some(shape)
}

fn two<'e, T: Into<Value<'e>>>(
    call: &Arguments<'_, 'e>,
    on_plane: impl FnOnce(&Model<Plane>, &Model<Plane>) -> T,
    on_ellipsoid: impl FnOnce(&Model<Ellipsoid>, &Model<Ellipsoid>) -> T,
) -> Val<'e> {
    let (Some(left), Some(right)) = (shape(call, 0), shape(call, 1)) else {
        return Val::UNDEFINED;
    };
    call.run
        .spend((left.points() as u64).saturating_mul(right.points() as u64) / 4);
    answer(Some(match call.run.settings.surface {
        Surface::Geometry => on_plane(&Model::of(&left), &Model::of(&right)),
        Surface::Geography => on_ellipsoid(&Model::of(&left), &Model::of(&right)),
    }))
}

pub(super) fn distance<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, Model::distance, Model::distance)
}

pub(super) fn within<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, Model::within, Model::within)
}

pub(super) fn intersects<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    two(call, Model::intersects, Model::intersects)
}

pub(super) fn area<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let Some(shape) = shape(call, 0) else {
        return Val::UNDEFINED;
    };
    answer(Some(match call.run.settings.surface {
        Surface::Geometry => plane::area(&shape),
        Surface::Geography => sphere::area(&shape),
    }))
}

/// Why a value is no valid shape, or nothing.
fn fault(call: &Arguments<'_, '_>) -> Option<String> {
    let surface = call.run.settings.surface;
    let shape = match geojson::read(&call.get(0), surface) {
        Ok(shape) => shape,
        Err(reason) => return Some(reason),
    };
    let crossings = (shape.points() as u64).saturating_mul(shape.points() as u64);
    call.run.spend(crossings / 4);
    if crossings > MAX_CROSSING_TESTS {
        return None;
    }
    let crossed = match surface {
        Surface::Geometry => Model::<Plane>::of(&shape).crossed_ring(),
        Surface::Geography => Model::<Ellipsoid>::of(&shape).crossed_ring(),
    };
    crossed.then(|| "The Polygon input is not valid because a ring intersects itself.".to_owned())
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
