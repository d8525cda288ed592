//! Spatial indexes: the rows of a scan from fewer items, whatever happens to items, policy and
//! ranges.

use std::collections::BTreeSet;

use orrery_engine::page::Target;
use orrery_engine::query::{AccessKind, QueryOptions};
use orrery_model::limits::Limits;
use orrery_storage::Writes;

use super::asking::{ask, expected, rows, spec as query, walk};
use crate::harness::{TestEntropy, World, spec};

const ALL: &str = r#""types":["Point","LineString","Polygon","MultiPolygon"]"#;

fn definition(surface: &str, indexes: &str) -> String {
    format!(
        r#"{{"partitionKey":{{"paths":["/pk"]}},"geospatialConfig":{{"type":"{surface}"}},
        "indexingPolicy":{{"includedPaths":[{{"path":"/*"}}],"excludedPaths":[{{"path":"/at/*"}}],
        "spatialIndexes":[{indexes}]}}}}"#
    )
}

/// A spatial index; what is outside of the box is in no way special.
fn index(path: &str, types: &str) -> String {
    let bounds = r#""boundingBox":{"xmin":-40,"ymin":-30,"xmax":90,"ymax":60}"#;
    format!(r#"{{"path":"{path}",{types},{bounds}}}"#)
}

/// Indexes of every path that the queries name, one of them of points only.
fn indexes() -> String {
    [
        index("/at/*", ALL),
        index("/list/*", r#""types":["Point"]"#),
        index("/list/[]/at/?", r#""types":["Point","Polygon"]"#),
    ]
    .join(",")
}

fn one_of<'l>(dice: &TestEntropy, list: &[&'l str]) -> &'l str {
    list[dice.below(list.len() as u64) as usize]
}

/// A coordinate around a middle, as far as `spread` thousandths.
fn coordinate(dice: &TestEntropy, middle: i64, spread: u64, most: f64) -> f64 {
    let shift = dice.below(2 * spread + 1) as i64 - spread as i64;
    let found = middle as f64 + shift as f64 / 1_000.0;
    if found > most {
        found - 2.0 * most
    } else if found < -most {
        found + 2.0 * most
    } else {
        found
    }
}

