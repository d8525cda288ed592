//! What the account knows of its load.

use orrery_engine::Metering;
use orrery_engine::catalog::feeds::QuerySpec;
use orrery_engine::page::Target;
use orrery_engine::query::QueryOptions;
use orrery_engine::statistics::report::ReportDepth;
use orrery_model::limits::Limits;
use orrery_model::partition_key::PartitionKey;

use super::account::Account;

const DEPTH: ReportDepth = ReportDepth {
    seconds: 60,
    most: 5,
};

#[test]
fn ranges_keys_and_refusals_are_counted_where_they_happen() {
    let account = Account::new(Limits::default());
    let container = account.container(12_000);
    let keys = Account::keys(&container);
    for key in &keys {
        account.insert(&container, key, "1").expect("created");
    }
    account.clock.advance(1);
    account.reads(&container, &keys[0], 9_000, 2);
    account.reads(&container, &keys[1], 500, 1);
    let report = account.engine.report(DEPTH).expect("a report");
    assert_eq!(report.len(), 1);
    let [hot, cool] = report[0].ranges.as_slice() else {
        panic!("two ranges");
    };
    assert_eq!((hot.totals.requests, hot.totals.refused), (12_001, 6_000));
    assert_eq!((cool.totals.requests, cool.totals.refused), (501, 0));
    let second = hot.recent[hot.recent.len() - 1];
    assert_eq!(second.counts.hundredths, 600_000);
    assert_eq!(hot.normalized(), Some(100.0));
    let cool = cool.normalized().expect("a budget");
    assert!((cool - 500.0 / 60.0).abs() < 0.1, "{cool}");
    assert_eq!(report[0].normalized(), Some(100.0));
    let heaviest = &hot.heaviest[0];
    assert_eq!(heaviest.key, Some(PartitionKey::single(keys[0].as_str())));
    assert_eq!(heaviest.weight.refused, 6_000);
    assert!(heaviest.weight.share > 99.9);
}

#[test]
fn queries_are_counted_by_shape_with_the_ranges_that_they_visit() {
    let account = Account::new(Limits::default());
    let container = account.container(12_000);
    for key in Account::keys(&container) {
        account.insert(&container, &key, "1").expect("created");
    }
    let options = QueryOptions {
        cross_partition: true,
        ..QueryOptions::default()
    };
    let mut charge = 0.0;
    for number in 0..3 {
        for partition in container.ranges().partitions() {
            let spec = QuerySpec {
                text: format!("SELECT * FROM c WHERE c.n = {number}"),
                parameters: Vec::new(),
                resume_filter: None,
            };
            let target = Target::Range {
                id: partition.id(),
                epk: None,
            };
            let page = account.engine.query(&container, &spec, &target, &options);
            charge += page.expect("runs").meta.charge.units();
        }
    }
    let report = account.engine.report(DEPTH).expect("a report");
    let [shape] = report[0].queries.as_slice() else {
        panic!("one shape: {:?}", report[0].queries);
    };
    assert_eq!(shape.text, "SELECT * FROM c WHERE c.n = ?");
    assert_eq!((shape.pages, shape.ranges.len()), (6, 2));
    assert!((shape.hundredths as f64 - charge * 100.0).abs() < 1.0);
}

#[test]
fn the_largest_logical_partitions_are_found_exactly() {
    let account = Account::with(Limits::default(), Metering::default());
    let container = account.container(400);
    for (key, items) in [("small", 1), ("giant", 40), ("middle", 9)] {
        for number in 0..items {
            let id = number.to_string();
            account.insert(&container, key, &id).expect("created");
        }
    }
    let partition = &container.ranges().partitions()[0].clone();
    let sizes = || {
        account
            .engine
            .key_sizes(&container.state(), partition)
            .expect("found")
    };
    let found = sizes();
    assert_eq!(found.distinct, 3);
    let keys: Vec<_> = found
        .largest
        .iter()
        .map(|large| (large.key.clone(), large.items))
        .collect();
    let key = |text: &str| Some(PartitionKey::single(text));
    assert_eq!(
        keys,
        [(key("giant"), 40), (key("middle"), 9), (key("small"), 1)]
    );
    let sum: u64 = found.largest.iter().map(|large| large.bytes).sum();
    assert_eq!(sum, partition.statistics().total_bytes());
    // A moment later the old answer will do, after a while it will not.
    account
        .insert(&container, "small", "more")
        .expect("created");
    assert_eq!(sizes(), found);
    account.clock.advance(10);
    assert_eq!(sizes().largest[2].items, 2);
}
