//! The WGS-84 ellipsoid of `Geography` containers.
//!
//! Lines are great elliptic arcs, as in the service: scaled by the semi-axes, the ellipsoid is a
//! unit sphere and such an arc is part of a great circle, so that containment and crossing are
//! decided on that sphere. Areas are those of the authalic sphere. Both agree with the recorded
//! results to ten digits, geodesics do not.

use super::geojson::{Position, Shape};
use super::relations::{Geometry, Ring};
use std::f64::consts::PI;

/// Equatorial radius in metres.
const A: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Polar radius in metres.
const B: f64 = A * (1.0 - FLATTENING);
const E2: f64 = FLATTENING * (2.0 - FLATTENING);
/// How far a point may be from a line, as an angle, to be on it: about a millimetre.
const ON_LINE: f64 = 1.5e-10;
/// Below this half-angle the service takes its tangent for the angle (seen in the recorded
/// distance of 3.3 km, which is longer than the arc by the angle's square over 12).
const SMALL_HALF_ANGLE: f64 = 1e-3;

/// The ellipsoid.
pub(super) struct Ellipsoid;

pub(super) type Vector = [f64; 3];

fn dot(one: Vector, other: Vector) -> f64 {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

fn cross(one: Vector, other: Vector) -> Vector {
    [
        one[1] * other[2] - one[2] * other[1],
        one[2] * other[0] - one[0] * other[2],
        one[0] * other[1] - one[1] * other[0],
    ]
}

fn combine(one: Vector, share: f64, other: Vector, other_share: f64) -> Vector {
    [
        one[0] * share + other[0] * other_share,
        one[1] * share + other[1] * other_share,
        one[2] * share + other[2] * other_share,
    ]
}

fn length(vector: Vector) -> f64 {
    dot(vector, vector).sqrt()
}

pub(super) fn normalised(vector: Vector) -> Vector {
    let length = length(vector);
    if length == 0.0 {
        vector
    } else {
        vector.map(|part| part / length)
    }
}

/// The angle between two points.
pub(super) fn angle(one: Vector, other: Vector) -> f64 {
    2.0 * (length(combine(one, 1.0, other, -1.0)) / 2.0)
        .min(1.0)
        .asin()
}

/// The middle of points that do not lie all around.
pub(super) fn middle(points: &[Vector]) -> Option<Vector> {
    let sum = points
        .iter()
        .fold([0.0; 3], |sum, point| combine(sum, 1.0, *point, 1.0));
    (length(sum) > 1e-9).then(|| normalised(sum))
}

/// The angle that no points exceed whose distance in metres is at most this.
pub(super) fn greatest_angle(metres: f64) -> f64 {
    metres / B * (1.0 + 1e-6)
}

/// On which side of a ring its inside is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    /// Whether the region to the left is more than half of the globe.
    is_large: bool,
    /// The middle of a half of the globe that holds the ring, if one does.
    middle: Option<Vector>,
}

impl Side {
    /// Whether the inside of an outer ring lies where the ring does.
    pub(super) fn is_small(&self) -> bool {
        !self.is_large && self.middle.is_some()
    }

    /// Whether a point is on the other half of the globe than the ring.
    fn is_opposite(&self, point: Vector) -> bool {
        self.middle.is_some_and(|middle| dot(middle, point) <= 0.0)
    }
}

/// Nodes and weights of eight-point Gauss-Legendre integration on [-1, 1].
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// Length in metres of the arc over an angle from `start` towards the orthogonal `towards`.
fn arc_length(start: Vector, towards: Vector, angle: f64) -> f64 {
    let speed = |at: f64| {
        let along = combine(start, -at.sin(), towards, at.cos());
        length([along[0] * A, along[1] * A, along[2] * B])
    };
    let pieces = (angle / 0.4).ceil().max(1.0);
    let half = angle / pieces / 2.0;
    let mut total = 0.0;
    let mut middle = half;
    for _ in 0..pieces as u32 {
        for (node, weight) in GAUSS {
            total += weight * (speed(middle - half * node) + speed(middle + half * node));
        }
        middle += 2.0 * half;
    }
    total * half
}

impl Geometry for Ellipsoid {
    type Point = Vector;
    type Side = Side;

    fn point([longitude, latitude]: Position) -> Vector {
        let (longitude, latitude) = (longitude.to_radians(), latitude.to_radians());
        let (sine, cosine) = latitude.sin_cos();
        let radius = A / (1.0 - E2 * sine * sine).sqrt();
        let scaled = [
            radius * cosine * longitude.cos() / A,
            radius * cosine * longitude.sin() / A,
            radius * (1.0 - E2) * sine / B,
        ];
        normalised(scaled)
    }

