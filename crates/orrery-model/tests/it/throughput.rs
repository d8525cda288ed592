//! Throughput as it stands in requests and offers.

use orrery_model::json;
use orrery_model::limits::{Limits, Scale};
use orrery_model::throughput::{History, Throughput, ThroughputError};

#[test]
fn offers_have_the_published_shape() {
    let history = History {
        highest_manual: 400,
        ..History::default()
    };
    assert_eq!(
        json::to_string(&Throughput::Manual(400).to_content(&history)),
        r#"{"offerThroughput":400,"offerIsRUPerMinuteThroughputEnabled":false,"offerMinimumThroughputParameters":{"maxThroughputEverProvisioned":400,"maxConsumedStorageEverInKB":0}}"#
    );
    let autoscale = Throughput::Autoscale {
        max: 4_000,
        increment_percent: 0,
    };
    let content = autoscale.to_content(&History::default());
    assert_eq!(content.member("offerThroughput").as_i64(), Some(400));
    assert_eq!(
        json::to_string(content.member("offerAutopilotSettings")),
        r#"{"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":0}}}"#
    );
}

#[test]
fn content_that_is_refused() {
    let limits = Limits::default();
    for (text, error) in [
        ("[]", ThroughputError::InvalidInput),
        ("{}", ThroughputError::InvalidInput),
        (
            r#"{"offerThroughput":"400"}"#,
            ThroughputError::InvalidInput,
        ),
        (
            r#"{"offerThroughput":400.5}"#,
            ThroughputError::InvalidInput,
        ),
        (
            r#"{"offerAutopilotSettings":{}}"#,
            ThroughputError::InvalidInput,
        ),
        (
            r#"{"offerAutopilotSettings":{"maxThroughput":999}}"#,
            ThroughputError::BelowMinimum {
                requested: 999,
                minimum: 1_000,
            },
        ),
    ] {
        let content = json::parse_str(text).expect("JSON");
        assert_eq!(
            Throughput::from_content(&content, &limits),
            Err(error),
            "{text}"
        );
    }
}

#[test]
fn a_scale_model_shrinks_rates() {
    let scale: Scale = "1/1000".parse().expect("scale");
    let limits = Limits::default().scaled(scale);
    let rate = Throughput::manual(12, &limits).expect("a rate of the model");
    assert_eq!(rate.initial_partitions(false, &limits), 2);
    assert_eq!(rate.minimum(&History::default(), &limits), 1);
}
