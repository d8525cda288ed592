//! Time to live under a clock that the test moves.

use orrery_engine::Error;
use orrery_engine::page::Target;
use orrery_model::limits::Limits;

use crate::assert_refused;
use crate::harness::{World, spec};

fn container(ttl: &str, more: &str) -> String {
    format!(r#"{{"partitionKey":{{"paths":["/pk"]}}{ttl}{more}}}"#)
}

#[test]
fn expired_items_are_gone_for_every_reader() {
    let unique = r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;
    let world = World::new(&container(r#","defaultTtl":10"#, unique), 1);
    world
        .create("", r#"{"id":"1","pk":"a","u":1}"#)
        .expect("default");
    world
        .create("", r#"{"id":"2","pk":"a","u":2,"ttl":100}"#)
        .expect("longer");
    world
        .create("", r#"{"id":"3","pk":"a","u":3,"ttl":-1}"#)
        .expect("for ever");
    world
        .create("", r#"{"id":"4","pk":"a","u":4,"ttl":5}"#)
        .expect("shorter");
    world.clock.advance(5);
    assert!(world.plain(r#"["a"]"#, "4").is_none());
    assert_eq!(world.feed(&Target::All, 10).len(), 3);
    world.clock.advance(5);
    assert!(world.plain(r#"["a"]"#, "1").is_none());
    assert_refused!(world.delete(r#"["a"]"#, "1"), Error::NotFound);
    assert_refused!(
        world.patch(r#"["a"]"#, "1", r#"[{"op":"set","path":"/x","value":1}]"#),
        Error::NotFound
    );
    // Its id and its unique value are free, before anything was purged.
    world
        .create("", r#"{"id":"1","pk":"a","u":4}"#)
        .expect("free again");
    assert_eq!(world.feed(&Target::All, 10).len(), 3);
    world.clock.advance(1000);
    assert_eq!(
        world.feed(&Target::All, 10),
        [r#"{"id":"3","pk":"a","u":3,"ttl":-1}"#]
    );
}

#[test]
fn purging_gives_the_space_back() {
    let world = World::new(&container(r#","defaultTtl":10"#, ""), 2);
    for n in 0..500 {
        let own = match n % 3 {
            0 => r#","ttl":-1"#,
            1 => r#","ttl":20"#,
            _ => "",
        };
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"k{n}"{own}}}"#))
            .expect("created");
    }
    let stored = || -> u64 {
        let ranges = world.container.ranges();
        ranges
            .partitions()
            .iter()
            .map(|partition| partition.statistics().items)
            .sum()
    };
    let purge = || {
        let mut removed = 0;
        for _ in 0..50 {
            let now = world.engine.purge_expired(100).expect("purged");
            if now == 0 {
                break;
            }
            removed += now;
        }
        removed
    };
    assert_eq!(purge(), 0);
    world.clock.advance(10);
    assert_eq!(purge(), 166);
    assert_eq!(stored(), 334);
    world.clock.advance(10);
    assert_eq!(purge(), 167);
    assert_eq!(stored(), 167);
    assert_eq!(world.feed(&Target::All, 100).len(), 167);
}

#[test]
fn the_containers_switch_rules_over_the_items() {
    let world = World::new(&container("", ""), 1);
    world
        .create("", r#"{"id":"1","pk":"a","ttl":1}"#)
        .expect("created");
    world.clock.advance(100);
    assert!(
        world.plain(r#"["a"]"#, "1").is_some(),
        "the container has no time to live"
    );
    let on = spec(&container(r#","defaultTtl":-1"#, ""), &Limits::default());
    world
        .engine
        .redefine_container(&world.container, on, orrery_storage::Writes::new())
        .expect("replaced");
    assert!(world.plain(r#"["a"]"#, "1").is_none());
}
