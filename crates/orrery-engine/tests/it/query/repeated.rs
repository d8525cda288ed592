//! Queries asked again and again: items that lie at hand since the last time are those of the
//! query's own moment, whatever was written meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use orrery_engine::page::Target;
use orrery_engine::write::BatchKind;

use super::asking::{ask, expected, rows};
use crate::harness::World;

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;
const KEY: &str = r#"["a"]"#;
/// Items of one value lie so far apart that they are looked up one by one.
const VALUES: u64 = 10;

fn world() -> World {
    let world = World::new(PLAIN, 1);
    for id in 0..20 * VALUES {
        let body = item(id, 0);
        world.create(KEY, &body).expect("created");
    }
    world
}

fn item(id: u64, version: u64) -> String {
    let n = id % VALUES;
    format!(r#"{{"id":"{id}","pk":"a","n":{n},"version":{version}}}"#)
}

fn found(world: &World, text: &str) -> Vec<String> {
    let page = ask(world, text, &Target::All, 1_000, None).expect("a page");
    rows(&page.value)
}

#[test]
fn what_was_written_since_is_seen() {
    let world = world();
    let text = "SELECT c.id, c.n, c.version FROM c WHERE c.n = 3";
    let check = |count: usize| {
        for _ in 0..3 {
            let rows = found(&world, text);
            assert_eq!(rows, expected(&world, text, &Target::All));
            assert_eq!(rows.len(), count);
        }
    };
    check(20);
    world.upsert(KEY, &item(13, 1)).expect("written");
    check(20);
    world.delete(KEY, "23").expect("deleted");
    check(19);
    world
        .replace(KEY, "33", r#"{"id":"33","pk":"a","n":4}"#)
        .expect("replaced");
    check(18);
    world
        .patch(
            KEY,
            "44",
            r#"{"operations":[{"op":"set","path":"/n","value":3}]}"#,
        )
        .expect("patched");
    check(19);
    world.create(KEY, &item(23, 2)).expect("created again");
    check(20);
}

/// A batch changes all items of a value at once, so every query sees them alike.
#[test]
fn a_batch_is_seen_whole_beside_writers() {
    const ROUNDS: u64 = 200;
    let world = world();
    let is_done = AtomicBool::new(false);
    let write = || {
        for version in 1..=ROUNDS {
            let upsert = |at: u64| BatchKind::Upsert {
                body: item(at * VALUES + 3, version).into(),
            };
            world
                .batch(KEY, (0..20).map(upsert).collect(), true)
                .expect("written");
        }
        is_done.store(true, Ordering::Release);
    };
    let read = || {
        let mut last = 0;
        loop {
            let is_last = is_done.load(Ordering::Acquire);
            let rows = found(&world, "SELECT VALUE c.version FROM c WHERE c.n = 3");
            assert_eq!(rows.len(), 20);
            let version: u64 = rows[0].parse().expect("a number");
            assert!(rows.iter().all(|row| *row == rows[0]), "{rows:?}");
            assert!(version >= last, "{version} after {last}");
            last = version;
            if is_last {
                return last;
            }
        }
    };
    thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        write();
        for reader in readers {
            assert_eq!(reader.join().expect("no panic"), ROUNDS);
        }
    });
}
