//! GeoJSON shapes and what makes them invalid.

use crate::container::{GeospatialType, SpatialType};
use crate::value::Value;

/// Longitude and latitude, or x and y.
pub type Position = [f64; 2];

/// The most points of a polygon (query-language: section 12).
const MAX_POINTS: usize = 4_096;

/// A shape, structurally valid.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A position.
    Point(Position),
    /// A line of at least two positions.
    Line(Vec<Position>),
    /// Polygons, each its rings, the outer one first; rings are closed.
    Polygons(Vec<Vec<Vec<Position>>>),
}

impl Shape {
    /// How many positions it has.
    pub fn points(&self) -> usize {
        match self {
            Self::Point(_) => 1,
            Self::Line(line) => line.len(),
            Self::Polygons(polygons) => polygons.iter().flatten().map(Vec::len).sum(),
        }
    }

    pub(super) fn each_position(&self, visit: &mut impl FnMut(Position)) {
        match self {
            Self::Point(position) => visit(*position),
            Self::Line(line) => line.iter().copied().for_each(visit),
            Self::Polygons(polygons) => {
                polygons.iter().flatten().flatten().copied().for_each(visit);
            }
        }
    }
}

/// The type that a value gives itself, where shapes have it. It need not be valid.
pub fn kind(value: &Value<'_>) -> Option<SpatialType> {
    SpatialType::from_name(value.member("type").as_str()?)
}

/// Reads a shape, or tells why it is none.
pub fn read(value: &Value<'_>, surface: GeospatialType) -> Result<Shape, String> {
    let kind = value.member("type").as_str().unwrap_or_default();
    let coordinates = value.member("coordinates");
    match kind {
        "Point" => position(coordinates, surface).map(Shape::Point),
        "LineString" => {
            let line = positions(coordinates, surface)?;
            if line.len() < 2 {
                return Err(
                    "The LineString input is not valid because it needs at least two positions."
                        .to_owned(),
                );
            }
            Ok(Shape::Line(line))
        }
        "Polygon" => Ok(Shape::Polygons(vec![polygon(coordinates, surface)?])),
        "MultiPolygon" => {
            let list = coordinates.as_array().ok_or_else(malformed)?;
            list.iter()
                .map(|one| polygon(one, surface))
                .collect::<Result<_, _>>()
                .map(Shape::Polygons)
        }
        _ => Err("The input is not a supported GeoJSON type.".to_owned()),
    }
}

fn malformed() -> String {
    "The coordinates of the GeoJSON input are not valid.".to_owned()
}

fn position(value: &Value<'_>, surface: GeospatialType) -> Result<Position, String> {
    let list = value
        .as_array()
        .filter(|list| (2..=4).contains(&list.len()))
        .ok_or_else(malformed)?;
    let number = |index: usize| {
        list[index]
            .as_f64()
            .filter(|number| number.is_finite())
            .ok_or_else(malformed)
    };
    let [x, y] = [number(0)?, number(1)?];
    if surface == GeospatialType::Geography {
        if !(-90.0..=90.0).contains(&y) {
            return Err("Latitude values must be between -90 and 90 degrees.".to_owned());
        }
        if !(-180.0..=180.0).contains(&x) {
            return Err("Longitude values must be between -180 and 180 degrees.".to_owned());
        }
    }
    Ok([x, y])
}

fn positions(value: &Value<'_>, surface: GeospatialType) -> Result<Vec<Position>, String> {
    value
        .as_array()
        .ok_or_else(malformed)?
        .iter()
        .map(|one| position(one, surface))
        .collect()
}

fn polygon(value: &Value<'_>, surface: GeospatialType) -> Result<Vec<Vec<Position>>, String> {
    let list = value
        .as_array()
        .filter(|list| !list.is_empty())
        .ok_or_else(malformed)?;
    let rings = list
        .iter()
        .map(|ring| positions(ring, surface))
        .collect::<Result<Vec<_>, _>>()?;
    if rings.iter().map(Vec::len).sum::<usize>() > MAX_POINTS {
        return Err(format!(
            "The Polygon input is not valid because it has more than {MAX_POINTS} points."
        ));
    }
    for (place, ring) in rings.iter().enumerate() {
        let number = place + 1;
        if ring.is_empty() || ring.first() != ring.last() {
            return Err(format!(
                "The Polygon input is not valid because the start and end points of the ring number {number} are not \
                 the same. Each ring of a polygon must have the same start and end points."
            ));
        }
        if ring.len() < 4 {
            return Err(format!(
                "The Polygon input is not valid because the ring number {number} has fewer than four positions."
            ));
        }
    }
    Ok(rings)
}
