//! Distance, containment and intersection of shapes, over any surface.

use super::geojson::{Position, Shape};

/// The geometry of a surface: its points, its shortest lines.
pub(super) trait Geometry {
    type Point: Copy;

    fn point(position: Position) -> Self::Point;
    fn distance(one: Self::Point, other: Self::Point) -> f64;
    /// Distance of a point from a segment.
    fn distance_to_segment(point: Self::Point, start: Self::Point, end: Self::Point) -> f64;
    fn on_segment(point: Self::Point, start: Self::Point, end: Self::Point) -> bool;
    /// Whether the insides of two segments cross at one point.
    fn cross(one: [Self::Point; 2], other: [Self::Point; 2]) -> bool;
    /// Whether a closed outer ring encloses the point; boundary points may go either way.
    fn encloses(ring: &[Self::Point], point: Self::Point) -> bool;
    /// Whether the smaller side of a closed ring holds the point.
    fn hole_holds(ring: &[Self::Point], point: Self::Point) -> bool;
}

/// A shape in the points of a surface.
pub(super) enum Model<G: Geometry> {
    Point(G::Point),
    Line(Vec<G::Point>),
    Polygons(Vec<Vec<Vec<G::Point>>>),
}

impl<G: Geometry> Model<G> {
    pub(super) fn of(shape: &Shape) -> Self {
        let line = |positions: &Vec<Position>| {
            positions
                .iter()
                .map(|position| G::point(*position))
                .collect()
        };
        match shape {
            Shape::Point(position) => Self::Point(G::point(*position)),
            Shape::Line(positions) => Self::Line(line(positions)),
            Shape::Polygons(polygons) => Self::Polygons(
                polygons
                    .iter()
                    .map(|rings| rings.iter().map(line).collect())
                    .collect(),
            ),
        }
    }

    fn vertices(&self) -> Vec<G::Point> {
        match self {
            Self::Point(point) => vec![*point],
            Self::Line(line) => line.clone(),
            Self::Polygons(polygons) => polygons.iter().flatten().flatten().copied().collect(),
        }
    }

    fn segments(&self) -> Vec<[G::Point; 2]> {
        let pairs = |line: &[G::Point]| {
            line.windows(2)
                .map(|pair| [pair[0], pair[1]])
                .collect::<Vec<_>>()
        };
        match self {
            Self::Point(_) => Vec::new(),
            Self::Line(line) => pairs(line),
            Self::Polygons(polygons) => polygons
                .iter()
                .flatten()
                .flat_map(|ring| pairs(ring))
                .collect(),
        }
    }

    fn on_boundary(&self, point: G::Point) -> bool {
        self.segments()
            .iter()
            .any(|[start, end]| G::on_segment(point, *start, *end))
    }

    /// Boundary points are inside.
    fn covers(&self, point: G::Point) -> bool {
        match self {
            Self::Point(own) => G::distance(*own, point) == 0.0,
            Self::Line(_) => self.on_boundary(point),
            Self::Polygons(polygons) => {
                polygons.iter().any(|rings| match rings.split_first() {
                    Some((outer, holes)) => {
                        G::encloses(outer, point)
                            && !holes.iter().any(|hole| G::hole_holds(hole, point))
                    }
                    None => false,
                }) || self.on_boundary(point)
            }
        }
    }

    fn crosses(&self, other: &Self) -> bool {
        let others = other.segments();
        self.segments()
            .iter()
            .any(|one| others.iter().any(|other| G::cross(*one, *other)))
    }

    pub(super) fn intersects(&self, other: &Self) -> bool {
        self.vertices().into_iter().any(|point| other.covers(point))
            || other.vertices().into_iter().any(|point| self.covers(point))
            || self.crosses(other)
    }

    pub(super) fn within(&self, other: &Self) -> bool {
        self.vertices().into_iter().all(|point| other.covers(point))
            && !self.crosses(other)
            // A hole of the other inside this one takes part of it away.
            && !(matches!(self, Self::Polygons(_))
                && other.holes().any(|hole| {
                    hole.iter().any(|point| self.covers(*point) && !self.on_boundary(*point))
                }))
    }

    fn holes(&self) -> impl Iterator<Item = &Vec<G::Point>> {
        let polygons = match self {
            Self::Polygons(polygons) => polygons.as_slice(),
            _ => &[],
        };
        polygons.iter().flat_map(|rings| rings.iter().skip(1))
    }

    pub(super) fn distance(&self, other: &Self) -> f64 {
        if let (Self::Point(one), Self::Point(other)) = (self, other) {
            return G::distance(*one, *other);
        }
        if self.intersects(other) {
            return 0.0;
        }
        // Of two lines that do not cross, an end is nearest.
        let one_way = |from: &Self, to: &Self| {
            let segments = to.segments();
            from.vertices()
                .into_iter()
                .flat_map(|point| {
                    segments
                        .iter()
                        .map(move |[start, end]| G::distance_to_segment(point, *start, *end))
                        .collect::<Vec<_>>()
                })
                .fold(f64::INFINITY, f64::min)
        };
        one_way(self, other).min(one_way(other, self))
    }

    /// Whether a ring crosses itself.
    pub(super) fn crossed_ring(&self) -> bool {
        let Self::Polygons(polygons) = self else {
            return false;
        };
        polygons.iter().flatten().any(|ring| {
            let segments: Vec<_> = ring.windows(2).map(|pair| [pair[0], pair[1]]).collect();
            segments.iter().enumerate().any(|(place, one)| {
                segments
                    .iter()
                    .skip(place + 2)
                    .any(|other| G::cross(*one, *other))
            })
        })
    }
}
