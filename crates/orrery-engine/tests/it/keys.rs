//! Partition keys and unique keys.

use orrery_engine::Error;
use orrery_engine::page::Target;

use crate::assert_refused;
use crate::harness::{World, parse_key};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

#[test]
fn the_key_must_be_the_items_own() {
    let world = World::new(PLAIN, 2);
    assert_refused!(
        world.create(r#"["b"]"#, r#"{"id":"1","pk":"a"}"#),
        Error::PartitionKeyMismatch
    );
    assert_refused!(
        world.create(r#"["a","b"]"#, r#"{"id":"1","pk":"a"}"#),
        Error::PartitionKeyMismatch
    );
    world
        .create(r#"["a"]"#, r#"{"id":"1","pk":"a"}"#)
        .expect("created");
    // The key of an item never changes: its replacement lies elsewhere.
    assert_refused!(
        world.replace(r#"["a"]"#, "1", r#"{"id":"1","pk":"b"}"#),
        Error::PartitionKeyMismatch
    );
    assert_refused!(world.delete("", "1"), Error::PartitionKeyMissing);
}

#[test]
fn missing_null_and_undefined_keys_are_three() {
    let world = World::new(PLAIN, 2);
    world.create("[{}]", r#"{"id":"1"}"#).expect("undefined");
    world
        .create("[null]", r#"{"id":"1","pk":null}"#)
        .expect("null");
    world
        .create("[5]", r#"{"id":"1","pk":5.0}"#)
        .expect("number");
    world
        .create(r#"["5"]"#, r#"{"id":"1","pk":"5"}"#)
        .expect("string");
    world
        .create("[true]", r#"{"id":"1","pk":true}"#)
        .expect("Boolean");
    assert_eq!(world.plain("[{}]", "1").as_deref(), Some(r#"{"id":"1"}"#));
    assert_eq!(
        world.plain("[null]", "1").as_deref(),
        Some(r#"{"id":"1","pk":null}"#)
    );
    assert_eq!(
        world.plain("[5]", "1").as_deref(),
        Some(r#"{"id":"1","pk":5}"#)
    );
    assert_eq!(world.feed(&Target::All, 10).len(), 5);
}

#[test]
fn hierarchical_keys() {
    let definition =
        r#"{"partitionKey":{"paths":["/t","/u/id","/s"],"kind":"MultiHash","version":2}}"#;
    let world = World::new(definition, 4);
    world
        .create(
            r#"["t1","u1","s1"]"#,
            r#"{"id":"1","t":"t1","u":{"id":"u1"},"s":"s1"}"#,
        )
        .expect("full");
    world
        .create(
            r#"["t1","u1",{}]"#,
            r#"{"id":"1","t":"t1","u":{"id":"u1"}}"#,
        )
        .expect("undefined");
    world
        .create(
            r#"["t1",null,1]"#,
            r#"{"id":"1","t":"t1","u":{"id":null},"s":1}"#,
        )
        .expect("null");
    world
        .create("", r#"{"id":"1","t":"t2","u":{"id":"u1"},"s":"s1"}"#)
        .expect("from the body");
    assert_refused!(
        world.create(r#"["t1","u1"]"#, r#"{"id":"2","t":"t1","u":{"id":"u1"}}"#),
        Error::PartitionKeyMismatch
    );
    assert!(world.plain(r#"["t1","u1",{}]"#, "1").is_some());
    let prefix = |key: &str| world.feed(&Target::Key(parse_key(key)), 1).len();
    assert_eq!(prefix(r#"["t1"]"#), 3);
    assert_eq!(prefix(r#"["t1","u1"]"#), 2);
    assert_eq!(prefix(r#"["t1","u1","s1"]"#), 1);
    assert_eq!(prefix(r#"["t3"]"#), 0);
}

#[test]
fn unique_keys_hold_within_a_logical_partition() {
    let definition = r#"{"partitionKey":{"paths":["/pk"]},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/mail"]},{"paths":["/a/x","/b"]}]}}"#;
    let world = World::new(definition, 1);
    world
        .create("", r#"{"id":"1","pk":"a","mail":"m","b":1}"#)
        .expect("first");
    assert_refused!(
        world.create("", r#"{"id":"2","pk":"a","mail":"m","b":2}"#),
        Error::UniqueKey
    );
    world
        .create("", r#"{"id":"2","pk":"b","mail":"m"}"#)
        .expect("another key");
    world
        .create("", r#"{"id":"3","pk":"a","b":2}"#)
        .expect("no mail counts as null");
    assert_refused!(
        world.create("", r#"{"id":"4","pk":"a","b":3}"#),
        Error::UniqueKey
    );
    assert_refused!(
        world.upsert("", r#"{"id":"3","pk":"a","mail":"m","b":2}"#),
        Error::UniqueKey
    );
    world
        .upsert("", r#"{"id":"1","pk":"a","mail":"n","b":1.0}"#)
        .expect("its own values");
    world
        .create("", r#"{"id":"5","pk":"a","mail":"m","b":4}"#)
        .expect("the value is free again");
    world.delete(r#"["a"]"#, "5").expect("deleted");
    world
        .patch(
            r#"["a"]"#,
            "3",
            r#"[{"op":"set","path":"/mail","value":"m"}]"#,
        )
        .expect("free");
    assert_refused!(
        world.patch(
            r#"["a"]"#,
            "1",
            r#"[{"op":"set","path":"/mail","value":"m"}]"#
        ),
        Error::UniqueKey
    );
    let long = "x".repeat(3000);
    let body = |id: u32| format!(r#"{{"id":"l{id}","pk":"l","mail":"{long}","b":{id}}}"#);
    world.create("", &body(1)).expect("long values");
    assert_refused!(world.create("", &body(2)), Error::UniqueKey);
}

#[test]
fn keys_that_only_begin_alike_are_told_apart() {
    let world = World::new(r#"{"partitionKey":{"paths":["/pk"],"version":1}}"#, 1);
    let [first, second] = ["a", "b"].map(|end| format!("{}{end}", "x".repeat(100)));
    let body = |id: &str, key: &str, n: u32| format!(r#"{{"id":"{id}","pk":"{key}","n":{n}}}"#);
    world.create("", &body("1", &first, 1)).expect("the first");
    assert_refused!(
        world.create("", &body("1", &second, 2)),
        Error::KeyCollision
    );
    assert_refused!(
        world.upsert("", &body("1", &second, 2)),
        Error::KeyCollision
    );
    assert_refused!(world.create("", &body("1", &first, 3)), Error::Conflict(_));
    world
        .create("", &body("2", &second, 2))
        .expect("another id");
    world.upsert("", &body("1", &first, 4)).expect("its own");
}
