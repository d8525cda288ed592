//! Mutations of the method (section 14.1, item 4): each must be noticed by a worked scenario.

use std::collections::BTreeMap;

use orrery_keylab::demand::Window;
use orrery_keylab::layout::{Building, of_scenario};
use orrery_keylab::outcome::{Volume, evaluate};
use orrery_keylab::placement::{Hash, PartitionRule, SPACE, version1, version2};
use orrery_keylab::report::check::differences;
use orrery_keylab::scenario::{Operation, Placement, ScalarValue, Scenario};
use orrery_keylab::simulate::{simulate, simulate_with};
use orrery_keylab::verdict::Verdict;
use orrery_model::limits::Limits;
use orrery_model::murmur::murmur3_x64_128;
use orrery_model::partition_key::KeyComponent;

fn log() -> Scenario {
    let mut scenario = named("s05-log.yaml");
    // The labelled dates tell hashes apart and are few.
    scenario
        .candidates
        .retain(|candidate| candidate.title().starts_with("date."));
    assert_eq!(scenario.candidates.len(), 4);
    scenario
}

fn named(name: &str) -> Scenario {
    let path = crate::scenarios::files()
        .into_iter()
        .find(|path| path.ends_with(name));
    crate::scenarios::scenario(&path.expect("specification"))
}

fn noticed(hash: Hash<'_>) -> bool {
    let scenario = log();
    let simulation = simulate_with(&scenario, hash).unwrap();
    !differences(&scenario, &simulation).is_empty()
}

#[test]
fn another_hash_is_noticed() {
    assert!(!noticed(&version2), "the service's hash agrees");
    assert!(noticed(&version1));
    let half = |component: &KeyComponent| u128::from(component.raw_hash_v2() as u64) << 62;
    assert!(noticed(&half), "the other half of the hash");
}

#[test]
fn a_forgotten_type_tag_is_noticed() {
    let untagged = |component: &KeyComponent| {
        let KeyComponent::String(text) = component else {
            return 0;
        };
        let (low, high) = murmur3_x64_128(text.as_bytes(), (0, 0));
        ((u128::from(high) << 64) | u128::from(low)) & (SPACE - 1)
    };
    assert!(noticed(&untagged));
}

#[test]
fn a_dropped_fan_out_term_is_noticed() {
    let scenario = named("s08-key-value.yaml");
    let candidate = scenario
        .candidates
        .iter()
        .find(|candidate| candidate.title() == "/userId")
        .unwrap();
    let counts = BTreeMap::new();
    let mut layout = of_scenario(&Building {
        scenario: &scenario,
        candidate,
        counts: &counts,
        window: Window::Mean,
        hash: &version2,
        measured: None,
    })
    .unwrap();
    let rule = PartitionRule {
        limits: Limits::default(),
        autoscale: false,
    };
    let volume = Volume {
        gb: 400.0,
        ru: Some(50_000.0),
        rates: 1.0,
        partitions: None,
    };
    let right = evaluate(&layout, &volume, &rule);
    layout.fan_out = 0.0;
    layout.fan_out_ru = 0.0;
    let wrong = evaluate(&layout, &volume, &rule);
    let expected = candidate.expect.as_ref().unwrap().horizons["now"]
        .total
        .unwrap();
    assert!((right.total / expected - 1.0).abs() < 0.05);
    assert!((wrong.total / expected - 1.0).abs() > 0.05);
    assert!(
        right.throttled > 0.05 && wrong.throttled < 0.01,
        "the verdict flips"
    );
}

#[test]
fn the_mean_instead_of_the_window_is_noticed() {
    let mut scenario = named("s05-log.yaml");
    scenario
        .candidates
        .retain(|candidate| candidate.title() == "/hour");
    let verdict = |scenario: &Scenario| simulate(scenario).unwrap().rows[0].verdict;
    assert_eq!(verdict(&scenario), Verdict::Reject);
    for pattern in &mut scenario.workload {
        if pattern.op == Operation::Create {
            let stored = Placement::One(ScalarValue::Text("stored".to_owned()));
            pattern.at.insert("hour".to_owned(), stored);
        }
    }
    assert_ne!(verdict(&scenario), Verdict::Reject);
}