    fn distance(one: Vector, other: Vector) -> f64 {
        let apart = length(combine(one, 1.0, other, -1.0));
        if apart == 0.0 {
            return 0.0;
        }
        let tangent = apart / length(combine(one, 1.0, other, 1.0));
        let angle = if tangent < SMALL_HALF_ANGLE {
            2.0 * tangent
        } else {
            2.0 * tangent.atan()
        };
        let across = combine(other, 1.0, one, -dot(one, other));
        let across = if length(across) > 0.0 {
            normalised(across)
        } else {
            any_orthogonal(one)
        };
        arc_length(one, across, angle)
    }

    fn distance_to_segment(point: Vector, start: Vector, end: Vector) -> f64 {
        // The distance along an arc shorter than half a circle has one minimum: golden section.
        const RATIO: f64 = 0.618_033_988_749_894_9;
        let at = |share: f64| {
            let place = normalised(combine(start, 1.0 - share, end, share));
            Self::distance(point, place)
        };
        let (mut low, mut high) = (0.0, 1.0);
        let (mut left, mut right) = (high - RATIO, low + RATIO);
        let (mut at_left, mut at_right) = (at(left), at(right));
        for _ in 0..60 {
            if at_left < at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - RATIO * (high - low);
                at_left = at(left);
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + RATIO * (high - low);
                at_right = at(right);
            }
        }
        at_left.min(at_right).min(at(0.0)).min(at(1.0))
    }

    fn on_segment(point: Vector, start: Vector, end: Vector) -> bool {
        let near = |one: Vector, other: Vector| length(combine(one, 1.0, other, -1.0)) <= ON_LINE;
        if near(point, start) || near(point, end) {
            return true;
        }
        let normal = cross(start, end);
        // Of a shorter segment, or one between opposite points, this is no direction.
        if length(normal) <= ON_LINE {
            return false;
        }
        let normal = normalised(normal);
        dot(normal, point).abs() <= ON_LINE
            && dot(cross(start, point), normal) >= 0.0
            && dot(cross(point, end), normal) >= 0.0
    }

    fn cross(one: [Vector; 2], other: [Vector; 2]) -> bool {
        let (normal, other_normal) = (cross(one[0], one[1]), cross(other[0], other[1]));
        let sides = |normal: Vector, points: [Vector; 2]| {
            dot(normal, points[0]) * dot(normal, points[1]) < 0.0
        };
        if !sides(normal, other) || !sides(other_normal, one) {
            return false;
        }
        // Both great circles are crossed; the arcs meet when they meet on the same side.
        let meeting = cross(normal, other_normal);
        let towards = |pair: [Vector; 2]| dot(meeting, combine(pair[0], 1.0, pair[1], 1.0)) > 0.0;
        towards(one) == towards(other)
    }

    fn side(ring: &[Vector]) -> Side {
        let is_before = |middle: &Vector| ring.iter().all(|point| dot(*middle, *point) > 1e-6);
        Side {
            is_large: solid_angle(ring) > 2.0 * PI,
            middle: middle(ring).filter(is_before),
        }
    }

    fn encloses(ring: &Ring<Self>, point: Vector) -> bool {
        if ring.side.is_opposite(point) {
            return ring.side.is_large;
        }
        match winding(&ring.points, point) {
            1 => true,
            -1 => false,
            // Neither or both of the point and its antipode are inside.
            _ => ring.side.is_large,
        }
    }

    fn hole_holds(ring: &Ring<Self>, point: Vector) -> bool {
        let inside = if ring.side.is_large { -1 } else { 1 };
        !ring.side.is_opposite(point) && winding(&ring.points, point) == inside
    }

    fn gap(point: Vector, start: Vector, end: Vector) -> f64 {
        let normal = cross(start, end);
        let size = length(normal);
        let is_beside =
            dot(cross(normal, start), point) >= 0.0 && dot(cross(end, normal), point) >= 0.0;
        if size > 1e-12 && is_beside {
            return (dot(normal, point) / size).abs().min(1.0).asin();
        }
        angle(point, start).min(angle(point, end))
    }

    fn is_vague(start: Vector, end: Vector) -> bool {
        dot(start, end) < 1e-9 - 1.0
    }

    fn shadows(ring: &Ring<Self>) -> Vec<[Vector; 2]> {
        if ring.side.middle.is_some() {
            return Vec::new();
        }
        // Seen from the other side of the globe, a ring turns the other way round.
        let opposite = |point: Vector| point.map(|part| -part);
        let pairs = ring.points.windows(2);
        pairs
            .map(|pair| [opposite(pair[0]), opposite(pair[1])])
            .collect()
    }
}

fn any_orthogonal(vector: Vector) -> Vector {
    let other = if vector[2].abs() < 0.5 {
        [0.0, 0.0, 1.0]
    } else {
        [1.0, 0.0, 0.0]
    };
    normalised(cross(vector, other))
}

/// How often the ring goes counter-clockwise around the point.
fn winding(ring: &[Vector], point: Vector) -> i32 {
    let mut total = 0.0;
    for pair in ring.windows(2) {
        let (one, other) = (cross(point, pair[0]), cross(point, pair[1]));
        total += dot(point, cross(one, other)).atan2(dot(one, other));
    }
    (total / (2.0 * PI)).round() as i32
}