/// A shape as GeoJSON, sometimes none.
pub fn shape(dice: &TestEntropy) -> String {
    let middles = [
        (13, 52),
        (14, 51),
        (179, 0),
        (-170, 70),
        (0, 89),
        (45, 35),
        (-100, -40),
    ];
    let (x, y) = middles[dice.below(7) as usize];
    let spread = [5, 200, 2_000, 9_000, 30_000][dice.below(5) as usize];
    let position = || {
        let (x, y) = (
            coordinate(dice, x, spread, 180.0),
            coordinate(dice, y, spread, 90.0),
        );
        format!("[{x},{y}]")
    };
    let rectangle = |shrunk: f64| {
        let half = spread as f64 / 1_000.0 / shrunk;
        let [left, right] = [-half, half].map(|by| (x as f64 + by).clamp(-180.0, 180.0));
        let [low, high] = [-half, half].map(|by| (y as f64 + by).clamp(-90.0, 90.0));
        format!("[[{left},{low}],[{right},{low}],[{right},{high}],[{left},{high}],[{left},{low}]]")
    };
    let ring = || {
        let (one, two, three) = (position(), position(), position());
        format!("[{one},{two},{three},{one}]")
    };
    let (kind, coordinates) = match dice.below(13) {
        0..=5 => ("Point", position()),
        6 => ("LineString", format!("[{},{}]", position(), position())),
        7 => ("Polygon", format!("[{}]", rectangle(1.0))),
        8 => (
            "Polygon",
            format!("[{},{}]", rectangle(1.0), rectangle(3.0)),
        ),
        9 => ("Polygon", format!("[{}]", ring())),
        10 => (
            "MultiPolygon",
            format!("[[{}],[{}]]", rectangle(2.0), ring()),
        ),
        11 => ("MultiPolygon", "[]".to_owned()),
        _ => ("Point", "[500,\"x\"]".to_owned()),
    };
    format!(r#"{{"type":"{kind}","coordinates":{coordinates}}}"#)
}

fn item(dice: &TestEntropy, id: u64) -> String {
    let elements: Vec<String> = (0..dice.below(3))
        .map(|_| format!(r#"{{"at":{}}}"#, shape(dice)))
        .collect();
    format!(
        r#"{{"id":"{id}","pk":"k{}","n":{},"at":{},"list":[{}]}}"#,
        id % 9,
        id % 7,
        shape(dice),
        elements.join(",")
    )
}

/// A condition that a spatial index of a path may answer.
pub fn condition(dice: &TestEntropy, path: &str) -> String {
    let other = shape(dice);
    let (left, right) = if dice.below(2) == 0 {
        (path, other.as_str())
    } else {
        (other.as_str(), path)
    };
    let far = [0, 10, 20_000, 300_000, 3_000_000][dice.below(5) as usize];
    match dice.below(8) {
        0 | 1 => format!("ST_WITHIN({left}, {right})"),
        2 | 3 => format!("ST_INTERSECTS({left}, {right})"),
        4 => format!("ST_DISTANCE({left}, {right}) <= {far}"),
        5 => format!("{far} > ST_DISTANCE({left}, {right})"),
        6 => format!("(ST_DISTANCE({left}, {right}) BETWEEN 0.5 AND {far})"),
        _ => format!("NOT (ST_DISTANCE({left}, {right}) > {far})"),
    }
}

fn text(dice: &TestEntropy) -> String {
    let at = condition(dice, "c.at");
    match dice.below(7) {
        0 => format!(
            "SELECT VALUE c.id FROM c WHERE {at} AND c.n = {}",
            dice.below(7)
        ),
        1 => format!("SELECT VALUE c.id FROM c WHERE {at} ORDER BY c.n"),
        2 => format!(
            "SELECT VALUE c.id FROM c WHERE {at} {} {}",
            one_of(dice, &["AND", "OR"]),
            condition(dice, "c.at")
        ),
        3 => format!(
            "SELECT c.id, l FROM c JOIN l IN c.list WHERE {}",
            condition(dice, "l.at")
        ),
        4 => format!(
            "SELECT VALUE COUNT(1) FROM c WHERE {}",
            condition(dice, "c.list[0].at")
        ),
        _ => format!("SELECT VALUE c.id FROM c WHERE {at}"),
    }
}

#[test]
fn rows_are_those_of_a_scan() {
    for (seed, surface) in [(3, "Geography"), (4, "Geometry"), (5, "Geography")] {
        let dice = TestEntropy::new(seed);
        let mut world = World::new(&definition(surface, &indexes()), 1);
        for id in 0..150 {
            world.create("", &item(&dice, id)).expect("created");
        }
        let (mut seen, mut found) = (BTreeSet::new(), 0);
        for _ in 0..60 {
            let text = text(&dice);
            let wanted = expected(&world, &text, &Target::All);
            let most = [3, 100][dice.below(2) as usize];
            let all;
            (world, all) = walk(world, &text, &Target::All, most, usize::MAX, &mut seen);
            assert_eq!(all, wanted, "{seed}: {text}");
            found += wanted.len();
        }
        assert!(seen.contains(&AccessKind::Chosen) && found > 200, "{found}");
    }
}

#[test]
fn rows_stay_while_everything_changes() {
    let dice = TestEntropy::new(21);
    let geography = |indexes: &str| definition("Geography", indexes);
    let policies = [
        geography(&indexes()),
        geography(&index("/*", r#""types":["Polygon"]"#)),
        geography(""),
        geography(&[index("/at/?", ALL), index("/list/[]/*", ALL)].join(",")),
        definition("Geometry", &indexes()),
        geography(&indexes()),
    ];
    let mut world = World::new(&policies[0], 2);
    for id in 0..200 {
        world.create("", &item(&dice, id)).expect("created");
    }
    let mut seen = BTreeSet::new();
    for policy in &policies[1..] {
        let new = spec(policy, &Limits::default());
        world
            .engine
            .redefine_container(&world.container, new, Writes::new())
            .expect("redefined");
        for _ in 0..12 {
            for _ in 0..2 {
                let ranges = world.container.ranges();
                let at = dice.below(ranges.partitions().len() as u64) as usize;
                let id = ranges.partitions()[at].id();
                let target = Target::Range { id, epk: None };
                let text = text(&dice);
                let wanted = expected(&world, &text, &target);
                let found;
                (world, found) = walk(world, &text, &target, 50, usize::MAX, &mut seen);
                assert_eq!(found, wanted, "{policy}\n{text}");
            }
            let id = dice.below(200);
            let key = format!(r#"["k{}"]"#, id % 9);
            // The item may be gone by now.
            match dice.below(4) {
                0 => drop(world.delete(&key, &id.to_string())),
                1 => {
                    let operation = format!(
                        r#"{{"operations":[{{"op":"set","path":"/at","value":{}}}]}}"#,
                        shape(&dice)
                    );
                    drop(world.patch(&key, &id.to_string(), &operation));
                }
                _ => drop(world.upsert("", &item(&dice, id)).expect("written")),
            }
            world.engine.rebuild_indexes(1).expect("a step");
            crate::splits::stir(&world, &dice);
        }
        for _ in 0..500 {
            world.engine.advance_reshapes(1).expect("advanced");
            world.engine.rebuild_indexes(100).expect("rebuilt");
            // It ends when no copy is under way.
            if world.container.index_progress() == 100 {
                break;
            }
        }
        assert_eq!(world.container.index_progress(), 100);
        assert!(crate::index::check(&world) > 0);
    }
    assert!(seen.contains(&AccessKind::Chosen));
}

#[test]
fn a_spatial_index_is_told_and_spares_items() {
    let indexed = World::new(&definition("Geography", &index("/at/*", ALL)), 1);
    let plain = World::new(&definition("Geography", ""), 1);
    for id in 0..400 {
        let (x, y) = (id % 20 * 18 - 180, id / 20 * 9 - 90);
        let body =
            format!(r#"{{"id":"{id}","pk":"k","at":{{"type":"Point","coordinates":[{x},{y}]}}}}"#);
        for world in [&indexed, &plain] {
            world.create("", &body).expect("created");
        }
    }
    let near = |far: u64| {
        format!(
            "SELECT VALUE c.id FROM c
            WHERE ST_DISTANCE(c.at, {{'type':'Point','coordinates':[1,1]}}) < {far}"
        )
    };
    let answer =
        |world: &World, far| ask(world, &near(far), &Target::All, 100, None).expect("answered");
    let (quick, slow) = (answer(&indexed, 300_000), answer(&plain, 300_000));
    assert_eq!(rows(&quick.value), rows(&slow.value));
    assert_eq!(quick.value.count, 1);
    let loaded = |page: &orrery_engine::query::QueryPage| page.metrics.cost.items_loaded;
    assert!(loaded(&quick.value) < 10 && loaded(&slow.value) == 400);
    assert!(quick.meta.charge < slow.meta.charge);
    // What matches nearly everything is not worth looking up.
    let wide = answer(&indexed, 30_000_000);
    assert_eq!(wide.value.metrics.access, AccessKind::Scan);
    for (world, used, wanted) in [(&indexed, "/at/*", 0), (&plain, "/at/*", 1)] {
        let options = QueryOptions {
            explain: true,
            cross_partition: true,
            ..QueryOptions::default()
        };
        let spec = query(&near(1));
        let page = world
            .engine
            .query(&world.container, &spec, &Target::All, &options)
            .expect("answered");
        let metrics = page.value.explanation.expect("asked for").index;
        let places = [&metrics.utilized.single, &metrics.potential.single];
        assert_eq!(places[wanted], &[used]);
        assert!(places[1 - wanted].is_empty());
    }
}
