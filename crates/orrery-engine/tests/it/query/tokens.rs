//! Continuations: pages go on right when items change in between, and tokens that are damaged or
//! belong elsewhere are refused.

use std::sync::Arc;

use orrery_engine::page::Target;
use orrery_engine::query::QueryOptions;
use orrery_engine::{ContainerDraft, Error};
use orrery_model::limits::Limits;
use orrery_storage::Writes;

use super::asking::{ask, rows, spec as query};
use crate::harness::{TestEntropy, World, spec};

const DEFINITION: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

fn filled() -> World {
    fill(World::new(DEFINITION, 1))
}

fn fill(world: World) -> World {
    for id in 0..60 {
        let (color, long) = (id % 7, "x".repeat(300));
        let body = format!(
            r#"{{"id":"{id:02}","pk":"p","n":{id},"color":"c{color}","long":"{long}{id:02}"}}"#
        );
        world.create("", &body).expect("created");
    }
    world
}

const QUERIES: [&str; 8] = [
    "SELECT VALUE c.id FROM c",
    "SELECT VALUE c.id FROM c ORDER BY c.n DESC",
    "SELECT VALUE c.id FROM c ORDER BY c.long",
    "SELECT DISTINCT VALUE c.color FROM c",
    "SELECT DISTINCT VALUE c.color FROM c ORDER BY c.color",
    "SELECT c.color, COUNT(1) AS n FROM c GROUP BY c.color",
    "SELECT TOP 20 VALUE c.n FROM c",
    "SELECT VALUE c.n FROM c OFFSET 5 LIMIT 30",
];

fn first_token(world: &World, text: &str) -> String {
    let page = ask(world, text, &Target::All, 4, None).expect("answered");
    page.value.continuation.expect("more pages")
}

fn is_refused(world: &World, text: &str, token: String) -> bool {
    match ask(world, text, &Target::All, 4, Some(token)) {
        Ok(_) => false,
        Err(failure) => {
            let error = failure.error;
            assert!(matches!(error, Error::BadRequest { .. }), "{error:?}");
            true
        }
    }
}

#[test]
fn damaged_tokens_are_refused() {
    let world = filled();
    let dice = TestEntropy::new(3);
    for text in QUERIES {
        let token = first_token(&world, text);
        assert!(token.len() < 600 && token.is_ascii(), "{token}");
        assert!(!is_refused(&world, text, token.clone()));
        for _ in 0..300 {
            let mut bytes = token.clone().into_bytes();
            let at = dice.below(bytes.len() as u64) as usize;
            match dice.below(4) {
                0 => bytes.truncate(at),
                1 => bytes[at] = b"0aF.-_q"[dice.below(7) as usize],
                2 => bytes.insert(at, b'A' + dice.below(26) as u8),
                _ => drop(bytes.remove(at)),
            }
            let damaged = String::from_utf8(bytes).expect("ASCII");
            if damaged != token {
                assert!(is_refused(&world, text, damaged.clone()), "{damaged}");
            }
        }
    }
}

#[test]
fn tokens_of_other_queries_and_containers_are_refused() {
    let world = filled();
    for text in QUERIES {
        let token = first_token(&world, text);
        for other in QUERIES.iter().filter(|other| **other != text) {
            assert!(is_refused(&world, other, token.clone()), "{text}: {other}");
        }
    }
    let draft = ContainerDraft {
        database: 7,
        number: 4,
        alt_path: "dbs/d/colls/other".to_owned(),
        spec: spec(DEFINITION, &Limits::default()),
        ranges: 1,
    };
    let other = world.engine.add_container(draft, Writes::new());
    let other = Arc::clone(&other.expect("added"));
    let options = QueryOptions {
        continuation: Some(first_token(&world, QUERIES[0])),
        cross_partition: true,
        ..QueryOptions::default()
    };
    let answer = world
        .engine
        .query(&other, &query(QUERIES[0]), &Target::All, &options);
    assert!(answer.is_err());
}

/// What is there from the first page to the last comes exactly once, whatever goes meanwhile.
#[test]
fn pages_go_on_behind_the_last_row_when_items_go() {
    let texts = [
        "SELECT VALUE c.id FROM c",
        "SELECT VALUE c.id FROM c ORDER BY c.n DESC",
        "SELECT VALUE c.id FROM c ORDER BY c.long",
        "SELECT DISTINCT VALUE c.id FROM c",
        "SELECT DISTINCT VALUE c.id FROM c ORDER BY c.id",
        "SELECT DISTINCT VALUE c.id FROM c ORDER BY c.id DESC",
        "SELECT DISTINCT VALUE c.id FROM c ORDER BY c.long",
        "SELECT VALUE c.id FROM c GROUP BY c.id",
        "SELECT VALUE c.id FROM c GROUP BY c.id ORDER BY c.id DESC",
        "SELECT DISTINCT VALUE c.id FROM c GROUP BY c.id, c.n",
    ];
    for (text, sorts) in texts
        .into_iter()
        .flat_map(|text| [(text, true), (text, false)])
    {
        let world = if sorts {
            filled()
        } else {
            fill(World::without_sorting(DEFINITION, 1))
        };
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            let page = ask(&world, text, &Target::All, 7, token.take());
            let page = page.expect("answered").value;
            let new = rows(&page);
            // Every second row goes once it was seen. Of strings that a token cuts it cannot tell
            // which rows were seen without the last one: then that one stays.
            let first = usize::from(text.contains("c.long"));
            for row in new.iter().skip(first).step_by(2) {
                world
                    .delete(r#"["p"]"#, row.trim_matches('"'))
                    .expect("deleted");
            }
            found.extend(new);
            match page.continuation {
                Some(next) => token = Some(next),
                None => break,
            }
        }
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!((sorted.len(), found.len()), (60, 60), "{text} {sorts}");
    }
}
