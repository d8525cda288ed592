//! Single items, batches, conditions, keys.

use orrery_engine::page::{Page, Target};
use orrery_engine::write::{
    BatchKind, BatchOutcome, Conditions, IndexingDirective, ItemOutcome, ItemRef, WriteKind,
    WriteOutcome, WriteRequest,
};
use orrery_engine::{Answer, Error, Failure};
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::limits::Limits;
use orrery_model::rid::ResourceId;
use orrery_model::session::SessionToken;

use crate::assert_refused;
use crate::harness::{START, World, item, member, operation, parse_key, plain, request};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

fn batch(answer: Result<Answer<WriteOutcome>, Failure>) -> BatchOutcome {
    match answer.expect("the batch is served").value {
        WriteOutcome::Batch(batch) => batch,
        other => panic!("not a batch: {other:?}"),
    }
}

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
    assert_refused!(
        world.replace(r#"["a"]"#, "1", r#"{"id":"2","pk":"a"}"#),
        Error::BadRequest(_)
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
fn etags_guard_writes() {
    let world = World::new(PLAIN, 1);
    world
        .create(r#"["a"]"#, r#"{"id":"1","pk":"a"}"#)
        .expect("created");
    let etag = member(&world.read(r#"["a"]"#, "1").expect("readable"), "_etag");
    let guarded = |etag: &str, kind: WriteKind| {
        let conditions = Conditions {
            if_match: Some(etag.to_owned()),
            if_none_match: None,
        };
        world.write(WriteRequest {
            conditions,
            ..request(kind, r#"["a"]"#)
        })
    };
    let reference = || ItemRef::Id("1".to_owned());
    let body = || br#"{"id":"1","pk":"a","n":1}"#.to_vec();
    let patch = || br#"[{"op":"set","path":"/n","value":1}]"#.to_vec();
    let wrong = "\"00000000-0000-0000-0000-000000000000\"";
    for kind in [
        WriteKind::Replace {
            item: reference(),
            body: body(),
        },
        WriteKind::Upsert { body: body() },
        WriteKind::Patch {
            item: reference(),
            body: patch(),
        },
        WriteKind::Delete { item: reference() },
    ] {
        assert_refused!(guarded(wrong, kind), Error::PreconditionFailed);
    }
    guarded(
        &etag,
        WriteKind::Replace {
            item: reference(),
            body: body(),
        },
    )
    .expect("the right etag");
    assert_refused!(
        guarded(&etag, WriteKind::Delete { item: reference() }),
        Error::PreconditionFailed
    );
    guarded("*", WriteKind::Delete { item: reference() }).expect("any version");
    // The precondition of an upsert that creates is ignored.
    let created = guarded(&etag, WriteKind::Upsert { body: body() }).expect("created");
    assert!(matches!(item(created), ItemOutcome::Created(_)));
}

#[test]
fn session_tokens_ahead_are_refused() {
    let world = World::new(PLAIN, 1);
    world
        .create(r#"["a"]"#, r#"{"id":"1","pk":"a"}"#)
        .expect("created");
    let read = |lsn| {
        let session = vec![SessionToken::new(PartitionKeyRangeId(0), Lsn(lsn))];
        let options = orrery_engine::read::ReadOptions {
            session,
            ..Default::default()
        };
        let key = parse_key(r#"["a"]"#);
        world.engine.read_item(
            &world.container,
            &key,
            &ItemRef::Id("1".to_owned()),
            &options,
        )
    };
    read(1).expect("seen");
    let failure = read(2).expect_err("not yet written");
    assert!(matches!(failure.error, Error::ReadSessionNotAvailable));
    assert_eq!(failure.meta.lsn, Lsn(1));
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
fn unique_keys_hold_within_a_logical_partition() {
    let definition = r#"{"partitionKey":{"paths":["/pk"]},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/mail"]},{"paths":["/a/x","/b"]}]}}"#;
    let world = World::new(definition, 1);
    world
        .create("", r#"{"id":"1","pk":"a","mail":"m","b":1}"#)
        .expect("first");
    assert_refused!(
        world.create("", r#"{"id":"2","pk":"a","mail":"m","b":2}"#),
        Error::Conflict(_)
    );
    world
        .create("", r#"{"id":"2","pk":"b","mail":"m"}"#)
        .expect("another key");
    world
        .create("", r#"{"id":"3","pk":"a","b":2}"#)
        .expect("no mail counts as null");
    assert_refused!(
        world.create("", r#"{"id":"4","pk":"a","b":3}"#),
        Error::Conflict(_)
    );
    assert_refused!(
        world.upsert("", r#"{"id":"3","pk":"a","mail":"m","b":2}"#),
        Error::Conflict(_)
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
        Error::Conflict(_)
    );
    let long = "x".repeat(3000);
    let body = |id: u32| format!(r#"{{"id":"l{id}","pk":"l","mail":"{long}","b":{id}}}"#);
    world.create("", &body(1)).expect("long values");
    assert_refused!(world.create("", &body(2)), Error::Conflict(_));
}

#[test]
fn a_batch_is_all_or_nothing() {
    let world = World::new(PLAIN, 1);
    world
        .create("", r#"{"id":"0","pk":"a","n":0}"#)
        .expect("created");
    let create = |id: &str| BatchKind::Create {
        body: format!(r#"{{"id":"{id}","pk":"a"}}"#).into(),
    };
    let outcome = batch(world.batch(
        r#"["a"]"#,
        vec![
            create("1"),
            BatchKind::Delete { id: "0".to_owned() },
            create("1"),
            create("2"),
        ],
        true,
    ));
    let kinds: Vec<String> = outcome
        .results
        .iter()
        .map(|result| {
            result
                .outcome
                .as_ref()
                .map_or_else(ToString::to_string, |_| "ok".to_owned())
        })
        .collect();
    assert!(kinds[2].contains("already exists"), "{kinds:?}");
    for other in [0, 1, 3] {
        assert!(matches!(
            outcome.results[other].outcome,
            Err(Error::FailedDependency)
        ));
    }
    assert_eq!(
        world.feed(&Target::All, 10),
        [r#"{"id":"0","pk":"a","n":0}"#]
    );

    let answer = world.batch(
        r#"["a"]"#,
        vec![
            create("1"),
            BatchKind::Read { id: "1".to_owned() },
            BatchKind::Patch {
                id: "1".to_owned(),
                body: br#"{"operations":[{"op":"incr","path":"/n","value":5}]}"#.to_vec(),
            },
            BatchKind::Upsert {
                body: br#"{"id":"2","pk":"a"}"#.to_vec(),
            },
            BatchKind::Replace {
                id: "2".to_owned(),
                body: br#"{"id":"2","pk":"a","m":1}"#.to_vec(),
            },
            BatchKind::Delete { id: "0".to_owned() },
        ],
        true,
    );
    let lsn = answer.as_ref().map(|answer| answer.meta.lsn).ok();
    assert_eq!(lsn, Some(Lsn(2)), "one transaction, one position");
    let outcome = batch(answer);
    assert!(outcome.all_succeeded());
    assert!(matches!(
        outcome.results[1].outcome,
        Ok(ItemOutcome::Read(_))
    ));
    assert_eq!(
        world.feed(&Target::All, 10),
        [
            r#"{"id":"1","pk":"a","n":5}"#,
            r#"{"id":"2","pk":"a","m":1}"#
        ]
    );
    let statistics = world.container.ranges().partitions()[0].statistics();
    assert_eq!(statistics.items, 2);
}

#[test]
fn batches_that_are_refused_as_a_whole() {
    let world = World::new(PLAIN, 1);
    let create = |key: &str| BatchKind::Create {
        body: format!(r#"{{"id":"1","pk":"{key}"}}"#).into(),
    };
    assert_refused!(world.batch(r#"["a"]"#, vec![], true), Error::BadRequest(_));
    assert_refused!(
        world.batch("", vec![create("a")], true),
        Error::PartitionKeyMissing
    );
    assert_refused!(
        world.batch(r#"["a"]"#, vec![create("a"), create("b")], true),
        Error::PartitionKeyMismatch
    );
    let many = (0..101)
        .map(|_| BatchKind::Read { id: "1".to_owned() })
        .collect();
    assert_refused!(world.batch(r#"["a"]"#, many, true), Error::BadRequest(_));
    let big = |id: u32| BatchKind::Create {
        body: format!(r#"{{"id":"{id}","pk":"a","x":"{}"}}"#, "x".repeat(1 << 20)).into(),
    };
    assert_refused!(
        world.batch(r#"["a"]"#, vec![big(1), big(2)], true),
        Error::TooLarge(_)
    );
    assert!(world.feed(&Target::All, 10).is_empty());
}

#[test]
fn bulk_goes_on_after_failures() {
    let world = World::new(PLAIN, 4);
    let operations = (0..20)
        .map(|n| {
            let id = if n == 7 { 6 } else { n };
            let body = format!(r#"{{"id":"{id}","pk":"k{}"}}"#, id % 5).into();
            let mut operation = operation(BatchKind::Create { body });
            operation.key = Some(parse_key(&format!(r#"["k{}"]"#, id % 5)));
            operation
        })
        .collect();
    let kind = WriteKind::Batch {
        operations,
        atomic: false,
        continue_on_error: true,
    };
    let outcome = batch(world.write(request(kind, "")));
    assert_eq!(outcome.results.len(), 20);
    for (n, result) in outcome.results.iter().enumerate() {
        assert_eq!(
            result.outcome.is_ok(),
            n != 7,
            "operation {n}: {:?}",
            result.outcome
        );
    }
    assert_eq!(world.feed(&Target::All, 3).len(), 19);
}

#[test]
fn bulk_for_the_wrong_range_fails_alone() {
    let world = World::new(PLAIN, 2);
    let owner = |key: &str| {
        let epk = world
            .container
            .state()
            .key_definition()
            .effective(&parse_key(key));
        world.container.partition_of(&epk).expect("an owner").id()
    };
    let keys: Vec<String> = (0..20).map(|n| format!(r#"["k{n}"]"#)).collect();
    let operations = (0..20)
        .map(|n| {
            let body = format!(r#"{{"id":"1","pk":"k{n}"}}"#).into();
            let mut operation = operation(BatchKind::Create { body });
            operation.key = Some(parse_key(&keys[n]));
            operation
        })
        .collect();
    let kind = WriteKind::Batch {
        operations,
        atomic: false,
        continue_on_error: true,
    };
    let range = Some(PartitionKeyRangeId(1));
    let outcome = batch(world.write(WriteRequest {
        range,
        ..request(kind, "")
    }));
    for (key, result) in keys.iter().zip(&outcome.results) {
        match &result.outcome {
            Ok(_) => assert_eq!(owner(key), PartitionKeyRangeId(1)),
            Err(Error::PartitionKeyRangeGone { .. }) => {
                assert_eq!(owner(key), PartitionKeyRangeId(0));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn deleting_a_key_deletes_all_its_items() {
    let world = World::new(PLAIN, 2);
    for n in 0..1100 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"a"}}"#))
            .expect("created");
    }
    world.create("", r#"{"id":"0","pk":"b"}"#).expect("created");
    let answer = world
        .write(request(WriteKind::DeletePartitionKey, r#"["a"]"#))
        .expect("deleted");
    assert!(matches!(
        answer.value,
        WriteOutcome::Removed { items: 1100 }
    ));
    assert_eq!(world.feed(&Target::All, 10), [r#"{"id":"0","pk":"b"}"#]);
    assert_refused!(
        world.write(request(WriteKind::DeletePartitionKey, "")),
        Error::PartitionKeyMissing
    );
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

#[test]
fn pages_of_a_feed_cover_it_once() {
    let world = World::new(PLAIN, 5);
    let mut expected: Vec<String> = Vec::new();
    for n in 0..137 {
        let body = format!(r#"{{"id":"{n}","pk":"k{}"}}"#, n % 11);
        world.create("", &body).expect("created");
        expected.push(body);
    }
    expected.sort();
    for size in [1, 7, 50, 1000] {
        let mut all = world.feed(&Target::All, size);
        all.sort();
        assert_eq!(all, expected, "pages of {size}");
    }
    let of_key = world.feed(&Target::Key(parse_key(r#"["k3"]"#)), 4);
    let numbers: Vec<u32> = of_key
        .iter()
        .map(|item| member(item, "id").parse().expect("a number"))
        .collect();
    assert_eq!(
        numbers,
        (0..137).filter(|n| n % 11 == 3).collect::<Vec<_>>()
    );
    let mut by_range = 0;
    for partition in world.container.ranges().partitions() {
        let id = partition.id();
        by_range += world.feed(&Target::Range { id, epk: None }, 10).len();
    }
    assert_eq!(by_range, 137);
    let gone = Target::Range {
        id: PartitionKeyRangeId(9),
        epk: None,
    };
    let answer = world
        .engine
        .read_feed(&world.container, &gone, &Page::default());
    assert_refused!(answer, Error::PartitionKeyRangeGone { .. });
    let page = Page {
        continuation: Some("x".to_owned()),
        ..Page::default()
    };
    let answer = world
        .engine
        .read_feed(&world.container, &Target::All, &page);
    assert_refused!(answer, Error::BadRequest(_));
}

#[test]
fn a_feed_backwards_is_the_feed_turned() {
    let world = World::new(PLAIN, 1);
    for n in 0..25 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"k{}"}}"#, n % 3))
            .expect("created");
    }
    let mut forward = world.feed(&Target::All, 10);
    forward.reverse();
    let mut backward = Vec::new();
    let mut page = Page {
        max_items: Some(4),
        reverse: true,
        ..Page::default()
    };
    loop {
        let answer = world
            .engine
            .read_feed(&world.container, &Target::All, &page);
        let feed = answer.expect("readable").value;
        backward.extend(crate::harness::rows(&feed).iter().map(|row| plain(row)));
        page.continuation = feed.continuation;
        if page.continuation.is_none() {
            break;
        }
    }
    assert_eq!(backward, forward);
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
fn ranges_answer_once_per_version() {
    let world = World::new(PLAIN, 3);
    let first = world.engine.pk_ranges(&world.container, None).value;
    let page = first.page.expect("all ranges");
    assert_eq!(page.count, 3);
    let again = world
        .engine
        .pk_ranges(&world.container, Some(&first.etag))
        .value;
    assert_eq!(again.etag, first.etag);
    assert!(again.page.is_none());
    let rows = crate::harness::rows(&page);
    assert_eq!(member(&rows[0], "minInclusive"), "");
    assert_eq!(member(&rows[2], "maxExclusive"), "FF");
    for pair in rows.windows(2) {
        assert_eq!(
            member(&pair[0], "maxExclusive"),
            member(&pair[1], "minInclusive")
        );
    }
    let unknown = world
        .engine
        .pk_ranges(&world.container, Some("\"x\""))
        .value;
    assert_eq!(unknown.page.map(|page| page.count), Some(3));
}

#[test]
fn patches_change_what_they_say() {
    let world = World::new(PLAIN, 1);
    world
        .create("", r#"{"id":"1","pk":"a","n":1,"list":[1]}"#)
        .expect("created");
    let answer = world.patch(
        r#"["a"]"#,
        "1",
        r#"{"operations":[{"op":"incr","path":"/n","value":2},{"op":"add","path":"/list/-","value":2}]}"#,
    );
    let ItemOutcome::Replaced(body) = item(answer.expect("patched")) else {
        panic!("replaced")
    };
    let text = String::from_utf8(body.to_vec()).expect("UTF-8");
    assert_eq!(plain(&text), r#"{"id":"1","pk":"a","n":3,"list":[1,2]}"#);
    for refused in [
        r#"[{"op":"set","path":"/id","value":"2"}]"#,
        r#"[{"op":"set","path":"/pk","value":"2"}]"#,
        r#"[{"op":"remove","path":"/_ts"}]"#,
        r#"[{"op":"add","path":"/x/y/z","value":1}]"#,
    ] {
        assert_refused!(world.patch(r#"["a"]"#, "1", refused), Error::BadRequest(_));
    }
    assert_refused!(
        world.patch(r#"["a"]"#, "2", r#"[{"op":"set","path":"/n","value":1}]"#),
        Error::NotFound
    );
    assert_eq!(
        world.plain(r#"["a"]"#, "1").as_deref(),
        Some(r#"{"id":"1","pk":"a","n":3,"list":[1,2]}"#)
    );
}

#[test]
fn a_patch_may_have_a_condition() {
    let world = World::new(PLAIN, 1);
    world
        .create("", r#"{"id":"1","pk":"a","n":1,"list":[1,2]}"#)
        .expect("created");
    let patch = |condition: &str| {
        let body = format!(
            r#"{{"condition":"{condition}","operations":[{{"op":"incr","path":"/n","value":1}}]}}"#
        );
        world.patch(r#"["a"]"#, "1", &body)
    };
    patch("from c where c.n = 1").expect("holds");
    assert_refused!(patch("from c where c.n = 1"), Error::PatchConditionFailed);
    assert_refused!(
        patch("from c where c.missing > 0"),
        Error::PatchConditionFailed
    );
    patch("FROM root r WHERE r._ts > 0 AND ARRAY_CONTAINS(r.list, 2)").expect("holds");
    patch("from c join x in c.list where x = 2").expect("one of the list");
    assert_refused!(
        patch("from c join x in c.list where x = 3"),
        Error::PatchConditionFailed
    );
    for wrong in [
        "where c.n = 1",
        "from c where",
        "from c where c.n = @p",
        "x",
    ] {
        assert_refused!(patch(wrong), Error::BadRequest(_));
    }
    let text = world.plain(r#"["a"]"#, "1").expect("readable");
    assert_eq!(member(&text, "n"), "4");
}
