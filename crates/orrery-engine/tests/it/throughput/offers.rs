//! Offers change budgets at once, within the service's rules.

use orrery_engine::error::ThrottleCause;
use orrery_engine::page::Page;
use orrery_engine::throughput::claim::{Bucket, Claim};
use orrery_engine::write::{WriteKind, WriteRequest};
use orrery_engine::{Error, MetadataOptions};
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::value::Value;

use super::account::{Account, container, path};

impl Account {
    /// The only offer.
    fn offer(&self) -> Value<'static> {
        let feed = self
            .engine
            .catalog()
            .list(&path("/offers"), &Page::default())
            .expect("the offers are listed");
        json::parse(&feed.value.page.rows)
            .expect("one offer")
            .into_owned()
    }

    /// Replaces the only offer by one with this content.
    pub fn replace_offer(&self, content: &str) -> Result<(), Error> {
        let offer = self.offer();
        let rid = offer.member("_rid").as_str().expect("a rid").to_owned();
        let mut offer = offer;
        let content = json::parse_str(content).expect("JSON").into_owned();
        if let Some(members) = offer.as_object_mut() {
            members.insert("content", content);
        }
        let body = json::to_string(&offer);
        self.engine
            .catalog()
            .replace(
                &path(&format!("/offers/{rid}")),
                body.as_bytes(),
                &MetadataOptions::default(),
            )
            .map(|_| ())
            .map_err(|failure| failure.error)
    }
}

