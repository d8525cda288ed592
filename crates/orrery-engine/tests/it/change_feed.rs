//! The change feed: complete, in order, never cut inside a transaction.

use orrery_engine::change_feed::{ChangePage, Mode, Start};
use orrery_engine::page::{FeedPage, Page, Target};
use orrery_engine::write::BatchKind;
use orrery_engine::{Answer, Engine, Error, Failure};
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::json;
use orrery_model::value::Object;

use crate::assert_refused;
use crate::harness::{START, World, member, parse_key, rows};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;
const FULL: &str =
    r#"{"partitionKey":{"paths":["/pk"]},"changeFeedPolicy":{"retentionDuration":10}}"#;

fn range(id: u32) -> Target {
    Target::Range {
        id: PartitionKeyRangeId(id),
        epk: None,
    }
}

fn page(
    world: &World,
    target: &Target,
    start: &Start,
    mode: Mode,
    max_items: u32,
) -> Result<Answer<ChangePage>, Failure> {
    let page = Page {
        max_items: Some(max_items),
        ..Page::default()
    };
    world
        .engine
        .change_feed(&world.container, target, start, mode, &page)
}

/// The ids of all changes that a handle of the engine sees.
pub fn ids_from_start(world: &World, engine: &Engine) -> Vec<String> {
    let page = Page::default();
    let (start, mode) = (Start::Beginning, Mode::LatestVersion);
    let answer = engine.change_feed(&world.container, &Target::All, &start, mode, &page);
    let page = answer.expect("the feed is readable").value;
    let id = |text: &String| {
        let value = json::parse_str(text).expect("changes are JSON");
        value.member("id").as_str().expect("an id").to_owned()
    };
    texts(&page).iter().map(id).collect()
}

fn texts(page: &ChangePage) -> Vec<String> {
    rows(&FeedPage {
        rows: page.rows.clone(),
        count: page.count,
        continuation: None,
    })
}

/// All changes from a start up to the 304, and its etag.
fn drain(
    world: &World,
    target: &Target,
    start: Start,
    mode: Mode,
    size: u32,
) -> (Vec<String>, String) {
    let mut all = Vec::new();
    let mut start = start;
    for _ in 0..10_000 {
        let answer = page(world, target, &start, mode, size)
            .expect("readable")
            .value;
        if answer.count == 0 {
            return (all, answer.etag);
        }
        all.extend(texts(&answer));
        start = Start::After(answer.etag);
    }
    panic!("the feed does not end");
}

