//! The worked scenarios of the method, section 15, as specification files.

use std::path::PathBuf;

use orrery_keylab::report::{check, table};
use orrery_keylab::scenario::Scenario;
use orrery_keylab::simulate::simulate;

/// The specification files of the examples, by name.
pub fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/keylab");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("examples")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    files
}

/// Reads a specification.
pub fn scenario(path: &std::path::Path) -> Scenario {
    let text = std::fs::read_to_string(path).expect("specification");
    Scenario::from_yaml(&text, &path.display().to_string()).expect("scenario")
}

/// Computes a specification and compares all of its rows with those that were published.
fn agrees(name: &str, rows: usize) {
    let path = files().into_iter().find(|path| path.ends_with(name));
    let scenario = scenario(&path.expect("specification"));
    let expected = scenario
        .candidates
        .iter()
        .filter(|candidate| candidate.expect.is_some());
    assert_eq!(expected.count(), rows);
    let simulation = simulate(&scenario).expect("simulation");
    let differences = check::differences(&scenario, &simulation);
    assert!(
        differences.is_empty(),
        "{}\n{}",
        table::render(&simulation),
        differences.join("\n")
    );
}

#[test]
fn s01_orders() {
    agrees("s01-orders.yaml", 7);
}

#[test]
fn s02_multi_tenant() {
    agrees("s02-multi-tenant.yaml", 6);
}

#[test]
fn s03_iot() {
    agrees("s03-iot.yaml", 7);
}

#[test]
fn s04_workflow() {
    agrees("s04-workflow.yaml", 4);
}

#[test]
fn s05_log() {
    agrees("s05-log.yaml", 9);
}

#[test]
fn s06_celebrity() {
    agrees("s06-celebrity.yaml", 7);
}

#[test]
fn s07_chat() {
    agrees("s07-chat.yaml", 5);
}

#[test]
fn s08_key_value() {
    agrees("s08-key-value.yaml", 3);
}

#[test]
fn s09_vin_date() {
    agrees("s09-vin-date.yaml", 6);
}

#[test]
fn s10_reference() {
    agrees("s10-reference.yaml", 3);
}

#[test]
fn a_young_container_holds_a_first_level_value_on_one_partition() {
    // The note of the second scenario: size of the giant tenant, partitions, throttled percent.
    let path = files()
        .into_iter()
        .find(|path| path.ends_with("s02-multi-tenant.yaml"));
    let mut scenario = scenario(&path.expect("specification"));
    scenario.candidates.truncate(1);
    scenario.candidates[0].expect = None;
    let horizon = scenario.horizons[0].clone();
    let sizes = [0.6, 48.0, 144.0, 720.0, 1_440.0];
    scenario.horizons = sizes
        .iter()
        .map(|&gb| orrery_keylab::scenario::Horizon {
            name: format!("{gb}"),
            gb,
            ..horizon.clone()
        })
        .collect();
    let simulation = simulate(&scenario).expect("simulation");
    let row = &simulation.rows[0];
    let found: Vec<(usize, f64)> = row
        .horizons
        .iter()
        .map(|at| (at.outcome.partitions, at.outcome.throttled * 100.0))
        .collect();
    let expected = [(7, 10.1), (7, 10.1), (10, 0.0), (22, 0.0), (38, 0.0)];
    for ((partitions, throttled), (wanted_partitions, wanted)) in found.iter().zip(expected) {
        assert_eq!(*partitions, wanted_partitions, "{found:?}");
        assert!((throttled - wanted).abs() < 1.0, "{found:?}");
    }
    let young = row.young.expect("hierarchical");
    assert!((young * 100.0 - 10.1).abs() < 1.0, "{young}");
}
