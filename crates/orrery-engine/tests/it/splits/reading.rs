//! Readers go on: continuations, change feed positions and session tokens of parents mean the same
//! on children.

use orrery_engine::Error;
use orrery_engine::catalog::QuerySpec;
use orrery_engine::change_feed::{Mode, Start};
use orrery_engine::page::{FeedPage, Page, Target};
use orrery_engine::query::QueryOptions;
use orrery_engine::read::ReadOptions;
use orrery_engine::split::Cut;
use orrery_engine::write::ItemRef;
use orrery_model::epk::EpkRange;
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::json;
use orrery_model::session::SessionToken;
use orrery_model::value::Value;

use super::{ids, merge, split};
use crate::assert_refused;
use crate::harness::{World, member, parse_key, rows};

const FULL: &str = r#"{"partitionKey":{"paths":["/pk"]},
    "changeFeedPolicy":{"retentionDuration":10}}"#;

fn fill(world: &World, from: u32, to: u32) {
    for n in from..to {
        let body = format!(r#"{{"id":"{n}","pk":"k{}","n":{n}}}"#, n % 23);
        world.create("", &body).expect("created");
    }
}

fn range(id: u32) -> Target {
    Target::Range {
        id: PartitionKeyRangeId(id),
        epk: None,
    }
}

fn numbers(texts: &[String]) -> Vec<u32> {
    let mut all: Vec<u32> = texts
        .iter()
        .map(|text| member(text, "n").parse().expect("a number"))
        .collect();
    all.sort_unstable();
    all
}

fn spec(text: &str) -> QuerySpec {
    QuerySpec {
        text: text.to_owned(),
        parameters: Vec::new(),
        resume_filter: None,
    }
}

fn query_page(
    world: &World,
    target: &Target,
    text: &str,
    continuation: Option<String>,
) -> (Vec<String>, Option<String>) {
    let spec = spec(text);
    let options = QueryOptions {
        max_items: Some(7),
        continuation,
        cross_partition: true,
        ..QueryOptions::default()
    };
    let answer = world
        .engine
        .query(&world.container, &spec, target, &options);
    let page = answer.expect("answered").value;
    let texts = rows(&FeedPage {
        rows: page.rows,
        count: page.count,
        continuation: None,
    });
    (texts, page.continuation)
}

/// Reads on to the end.
fn rest(
    world: &World,
    target: &Target,
    text: &str,
    mut continuation: Option<String>,
) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..1_000 {
        let (texts, next) = query_page(world, target, text, continuation);
        all.extend(texts);
        match next {
            None => return all,
            next => continuation = next,
        }
    }
    panic!("the query does not end");
}

#[test]
fn a_query_over_everything_goes_on_through_splits_and_merges() {
    let world = World::new(FULL, 2);
    fill(&world, 0, 200);
    let text = "SELECT * FROM c WHERE c.n >= 0";
    for shape in 0..4 {
        let (mut all, mut token) = query_page(&world, &Target::All, text, None);
        let (more, next) = query_page(&world, &Target::All, text, token);
        all.extend(more);
        token = next;
        let own = ids(&world);
        match shape {
            0 => {
                split(&world, own[0], Cut::Hash, 4);
            }
            1 => {
                split(&world, own[0], Cut::Size, 2);
            }
            2 => {
                merge(&world, &own[..3]);
            }
            _ => {
                merge(&world, &own);
                split(&world, ids(&world)[0], Cut::Hash, 3);
            }
        }
        all.extend(rest(&world, &Target::All, text, token));
        assert_eq!(numbers(&all), (0..200).collect::<Vec<_>>(), "shape {shape}");
    }
}

