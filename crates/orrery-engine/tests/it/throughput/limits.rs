//! The scale model shows the moments that the service's figures predict.

use orrery_engine::{Error, MetadataOptions, Metering};
use orrery_model::limits::{Limits, Scale};

use super::account::{Account, container, rate};

fn thousandth() -> Limits {
    let scale: Scale = "1/1000".parse().expect("a scale");
    Limits::default().scaled(scale)
}

/// Request units section 7: initial physical partitions by throughput, and the share of each.
#[test]
fn rates_have_the_partitions_and_budgets_of_their_thousandfold() {
    let account = Account::new(thousandth());
    account.create("/dbs", r#"{"id":"d"}"#, &MetadataOptions::default());
    for (throughput, partitions) in [(1, 1), (6, 1), (7, 2), (11, 2), (60, 10), (100, 17)] {
        let id = format!("c{throughput}");
        account.create("/dbs/d/colls", &container(&id), &rate(throughput));
        let there = account.open(&format!("/dbs/d/colls/{id}"));
        assert_eq!(
            there.ranges().partitions().len(),
            partitions,
            "{throughput}"
        );
        let budget = there.throughput().partition_budget().expect("a budget");
        let exact = throughput as f64 * 100.0 / partitions as f64;
        assert!(
            (budget as f64 - exact).abs() <= 1.0,
            "{throughput}: {budget}"
        );
        // What a minute serves is what the budget says, however coarse 1 RU is beside it.
        let outcome = account.reads(&there, "some key", 40, 60);
        let served = outcome.charge.units() / 60.0;
        let predicted = throughput as f64 / partitions as f64;
        assert!(
            (served / predicted - 1.0).abs() < 0.05,
            "{throughput}: {served} RU/s of {predicted}"
        );
    }
}

/// Request units sections 8 and 9: 20 GB of one key value, index included.
#[test]
fn a_logical_partition_is_full_at_a_thousandth_of_its_size() {
    let limits = Limits {
        // The wall, not the rate, is what this is about.
        logical_partition_bytes: thousandth().logical_partition_bytes / 10,
        ..thousandth()
    };
    let predicted = limits.logical_partition_bytes as f64;
    let account = Account::with(limits, Metering::default());
    let container = account.container(10);
    let filling = "x".repeat(9_000);
    let mut number = 0_u32;
    let refused = loop {
        let body = format!(r#"{{"id":"{number}","pk":"giant","filling":"{filling}"}}"#);
        let kind = orrery_engine::write::WriteKind::Create {
            body: body.into_bytes(),
        };
        let request = orrery_engine::write::WriteRequest::new(kind, None);
        match account.engine.write(&container, request) {
            Ok(_) => number += 1,
            Err(failure) => break failure.error,
        }
    };
    assert!(matches!(refused, Error::LogicalPartitionFull { .. }));
    let text = refused.to_string();
    assert_eq!(text, "Partition key reached maximum size of 2.05 MB");
    let partitions = container.ranges().partitions().to_vec();
    let bytes = partitions
        .iter()
        .map(|partition| partition.statistics().total_bytes());
    let stored = bytes.sum::<u64>() as f64;
    assert!(
        (stored / predicted - 1.0).abs() < 0.05,
        "{stored} bytes of {predicted}"
    );
    assert!(account.insert(&container, "other", "1").is_ok());
}
