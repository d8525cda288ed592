//! The terms in the store are those of the items, whatever happens to items and policy.

use std::collections::BTreeSet;

use orrery_engine::layout::{family, keys, term};
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::path::ItemPath;
use orrery_storage::{Scan, Writes};

use crate::harness::{World, spec};

fn definition(policy: &str) -> String {
    format!(r#"{{"partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{policy}}}"#)
}

const ALL: &str = r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}],
    "compositeIndexes":[[{"path":"/n"},{"path":"/_ts","order":"descending"}]],
    "spatialIndexes":[{"path":"/at/*","types":["Point","Polygon"]}]}"#;
const FEW: &str = r#"{"includedPaths":[{"path":"/n/?"}],"excludedPaths":[{"path":"/*"}]}"#;
const NONE: &str =
    r#"{"indexingMode":"none","automatic":false,"includedPaths":[],"excludedPaths":[]}"#;

/// Compares the entries of the family with those that the current policy gives the items.
pub fn check(world: &World) -> usize {
    let state = world.container.state();
    let mut count = 0;
    for partition in world.container.ranges().partitions() {
        let part = partition.part();
        let rows = |letter: u8| {
            world
                .store
                .scan(part, &Scan::prefix([letter]))
                .expect("readable")
                .rows
        };
        let found: BTreeSet<Vec<u8>> = rows(family::TERM)
            .iter()
            .map(|row| row.key.to_vec())
            .collect();
        let mut expected = BTreeSet::new();
        for row in rows(family::ITEM) {
            let docid = keys::docid_of_item(&row.key).expect("an item's key");
            let record =
                orrery_engine::layout::record::ItemRecord::decode(&row.value).expect("an item");
            let item = json::parse(record.json).expect("JSON");
            for entry in state.index().terms(&item, record.header.indexing).iter() {
                let mut key = Vec::new();
                term::write_key(&mut key, entry, docid);
                expected.insert(key);
            }
        }
        assert_eq!(found, expected);
        let bytes: usize = found.iter().map(Vec::len).sum();
        assert_eq!(partition.statistics().index_bytes, bytes as u64);
        count += found.len();
    }
    count
}

fn fill(world: &World, from: i32) {
    for n in from..from + 250 {
        let body = format!(
            r#"{{"id":"{n}","pk":"k{n}","n":{},"tags":["a","b","a"],"o":{{"x":null}},
            "at":{{"type":"Point","coordinates":[{},{}]}}}}"#,
            n % 9,
            n % 360 - 180,
            n % 90
        );
        world.create("", &body).expect("created");
    }
}

#[test]
fn terms_follow_the_items() {
    let world = World::new(&definition(ALL), 2);
    fill(&world, 0);
    let full = check(&world);
    world.clock.advance(3);
    for n in 0..100 {
        world
            .upsert(
                "",
                &format!(r#"{{"id":"{n}","pk":"k{n}","n":"text","more":true}}"#),
            )
            .expect("replaced");
    }
    check(&world);
    for n in 0..250 {
        world
            .delete(&format!(r#"["k{n}"]"#), &n.to_string())
            .expect("deleted");
    }
    assert_eq!(check(&world), 0);
    assert!(full > 250 * 8);
}

#[test]
fn another_policy_is_reached_by_a_rebuild() {
    let mut world = World::new(&definition(ALL), 2);
    fill(&world, 0);
    let positions = |world: &World| -> Vec<u64> {
        world
            .container
            .ranges()
            .partitions()
            .iter()
            .map(|partition| partition.lsn().0)
            .collect()
    };
    for policy in [FEW, ALL, NONE, ALL] {
        let new = spec(&definition(policy), &Limits::default());
        world
            .engine
            .redefine_container(&world.container, new, Writes::new())
            .expect("redefined");
        let state = world.container.state();
        let path = ItemPath::parse("/o/x").expect("a path");
        assert!(state.is_rebuilding());
        assert_eq!(world.container.index_progress(), 0);
        assert!(
            !state.coverage(path.steps()).scalars,
            "one of the policies leaves it out"
        );
        // Items may be written, and the process may end, before the rebuild has passed.
        world
            .upsert("", r#"{"id":"1","pk":"k1","n":5,"o":{"x":1}}"#)
            .expect("replaced");
        world.delete(r#"["k2"]"#, "2").ok();
        world = world.reopen();
        assert!(world.container.state().is_rebuilding());
        let before = positions(&world);
        let mut progress = 0;
        while world.engine.rebuild_indexes(1).expect("rebuilt") > 0 {
            let now = world.container.index_progress();
            assert!(now >= progress, "{now} after {progress}");
            progress = now;
            world = world.reopen();
            assert_eq!(world.container.index_progress(), now, "a restart goes on");
        }
        assert_eq!(world.container.index_progress(), 100);
        assert_eq!(positions(&world), before, "clients see no change");
        assert!(!world.container.state().is_rebuilding());
        let terms = check(&world);
        assert_eq!(terms == 0, policy == NONE);
        assert_eq!(
            world.container.state().coverage(path.steps()).scalars,
            policy == ALL
        );
    }
    world = world.reopen();
    assert!(!world.container.state().is_rebuilding());
}