#[test]
fn a_query_of_one_range_is_asked_of_its_children() {
    for text in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n DESC"] {
        let world = World::new(FULL, 1);
        fill(&world, 0, 150);
        let (mut all, token) = query_page(&world, &range(0), text, None);
        split(&world, 0, Cut::Hash, 2);
        let gone = world.engine.query(
            &world.container,
            &spec(text),
            &range(0),
            &QueryOptions::default(),
        );
        assert_refused!(gone, Error::PartitionKeyRangeGone { .. });
        for child in [1, 2] {
            all.extend(rest(&world, &range(child), text, token.clone()));
        }
        assert_eq!(numbers(&all), (0..150).collect::<Vec<_>>());
        // Two ranges under way become one: each token goes on with its own part.
        let (mut all, first) = query_page(&world, &range(1), text, None);
        let (more, second) = query_page(&world, &range(2), text, None);
        all.extend(more);
        merge(&world, &[1, 2]);
        for token in [first, second] {
            assert!(token.is_some());
            all.extend(rest(&world, &range(3), text, token));
        }
        assert_eq!(numbers(&all), (0..150).collect::<Vec<_>>());
    }
}

#[test]
fn a_feed_goes_on_in_both_directions() {
    for reverse in [false, true] {
        let world = World::new(FULL, 2);
        fill(&world, 0, 200);
        for shape in 0..3 {
            let mut page = Page {
                max_items: Some(9),
                reverse,
                ..Page::default()
            };
            let mut all = Vec::new();
            for number in 0..1_000 {
                if number == 2 {
                    let own = ids(&world);
                    match shape {
                        0 => drop(split(&world, own[0], Cut::Hash, 3)),
                        1 => drop(split(&world, *own.last().expect("some"), Cut::Size, 2)),
                        _ => drop(merge(&world, &own)),
                    }
                }
                let answer = world
                    .engine
                    .read_feed(&world.container, &Target::All, &page);
                let feed = answer.expect("readable").value;
                all.extend(rows(&feed));
                page.continuation = feed.continuation;
                if page.continuation.is_none() {
                    break;
                }
            }
            assert_eq!(
                numbers(&all),
                (0..200).collect::<Vec<_>>(),
                "reverse {reverse} shape {shape}"
            );
        }
    }
}

/// Changes of a target after a position, and the position then.
fn changes(world: &World, target: &Target, start: Start, mode: Mode) -> (Vec<String>, String) {
    let page = Page {
        max_items: Some(6),
        ..Page::default()
    };
    let (mut all, mut start) = (Vec::new(), start);
    for _ in 0..1_000 {
        let answer = world
            .engine
            .change_feed(&world.container, target, &start, mode, &page);
        let answer = answer.expect("readable").value;
        if answer.count == 0 {
            return (all, answer.etag);
        }
        let texts = rows(&FeedPage {
            rows: answer.rows,
            count: answer.count,
            continuation: None,
        });
        all.extend(texts);
        start = Start::After(answer.etag);
    }
    panic!("the feed does not end");
}

fn of_range(world: &World, id: u32, part: &EpkRange) -> Target {
    let partition = world.container.partition(PartitionKeyRangeId(id));
    assert!(partition.expect("there").range().overlaps(part));
    Target::Range {
        id: PartitionKeyRangeId(id),
        epk: Some(part.clone()),
    }
}

/// Key, id and version of an envelope of all versions.
fn version(envelope: &str) -> (String, String, u64) {
    let value = json::parse_str(envelope).expect("JSON");
    let current = value.member("current");
    let text = |name: &str| current.member(name).as_str().expect("text").to_owned();
    let version = current.member("v").as_i64().expect("a version");
    (text("pk"), text("id"), version as u64)
}

