//! Single items: bodies, ids, sizes.

use orrery_engine::Error;
use orrery_engine::write::{IndexingDirective, ItemOutcome, ItemRef, WriteKind, WriteRequest};
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::limits::Limits;
use orrery_model::rid::ResourceId;

use crate::assert_refused;
use crate::harness::{START, World, item, member, request};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

#[test]
fn an_item_from_birth_to_death() {
    let world = World::new(PLAIN, 1);
    let created = world
        .create(r#"["a"]"#, r#"{ "id":"1", "pk":"a", "n":1.0 }"#)
        .expect("created");
    assert_eq!(created.meta.lsn, Lsn(1));
    assert_eq!(created.meta.item_lsn, Some(Lsn(1)));
    assert_eq!(created.meta.range, Some(PartitionKeyRangeId(0)));
    // 1 KiB step and id, pk, n, _ts.
    assert!((created.meta.charge.units() - (4.95 + 4.0 * 0.32)).abs() < 1e-9);
    let ItemOutcome::Created(body) = item(created) else {
        panic!("created")
    };
    let text = world.read(r#"["a"]"#, "1").expect("readable");
    assert_eq!(text.as_bytes(), &*body);
    let rid = ResourceId::document(7, 3, 1);
    let expected = format!(
        r#"{{"id":"1","pk":"a","n":1,"_rid":"{rid}","_self":"{}","_etag":{:?},"_attachments":"attachments/","_ts":{START}}}"#,
        rid.self_link(),
        body.etag().as_str(),
    );
    assert_eq!(text, expected);

    assert_refused!(
        world.create(r#"["a"]"#, r#"{"id":"1","pk":"a"}"#),
        Error::Conflict(_)
    );
    let replaced = world
        .replace(r#"["a"]"#, "1", r#"{"id":"1","pk":"a","n":2}"#)
        .expect("replaced");
    assert_eq!(replaced.meta.lsn, Lsn(2));
    let ItemOutcome::Replaced(second) = item(replaced) else {
        panic!("replaced")
    };
    assert_ne!(second.etag(), body.etag());
    assert_eq!(
        member(&world.read(r#"["a"]"#, "1").expect("readable"), "_rid"),
        rid.to_string()
    );

    world.delete(r#"["a"]"#, "1").expect("deleted");
    assert_refused!(world.delete(r#"["a"]"#, "1"), Error::NotFound);
    assert_refused!(
        world.replace(r#"["a"]"#, "1", r#"{"id":"1","pk":"a"}"#),
        Error::NotFound
    );
    assert!(world.read(r#"["a"]"#, "1").is_err());
    let statistics = world.container.ranges().partitions()[0].statistics();
    assert_eq!(
        (
            statistics.items,
            statistics.item_bytes,
            statistics.index_bytes
        ),
        (0, 0, 0)
    );
}

#[test]
fn a_replacement_may_carry_another_id_that_is_free() {
    let world = World::new(PLAIN, 1);
    for id in ["1", "2"] {
        let body = format!(r#"{{"id":"{id}","pk":"a"}}"#);
        world.create(r#"["a"]"#, &body).expect("created");
    }
    let rid = member(&world.read(r#"["a"]"#, "1").expect("readable"), "_rid");
    assert_refused!(
        world.replace(r#"["a"]"#, "1", r#"{"id":"2","pk":"a"}"#),
        Error::Conflict(_)
    );
    world
        .replace(r#"["a"]"#, "1", r#"{"id":"3","pk":"a","n":1}"#)
        .expect("renamed");
    assert_eq!(world.plain(r#"["a"]"#, "1"), None);
    let renamed = world.read(r#"["a"]"#, "3").expect("readable");
    assert_eq!(member(&renamed, "_rid"), rid);
    world
        .create(r#"["a"]"#, r#"{"id":"1","pk":"a"}"#)
        .expect("the old id is free again");
    let statistics = world.container.ranges().partitions()[0].statistics();
    assert_eq!(statistics.items, 3);
}

#[test]
fn ids_are_unique_within_their_key_only() {
    let world = World::new(PLAIN, 3);
    for key in ["a", "b", "c", "d"] {
        let body = format!(r#"{{"id":"1","pk":"{key}"}}"#);
        world
            .create(&format!(r#"["{key}"]"#), &body)
            .expect("another key");
        assert_refused!(world.create("", &body), Error::Conflict(_));
    }
}

#[test]
fn bodies_that_are_refused() {
    let world = World::new(PLAIN, 1);
    let big = format!(r#"{{"id":"1","pk":"a","x":"{}"}}"#, "x".repeat(2 << 20));
    assert_refused!(world.create(r#"["a"]"#, &big), Error::TooLarge(_));
    let deep = format!(
        r#"{{"id":"1","pk":"a","x":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    for body in [
        "",
        "[]",
        "{",
        r#"{"pk":"a"}"#,
        r#"{"id":1,"pk":"a"}"#,
        r#"{"id":"","pk":"a"}"#,
        r#"{"id":"a/b","pk":"a"}"#,
        r#"{"id":"1","pk":"a","ttl":0}"#,
        r#"{"id":"1","pk":"a","ttl":-2}"#,
        r#"{"id":"1","pk":"a","ttl":"1"}"#,
        r#"{"id":"1","pk":"a","ttl":1.5}"#,
        &deep,
    ] {
        assert_refused!(world.create(r#"["a"]"#, body), Error::BadRequest(_));
    }
    let statistics = world.container.ranges().partitions()[0].statistics();
    assert_eq!(statistics.items, 0);
}

#[test]
fn items_are_found_by_rid() {
    let world = World::new(PLAIN, 1);
    world
        .create(r#"["a"]"#, r#"{"id":"1","pk":"a"}"#)
        .expect("created");
    let delete = |number, key: &str| {
        let item = ItemRef::Rid(ResourceId::document(7, 3, number));
        world.write(request(WriteKind::Delete { item }, key))
    };
    assert_refused!(delete(1, r#"["b"]"#), Error::NotFound);
    assert_refused!(delete(2, r#"["a"]"#), Error::NotFound);
    delete(1, r#"["a"]"#).expect("deleted");
}

#[test]
fn the_indexing_directive_decides_about_terms() {
    let world = World::new(PLAIN, 1);
    let kind = || WriteKind::Upsert {
        body: br#"{"id":"1","pk":"a","n":1}"#.to_vec(),
    };
    let write = |indexing| {
        world.write(WriteRequest {
            indexing,
            ..request(kind(), "")
        })
    };
    write(IndexingDirective::Exclude).expect("created");
    let bytes = || {
        world.container.ranges().partitions()[0]
            .statistics()
            .index_bytes
    };
    assert_eq!(bytes(), 0);
    write(IndexingDirective::Default).expect("replaced");
    assert!(bytes() > 0);
    write(IndexingDirective::Exclude).expect("replaced");
    assert_eq!(bytes(), 0);
}

#[test]
fn a_full_logical_partition_takes_no_more() {
    let limits = Limits {
        logical_partition_bytes: 20_000,
        ..Limits::default()
    };
    let world = World::with_limits(PLAIN, 1, limits);
    let body =
        |key: &str, id: u32| format!(r#"{{"id":"{id}","pk":"{key}","x":"{}"}}"#, "x".repeat(1000));
    let mut stored = 0;
    while world.create("", &body("a", stored)).is_ok() {
        stored += 1;
        assert!(stored < 20, "the limit is never reached");
    }
    assert!(stored > 5);
    assert_refused!(
        world.create("", &body("a", 99)),
        Error::LogicalPartitionFull { .. }
    );
    world
        .create("", &body("b", 0))
        .expect("another key has room");
    world
        .replace("", "0", r#"{"id":"0","pk":"a"}"#)
        .expect("smaller is fine");
    world.delete(r#"["a"]"#, "1").expect("deleted");
    world
        .create("", &body("a", 99))
        .expect("there is room again");
}
