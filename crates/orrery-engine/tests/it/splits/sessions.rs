//! Session tokens over splits and merges: the version rises with a merge and stays with a split, and
//! what a client knew of the parents holds for the children.

use orrery_engine::Error;
use orrery_engine::regions::{RegionId, RegionsConfig, Staleness};
use orrery_engine::split::Cut;
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::session::SessionToken;

use super::{merge, split};
use crate::harness::World;

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

fn token(range: u32, version: i64, lsn: u64) -> SessionToken {
    SessionToken {
        version,
        ..SessionToken::new(PartitionKeyRangeId(range), Lsn(lsn))
    }
}

/// Writes an item; the range that took it, the merges behind that, and its position.
fn write(world: &World, key: &str) -> (u32, u16, u64) {
    let body = format!(r#"{{"id":"1","pk":"{key}"}}"#);
    let answer = world.upsert("", &body).expect("written");
    let range = answer.meta.range.expect("a range");
    (range.0, answer.meta.merges, answer.meta.lsn.0)
}

/// A key of each of the two ranges, the first written far more often.
fn written(world: &World) -> [(String, u32, u64); 2] {
    let mut found: [Option<(String, u32, u64)>; 2] = [None, None];
    for number in 0..64 {
        let key = format!("k{number}");
        let (range, merges, lsn) = write(world, &key);
        assert_eq!(merges, 0);
        found[range as usize] = Some((key, range, lsn));
    }
    let [Some(mut first), Some(second)] = found else {
        panic!("no key in one of the ranges");
    };
    for _ in 0..100 {
        first.2 = write(world, &first.0).2;
    }
    [first, second]
}

fn is_served(world: &World, key: &str, session: Vec<SessionToken>) -> bool {
    let key = format!(r#"["{key}"]"#);
    match world.read_through(&world.engine, &key, "1", session) {
        Ok(_) => true,
        Err(Error::ReadSessionNotAvailable) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_merge_raises_the_version_and_a_split_keeps_it() {
    let mut world = World::new(PLAIN, 2);
    let [(key, parent, high), (other, sibling, low)] = written(&world);
    merge(&world, &[0, 1]);
    let (range, merges, lsn) = write(&world, &key);
    assert_eq!((range, merges), (2, 1));
    assert!(lsn > high && high > low);
    for key in [&key, &other] {
        // A parent's token is good; so is the range's own, unless it is from the future.
        for (session, served) in [
            (token(parent, -1, high), true),
            (token(sibling, -1, low), true),
            (token(2, 0, lsn), true),
            (token(2, 0, lsn + 1), false),
            (token(2, 1, 0), false),
        ] {
            let shown = session.to_string();
            assert_eq!(is_served(&world, key, vec![session]), served, "{shown}");
        }
    }
    split(&world, 2, Cut::Hash, 2);
    let (child, merges, now) = write(&world, &other);
    assert_eq!(merges, 1, "a split keeps it");
    assert!(now > lsn);
    // SDKs join the tokens of all ancestors: the highest version with the highest position.
    let joined = token(child, 0, lsn.max(high).max(low));
    assert!(is_served(&world, &other, vec![joined]));
    assert!(is_served(&world, &other, vec![token(2, 0, lsn)]));
    assert!(!is_served(&world, &other, vec![token(child, 0, now + 1)]));
    world.restart();
    assert_eq!(write(&world, &other).1, 1, "a restart keeps it");
    merge(&world, &[3, 4]);
    assert_eq!(write(&world, &other).1, 2, "the parents' highest and one");
}

#[test]
fn versions_of_several_regions_rise_with_merges_and_with_failovers() {
    let regions = RegionsConfig {
        names: vec!["East US".to_owned(), "West US".to_owned()],
        lag_ms: 1_000,
        staleness: Staleness::Any,
    };
    let world = World::in_regions(PLAIN, regions);
    let version = |merges| {
        let vector = world.engine.session_vector(merges, Lsn(1));
        vector.expect("several regions").0
    };
    assert_eq!((version(0), version(1)), (0, 1));
    let before = version(u16::MAX);
    world.engine.fail_over("West US").expect("it takes over");
    assert!(version(0) > before, "whatever was merged before");

    // What a session saw of the parents is there in the region that is behind.
    split(&world, 0, Cut::Hash, 2);
    let (parent, _, lsn) = write(&world, "k");
    merge(&world, &[1, 2]);
    let east = world.engine.in_region(RegionId(0));
    assert!(east.is_read_region());
    let session = vec![token(parent, version(0), lsn)];
    let read = |session| world.read_through(&east, r#"["k"]"#, "1", session);
    assert!(read(session).is_ok());
    world.engine.replicate().expect("the store answers");
    world.clock.advance(2);
    world.engine.replicate().expect("the store answers");
    let (range, merges, lsn) = write(&world, "k");
    assert_eq!(merges, 1);
    let session = vec![token(range, version(1), lsn)];
    assert!(matches!(read(session), Err(Error::ReadSessionNotAvailable)));
}
