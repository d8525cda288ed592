//! Queries that need their rows merged, over partitions that were one when the query began, or that
//! a client still takes for one.

use orrery_engine::Error;
use orrery_engine::catalog::QuerySpec;
use orrery_engine::page::{FeedPage, Target};
use orrery_engine::query::QueryOptions;
use orrery_engine::split::Cut;
use orrery_model::ids::PartitionKeyRangeId;

use super::{ids, merge, settle, split};
use crate::assert_refused;
use crate::harness::{World, member, rows};

const DEFINITION: &str = r#"{"partitionKey":{"paths":["/pk"]},"indexingPolicy":{
    "compositeIndexes":[[{"path":"/m","order":"ascending"},{"path":"/n","order":"descending"}]]}}"#;

/// One query of each kind that a client would have to merge.
const TEXTS: [&str; 10] = [
    "SELECT * FROM c ORDER BY c.n",
    "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
    "SELECT VALUE c.id FROM c ORDER BY c.m DESC",
    "SELECT VALUE c.id FROM c ORDER BY c.sometimes",
    "SELECT VALUE c.id FROM c WHERE c.n > 20 ORDER BY c.m, c.n DESC",
    "SELECT TOP 60 VALUE c.n FROM c",
    "SELECT VALUE c.n FROM c OFFSET 11 LIMIT 70",
    "SELECT DISTINCT VALUE c.m FROM c",
    "SELECT c.m, COUNT(1) AS count, SUM(c.n) AS sum FROM c GROUP BY c.m",
    "SELECT VALUE e FROM c JOIN e IN c.list ORDER BY c.m",
];

