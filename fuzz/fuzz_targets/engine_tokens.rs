//! Continuation tokens of queries, feeds and change feeds, made up or changed on their way: they
//! are refused, or a page comes that ends; nothing else happens to the engine.
#![no_main]
#![allow(dead_code)] // the tests' harness has more than is needed here

#[path = "../../crates/orrery-engine/tests/it/harness.rs"]
#[macro_use]
mod harness;

use std::cell::OnceCell;

use harness::World;
use libfuzzer_sys::fuzz_target;
use orrery_engine::catalog::feeds::QuerySpec;
use orrery_engine::change_feed::{Mode, Start};
use orrery_engine::page::{Page, Target};
use orrery_engine::query::QueryOptions;
use orrery_engine::{Error, Failure};

const QUERIES: [&str; 8] = [
    "SELECT * FROM c",
    "SELECT VALUE t FROM c JOIN t IN c.tags",
    "SELECT * FROM c WHERE c.n > 3 ORDER BY c.s",
    "SELECT * FROM c ORDER BY c.n DESC",
    "SELECT DISTINCT VALUE c.n FROM c",
    "SELECT c.n, COUNT(1) AS m FROM c GROUP BY c.n",
    "SELECT VALUE c.id FROM c WHERE c.n = 2 OFFSET 3 LIMIT 4",
    "SELECT TOP 3 VALUE c.id FROM c ORDER BY c.id",
];

fn world() -> World {
    let definition = r#"{"partitionKey":{"paths":["/pk"]},
        "changeFeedPolicy":{"retentionDuration":10}}"#;
    let world = World::without_sorting(definition, 2);
    for id in 0..40 {
        let body = format!(
            r#"{{"id":"{id}","pk":"k{}","n":{},"s":"{}","tags":[1,"a",{id}]}}"#,
            id % 7,
            id % 5,
            "x".repeat(id * 40)
        );
        world.create("", &body).expect("created");
    }
    world
}

/// An error of the client's, never of ours.
fn check<T>(outcome: Result<T, Failure>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(failure) => {
            let fault = matches!(failure.error, Error::Damaged(_) | Error::Storage(_));
            assert!(!fault, "{:?}", failure.error);
            None
        }
    }
}

/// A token as it comes, or one of ours with some bytes changed.
fn token(own: Option<String>, text: &str, at: u16) -> String {
    let Some(own) = own else { return text.to_owned() };
    let at = usize::from(at) % own.len().max(1);
    match (own.get(..at), own.get((at + text.len()).min(own.len())..)) {
        (Some(before), Some(after)) => format!("{before}{text}{after}"),
        _ => text.to_owned(),
    }
}

thread_local! {
    static WORLD: OnceCell<World> = const { OnceCell::new() };
}

fuzz_target!(|input: (u8, u8, u16, &str)| {
    let (kind, which, at, text) = input;
    WORLD.with(|cell| {
        let world = cell.get_or_init(world);
        let (engine, container) = (&world.engine, &world.container);
        let partition = &container.ranges().partitions()[usize::from(which) % 2].clone();
        let target = Target::Range {
            id: partition.id(),
            epk: None,
        };
        match kind % 4 {
            0 | 1 => {
                let spec = QuerySpec {
                    text: QUERIES[usize::from(which / 2) % QUERIES.len()].to_owned(),
                    parameters: Vec::new(),
                    resume_filter: None,
                };
                let ask = |continuation| {
                    let options = QueryOptions {
                        max_items: Some(2),
                        continuation,
                        cross_partition: true,
                        ..QueryOptions::default()
                    };
                    check(engine.query(container, &spec, &target, &options))
                };
                let own = if kind % 4 == 0 {
                    None
                } else {
                    ask(None).and_then(|page| page.value.continuation)
                };
                if let Some(page) = ask(Some(token(own, text, at))) {
                    assert!(page.value.count <= 2);
                }
            }
            2 => {
                let page = Page {
                    max_items: Some(2),
                    continuation: Some(text.to_owned()),
                    ..Page::default()
                };
                check(engine.read_feed(container, &target, &page));
            }
            _ => {
                let start = Start::After(text.to_owned());
                let mode = if at % 2 == 0 {
                    Mode::LatestVersion
                } else {
                    Mode::AllVersionsAndDeletes
                };
                check(engine.change_feed(container, &target, &start, mode, &Page::default()));
            }
        }
    });
});
