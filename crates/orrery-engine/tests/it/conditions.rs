//! Etags, session tokens, patches and their conditions.

use orrery_engine::Error;
use orrery_engine::write::{Conditions, ItemOutcome, ItemRef, WriteKind, WriteRequest};
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::session::SessionToken;

use crate::assert_refused;
use crate::harness::{World, item, member, parse_key, plain, request};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

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
    for wrong in [
        "where c.n = 1",
        "from c where",
        "from c where c.n = @p",
        "from c join x in c.list where x = 2",
        "from x in c.list where x = 2",
        "from c where c.n = 2 order by c.n",
        "from c where c.n = 2 group by c.n",
        "from c where c.n = 2 offset 0 limit 1",
        "x",
    ] {
        assert_refused!(patch(wrong), Error::BadRequest(_));
    }
    let text = world.plain(r#"["a"]"#, "1").expect("readable");
    assert_eq!(member(&text, "n"), "3");
}
