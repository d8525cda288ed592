//! The plane of `Geometry` containers.

use super::geojson::{Position, Shape};
use super::relations::{Geometry, Ring};

/// The plane.
pub(super) struct Plane;

fn cross_product(origin: Position, one: Position, other: Position) -> f64 {
    (one[0] - origin[0]) * (other[1] - origin[1]) - (one[1] - origin[1]) * (other[0] - origin[0])
}

impl Geometry for Plane {
    type Point = Position;
    type Side = ();

    fn point(position: Position) -> Position {
        position
    }

    fn distance(one: Position, other: Position) -> f64 {
        (one[0] - other[0]).hypot(one[1] - other[1])
    }

    fn distance_to_segment(point: Position, start: Position, end: Position) -> f64 {
        let along = [end[0] - start[0], end[1] - start[1]];
        let length = along[0] * along[0] + along[1] * along[1];
        let share = if length == 0.0 {
            0.0
        } else {
            (((point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]) / length)
                .clamp(0.0, 1.0)
        };
        Self::distance(
            point,
            [start[0] + share * along[0], start[1] + share * along[1]],
        )
    }

    fn on_segment(point: Position, start: Position, end: Position) -> bool {
        let between = |place: usize| {
            point[place] >= start[place].min(end[place])
                && point[place] <= start[place].max(end[place])
        };
        cross_product(start, end, point) == 0.0 && between(0) && between(1)
    }

    fn cross(one: [Position; 2], other: [Position; 2]) -> bool {
        let sides = |line: [Position; 2], points: [Position; 2]| {
            cross_product(line[0], line[1], points[0]) * cross_product(line[0], line[1], points[1])
                < 0.0
        };
        sides(one, other) && sides(other, one)
    }

    fn side(_: &[Position]) {}

    fn encloses(ring: &Ring<Self>, point: Position) -> bool {
        let mut inside = false;
        for pair in ring.points.windows(2) {
            let ([x1, y1], [x2, y2]) = (pair[0], pair[1]);
            if (y1 > point[1]) != (y2 > point[1])
                && point[0] < (x2 - x1) * (point[1] - y1) / (y2 - y1) + x1
            {
                inside = !inside;
            }
        }
        inside
    }

    fn hole_holds(ring: &Ring<Self>, point: Position) -> bool {
        Self::encloses(ring, point)
    }

    fn gap(point: Position, start: Position, end: Position) -> f64 {
        Self::distance_to_segment(point, start, end)
    }

    fn is_vague(_: Position, _: Position) -> bool {
        false
    }

    fn shadows(_: &Ring<Self>) -> Vec<[Position; 2]> {
        Vec::new()
    }
}

/// Area in the square of the unit.
pub(super) fn area(shape: &Shape) -> f64 {
    let ring_area = |ring: &Vec<Position>| {
        let doubled: f64 = ring
            .windows(2)
            .map(|pair| pair[0][0] * pair[1][1] - pair[1][0] * pair[0][1])
            .sum();
        (doubled / 2.0).abs()
    };
    match shape {
        Shape::Polygons(polygons) => polygons
            .iter()
            .map(|rings| {
                let holes: f64 = rings.iter().skip(1).map(ring_area).sum();
                rings.first().map_or(0.0, ring_area) - holes
            })
            .sum(),
        _ => 0.0,
    }
}
