//! The two grids: six faces of a cube around the globe, and one rectangle of a plane.
//!
//! On the globe cells are squares on the faces of a cube, seen from the centre of the sphere that
//! [`super::sphere`] scales the ellipsoid to. The rectangle of a plane is the bounding box that the
//! policy gives; what lies outside of it belongs to the cells at its border.

use super::cell::{Cell, DEEPEST};
use super::cover::{Lattice, cover};
use super::geojson::{Position, Shape};
use super::plane::Plane;
use super::relations::{Geometry, Model};
use super::sphere::{self, Ellipsoid, Vector};
use crate::container::GeospatialType;

/// A rectangle of a plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The least coordinates.
    pub min: Position,
    /// The greatest.
    pub max: Position,
}

/// How a surface is divided into cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Grid {
    /// The globe.
    Globe,
    /// A plane, of which this part is divided.
    Plane(Bounds),
}

impl Grid {
    /// What is divided.
    pub fn surface(&self) -> GeospatialType {
        match self {
            Self::Globe => GeospatialType::Geography,
            Self::Plane(_) => GeospatialType::Geometry,
        }
    }

    /// A text of bytes that other grids do not have.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Globe => Vec::new(),
            Self::Plane(bounds) => {
                let numbers = bounds.min.into_iter().chain(bounds.max);
                numbers.flat_map(f64::to_be_bytes).collect()
            }
        }
    }

    /// The cells of a shape that is stored, about `most`; all faces where its lines are not
    /// determined.
    pub fn cells(&self, shape: &Shape, most: usize) -> Vec<Cell> {
        match (self, shape) {
            (Self::Globe, Shape::Point(position)) => {
                vec![Globe::leaf(Ellipsoid::point(*position))]
            }
            (Self::Globe, _) => {
                cover(&Globe, &Model::of(shape), 0.0, most).unwrap_or_else(|| Globe.faces())
            }
            (Self::Plane(bounds), Shape::Point(position)) => vec![bounds.leaf(*position)],
            (Self::Plane(bounds), _) => {
                let sheet = Sheet::new(bounds, shape, 0.0);
                cover(&sheet, &Model::of(shape), 0.0, most).unwrap_or_else(|| sheet.faces())
            }
        }
    }

    /// The cells of what lies within a distance of a shape: every stored shape that does has a
    /// cell inside or around one of these. `None` when that may be anything.
    pub fn cells_near(&self, shape: &Shape, distance: f64, most: usize) -> Option<Vec<Cell>> {
        if !distance.is_finite() || distance < 0.0 {
            return None;
        }
        match self {
            Self::Globe => {
                let reach = sphere::greatest_angle(distance);
                if reach > std::f64::consts::PI {
                    return None;
                }
                cover(&Globe, &Model::of(shape), reach, most)
            }
            Self::Plane(bounds) => {
                let sheet = Sheet::new(bounds, shape, distance);
                cover(&sheet, &Model::of(shape), distance, most)
            }
        }
    }
}

struct Globe;

/// A circle that is wider says nothing about where a shape lies.
const WIDEST: f64 = 1.3;

impl Globe {
    /// The smallest cell at a point.
    fn leaf(point: Vector) -> Cell {
        let mut axis = 0;
        for other in 1..3 {
            if point[other].abs() > point[axis].abs() {
                axis = other;
            }
        }
        let face = axis + if point[axis] < 0.0 { 3 } else { 0 };
        let across = |step: usize| place_of(point[(axis + step) % 3] / point[axis], -1.0, 1.0);
        Cell::leaf(face as u8, across(1), across(2))
    }

    /// The point of a face at two coordinates between -1 and 1.
    fn point(face: u8, across: [f64; 2]) -> Vector {
        let axis = usize::from(face) % 3;
        let sign = if face < 3 { 1.0 } else { -1.0 };
        let mut point = [0.0; 3];
        point[axis] = sign;
        point[(axis + 1) % 3] = sign * across[0];
        point[(axis + 2) % 3] = sign * across[1];
        sphere::normalised(point)
    }
}

impl Lattice for Globe {
    type Surface = Ellipsoid;

    fn faces(&self) -> Vec<Cell> {
        (0..6).map(Cell::face).collect()
    }

