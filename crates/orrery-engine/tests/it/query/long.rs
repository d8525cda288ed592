//! Queries over so many items that a thread reads ahead and that lists are kept between pages.

use std::collections::BTreeSet;

use orrery_engine::page::Target;
use orrery_engine::query::AccessKind;

use super::asking::{ask, expected, rows, walk};
use crate::harness::World;

const ITEMS: u64 = 2_500;

fn world() -> World {
    let world = World::without_sorting(
        r#"{"partitionKey":{"paths":["/pk"]},"indexingPolicy":{
            "includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/far/?"}]}}"#,
        1,
    );
    for id in 0..ITEMS {
        let far = id * 7_919 % ITEMS;
        let body = format!(
            r#"{{"id":"{id}","pk":"k","n":{id},"far":{far},"o":{{"m":{}}}}}"#,
            id % 3
        );
        world.create("", &body).expect("created");
    }
    world
}

#[test]
fn long_scans_give_every_row_once() {
    let mut world = world();
    let texts = [
        "SELECT VALUE c.id FROM c WHERE c.far < 2400",
        "SELECT TOP 2300 VALUE c.id FROM c WHERE c.far >= 0",
        "SELECT VALUE c.id FROM c WHERE c.far = 3 OR c.far = 2499",
        "SELECT VALUE SUM(c.far) FROM c",
        "SELECT c.o.m, COUNT(1) AS k FROM c WHERE c.far > 10 GROUP BY c.o.m",
    ];
    for text in texts {
        let wanted = expected(&world, text, &Target::All);
        for most in [1_000, 2_499, 100_000] {
            let mut seen = BTreeSet::new();
            let rows;
            (world, rows) = walk(world, text, &Target::All, most, usize::MAX, &mut seen);
            assert_eq!(rows, wanted, "{text}");
            assert_eq!(seen, BTreeSet::from([AccessKind::Scan]), "{text}");
        }
    }
}

#[test]
fn kept_lists_follow_writes() {
    let world = world();
    let text = "SELECT VALUE c.id FROM c WHERE c.n >= 100 AND c.n < 400";
    let all = |most: u32| {
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            let page = ask(&world, text, &Target::All, most, token.take());
            let page = page.expect("a page").value;
            assert_eq!(page.metrics.access, AccessKind::Chosen);
            found.extend(rows(&page));
            match page.continuation {
                Some(next) => token = Some(next),
                None => return found,
            }
        }
    };
    assert_eq!(all(100), expected(&world, text, &Target::All));
    assert_eq!(all(1_000).len(), 300);
    // One leaves the range, one comes into it.
    world
        .upsert("", r#"{"id":"150","pk":"k","n":5}"#)
        .expect("written");
    world
        .upsert("", r#"{"id":"2000","pk":"k","n":399}"#)
        .expect("written");
    let found = all(100);
    assert_eq!(found, expected(&world, text, &Target::All));
    assert!(!found.contains(&"\"150\"".to_owned()) && found.contains(&"\"2000\"".to_owned()));

    let first = ask(&world, text, &Target::All, 100, None)
        .expect("a page")
        .value;
    world
        .upsert("", r#"{"id":"2400","pk":"k","n":300}"#)
        .expect("written");
    world
        .upsert("", r#"{"id":"110","pk":"k","n":0}"#)
        .expect("written");
    let rest = ask(&world, text, &Target::All, 1_000, first.continuation)
        .expect("a page")
        .value;
    let rest = rows(&rest);
    assert_eq!(
        rest.len(),
        201,
        "the rest, and what was written in the meantime"
    );
    assert_eq!(rest.last(), Some(&"\"2400\"".to_owned()));
}
