//! Shapes in the form of GeoJSON, on the globe or on a plane: how they lie to each other, and the
//! cells of a grid that cover them, which is what spatial indexes keep (query language: section
//! 8.7).

mod cell;
mod cover;
mod geojson;
mod grid;
mod plane;
mod relations;
mod sphere;

pub use cell::Cell;
pub use geojson::{Position, Shape, kind, read};
pub use grid::{Bounds, Grid};

use crate::container::GeospatialType;
use plane::Plane;
use relations::Model;
use sphere::Ellipsoid;

fn two<T>(
    (left, right): (&Shape, &Shape),
    surface: GeospatialType,
    on_plane: impl FnOnce(&Model<Plane>, &Model<Plane>) -> T,
    on_ellipsoid: impl FnOnce(&Model<Ellipsoid>, &Model<Ellipsoid>) -> T,
) -> T {
    match surface {
        GeospatialType::Geometry => on_plane(&Model::of(left), &Model::of(right)),
        GeospatialType::Geography => on_ellipsoid(&Model::of(left), &Model::of(right)),
    }
}

/// The shortest way between two shapes: metres on the globe, units of the coordinates on a plane.
pub fn distance(left: &Shape, right: &Shape, surface: GeospatialType) -> f64 {
    two((left, right), surface, Model::distance, Model::distance)
}

/// Whether the first shape lies in the second.
pub fn within(left: &Shape, right: &Shape, surface: GeospatialType) -> bool {
    two((left, right), surface, Model::within, Model::within)
}

/// Whether two shapes share a point.
pub fn intersects(left: &Shape, right: &Shape, surface: GeospatialType) -> bool {
    two((left, right), surface, Model::intersects, Model::intersects)
}

/// The area: square metres, or squares of the unit.
pub fn area(shape: &Shape, surface: GeospatialType) -> f64 {
    match surface {
        GeospatialType::Geometry => plane::area(shape),
        GeospatialType::Geography => sphere::area(shape),
    }
}

/// Whether a ring of the shape crosses itself; compares all its lines with each other.
pub fn crosses_itself(shape: &Shape, surface: GeospatialType) -> bool {
    match surface {
        GeospatialType::Geometry => Model::<Plane>::of(shape).crossed_ring(),
        GeospatialType::Geography => Model::<Ellipsoid>::of(shape).crossed_ring(),
    }
}