#[test]
fn raising_and_lowering_hold_from_the_next_second_on() {
    let account = Account::new(Limits::default());
    let container = account.container(400);
    assert_eq!(account.reads(&container, "a", 10_000, 1).served, 400);
    account
        .replace_offer(r#"{"offerThroughput":1500}"#)
        .expect("raised");
    assert_eq!(account.reads(&container, "a", 10_000, 1).served, 1_500);
    account
        .replace_offer(r#"{"offerThroughput":500}"#)
        .expect("lowered");
    assert_eq!(account.reads(&container, "a", 10_000, 1).served, 500);
    let refused = account.replace_offer(r#"{"offerThroughput":450}"#);
    assert!(
        matches!(refused, Err(Error::BadRequest(_))),
        "no step of 100"
    );
    assert_eq!(account.reads(&container, "a", 10_000, 1).served, 500);
}

#[test]
fn autoscale_serves_its_maximum_at_once_and_reports_what_it_reached() {
    let account = Account::new(Limits::default());
    account.create("/dbs", r#"{"id":"d"}"#, &MetadataOptions::default());
    let options = MetadataOptions {
        autoscale_settings: Some(r#"{"maxThroughput":4000}"#.to_owned()),
        ..MetadataOptions::default()
    };
    account.create("/dbs/d/colls", &container("c"), &options);
    let container = account.open("/dbs/d/colls/c");
    let scaled = || {
        let depth = orrery_engine::statistics::report::ReportDepth {
            seconds: 10,
            most: 1,
        };
        let report = account.engine.report(depth).expect("a report");
        report[0].scaled_rate.expect("a rate")
    };
    assert_eq!(scaled(), 400, "a tenth is always there");
    assert_eq!(account.reads(&container, "a", 2_000, 1).refused, 0);
    assert_eq!(scaled(), 2_000);
    assert_eq!(account.reads(&container, "a", 5_000, 1).served, 4_000);
    assert_eq!(scaled(), 4_000);
    account.clock.advance(60);
    assert_eq!(scaled(), 400);
}

#[test]
fn buckets_have_caps_that_change_every_ten_minutes_at_most() {
    let account = Account::new(Limits::default());
    let container = account.container(1_000);
    let buckets = |percent: u32| {
        format!(
            r#"{{"offerThroughput":1000,"throughputBuckets":[{{"id":2,"maxThroughputPercentage":{percent}}}]}}"#
        )
    };
    account.replace_offer(&buckets(20)).expect("set");
    assert_eq!(container.throughput().buckets(), [0, 20, 0, 0, 0]);
    let claim = Claim {
        bucket: Bucket::new(2),
        ..Claim::default()
    };
    let served = (0..400)
        .filter(|_| account.read(&container, "a", claim).is_ok())
        .count();
    assert_eq!(served, 200);
    let throttle = account
        .read(&container, "a", claim)
        .expect_err("the cap is reached");
    assert_eq!(throttle.cause, ThrottleCause::Bucket);
    assert!(account.read(&container, "a", Claim::default()).is_ok());
    account.clock.advance(599);
    let early = account.replace_offer(&buckets(50));
    assert!(matches!(early, Err(Error::TooManyRequests(throttle))
            if throttle.cause == ThrottleCause::BucketChange && throttle.retry_after_ms == 1_000));
    account.clock.advance(1);
    account.replace_offer(&buckets(50)).expect("changed");
    // A replace that does not speak of buckets leaves them.
    account
        .replace_offer(r#"{"offerThroughput":2000}"#)
        .expect("raised");
    assert_eq!(container.throughput().buckets(), [0, 50, 0, 0, 0]);
    for bad in [
        "{}",
        r#"[{"id":6,"maxThroughputPercentage":1}]"#,
        r#"[{"id":1}]"#,
    ] {
        let content = format!(r#"{{"offerThroughput":2000,"throughputBuckets":{bad}}}"#);
        let refused = account.replace_offer(&content);
        assert!(matches!(refused, Err(Error::BadRequest(_))), "{bad}");
    }
}

#[test]
fn throughput_is_changed_25_times_in_five_minutes_at_most() {
    let account = Account::new(Limits::default());
    account.container(1_000);
    let change = |number: u64| {
        let rate = if number.is_multiple_of(2) {
            1_000
        } else {
            1_100
        };
        account.replace_offer(&format!(r#"{{"offerThroughput":{rate}}}"#))
    };
    for number in 0..25 {
        account.clock.advance(2);
        change(number).expect("changed");
    }
    let early = change(25);
    assert!(matches!(early, Err(Error::TooManyRequests(throttle))
            if throttle.cause == ThrottleCause::ThroughputChanges
                && throttle.retry_after_ms == 252_000));
    account.clock.advance(252);
    change(25).expect("the first was five minutes ago");
    assert!(change(26).is_err(), "the second was not");
}

#[test]
fn autoscale_is_raised_when_its_data_outgrows_it() {
    let limits = Limits {
        bytes_per_min_rate: 1_000,
        ..Limits::default()
    };
    let account = Account::new(limits);
    account.create("/dbs", r#"{"id":"d"}"#, &MetadataOptions::default());
    let options = MetadataOptions {
        autoscale_settings: Some(r#"{"maxThroughput":1000}"#.to_owned()),
        ..MetadataOptions::default()
    };
    account.create("/dbs/d/colls", &container("c"), &options);
    let opened = account.open("/dbs/d/colls/c");
    let max = || {
        let offer = account.offer();
        let settings = offer.member("content").member("offerAutopilotSettings");
        settings.member("maxThroughput").as_i64()
    };
    account.engine.maintain(100).expect("maintained");
    assert_eq!(max(), Some(1_000));
    // 0.1 of the maximum in thousands of bytes: 100,000 bytes are the most that 1,000 RU/s hold.
    let text = "x".repeat(70_000);
    for id in ["1", "2"] {
        let body = format!(r#"{{"id":"{id}","pk":"a","text":"{text}"}}"#);
        let body = body.into_bytes();
        let request = WriteRequest::new(WriteKind::Create { body }, None);
        account.engine.write(&opened, request).expect("written");
        account.clock.advance(5);
    }
    account.engine.maintain(100).expect("maintained");
    assert_eq!(max(), Some(2_000));
    account.engine.maintain(100).expect("maintained");
    assert_eq!(max(), Some(2_000));
}
