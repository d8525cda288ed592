//! Who is refused, and who is not.

use orrery_engine::error::ThrottleCause;
use orrery_engine::throughput::claim::{Bucket, Claim};
use orrery_engine::write::{BatchKind, WriteKind, WriteOutcome, WriteRequest};
use orrery_engine::{Error, MetadataOptions, Metering};
use orrery_model::limits::Limits;
use orrery_model::partition_key::PartitionKey;

use super::account::{Account, Outcome, container, rate};
use crate::harness::operation;

#[test]
fn one_hot_key_is_refused_alone_while_most_throughput_idles() {
    let account = Account::new(Limits::default());
    let container = account.container(12_000);
    let keys = Account::keys(&container);
    assert_eq!(keys.len(), 2);
    // 6,000 RU/s for each of the ranges; 15,000 reads of 1 RU on a key of the first, 200 on one
    // of the second.
    let (mut hot, mut light) = (Outcome::default(), Outcome::default());
    let (per_second, seconds) = (15_000, 4);
    for number in 0..per_second * seconds {
        hot.add(account.read(&container, &keys[0], Claim::default()));
        if number % 75 == 0 {
            light.add(account.read(&container, &keys[1], Claim::default()));
        }
        let until = (number + 1) * 1_000_000 / per_second;
        account
            .clock
            .advance_us(until - number * 1_000_000 / per_second);
    }
    let computed = 1.0 - 6_000.0 / 15_000.0;
    let share = hot.refused_share();
    assert!((share - computed).abs() < 0.05, "{share} of {computed}");
    assert_eq!((light.refused, light.served), (0, 200 * seconds));
    let used = (hot.charge.units() + light.charge.units()) / seconds as f64;
    assert!(used < 12_000.0 * 0.55, "{used} RU/s of 12,000");
}

#[test]
fn a_refusal_says_when_to_come_back_and_costs_nothing() {
    let account = Account::new(Limits::default());
    let container = account.container(400);
    let served = account.reads(&container, "a", 4_000, 1);
    assert_eq!(served.served, 400);
    for _ in 0..400 {
        assert!(account.read(&container, "a", Claim::default()).is_ok());
    }
    account.clock.advance_us(750_000);
    let throttle = account
        .read(&container, "a", Claim::default())
        .expect_err("the budget is spent");
    assert_eq!(throttle.cause, ThrottleCause::RequestUnits);
    assert_eq!(throttle.retry_after_ms, 250);
    account.clock.advance_us(250_000);
    assert!(account.read(&container, "a", Claim::default()).is_ok());
}

#[test]
fn writes_and_operations_of_bulks_are_refused_one_by_one() {
    let account = Account::new(Limits::default());
    let container = account.container(400);
    let mut written = 0;
    let refused = loop {
        match account.insert(&container, "a", &format!("w{written}")) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::TooManyRequests(_)), "{refused}");
    // 5.59 RU each: `id`, `pk` and `_ts` are terms, less would be wrong by a term.
    assert!((68..=75).contains(&written), "{written}");
    account.clock.advance(1);
    let kinds = (0..100).map(|number| {
        let body = format!(r#"{{"id":"b{number}","pk":"a"}}"#).into_bytes();
        operation(BatchKind::Create { body })
    });
    let kind = WriteKind::Batch {
        operations: kinds.collect(),
        atomic: false,
        continue_on_error: true,
    };
    let request = WriteRequest::new(kind, Some(PartitionKey::single("a")));
    let answer = account.engine.write(&container, request).expect("answered");
    let WriteOutcome::Batch(batch) = answer.value else {
        panic!("not a batch");
    };
    let served = batch.results.iter().filter(|one| one.outcome.is_ok());
    let refused = batch
        .results
        .iter()
        .filter(|one| matches!(one.outcome, Err(Error::TooManyRequests(_))));
    let (served, refused) = (served.count(), refused.count());
    assert_eq!(served + refused, 100);
    assert!((68..=75).contains(&served), "{served}");
}

#[test]
fn nobody_is_refused_unless_the_account_or_the_container_throttles() {
    let account = Account::with(Limits::default(), Metering::default());
    let container = account.container(400);
    assert_eq!(account.reads(&container, "a", 1_000, 1).refused, 0);
    container.throughput().set_throttle(Some(true));
    assert_eq!(account.reads(&container, "a", 1_000, 1).served, 400);
    container.throughput().set_throttle(None);
    account.engine.set_throttle(true);
    assert_eq!(account.reads(&container, "a", 1_000, 1).served, 400);
    container.throughput().set_throttle(Some(false));
    assert_eq!(account.reads(&container, "a", 1_000, 1).refused, 0);
}

#[test]
fn containers_of_a_shared_database_use_one_budget() {
    let account = Account::new(Limits::default());
    let (a, b) = account.shared_database();
    assert_eq!(account.reads(&a, "k", 1_000, 1).served, 400);
    for _ in 0..300 {
        assert!(account.read(&a, "k", Claim::default()).is_ok());
    }
    let left = (0..300)
        .filter(|_| account.read(&b, "k", Claim::default()).is_ok())
        .count();
    assert_eq!(left, 100);
    // One with an offer of its own does not share.
    account.create("/dbs/d/colls", &container("own"), &rate(500));
    let own = account.open("/dbs/d/colls/own");
    assert_eq!(account.reads(&own, "k", 1_000, 1).served, 500);
}

#[test]
fn a_serverless_partition_has_the_rate_of_its_kind() {
    let metering = Metering {
        throttle: true,
        serverless: true,
        ..Metering::default()
    };
    let account = Account::with(Limits::default(), metering);
    account.create("/dbs", r#"{"id":"d"}"#, &MetadataOptions::default());
    account.create("/dbs/d/colls", &container("c"), &MetadataOptions::default());
    let there = account.open("/dbs/d/colls/c");
    assert_eq!(account.reads(&there, "k", 10_000, 1).served, 5_000);
    let refused = account.engine.catalog().create(
        &super::account::path("/dbs/d/colls"),
        container("other").as_bytes(),
        &rate(400),
    );
    assert!(matches!(
        refused.map_err(|failure| failure.error),
        Err(Error::BadRequest(_))
    ));
}

#[test]
fn idle_partitions_burst_where_that_is_on() {
    let metering = Metering {
        throttle: true,
        burst: true,
        ..Metering::default()
    };
    let account = Account::with(Limits::default(), metering);
    let container = account.container(400);
    assert_eq!(account.reads(&container, "a", 10, 10).refused, 0);
    // Ten seconds saved 390 each; 3,000 are spent in one second at most.
    let burst = account.reads(&container, "a", 5_000, 1);
    assert_eq!(burst.served, 3_000);
    let bucket = Claim {
        bucket: Bucket::new(1),
        ..Claim::default()
    };
    account.clock.advance(30);
    let served = (0..1_000)
        .filter(|_| account.read(&container, "a", bucket).is_ok())
        .count();
    assert_eq!(served, 400, "requests of buckets do not burst");
}

#[test]
fn metadata_has_a_rate_of_its_own() {
    let account = Account::new(Limits::default());
    let answers: Vec<_> = (0..300)
        .map(|_| account.engine.admit_metadata().is_ok())
        .collect();
    assert_eq!(answers.iter().filter(|served| **served).count(), 240);
    account.clock.advance(1);
    assert!(account.engine.admit_metadata().is_ok());
}
