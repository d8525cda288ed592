//! Each region has the whole throughput of a container, and a budget of its own.

use std::sync::Arc;

use orrery_engine::regions::{RegionId, RegionsConfig};
use orrery_engine::statistics::report::ReportDepth;
use orrery_engine::statistics::seconds::Totals;
use orrery_engine::throughput::claim::Claim;
use orrery_engine::write::{BatchKind, WriteKind, WriteRequest};
use orrery_engine::{Container, Engine, Error};
use orrery_model::partition_key::PartitionKey;

use super::account::Account;
use crate::harness::operation;

const EAST: RegionId = RegionId(0);
const WEST: RegionId = RegionId(1);

fn account() -> Account {
    Account::in_regions(RegionsConfig {
        names: vec!["East US".to_owned(), "West US".to_owned()],
        ..RegionsConfig::default()
    })
}

/// How many of so many reads of 1 RU at once a region serves.
fn served(account: &Account, region: RegionId, container: &Container, reads: u64) -> u64 {
    let view = account.view(region);
    let answers = (0..reads).map(|_| view.read(container, "a", Claim::default()));
    answers.flatten().count() as u64
}

/// What a region has counted of the only range.
fn totals(engine: &Engine, region: RegionId) -> Totals {
    let depth = ReportDepth {
        seconds: 10,
        most: 3,
    };
    let report = engine.in_region(region).report(depth).expect("a report");
    report[0].ranges[0].totals
}

/// Writes new items until so much is charged, or one is refused; what they cost.
fn write(account: &Account, container: &Arc<Container>, most: f64, name: &str) -> f64 {
    let mut charge = 0.0;
    let mut number = 0;
    while charge < most {
        number += 1;
        match account.insert(container, "a", &format!("{name}{number}")) {
            Ok(units) => charge += units.units(),
            Err(Error::TooManyRequests(_)) => break,
            Err(error) => panic!("{error}"),
        }
    }
    charge
}

#[test]
fn reads_use_the_budget_of_their_region_alone() {
    let account = account();
    let container = account.container(400);
    assert_eq!(served(&account, WEST, &container, 1_000), 400);
    assert_eq!(served(&account, EAST, &container, 1_000), 400);
    // The account's own endpoint is that of the write region.
    assert!(account.read(&container, "a", Claim::default()).is_err());
    account.clock.advance(2);
    account.engine.fail_over("West US").expect("it takes over");
    assert_eq!(served(&account, WEST, &container, 1_000), 400);
    assert!(account.read(&container, "a", Claim::default()).is_err());
    assert_eq!(served(&account, EAST, &container, 1_000), 400);
    let (east, west) = (totals(&account.engine, EAST), totals(&account.engine, WEST));
    assert_eq!((east.requests, west.requests), (800, 800));
    assert_eq!((east.refused, west.refused), (1_201, 1_201));
    assert_eq!(
        account.view(EAST).engine.reported_region().as_deref(),
        Some("East US")
    );
}

#[test]
fn writes_use_the_budget_of_every_region() {
    let account = account();
    let container = account.container(400);
    // Reads far away leave the writes alone.
    assert_eq!(served(&account, WEST, &container, 1_000), 400);
    let charge = write(&account, &container, 1_000.0, "first");
    assert!((400.0..406.0).contains(&charge), "{charge}");
    // The second is over its budget by a whole one there, so the next one pays it back.
    account.clock.advance(1);
    assert_eq!(served(&account, WEST, &container, 1_000), 0);
    assert_eq!(served(&account, EAST, &container, 100), 100);
    account.clock.advance(2);
    let east = totals(&account.engine, EAST);
    let charge = write(&account, &container, 40.0, "second");
    let left = served(&account, WEST, &container, 1_000) as f64;
    assert!((left - (400.0 - charge)).abs() <= 1.0, "{left} {charge}");
    let grown = totals(&account.engine, EAST).hundredths - east.hundredths;
    assert_eq!(grown, (charge * 100.0).round() as u64);
}

#[test]
fn only_what_was_written_is_replicated() {
    let account = account();
    let container = account.container(400);
    account.insert(&container, "a", "1").expect("written");
    let once = totals(&account.engine, WEST);
    assert_eq!(once.requests, 0, "it served nothing");
    assert_eq!(once.hundredths, totals(&account.engine, EAST).hundredths);
    // A conflict costs something where it was found, and nothing elsewhere.
    let conflict = account.insert(&container, "a", "1");
    assert!(matches!(conflict, Err(Error::Conflict(_))));
    assert_eq!(totals(&account.engine, WEST), once);
    assert!(totals(&account.engine, EAST).hundredths > once.hundredths);

    for (atomic, id) in [(true, "2"), (false, "3")] {
        let (east, west) = (totals(&account.engine, EAST), totals(&account.engine, WEST));
        let body = format!(r#"{{"id":"{id}","pk":"a"}}"#).into_bytes();
        let kinds = [
            BatchKind::Create { body },
            BatchKind::Read { id: "1".to_owned() },
        ];
        let kind = WriteKind::Batch {
            operations: kinds.map(operation).into(),
            atomic,
            continue_on_error: true,
        };
        let request = WriteRequest::new(kind, Some(PartitionKey::single("a")));
        account.engine.write(&container, request).expect("answered");
        let grown =
            |region, before: Totals| totals(&account.engine, region).hundredths - before.hundredths;
        // The read of a small item is 1 RU.
        assert_eq!(grown(EAST, east), grown(WEST, west) + 100, "{atomic}");
    }
}

#[test]
fn a_shared_database_has_its_budget_in_each_region() {
    let account = account();
    let (a, b) = account.shared_database();
    assert_eq!(served(&account, EAST, &a, 300), 300);
    assert_eq!(served(&account, EAST, &b, 300), 100);
    assert_eq!(served(&account, WEST, &b, 1_000), 400);
    assert_eq!(served(&account, WEST, &a, 10), 0);
}

#[test]
fn a_split_shares_out_the_throughput_in_each_region() {
    let account = account();
    let container = account.container(400);
    let range = container.ranges().partitions()[0].id();
    let cut = orrery_engine::split::Cut::Hash;
    account
        .engine
        .split_range(&container, range, cut, 2)
        .expect("lined up");
    while account.engine.advance_reshapes(100).expect("advanced") > 0 {}
    assert_eq!(container.ranges().partitions().len(), 2);
    for region in [WEST, EAST] {
        assert_eq!(served(&account, region, &container, 1_000), 200);
    }
}
