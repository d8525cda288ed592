//! Point reads repeated: what a read learned about an item must never outlive the item.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use orrery_engine::read::{ReadOptions, ReadOutcome};
use orrery_engine::write::{ItemRef, WriteKind};
use orrery_engine::{Container, ContainerDraft, Error, Failure};
use orrery_model::limits::Limits;
use orrery_storage::Writes;

use crate::assert_refused;
use crate::harness::{World, member, parse_key, plain, request, spec};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;
const KEY: &str = r#"["a"]"#;

/// Reads twice: the second read may follow what the first one learned.
fn twice(world: &World, id: &str) -> Option<String> {
    let first = world.plain(KEY, id);
    assert_eq!(world.plain(KEY, id), first);
    first
}

#[test]
fn an_id_that_moves_between_items_is_followed() {
    let world = World::new(PLAIN, 1);
    let item = |id: &str, n: u64| format!(r#"{{"id":"{id}","pk":"a","n":{n}}}"#);
    let (a, b) = ("A", "B");
    world.create(KEY, &item(a, 1)).expect("created");
    assert_eq!(twice(&world, a), Some(item(a, 1)));
    assert_eq!(twice(&world, b), None);
    world.replace(KEY, a, &item(b, 2)).expect("renamed");
    assert_eq!(twice(&world, a), None);
    assert_eq!(twice(&world, b), Some(item(b, 2)));
    world.create(KEY, &item(a, 3)).expect("the id is free");
    assert_eq!(twice(&world, a), Some(item(a, 3)));
    assert_eq!(twice(&world, b), Some(item(b, 2)));
    world.delete(KEY, b).expect("deleted");
    assert_eq!(twice(&world, b), None);
    world.replace(KEY, a, &item(b, 4)).expect("renamed");
    assert_eq!(twice(&world, a), None);
    assert_eq!(twice(&world, b), Some(item(b, 4)));
    world.delete(KEY, b).expect("deleted");
    world.create(KEY, &item(b, 5)).expect("created again");
    assert_eq!(twice(&world, b), Some(item(b, 5)));
    assert_refused!(world.delete(KEY, a), Error::NotFound);
}

#[test]
fn ids_that_json_escapes_and_ids_in_nested_members_are_told_apart() {
    let world = World::new(PLAIN, 1);
    let ids = [
        ("q\"uote", r#"{"id":"q\"uote","pk":"a"}"#),
        ("\u{e9}", r#"{"id":"\u00e9","pk":"a"}"#),
        ("inner", r#"{"x":{"id":"outer"},"pk":"a","id":"inner"}"#),
        ("outer", r#"{"x":{"id":"inner"},"pk":"a","id":"outer"}"#),
    ];
    for (_, body) in ids {
        world.create(KEY, body).expect("created");
    }
    for (id, _) in ids {
        for _ in 0..2 {
            let text = world.read(KEY, id).expect("readable");
            assert_eq!(member(&text, "id"), id);
        }
    }
}

#[test]
fn an_expired_item_does_not_hide_its_successor() {
    let world = World::new(r#"{"partitionKey":{"paths":["/pk"]},"defaultTtl":-1}"#, 1);
    let old = r#"{"id":"1","pk":"a","ttl":10}"#;
    world.create(KEY, old).expect("created");
    assert_eq!(twice(&world, "1").as_deref(), Some(old));
    world.clock.advance(10);
    assert_eq!(twice(&world, "1"), None);
    let new = r#"{"id":"1","pk":"a","n":2}"#;
    world.create(KEY, new).expect("the id is free");
    assert_eq!(twice(&world, "1").as_deref(), Some(new));
    world.engine.purge_expired(100).expect("purged");
    assert_eq!(twice(&world, "1").as_deref(), Some(new));
}

#[test]
fn the_same_names_in_several_containers_and_keys_are_different_items() {
    let world = World::new(PLAIN, 4);
    let limits = Limits::default();
    let other = |number| {
        let draft = ContainerDraft {
            database: 7,
            number,
            alt_path: format!("dbs/d/colls/c{number}"),
            spec: spec(PLAIN, &limits),
            ranges: 4,
        };
        let added = world.engine.add_container(draft, Writes::new());
        added.expect("a new container")
    };
    let containers = [Arc::clone(&world.container), other(4), other(5)];
    let body = |key: &str, number: u32| format!(r#"{{"id":"1","pk":"{key}","n":{number}}}"#);
    let keys: Vec<String> = (0..20).map(|key| format!("k{key}")).collect();
    for container in &containers {
        for key in &keys {
            let created = create(&world, container, key, &body(key, container.number()));
            created.expect("created");
        }
    }
    let check = |gone: &str| {
        for container in &containers {
            for key in &keys {
                let there = container.number() != 4 || key != gone;
                let expected = there.then(|| body(key, container.number()));
                assert_eq!(read(&world, container, key), expected);
            }
        }
    };
    check("");
    check("");
    let item = ItemRef::Id("1".to_owned());
    let kind = WriteKind::Delete { item };
    let request = request(kind, r#"["k7"]"#);
    world
        .engine
        .write(&containers[1], request)
        .expect("deleted");
    check("k7");
    let again = create(&world, &containers[1], "k7", &body("k7", 4));
    again.expect("created again");
    check("");
}

fn create(world: &World, container: &Arc<Container>, key: &str, body: &str) -> Result<(), Failure> {
    let kind = WriteKind::Create { body: body.into() };
    let request = request(kind, &format!(r#"["{key}"]"#));
    world.engine.write(container, request).map(|_| ())
}

fn read(world: &World, container: &Container, key: &str) -> Option<String> {
    let (key, item) = (
        parse_key(&format!(r#"["{key}"]"#)),
        ItemRef::Id("1".to_owned()),
    );
    let answer = world
        .engine
        .read_item(container, &key, &item, &ReadOptions::default());
    match answer.ok()?.value {
        ReadOutcome::Item(body) => Some(plain(std::str::from_utf8(&body).expect("UTF-8"))),
        ReadOutcome::NotModified(_) => None,
    }
}

/// What a writer has been told that is done, a reader sees; and never another item.
#[test]
fn readers_beside_writers_see_the_newest_item_of_the_id() {
    const IDS: usize = 4;
    const ROUNDS: u64 = 300;
    let world = World::new(PLAIN, 2);
    let done: [AtomicU64; IDS] = Default::default();
    let write = |id: usize| {
        for round in 1..=ROUNDS {
            let name = format!("item-{id}");
            let body = format!(r#"{{"id":"{name}","pk":"a","n":{round}}}"#);
            match round % 4 {
                1 => world.create(KEY, &body).map(|_| ()).expect("created"),
                2 => world
                    .replace(KEY, &name, &body)
                    .map(|_| ())
                    .expect("replaced"),
                // To another name and back, so that its docid is seen under both.
                3 => {
                    let aside = body.replace("item-", "aside-");
                    world.replace(KEY, &name, &aside).expect("renamed");
                    let back = world.replace(KEY, &format!("aside-{id}"), &body);
                    back.expect("renamed back");
                }
                _ => world.delete(KEY, &name).map(|_| ()).expect("deleted"),
            }
            done[id].store(round, Ordering::Release);
        }
    };
    let check = |id: usize| {
        let name = format!("item-{id}");
        loop {
            let before = done[id].load(Ordering::Acquire);
            let found = world.plain(KEY, &name);
            // From its creation to the first replace the item has its name.
            let must_be_there = before % 4 == 1 && done[id].load(Ordering::Acquire) == before;
            assert!(found.is_some() || !must_be_there, "{name} of {before}");
            if let Some(text) = found {
                assert_eq!(member(&text, "id"), name);
                let seen: u64 = member(&text, "n").parse().expect("a number");
                assert!(seen >= before, "{seen} after {before}");
            }
            if before == ROUNDS {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for id in 0..IDS {
            scope.spawn(move || write(id));
            scope.spawn(move || check(id));
        }
    });
    assert!((0..IDS).all(|id| world.plain(KEY, &format!("item-{id}")).is_none()));
}