fn filled(ranges: u32) -> World {
    let world = World::new(DEFINITION, ranges);
    for n in 0..150 {
        let sometimes = match n % 3 {
            0 => format!(r#""sometimes":{},"#, n % 7),
            1 => format!(r#""sometimes":"{}","#, "x".repeat(n % 5)),
            _ => String::new(),
        };
        let body = format!(
            r#"{{"id":"{n}","pk":"k{}","n":{},"m":{},{sometimes}"list":[{n},{}]}}"#,
            n % 23,
            n * 37 % 150,
            n % 11,
            n + 1_000,
        );
        world.create("", &body).expect("created");
    }
    world
}

fn range(id: u32) -> Target {
    Target::Range {
        id: PartitionKeyRangeId(id),
        epk: None,
    }
}

fn options(continuation: Option<String>) -> QueryOptions {
    QueryOptions {
        max_items: Some(7),
        continuation,
        cross_partition: true,
        answer_for_gone: true,
        ..QueryOptions::default()
    }
}

fn spec(text: &str) -> QuerySpec {
    QuerySpec {
        text: text.to_owned(),
        parameters: Vec::new(),
        resume_filter: None,
    }
}

/// All rows of a query; `between` is told the number of each page when it is there.
fn all_rows(world: &World, target: &Target, text: &str, between: &dyn Fn(u32)) -> Vec<String> {
    let mut all = Vec::new();
    let mut continuation = None;
    for number in 1..1_000 {
        let options = options(continuation);
        let answer = world
            .engine
            .query(&world.container, &spec(text), target, &options);
        let page = answer.expect("answered").value;
        all.extend(rows(&FeedPage {
            rows: page.rows,
            count: page.count,
            continuation: None,
        }));
        continuation = page.continuation;
        if continuation.is_none() {
            return all;
        }
        between(number);
    }
    panic!("the query does not end");
}

#[test]
fn a_query_that_began_on_one_range_goes_on_over_what_became_of_it() {
    for text in TEXTS {
        let expected = all_rows(&filled(1), &Target::All, text, &|_| {});
        assert!(expected.len() > 7, "{text}: several pages");
        let world = filled(1);
        let found = all_rows(&world, &Target::All, text, &|page| match page {
            1 => drop(split(&world, 0, Cut::Hash, 3)),
            2 => drop(split(&world, ids(&world)[1], Cut::Size, 2)),
            3 => drop(merge(&world, &ids(&world)[1..3])),
            4 => drop(merge(&world, &ids(&world))),
            _ => {}
        });
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_range_that_is_gone_is_answered_for_where_that_is_wanted() {
    for text in TEXTS {
        // Two ranges: the first is split, then merged with a part of the second.
        let expected = all_rows(&filled(2), &range(0), text, &|_| {});
        let world = filled(2);
        let found = all_rows(&world, &range(0), text, &|page| match page {
            1 => drop(split(&world, 0, Cut::Hash, 2)),
            2 => drop(split(&world, 1, Cut::Hash, 2)),
            3 => drop(merge(&world, &ids(&world)[1..3])),
            _ => {}
        });
        assert_eq!(found, expected, "{text}");
        // The same from the start, also behind a restart.
        let world = world.reopen();
        let found = all_rows(&world, &range(0), text, &|_| {});
        assert_eq!(found, expected, "{text} from the start");
    }
}

#[test]
fn what_sdks_have_rewritten_is_answered_for_too() {
    let world = filled(1);
    split(&world, 0, Cut::Hash, 3);
    for (text, expected) in [
        (
            r#"SELECT VALUE [{"item": COUNT(1)}] FROM c"#,
            r#"[{"item":150}]"#,
        ),
        (
            r#"SELECT VALUE [{"item": {"sum": SUM(c.n), "count": COUNT(c.n)}}] FROM c"#,
            r#"[{"item":{"sum":11175,"count":150}}]"#,
        ),
        (
            r#"SELECT VALUE [{"item": MIN(c.n), "item2": {"min": MIN(c.n), "count": COUNT(c.n)}}] FROM c"#,
            r#"[{"item":0,"item2":{"min":0,"count":150}}]"#,
        ),
    ] {
        assert_eq!(all_rows(&world, &range(0), text, &|_| {}), [expected]);
    }
    let text = r#"SELECT c._rid, [{"item": c.n}] AS orderByItems, c.n AS payload FROM c WHERE (true) ORDER BY c.n"#;
    let rows = all_rows(&world, &range(0), text, &|_| {});
    let payloads: Vec<String> = rows.iter().map(|row| member(row, "payload")).collect();
    let expected: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    assert_eq!(payloads, expected);
}

#[test]
fn without_the_wish_a_range_that_is_gone_stays_gone() {
    let world = filled(1);
    split(&world, 0, Cut::Hash, 2);
    let query = |id: u32, answer_for_gone: bool| {
        let options = QueryOptions {
            answer_for_gone,
            ..options(None)
        };
        let spec = spec(TEXTS[0]);
        world
            .engine
            .query(&world.container, &spec, &range(id), &options)
    };
    assert_refused!(query(0, false), Error::PartitionKeyRangeGone { .. });
    assert!(query(0, true).is_ok());
    assert_refused!(query(9, true), Error::PartitionKeyRangeGone { .. });
}

#[test]
fn a_query_over_several_ranges_from_the_start_is_the_clients_to_merge() {
    let world = filled(2);
    let options = options(None);
    let answer = world
        .engine
        .query(&world.container, &spec(TEXTS[0]), &Target::All, &options);
    assert_refused!(answer, Error::CrossPartition { .. });
}

#[test]
fn a_token_of_one_of_several_ranges_is_no_way_around_that() {
    let world = filled(2);
    let first = world
        .engine
        .query(&world.container, &spec(TEXTS[0]), &range(0), &options(None));
    let token = first.expect("answered").value.continuation;
    assert!(token.is_some());
    let answer = world.engine.query(
        &world.container,
        &spec(TEXTS[0]),
        &Target::All,
        &options(token),
    );
    assert_refused!(answer, Error::CrossPartition { .. });
}

#[test]
fn a_split_goes_on_after_a_restart() {
    let world = filled(1);
    let asked = world
        .engine
        .split_range(&world.container, PartitionKeyRangeId(0), Cut::Size, 2)
        .expect("lined up");
    world.engine.advance_reshapes(1).expect("advanced");
    assert!(!asked.is_over());
    let world = world.reopen();
    assert_eq!(ids(&world), [0]);
    settle(&world);
    assert_eq!(ids(&world), [1, 2]);
    super::check(&world);
    // What is over is not begun again.
    let world = world.reopen();
    settle(&world);
    assert_eq!(ids(&world), [1, 2]);
}

#[test]
fn a_split_that_cannot_be_is_not_tried_again() {
    let world = World::new(DEFINITION, 1);
    world
        .create("", r#"{"id":"1","pk":"only"}"#)
        .expect("created");
    world
        .engine
        .split_range(&world.container, PartitionKeyRangeId(0), Cut::Size, 2)
        .expect("lined up");
    settle(&world);
    let world = world.reopen();
    assert!(!world.engine.is_reshaping(&world.container));
}