#[test]
fn change_feeds_go_on_and_keep_their_order() {
    let world = World::new(FULL, 1);
    let mut written = 0;
    let mut write = |count: u64| {
        for _ in 0..count {
            written += 1;
            let n = written * 7 % 31;
            let body = format!(r#"{{"id":"{n}","pk":"k{n}","v":{written}}}"#);
            world.upsert("", &body).expect("written");
        }
        written
    };
    let position =
        |target: &Target| changes(&world, target, Start::Now, Mode::AllVersionsAndDeletes).1;
    // The reader's feed ranges: one at the start, two after it has followed a split.
    let start = position(&range(0));
    let mut seen = Vec::new();
    write(40);
    split(&world, 0, Cut::Hash, 2);
    write(40);
    let mut feeds = Vec::new();
    for child in [1, 2] {
        let target = range(child);
        let after = Start::After(start.clone());
        let (texts, etag) = changes(&world, &target, after, Mode::AllVersionsAndDeletes);
        seen.extend(texts);
        let partition = world.container.partition(PartitionKeyRangeId(child));
        feeds.push((partition.expect("there").range().clone(), etag));
    }
    write(40);
    merge(&world, &[1, 2]);
    write(40);
    for (part, etag) in &mut feeds {
        let target = of_range(&world, 3, part);
        let after = Start::After(etag.clone());
        let (texts, next) = changes(&world, &target, after, Mode::AllVersionsAndDeletes);
        seen.extend(texts);
        *etag = next;
    }
    // Another reader reads all that is left of everything at once.
    let total = write(0);
    let mut versions: Vec<_> = seen.iter().map(|text| version(text)).collect();
    let numbers: Vec<u64> = versions.iter().map(|version| version.2).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=total).collect::<Vec<_>>(), "every change once");
    versions.sort_by(|a, b| a.0.cmp(&b.0));
    for pair in versions.windows(2) {
        assert!(
            pair[0].0 != pair[1].0 || pair[0].2 < pair[1].2,
            "in order of a key"
        );
    }
    let (latest, etag) = changes(&world, &range(3), Start::Beginning, Mode::LatestVersion);
    assert_eq!(latest.len(), 31, "each item once");
    assert_eq!(
        changes(&world, &range(3), Start::After(etag), Mode::LatestVersion)
            .0
            .len(),
        0
    );
}

#[test]
fn a_time_is_found_in_a_blended_log() {
    let world = World::new(FULL, 2);
    let mut first = 0;
    // The ranges have different positions at the same time.
    for n in 0..60 {
        if n % 10 == 0 {
            world.clock.advance(100);
        }
        let body = format!(
            r#"{{"id":"{n}","pk":"k{}","n":{n}}}"#,
            if n < 30 { 1 } else { n }
        );
        world.create("", &body).expect("created");
        if n == 39 {
            first = crate::harness::START + 401;
        }
    }
    merge(&world, &[0, 1]);
    world.clock.advance(100);
    fill(&world, 60, 70);
    let (texts, _) = changes(&world, &range(2), Start::Time(first), Mode::LatestVersion);
    let found = numbers(&texts);
    for n in 40..70 {
        assert!(found.contains(&n), "{n} is later than that");
    }
    let now = crate::harness::START + 700;
    let (texts, _) = changes(&world, &range(2), Start::Time(now), Mode::LatestVersion);
    assert_eq!(numbers(&texts), (60..70).collect::<Vec<_>>());
}

#[test]
fn a_merge_loses_no_history_that_nobody_cut() {
    let world = World::new(FULL, 2);
    let mode = Mode::AllVersionsAndDeletes;
    let starts: Vec<_> = [0, 1]
        .into_iter()
        .map(|id| {
            let partition = world.container.partition(PartitionKeyRangeId(id));
            let space = partition.expect("there").range().clone();
            (space, changes(&world, &range(id), Start::Now, mode).1)
        })
        .collect();
    fill(&world, 0, 40);
    merge(&world, &[0, 1]);
    world.clock.advance(60);
    world.engine.purge_expired(100).expect("cleaned");
    assert_eq!(
        world.container.ranges().partitions()[0]
            .statistics()
            .history_cut,
        Lsn(0)
    );
    let told: usize = starts
        .iter()
        .map(|(space, etag)| {
            let target = of_range(&world, 2, space);
            changes(&world, &target, Start::After(etag.clone()), mode)
                .0
                .len()
        })
        .sum();
    assert_eq!(told, 40);
}

