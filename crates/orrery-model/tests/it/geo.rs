//! The cells of shapes: whatever the exact relations find, cells find too.

use orrery_model::container::GeospatialType;
use orrery_model::geo::{self, Bounds, Cell, Grid, Position, Shape};
use orrery_model::json;

use crate::random::Random;

const SURFACES: [Grid; 2] = [
    Grid::Globe,
    Grid::Plane(Bounds {
        min: [-50.0, -20.0],
        max: [60.0, 30.0],
    }),
];

/// Places that shapes gather around: corners and edges of faces, the poles, the other side.
const PLACES: [Position; 9] = [
    [13.4, 52.5],
    [180.0, 0.0],
    [-180.0, 60.0],
    [45.0, 35.264_389_7],
    [0.0, 90.0],
    [120.0, -90.0],
    [0.0, 0.0],
    [-45.0, 0.0],
    [90.0, 44.0],
];

fn near(random: &mut Random, [x, y]: Position, spread: f64) -> Position {
    let mut shift = || (random.below(2_001) as f64 / 1_000.0 - 1.0) * spread;
    let (mut x, y) = (x + shift(), (y + shift()).clamp(-90.0, 90.0));
    if x > 180.0 {
        x -= 360.0;
    } else if x < -180.0 {
        x += 360.0;
    }
    [x, y]
}

/// A ring of positions around a place: mostly a star, sometimes any.
fn ring(random: &mut Random, middle: Position, spread: f64) -> Vec<Position> {
    let count = 3 + random.below(6);
    let mut ring: Vec<Position> = if random.below(5) == 0 {
        (0..count).map(|_| near(random, middle, spread)).collect()
    } else {
        let turn = |at: usize| {
            let angle = std::f64::consts::TAU * at as f64 / count as f64;
            let far = spread * (0.3 + random.below(70) as f64 / 100.0);
            near(
                random,
                [
                    middle[0] + far * angle.cos(),
                    (middle[1] + far * angle.sin()).clamp(-90.0, 90.0),
                ],
                0.0,
            )
        };
        (0..count).map(turn).collect()
    };
    if random.below(6) == 0 {
        ring.reverse();
    }
    if random.below(8) == 0 {
        ring.insert(1, ring[0]);
    }
    ring.push(ring[0]);
    ring
}

fn shape(random: &mut Random) -> Shape {
    let place = *random.pick(&PLACES);
    let spread = *random.pick(&[0.000_01, 0.001, 0.1, 2.0, 10.0, 40.0, 120.0]);
    let away = *random.pick(&[0.0, 0.01, 5.0, 60.0]);
    let middle = near(random, place, away);
    let polygon = |random: &mut Random| {
        let mut rings = vec![ring(random, middle, spread)];
        if random.below(3) == 0 {
            rings.push(ring(random, middle, spread / 3.0));
        }
        rings
    };
    match random.below(5) {
        0 | 1 => Shape::Point(near(random, middle, spread)),
        2 => {
            let count = 2 + random.below(4);
            Shape::Line((0..count).map(|_| near(random, middle, spread)).collect())
        }
        3 => Shape::Polygons(vec![polygon(random)]),
        _ => {
            let count = 1 + random.below(3);
            Shape::Polygons((0..count).map(|_| polygon(random)).collect())
        }
    }
}

/// Whether a look-up of the cells finds a shape that has others.
fn meets(sought: Option<&[Cell]>, stored: &[Cell]) -> bool {
    sought.is_none_or(|sought| {
        sought.iter().any(|cell| {
            let (first, last) = cell.inside();
            let around: Vec<Cell> = cell.around().collect();
            let is_met = |own: &Cell| first <= *own && *own <= last || around.contains(own);
            stored.iter().any(is_met)
        })
    })
}

#[test]
fn cells_find_what_the_relations_find() {
    let mut random = Random::new(4_711);
    let (mut related, mut apart, mut found) = (0, 0, 0);
    for round in 0..1_500 {
        let grid = SURFACES[round % 2];
        let surface = grid.surface();
        let (stored, sought) = (shape(&mut random), shape(&mut random));
        let exact = geo::distance(&stored, &sought, surface);
        // As far as it is, a little less, or anything.
        let distance = match random.below(4) {
            0 => 0.0,
            1 => exact,
            2 => exact * 0.999,
            _ => {
                random.below(1_000) as f64
                    * if surface == GeospatialType::Geometry {
                        0.05
                    } else {
                        3_000.0
                    }
            }
        };
        let is_related = exact <= distance
            || distance == 0.0
                && (geo::intersects(&stored, &sought, surface)
                    || geo::within(&stored, &sought, surface)
                    || geo::within(&sought, &stored, surface));
        let cells = grid.cells(&stored, 8);
        assert!(!cells.is_empty() && cells.len() <= 11, "{stored:?}");
        let near = grid.cells_near(&sought, distance, 32);
        assert!(near.as_ref().is_none_or(|cells| cells.len() <= 35));
        let is_found = meets(near.as_deref(), &cells);
        assert!(
            is_found || !is_related,
            "round {round} at {distance} of {exact}: {stored:?} and {sought:?}"
        );
        related += usize::from(is_related);
        apart += usize::from(!is_related);
        found += usize::from(is_found && !is_related);
    }
    assert!(related > 250 && apart > 250, "{related} {apart}");
    // Most of what is apart is told apart, close as the shapes are.
    assert!(found * 2 < apart, "{found} of {apart}");
}

#[test]
fn cells_fit_the_shape() {
    let square = r#"{"type":"Polygon","coordinates":[[[13.3,52.4],[13.5,52.4],[13.5,52.6],[13.3,52.6],[13.3,52.4]]]}"#;
    let value = json::parse_str(square).expect("JSON");
    let square = geo::read(&value, GeospatialType::Geography).expect("a shape");
    let cells = Grid::Globe.cells_near(&square, 0.0, 32).expect("cells");
    let mut random = Random::new(5);
    let mut hits = [0, 0];
    for _ in 0..4_000 {
        let point = Shape::Point(near(&mut random, [13.4, 52.5], 0.3));
        let own = Grid::Globe.cells(&point, 8);
        assert_eq!(own.len(), 1);
        hits[0] += usize::from(geo::within(&point, &square, GeospatialType::Geography));
        hits[1] += usize::from(meets(Some(&cells), &own));
    }
    assert!(hits[0] > 300 && hits[1] < 2 * hits[0], "{hits:?}");
    // What is nowhere near has no cell in common.
    let far = Shape::Point([-122.1, 47.6]);
    assert!(!meets(Some(&cells), &Grid::Globe.cells(&far, 8)));
}

#[test]
fn a_distance_that_is_none_finds_everything() {
    let point = Shape::Point([1.0, 2.0]);
    for grid in SURFACES {
        for distance in [f64::INFINITY, f64::NAN, -1.0] {
            assert_eq!(grid.cells_near(&point, distance, 12), None);
        }
    }
    assert_eq!(Grid::Globe.cells_near(&point, 3e7, 12), None);
    let huge = Shape::Line(vec![[-1.7e308, 1.7e308], [1.7e308, -1.7e308]]);
    let cells = SURFACES[1].cells(&huge, 8);
    assert!(meets(
        SURFACES[1]
            .cells_near(&Shape::Point([0.0, 0.0]), 0.0, 12)
            .as_deref(),
        &cells
    ));
}
