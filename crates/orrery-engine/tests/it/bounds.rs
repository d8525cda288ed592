//! What an answer may be long, and what a query may take.

use orrery_engine::Error;
use orrery_engine::change_feed::{Mode, Start};
use orrery_engine::page::{Page, Target};
use orrery_engine::query::QueryOptions;
use orrery_engine::write::{BatchKind, WriteOutcome};
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::limits::Limits;

use crate::assert_refused;
use crate::harness::World;
use crate::query::asking::{ask, rows, spec};

const FULL: &str =
    r#"{"partitionKey":{"paths":["/pk"]},"changeFeedPolicy":{"retentionDuration":10}}"#;
const MOST: usize = 10_000;

fn world(limits: Limits) -> World {
    let limits = Limits {
        response_bytes: MOST,
        ..limits
    };
    let world = World::with_limits(FULL, 1, limits);
    for id in 0..20 {
        let text = "x".repeat(2_900);
        let body = format!(r#"{{"id":"{id:02}","pk":"a","n":{id},"s":"{text}"}}"#);
        world.create("", &body).expect("created");
    }
    world
}

fn range() -> Target {
    Target::Range {
        id: PartitionKeyRangeId(0),
        epk: None,
    }
}

#[test]
fn pages_of_queries_stay_below_the_limit() {
    let world = world(Limits::default());
    for text in [
        "SELECT * FROM c",
        "SELECT * FROM c ORDER BY c.n DESC",
        "SELECT c.s FROM c WHERE c.n >= 0",
        "SELECT DISTINCT c.n, c.s FROM c",
        "SELECT c.n, c.s FROM c GROUP BY c.n, c.s",
        "SELECT t, c.s FROM c JOIN t IN (SELECT VALUE [1])",
    ] {
        let (mut found, mut pages, mut token) = (0, 0, None);
        loop {
            let page = ask(&world, text, &range(), 1_000, token)
                .expect("a page")
                .value;
            assert!(page.rows.len() < MOST, "{text}: {}", page.rows.len());
            found += rows(&page).len();
            pages += 1;
            token = page.continuation;
            if token.is_none() {
                break;
            }
        }
        assert_eq!((found, pages), (20, 7), "{text}");
    }
    let long = "SELECT c.s AS a, c.s AS b, c.s AS d, c.s AS e FROM c";
    assert_refused!(ask(&world, long, &range(), 10, None), Error::TooLarge(_));
}

#[test]
fn pages_of_feeds_stay_below_the_limit() {
    let world = world(Limits::default());
    for (mode, start) in [
        (Mode::LatestVersion, Start::Beginning),
        (
            Mode::AllVersionsAndDeletes,
            Start::After("\"0\"".to_owned()),
        ),
    ] {
        let (mut start, mut found) = (start, 0);
        for _ in 0..20 {
            let page = Page {
                max_items: Some(1_000),
                ..Page::default()
            };
            let page = world
                .engine
                .change_feed(&world.container, &range(), &start, mode, &page)
                .expect("a page")
                .value;
            assert!(page.rows.len() < MOST, "{}", page.rows.len());
            found += page.count;
            start = Start::After(page.etag);
        }
        assert_eq!(found, 20, "{mode:?}");
    }
    let mut page = Page {
        max_items: Some(1_000),
        ..Page::default()
    };
    let feed = world
        .engine
        .read_feed(&world.container, &range(), &page)
        .expect("a page")
        .value;
    assert!(feed.rows.len() < MOST);
    page.continuation = feed.continuation;
    assert!(page.continuation.is_some());
}

#[test]
fn a_batch_answers_no_more_than_fits() {
    let world = world(Limits::default());
    let read = |id: u32| BatchKind::Read {
        id: format!("{id:02}"),
    };
    let results = |kinds, atomic| {
        let answer = world.batch(r#"["a"]"#, kinds, atomic).expect("served");
        match answer.value {
            WriteOutcome::Batch(batch) => batch.results,
            other => panic!("not a batch: {other:?}"),
        }
    };
    let each = results((0..5).map(read).collect(), false);
    for (place, result) in each.iter().enumerate() {
        let fits = place < 2;
        assert_eq!(result.outcome.is_ok(), fits, "{place}");
        if !fits {
            assert!(matches!(result.outcome, Err(Error::TooLarge(_))));
        }
    }
    // All or nothing: what was written before goes too.
    let mut kinds = vec![BatchKind::Create {
        body: br#"{"id":"new","pk":"a"}"#.to_vec(),
    }];
    kinds.extend((0..5).map(read));
    let all = results(kinds, true);
    assert!(all.iter().all(|result| result.outcome.is_err()));
    assert_eq!(world.plain(r#"["a"]"#, "new"), None);
}

#[test]
fn time_ends_pages_and_what_cannot_be_paged() {
    let world = world(Limits {
        execution_ms: 0,
        whole_execution_ms: 0,
        ..Limits::default()
    });
    let (mut token, mut found, mut pages) = (None, 0, 0);
    loop {
        let page = ask(&world, "SELECT VALUE c.id FROM c", &range(), 1_000, token)
            .expect("a page")
            .value;
        found += page.count;
        pages += 1;
        token = page.continuation;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(found, 20);
    assert!(pages > 1, "no time for all in one page");
    for text in [
        "SELECT c.n, COUNT(1) AS m FROM c GROUP BY c.n",
        "SELECT DISTINCT VALUE c.n FROM c",
        "SELECT VALUE SUM(c.n) FROM c",
    ] {
        assert_refused!(ask(&world, text, &range(), 100, None), Error::Timeout(_));
    }
}

#[test]
fn memory_is_given_back() {
    let world = world(Limits {
        query_memory: 8 << 20,
        queries_memory: 4 << 20,
        ..Limits::default()
    });
    let large = "SELECT VALUE COUNT(1) FROM c WHERE ARRAY_LENGTH(ARRAY(SELECT VALUE c.s || 'x' \
                 FROM a IN (SELECT VALUE [1,2,3,4,5,6,7,8,9,10]) JOIN b IN (SELECT VALUE [1,2,3,4,5,6,7,8,9,10]) \
                 JOIN d IN (SELECT VALUE [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]))) > 1";
    for _ in 0..3 {
        assert_refused!(ask(&world, large, &range(), 10, None), Error::BadRequest(_));
    }
    let middle = large.replace(",2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", "");
    for _ in 0..3 {
        ask(&world, &middle, &range(), 10, None).expect("it fits");
    }
}

#[test]
fn wrong_queries_are_told_in_short() {
    let world = world(Limits::default());
    let text = format!("SELECT {} FROM c", vec!["nobody.a"; 20_000].join(","));
    let options = QueryOptions::default();
    let failure = world
        .engine
        .query(&world.container, &spec(&text), &range(), &options)
        .expect_err("wrong");
    assert!(failure.error.to_string().len() < 50_000);
}