#[test]
fn session_tokens_of_ancestors_count() {
    let world = World::new(FULL, 1);
    fill(&world, 0, 50);
    let lsn = world.container.ranges().partitions()[0].lsn();
    split(&world, 0, Cut::Hash, 2);
    split(&world, 1, Cut::Hash, 2);
    let read = |token: SessionToken| {
        let options = ReadOptions {
            session: vec![token],
            ..ReadOptions::default()
        };
        let item = ItemRef::Id("1".to_owned());
        let answer =
            world
                .engine
                .read_item(&world.container, &parse_key(r#"["k1"]"#), &item, &options);
        answer.map_err(Error::from)
    };
    let token = |range: u32, lsn: u64| SessionToken::new(PartitionKeyRangeId(range), Lsn(lsn));
    assert!(read(token(0, lsn.0)).is_ok());
    assert!(matches!(
        read(token(0, lsn.0 + 1)),
        Err(Error::ReadSessionNotAvailable)
    ));
}

#[test]
fn the_ranges_feed_tells_what_is_new_and_whose_children() {
    let world = World::new(FULL, 2);
    let ranges = |since: Option<&str>| {
        let answer = world.engine.pk_ranges(&world.container, since).value;
        let texts = answer.page.map(|page| rows(&page));
        (answer.etag, texts)
    };
    let (first, all) = ranges(None);
    assert_eq!(all.map(|all| all.len()), Some(2));
    assert_eq!(ranges(Some(&first)).1, None);
    split(&world, 0, Cut::Hash, 2);
    let (second, new) = ranges(Some(&first));
    let new = new.expect("there are new ones");
    let parents: Vec<String> = new.iter().map(|text| member(text, "parents")).collect();
    assert_eq!(parents, [r#"["0"]"#, r#"["0"]"#]);
    assert_eq!(
        member(&new[0], "maxExclusive"),
        member(&new[1], "minInclusive")
    );
    merge(&world, &[3, 1]);
    let (third, new) = ranges(Some(&second));
    let new = new.expect("there are new ones");
    assert_eq!(new.len(), 1);
    assert_eq!(member(&new[0], "parents"), r#"["0","1","3"]"#);
    assert_eq!(ranges(Some(&first)).1.expect("new").len(), 2);
    let all = ranges(None).1.expect("all");
    let mut edges: Vec<Value<'_>> = Vec::new();
    for text in &all {
        let value = json::parse_str(text).expect("JSON");
        edges.push(value.member("minInclusive").clone().into_owned());
        edges.push(value.member("maxExclusive").clone().into_owned());
    }
    assert_eq!(edges.first().and_then(Value::as_str), Some(""));
    assert_eq!(edges.last().and_then(Value::as_str), Some("FF"));
    assert_eq!(ranges(Some(&third)).1, None);
}

#[test]
fn a_prefix_of_a_hierarchical_key_spreads_over_children() {
    let world = World::new(
        r#"{"partitionKey":{"paths":["/t","/u"],"kind":"MultiHash","version":2}}"#,
        1,
    );
    for n in 0..120 {
        let body = format!(r#"{{"id":"{n}","t":"tenant","u":"u{n}","n":{n}}}"#);
        world.create("", &body).expect("created");
    }
    split(&world, 0, Cut::Size, 2);
    split(&world, 2, Cut::Size, 2);
    let key = Target::Key(parse_key(r#"["tenant"]"#));
    let found = rest(&world, &key, "SELECT * FROM c", None);
    assert_eq!(numbers(&found), (0..120).collect::<Vec<_>>());
    assert_eq!(numbers(&world.feed(&key, 11)), (0..120).collect::<Vec<_>>());
    let ranges = world.container.ranges();
    let items: Vec<u64> = ranges
        .partitions()
        .iter()
        .map(|one| one.statistics().items)
        .collect();
    assert_eq!(items.iter().sum::<u64>(), 120);
    assert!(items.iter().all(|&items| items > 20), "{items:?}");
}
