//! Read regions: what they show, when, and who takes the writes.

use orrery_engine::Engine;
use orrery_engine::error::Error;
use orrery_engine::page::{Page, Target};
use orrery_engine::query::QueryOptions;
use orrery_engine::regions::{RegionId, RegionsConfig, Staleness};
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::session::SessionToken;

use crate::harness::World;
use crate::query::asking::spec;

const DEFINITION: &str = r#"{"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}"#;
const EAST: RegionId = RegionId(0);
const WEST: RegionId = RegionId(1);

fn config(lag_ms: u64, staleness: Staleness) -> RegionsConfig {
    RegionsConfig {
        names: vec!["East US".to_owned(), "West US".to_owned()],
        lag_ms,
        staleness,
    }
}

fn world(staleness: Staleness) -> World {
    World::in_regions(DEFINITION, config(1_000, staleness))
}

/// Lets time pass in steps in which the present is noted.
fn pass(world: &World, ms: u64) {
    for _ in 0..ms.div_ceil(50) {
        world.clock.advance_us(50_000);
        world.engine.replicate().expect("the store answers");
    }
}

fn write(world: &World, version: u32) -> Lsn {
    let body = format!(r#"{{"id": "a", "pk": "k", "v": {version}}}"#);
    let answer = world.upsert(r#"["k"]"#, &body);
    answer.expect("the write is taken").meta.lsn
}

/// The version of the item that a handle sees; 0 for none.
fn seen(world: &World, engine: &Engine) -> u32 {
    match world.read_through(engine, r#"["k"]"#, "a", Vec::new()) {
        Ok(text) => version_of(&text),
        Err(Error::NotFound) => 0,
        Err(error) => panic!("{error}"),
    }
}

fn version_of(text: &str) -> u32 {
    let (_, rest) = text.split_once("\"v\":").expect("the item has a version");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

fn token(engine: &Engine, lsn: Lsn) -> SessionToken {
    let (term, others) = engine.session_vector(0, lsn).expect("several regions");
    SessionToken::parse(&format!("0:{term}#{lsn}{others}")).expect("a token of ours")
}

#[test]
fn a_read_region_shows_the_past_and_comes_after() {
    let world = world(Staleness::Any);
    let west = world.engine.in_region(WEST);
    let east = world.engine.in_region(EAST);
    assert!(west.is_read_region() && !east.is_read_region());
    write(&world, 1);
    assert_eq!((seen(&world, &east), seen(&world, &west)), (1, 0));
    pass(&world, 600);
    write(&world, 2);
    assert_eq!(seen(&world, &west), 0);
    pass(&world, 600);
    assert_eq!((seen(&world, &east), seen(&world, &west)), (2, 1));
    pass(&world, 600);
    assert_eq!(seen(&world, &west), 2);
}

#[test]
fn queries_feeds_and_the_change_feed_agree_with_reads() {
    let world = world(Staleness::Any);
    let west = world.engine.in_region(WEST);
    for number in 0..5 {
        let body = format!(r#"{{"id": "{number}", "pk": "k", "v": {number}}}"#);
        world.create(r#"["k"]"#, &body).expect("a new item");
        pass(&world, 400);
    }
    // Written 2,000, 1,600, 1,200, 800 and 400 ms ago; the region is 1,000 ms behind.
    let count = |engine: &Engine| {
        let options = QueryOptions {
            cross_partition: true,
            ..QueryOptions::default()
        };
        let text = spec("SELECT VALUE COUNT(1) FROM c");
        let page = engine.query(&world.container, &text, &Target::All, &options);
        String::from_utf8(page.expect("a page").value.rows).expect("UTF-8")
    };
    assert_eq!(
        (count(&west), count(&world.engine)),
        ("3".into(), "5".into())
    );
    let feed = west.read_feed(&world.container, &Target::All, &Page::default());
    assert_eq!(feed.expect("a page").value.count, 3);
    assert_eq!(
        crate::change_feed::ids_from_start(&world, &west),
        ["0", "1", "2"]
    );
}

#[test]
fn a_session_is_never_shown_less_than_its_token() {
    let world = world(Staleness::Any);
    let west = world.engine.in_region(WEST);
    let lsn = write(&world, 1);
    let session = vec![token(&world.engine, lsn)];
    let read = || world.read_through(&west, r#"["k"]"#, "a", session.clone());
    assert!(matches!(read(), Err(Error::ReadSessionNotAvailable)));
    pass(&world, 1_100);
    assert_eq!(version_of(&read().expect("it has arrived")), 1);
    let other = SessionToken {
        range: Some(PartitionKeyRangeId(9)),
        ..session[0].clone()
    };
    write(&world, 2);
    let read = world.read_through(&west, r#"["k"]"#, "a", vec![other]);
    assert_eq!(version_of(&read.expect("another range's token")), 1);
}

#[test]
fn a_paused_region_stands_still_and_catches_up() {
    let world = world(Staleness::Any);
    let west = world.engine.in_region(WEST);
    let set = |lag, paused| world.engine.set_replication("west us", lag, Some(paused));
    write(&world, 1);
    pass(&world, 1_500);
    set(None, true).expect("the region is known");
    for version in 2..60 {
        write(&world, version);
        pass(&world, 500);
    }
    assert_eq!(seen(&world, &west), 1);
    set(Some(700), false).expect("the region is known");
    let after = seen(&world, &west);
    assert!((57..=58).contains(&after), "{after}");
    pass(&world, 1_000);
    assert_eq!(seen(&world, &west), 59);
    let unknown = world.engine.set_replication("Mars", None, Some(true));
    assert!(matches!(unknown, Err(Error::BadRequest(_))));
}

#[test]
fn strong_accounts_read_every_write_or_take_none() {
    let world = world(Staleness::Never);
    let west = world.engine.in_region(WEST);
    for version in 1..4 {
        write(&world, version);
        assert_eq!(seen(&world, &west), version);
    }
    world
        .engine
        .set_replication("West US", None, Some(true))
        .expect("the region is known");
    let body = r#"{"id": "a", "pk": "k", "v": 9}"#;
    let refused = world.upsert(r#"["k"]"#, body).expect_err("no quorum");
    assert!(matches!(refused.error, Error::Unavailable(_)));
    assert_eq!((seen(&world, &west), seen(&world, &world.engine)), (3, 3));
}

#[test]
fn bounded_staleness_has_a_bound() {
    let world = world(Staleness::Bounded);
    let west = world.engine.in_region(WEST);
    write(&world, 1);
    pass(&world, 1_500);
    world
        .engine
        .set_replication("West US", None, Some(true))
        .expect("the region is known");
    write(&world, 2);
    world.engine.replicate().expect("the store answers");
    world.clock.advance(200);
    assert_eq!(seen(&world, &west), 1);
    world.clock.advance(101);
    assert_eq!(seen(&world, &west), 2);
}

#[test]
fn a_failover_turns_the_regions_around_and_is_kept() {
    let mut world = world(Staleness::Any);
    let lsn = write(&world, 1);
    let before = token(&world.engine, lsn);
    let paused = |paused| world.engine.set_replication("West US", None, Some(paused));
    paused(true).expect("the region is known");
    assert!(matches!(
        world.engine.fail_over("West US"),
        Err(Error::Conflict(_))
    ));
    paused(false).expect("the region is known");
    world.engine.fail_over("West US").expect("it takes over");
    world
        .engine
        .fail_over("West US")
        .expect("it has taken over");
    let (west, east) = (world.engine.in_region(WEST), world.engine.in_region(EAST));
    assert!(east.is_read_region() && !west.is_read_region());
    assert_eq!(seen(&world, &west), 1, "nothing acknowledged is lost");
    let lsn = write(&world, 2);
    pass(&world, 500);
    assert_eq!(seen(&world, &west), 2);
    assert_eq!(seen(&world, &east), 1);
    let after = token(&world.engine, lsn);
    assert!(after.version > before.version);
    let read = |engine, token: &SessionToken| {
        world.read_through(engine, r#"["k"]"#, "a", vec![token.clone()])
    };
    assert!(read(&west, &before).is_ok() && read(&east, &before).is_ok());
    assert!(matches!(
        read(&east, &after),
        Err(Error::ReadSessionNotAvailable)
    ));

    world.open_regions(config(1_000, Staleness::Any));
    let writers: Vec<bool> = world
        .engine
        .regions()
        .iter()
        .map(|one| one.writes)
        .collect();
    assert_eq!(writers, [false, true]);
    // Without that region the first one writes, in a term of its own.
    let mut fewer = config(1_000, Staleness::Any);
    fewer.names[1] = "North Europe".to_owned();
    world.open_regions(fewer);
    assert!(world.engine.regions()[0].writes);
    let (term, _) = world
        .engine
        .session_vector(0, lsn)
        .expect("several regions");
    assert!(term > after.version);
}

#[test]
fn new_containers_and_one_region() {
    let mut world = world(Staleness::Any);
    world.open_regions(RegionsConfig::default());
    write(&world, 1);
    assert!(world.engine.regions().is_empty());
    assert_eq!(world.engine.session_vector(0, Lsn(1)), None);
    let only = RegionsConfig {
        names: vec!["East US".to_owned()],
        ..RegionsConfig::default()
    };
    world.open_regions(only);
    write(&world, 2);
    let east = world.engine.in_region(EAST);
    assert_eq!(seen(&world, &east), 2);
    assert_eq!(world.engine.session_vector(0, Lsn(1)), None);
}