#[test]
fn every_item_once_at_its_last_change() {
    let world = World::new(PLAIN, 1);
    for n in 0..30 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"k{}"}}"#, n % 4))
            .expect("created");
    }
    for n in [3, 5, 3] {
        world
            .upsert("", &format!(r#"{{"id":"{n}","pk":"k{}","v":1}}"#, n % 4))
            .expect("changed");
    }
    world.delete(r#"["k1"]"#, "9").expect("deleted");
    for size in [1, 4, 100] {
        let (changes, etag) = drain(
            &world,
            &range(0),
            Start::Beginning,
            Mode::LatestVersion,
            size,
        );
        let ids: Vec<String> = changes.iter().map(|change| member(change, "id")).collect();
        let mut expected: Vec<String> = (0..30)
            .filter(|n| ![3, 5, 9].contains(n))
            .map(|n| n.to_string())
            .collect();
        expected.extend(["5".to_owned(), "3".to_owned()]);
        assert_eq!(ids, expected);
        assert_eq!(
            etag, "\"34\"",
            "the position of the delete, which is not seen"
        );
        let lsns: Vec<u64> = changes
            .iter()
            .map(|change| member(change, "_lsn").parse().expect("a number"))
            .collect();
        assert!(lsns.is_sorted());
    }
    let key = Target::Key(parse_key(r#"["k1"]"#));
    let (changes, _) = drain(&world, &key, Start::Beginning, Mode::LatestVersion, 2);
    let ids: Vec<String> = changes.iter().map(|change| member(change, "id")).collect();
    assert_eq!(ids, ["1", "13", "17", "21", "25", "29", "5"]);
}

#[test]
fn now_answers_a_position_to_go_on_from() {
    let world = World::new(PLAIN, 1);
    world.create("", r#"{"id":"1","pk":"a"}"#).expect("created");
    let first = page(&world, &range(0), &Start::Now, Mode::LatestVersion, 10).expect("readable");
    assert_eq!((first.value.count, first.value.etag.as_str()), (0, "\"1\""));
    world.create("", r#"{"id":"2","pk":"a"}"#).expect("created");
    let start = Start::After(first.value.etag);
    let (changes, etag) = drain(&world, &range(0), start, Mode::LatestVersion, 10);
    assert_eq!(
        changes
            .iter()
            .map(|change| member(change, "id"))
            .collect::<Vec<_>>(),
        ["2"]
    );
    assert_eq!(etag, "\"2\"");
    assert_refused!(
        page(
            &world,
            &range(0),
            &Start::After("\"x\"".to_owned()),
            Mode::LatestVersion,
            10
        ),
        Error::BadRequest(_)
    );
    assert_refused!(
        page(&world, &range(7), &Start::Now, Mode::LatestVersion, 10),
        Error::PartitionKeyRangeGone { .. }
    );
}

#[test]
fn a_time_starts_at_its_second() {
    let world = World::new(PLAIN, 1);
    for n in 0..20 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"a"}}"#))
            .expect("created");
        world.clock.advance(2);
    }
    for (second, expected) in [
        (0, 20),
        (START, 20),
        (START + 1, 19),
        (START + 20, 10),
        (START + 99, 0),
    ] {
        let (changes, _) = drain(
            &world,
            &range(0),
            Start::Time(second),
            Mode::LatestVersion,
            3,
        );
        assert_eq!(changes.len(), expected, "from {second}");
    }
}

#[test]
fn a_page_does_not_cut_a_transaction() {
    let world = World::new(PLAIN, 1);
    for batch in 0..5 {
        let create = |n| BatchKind::Create {
            body: format!(r#"{{"id":"{batch}-{n}","pk":"a"}}"#).into(),
        };
        world
            .batch(r#"["a"]"#, (0..7).map(create).collect(), true)
            .expect("served");
    }
    let mut start = Start::Beginning;
    for batch in 0..5 {
        let answer = page(&world, &range(0), &start, Mode::LatestVersion, 3)
            .expect("readable")
            .value;
        let ids: Vec<String> = texts(&answer)
            .iter()
            .map(|change| member(change, "id"))
            .collect();
        assert_eq!(
            ids,
            (0..7).map(|n| format!("{batch}-{n}")).collect::<Vec<_>>()
        );
        start = Start::After(answer.etag);
    }
}

#[test]
fn a_part_of_the_key_space_sees_its_own_changes() {
    let world = World::new(PLAIN, 1);
    for n in 0..100 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"k{n}"}}"#))
            .expect("created");
    }
    let partition = world.container.ranges().partitions()[0].clone();
    let state = world.container.state();
    let middle = partition
        .range()
        .midpoint(state.key_definition())
        .expect("a middle");
    let half = |epk| Target::Range {
        id: PartitionKeyRangeId(0),
        epk: Some(epk),
    };
    let (min, max) = (partition.range().min.clone(), partition.range().max.clone());
    let lower = half(orrery_model::epk::EpkRange::new(min, middle.clone()));
    let upper = half(orrery_model::epk::EpkRange::new(middle, max));
    let (low, _) = drain(&world, &lower, Start::Beginning, Mode::LatestVersion, 9);
    let (high, _) = drain(&world, &upper, Start::Beginning, Mode::LatestVersion, 9);
    assert_eq!(low.len() + high.len(), 100);
    assert!(!low.is_empty() && !high.is_empty());
    assert_eq!(world.feed(&lower, 7).len(), low.len());
    assert_eq!(world.feed(&upper, 7).len(), high.len());
}

#[test]
fn all_versions_and_deletes() {
    let world = World::new(FULL, 1);
    world
        .create("", r#"{"id":"1","pk":"a","n":1}"#)
        .expect("created");
    world
        .upsert("", r#"{"id":"1","pk":"a","n":2}"#)
        .expect("replaced");
    world.delete(r#"["a"]"#, "1").expect("deleted");
    let start = Start::After("\"0\"".to_owned());
    let (changes, etag) = drain(&world, &range(0), start, Mode::AllVersionsAndDeletes, 1);
    assert_eq!(etag, "\"3\"");
    let parsed: Vec<_> = changes
        .iter()
        .map(|text| orrery_model::json::parse_str(text).expect("JSON"))
        .collect();
    let kinds: Vec<_> = parsed
        .iter()
        .map(|change| {
            let metadata = change.member("metadata");
            let previous = metadata.member("previousImageLSN").as_i64();
            (
                metadata.member("operationType").as_str(),
                metadata.member("lsn").as_i64(),
                previous,
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            (Some("create"), Some(1), Some(0)),
            (Some("replace"), Some(2), Some(1)),
            (Some("delete"), Some(3), Some(2)),
        ]
    );
    assert_eq!(parsed[0].member("current").member("n").as_i64(), Some(1));
    assert_eq!(parsed[1].member("current").member("n").as_i64(), Some(2));
    let deletion = &parsed[2];
    assert_eq!(
        deletion.member("current").as_object().map(Object::len),
        Some(0)
    );
    assert_eq!(deletion.member("previous").member("n").as_i64(), Some(2));
    assert_eq!(deletion.member("metadata").member("id").as_str(), Some("1"));
    assert_eq!(
        deletion
            .member("metadata")
            .member("partitionKey")
            .member("pk")
            .as_str(),
        Some("a")
    );
    assert_refused!(
        page(
            &world,
            &range(0),
            &Start::Beginning,
            Mode::AllVersionsAndDeletes,
            1
        ),
        Error::BadRequest(_)
    );
    let without = World::new(PLAIN, 1);
    assert_refused!(
        page(
            &without,
            &range(0),
            &Start::Now,
            Mode::AllVersionsAndDeletes,
            1
        ),
        Error::BadRequest(_)
    );
}

#[test]
fn history_ends_with_its_retention() {
    let world = World::new(FULL, 1);
    for n in 0..5 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"a"}}"#))
            .expect("created");
        world.clock.advance(300);
    }
    world.engine.purge_expired(100).expect("purged");
    let read = |etag: &str| {
        page(
            &world,
            &range(0),
            &Start::After(etag.to_owned()),
            Mode::AllVersionsAndDeletes,
            10,
        )
    };
    // 1,500 s have passed; what is older than 600 s is cut.
    assert_refused!(read("\"0\""), Error::BadRequest(_));
    let answer = read("\"3\"").expect("retained").value;
    assert_eq!(answer.count, 2);
    let (latest, _) = drain(&world, &range(0), Start::Beginning, Mode::LatestVersion, 10);
    assert_eq!(latest.len(), 5, "the latest versions know no retention");
}
