//! Read feed and partition key ranges.

use orrery_engine::Error;
use orrery_engine::page::{Page, Target};
use orrery_model::ids::PartitionKeyRangeId;

use crate::assert_refused;
use crate::harness::{World, member, parse_key, plain};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

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