/// The angle of the region to the left of the ring, 0 to 4 pi.
fn solid_angle(ring: &[Vector]) -> f64 {
    let angles = ring
        .iter()
        .map(|point| [point[1].atan2(point[0]), point[2].clamp(-1.0, 1.0).asin()]);
    left_area(&angles.collect::<Vec<_>>())
}

/// The same for longitudes and latitudes in radians on a unit sphere.
fn left_area(ring: &[[f64; 2]]) -> f64 {
    let (mut swept, mut turned) = (0.0, 0.0);
    for pair in ring.windows(2) {
        let mut step = pair[1][0] - pair[0][0];
        if step > PI {
            step -= 2.0 * PI;
        } else if step < -PI {
            step += 2.0 * PI;
        }
        turned += step;
        let (one, other) = ((pair[0][1] / 2.0).tan(), (pair[1][1] / 2.0).tan());
        swept += 2.0 * ((step / 2.0).tan() * (one + other)).atan2(1.0 + one * other);
    }
    let around_pole = if turned.abs() > PI { 2.0 * PI } else { 0.0 };
    (around_pole - swept).rem_euclid(4.0 * PI)
}

/// The latitude on the sphere of equal area.
fn authalic(latitude: f64) -> f64 {
    let e = E2.sqrt();
    let of = |sine: f64| sine / (1.0 - E2 * sine * sine) + (e * sine).atanh() / e;
    (of(latitude.sin()) / of(1.0)).clamp(-1.0, 1.0).asin()
}

/// Area in square metres.
pub(super) fn area(shape: &Shape) -> f64 {
    let e = E2.sqrt();
    let radius_square = f64::midpoint(A * A, B * B / e * e.atanh());
    let ring_area = |ring: &Vec<Position>| {
        let angles = ring
            .iter()
            .map(|position| [position[0].to_radians(), authalic(position[1].to_radians())]);
        left_area(&angles.collect::<Vec<_>>()) * radius_square
    };
    let whole = 4.0 * PI * radius_square;
    match shape {
        Shape::Polygons(polygons) => polygons
            .iter()
            .map(|rings| {
                let holes = rings
                    .iter()
                    .skip(1)
                    .map(ring_area)
                    .map(|area| area.min(whole - area));
                rings.first().map_or(0.0, ring_area) - holes.sum::<f64>()
            })
            .sum(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!(
            (found / wanted - 1.0).abs() < 1e-9,
            "{found} is not {wanted}"
        );
    }

    #[test]
    fn recorded_distances() {
        let office = Ellipsoid::point([-122.11758113953535, 47.66901087006131]);
        close(
            Ellipsoid::distance(
                Ellipsoid::point([-122.12826822304672, 47.63980239335718]),
                office,
            ),
            3345.269817267368,
        );
        close(
            Ellipsoid::distance(
                Ellipsoid::point([-96.84368664765994, 46.81297794314663]),
                office,
            ),
            1907438.421299902,
        );
        assert_eq!(Ellipsoid::distance(office, office), 0.0);
    }

    #[test]
    fn a_quarter_meridian() {
        let [equator, pole] = [Ellipsoid::point([0.0, 0.0]), Ellipsoid::point([0.0, 90.0])];
        close(Ellipsoid::distance(equator, pole), 10_001_965.729_312_72);
    }

    #[test]
    fn recorded_area() {
        let ring = vec![
            [31.8, -5.0],
            [32.0, -5.0],
            [32.0, -4.7],
            [31.8, -4.7],
            [31.8, -5.0],
        ];
        close(area(&Shape::Polygons(vec![vec![ring]])), 735970283.0522614);
    }

    #[test]
    fn orientation_chooses_the_side() {
        let points: Vec<_> = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
            .map(Ellipsoid::point)
            .to_vec();
        let reversed = Ring::new(points.iter().rev().copied().collect());
        let ring = Ring::new(points);
        let inside = Ellipsoid::point([0.5, 0.5]);
        for outside in [[5.0, 5.0], [-179.5, -0.5], [180.0, 0.0]].map(Ellipsoid::point) {
            assert!(Ellipsoid::encloses(&ring, inside) && !Ellipsoid::encloses(&ring, outside));
            assert!(
                !Ellipsoid::encloses(&reversed, inside) && Ellipsoid::encloses(&reversed, outside)
            );
            for hole in [&ring, &reversed] {
                let holds = |point| Ellipsoid::hole_holds(hole, point);
                assert!(holds(inside) && !holds(outside));
            }
        }
    }

    #[test]
    fn a_repeated_position_is_no_line() {
        let [start, far] = [[3.0, 4.0], [60.0, 4.0]].map(Ellipsoid::point);
        assert!(!Ellipsoid::on_segment(far, start, start));
        assert!(Ellipsoid::on_segment(start, start, start));
    }
}
