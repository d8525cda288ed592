//! Distance, containment and intersection of shapes, over any surface.

use super::geojson::{Position, Shape};

/// The geometry of a surface: its points, its shortest lines.
pub(super) trait Geometry {
    type Point: Copy;
    /// What is known of a ring before any point is looked at.
    type Side: Copy;

    fn point(position: Position) -> Self::Point;
    fn distance(one: Self::Point, other: Self::Point) -> f64;
    /// Distance of a point from a segment.
    fn distance_to_segment(point: Self::Point, start: Self::Point, end: Self::Point) -> f64;
    fn on_segment(point: Self::Point, start: Self::Point, end: Self::Point) -> bool;
    /// Whether the insides of two segments cross at one point.
    fn cross(one: [Self::Point; 2], other: [Self::Point; 2]) -> bool;
    fn side(ring: &[Self::Point]) -> Self::Side;
    /// Whether a closed outer ring encloses the point; boundary points may go either way.
    fn encloses(ring: &Ring<Self>, point: Self::Point) -> bool;
    /// Whether the smaller side of a closed ring holds the point.
    fn hole_holds(ring: &Ring<Self>, point: Self::Point) -> bool;
    /// Distance of a point from a segment in the measure of cells.
    fn gap(point: Self::Point, start: Self::Point, end: Self::Point) -> f64;
    /// Whether two ends do not tell which line joins them.
    fn is_vague(start: Self::Point, end: Self::Point) -> bool;
    /// Further lines across which [`Geometry::encloses`] may change its answer.
    fn shadows(ring: &Ring<Self>) -> Vec<[Self::Point; 2]>;
}

/// A closed ring.
pub(super) struct Ring<G: Geometry + ?Sized> {
    pub(super) points: Vec<G::Point>,
    pub(super) side: G::Side,
}

impl<G: Geometry> Ring<G> {
    pub(super) fn new(points: Vec<G::Point>) -> Self {
        let side = G::side(&points);
        Self { points, side }
    }
}

/// A shape in the points of a surface.
pub(super) enum Model<G: Geometry> {
    Point(G::Point),
    Line(Vec<G::Point>),
    Polygons(Vec<Vec<Ring<G>>>),
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
                    .map(|rings| rings.iter().map(|ring| Ring::new(line(ring))).collect())
                    .collect(),
            ),
        }
    }

    pub(super) fn vertices(&self) -> Vec<G::Point> {
        match self {
            Self::Point(point) => vec![*point],
            Self::Line(line) => line.clone(),
            Self::Polygons(polygons) => {
                let rings = polygons.iter().flatten();
                rings.flat_map(|ring| ring.points.iter().copied()).collect()
            }
        }
    }

    pub(super) fn segments(&self) -> Vec<[G::Point; 2]> {
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
                .flat_map(|ring| pairs(&ring.points))
                .collect(),
        }
    }

    pub(super) fn shadows(&self) -> Vec<[G::Point; 2]> {
        match self {
            Self::Point(_) | Self::Line(_) => Vec::new(),
            Self::Polygons(polygons) => polygons.iter().flatten().flat_map(G::shadows).collect(),
        }
    }

    /// Whether a point that is on no line lies inside.
    pub(super) fn holds(&self, point: G::Point) -> bool {
        let Self::Polygons(polygons) = self else {
            return false;
        };
        polygons.iter().any(|rings| match rings.split_first() {
            Some((outer, holes)) => {
                G::encloses(outer, point) && !holes.iter().any(|hole| G::hole_holds(hole, point))
            }
            None => false,
        })
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
            Self::Polygons(_) => self.holds(point) || self.on_boundary(point),
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
                    hole.points.iter().any(|point| self.covers(*point) && !self.on_boundary(*point))
                }))
    }

    fn holes(&self) -> impl Iterator<Item = &Ring<G>> {
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
            let segments: Vec<_> = ring
                .points
                .windows(2)
                .map(|pair| [pair[0], pair[1]])
                .collect();
            segments.iter().enumerate().any(|(place, one)| {
                segments
                    .iter()
                    .skip(place + 2)
                    .any(|other| G::cross(*one, *other))
            })
        })
    }
}