    fn circle(&self, cell: Cell) -> Option<(Vector, f64)> {
        let (face, x, y) = cell.place();
        let side = 2.0 / f64::from(1_u32 << cell.level());
        let at = |x: f64, y: f64| Self::point(face, [x * side - 1.0, y * side - 1.0]);
        let (x, y) = (f64::from(x), f64::from(y));
        let middle = at(x + 0.5, y + 0.5);
        let corners = [
            at(x, y),
            at(x + 1.0, y),
            at(x, y + 1.0),
            at(x + 1.0, y + 1.0),
        ];
        let far = corners.map(|corner| sphere::angle(middle, corner));
        Some((middle, far.into_iter().fold(0.0, f64::max)))
    }

    fn around(&self, model: &Model<Ellipsoid>) -> Option<(Vector, f64)> {
        // Of a large region the shape's points do not tell where it is.
        let rings = match model {
            Model::Polygons(polygons) => polygons.as_slice(),
            _ => &[],
        };
        if !rings.iter().flatten().all(|ring| ring.side.is_small()) {
            return None;
        }
        let points = model.vertices();
        let middle = sphere::middle(&points)?;
        let far = points.iter().map(|point| sphere::angle(middle, *point));
        let radius = far.fold(0.0, f64::max);
        (radius < WIDEST).then_some((middle, radius))
    }

    fn slack(&self) -> f64 {
        // Some centimetres: more than rounding and than a point may be away from a line to be on it.
        1e-8
    }
}

/// The place of a coordinate in units of the smallest cells.
fn place_of(coordinate: f64, min: f64, max: f64) -> u32 {
    const SIDE: u32 = 1 << DEEPEST;
    let share = (coordinate - min) / (max - min) * f64::from(SIDE);
    // What lies outside, and what is no number, belongs to the border.
    (share.max(0.0) as u32).min(SIDE - 1)
}

impl Bounds {
    fn leaf(&self, position: Position) -> Cell {
        let across = |axis: usize| place_of(position[axis], self.min[axis], self.max[axis]);
        Cell::leaf(0, across(0), across(1))
    }
}

/// A grid's plane, as far as a shape and what is near it reach.
struct Sheet<'b> {
    bounds: &'b Bounds,
    /// Where the shape lies, and what is near.
    part: Bounds,
    slack: f64,
}

impl<'b> Sheet<'b> {
    fn new(bounds: &'b Bounds, shape: &Shape, reach: f64) -> Self {
        let mut part = Bounds {
            min: [f64::INFINITY; 2],
            max: [f64::NEG_INFINITY; 2],
        };
        shape.each_position(&mut |[x, y]| {
            part.min = [part.min[0].min(x), part.min[1].min(y)];
            part.max = [part.max[0].max(x), part.max[1].max(y)];
        });
        let numbers = [part.min, part.max, bounds.min, bounds.max];
        let greatest = numbers.as_flattened().iter().map(|number| number.abs());
        let slack = (greatest.fold(reach, f64::max) * 1e-9).max(f64::MIN_POSITIVE);
        for axis in 0..2 {
            part.min[axis] -= reach + slack;
            part.max[axis] += reach + slack;
        }
        Self {
            bounds,
            part,
            slack,
        }
    }

    /// The coordinates of a cell along an axis that count.
    fn span(&self, axis: usize, place: u32, level: u32) -> Option<[f64; 2]> {
        let (min, max) = (self.bounds.min[axis], self.bounds.max[axis]);
        let count = 1_u32 << level;
        let at = |place: u32| min + (max - min) * (f64::from(place) / f64::from(count));
        let (mut low, mut high) = (self.part.min[axis], self.part.max[axis]);
        if place > 0 {
            low = low.max(at(place) - self.slack);
        }
        if place + 1 < count {
            high = high.min(at(place + 1) + self.slack);
        }
        (low <= high).then_some([low, high])
    }
}

impl Lattice for Sheet<'_> {
    type Surface = Plane;

    fn faces(&self) -> Vec<Cell> {
        vec![Cell::face(0)]
    }

    fn circle(&self, cell: Cell) -> Option<(Position, f64)> {
        let (_, x, y) = cell.place();
        let [left, right] = self.span(0, x, cell.level())?;
        let [bottom, top] = self.span(1, y, cell.level())?;
        let middle = [f64::midpoint(left, right), f64::midpoint(bottom, top)];
        Some((middle, Plane::distance(middle, [right, top])))
    }

    fn around(&self, _: &Model<Plane>) -> Option<(Position, f64)> {
        let middle = [0, 1].map(|axis| f64::midpoint(self.part.min[axis], self.part.max[axis]));
        Some((middle, Plane::distance(middle, self.part.max)))
    }

    fn slack(&self) -> f64 {
        self.slack
    }
}
