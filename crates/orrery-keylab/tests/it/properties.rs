//! Properties of the method (section 14.1, item 5).

use std::collections::BTreeMap;

use orrery_keylab::demand::Window;
use orrery_keylab::layout::{Building, Layout, of_scenario};
use orrery_keylab::outcome::{Volume, evaluate};
use orrery_keylab::placement::{PartitionRule, version2};
use orrery_keylab::scenario::Scenario;
use orrery_keylab::simulate::simulate;
use orrery_model::limits::Limits;

fn rule() -> PartitionRule {
    PartitionRule {
        limits: Limits::default(),
        autoscale: false,
    }
}

/// One string key, read and written by it alone.
fn keyed(format: &str, count: u32, zipf: f64, extra: &str) -> Scenario {
    let text = format!(
        "name: t
fields:
  k: {{format: '{format}', count: {count}, shares: {{zipf: {zipf}}}}}
  id: {{format: 'i{{:06d}}', count: {count}, unique: true}}
workload:
  - {{name: read, op: point, where: c.k = @k AND c.id = @id, rate: 3000, charge: 1}}
  - {{name: create, op: create, rate: 500, charge: 8}}
{extra}horizons:
  - {{name: now, gb: 100, ru: 10000, partitions: 10}}
candidates:
  - key: /k
"
    );
    Scenario::from_yaml(&text, "test").unwrap()
}

fn layout(scenario: &Scenario) -> Layout {
    of_scenario(&Building {
        scenario,
        candidate: &scenario.candidates[0],
        counts: &BTreeMap::new(),
        window: Window::Mean,
        hash: &version2,
        measured: None,
    })
    .unwrap()
}

#[test]
fn more_partitions_never_help_a_key_without_fan_out() {
    for (count, zipf) in [(50, 0.0), (400, 0.8), (5_000, 1.1), (20_000, 0.3)] {
        let layout = layout(&keyed("v{:05d}", count, zipf, ""));
        for ru in [4_000.0, 8_000.0, 16_000.0] {
            for start in [1_u32, 3, 5, 7] {
                let mut before: Option<(f64, f64)> = None;
                for doubling in 0..5 {
                    let partitions = Some(start << doubling);
                    let volume = Volume {
                        gb: 1.0,
                        ru: Some(ru),
                        rates: 1.0,
                        partitions,
                    };
                    let outcome = evaluate(&layout, &volume, &rule());
                    let heat = outcome.needed / outcome.provisioned;
                    if let Some((heat_before, throttled_before)) = before {
                        assert!(
                            heat >= heat_before - 1e-9,
                            "{count} {zipf} {ru} {partitions:?}"
                        );
                        assert!(outcome.throttled >= throttled_before - 1e-6);
                    }
                    before = Some((heat, outcome.throttled));
                }
            }
        }
    }
}

#[test]
fn a_pattern_of_rate_zero_changes_nothing() {
    let extra = "  - {name: nothing, op: query, where: c.other = @x, rate: 0, charge: 50}\n";
    let with = evaluate(
        &layout(&keyed("v{:05d}", 500, 0.9, extra)),
        &volume(10),
        &rule(),
    );
    let without = evaluate(
        &layout(&keyed("v{:05d}", 500, 0.9, "")),
        &volume(10),
        &rule(),
    );
    assert_eq!(with.demands, without.demands);
    assert_eq!(
        (with.total, with.throttled),
        (without.total, without.throttled)
    );
}

fn volume(partitions: u32) -> Volume {
    Volume {
        gb: 100.0,
        ru: Some(10_000.0),
        rates: 1.0,
        partitions: Some(partitions),
    }
}

#[test]
fn renaming_values_moves_placement_within_the_envelope() {
    for (count, partitions) in [(1_000_u32, 5_u32), (1_000, 20), (10_000, 20), (20_000, 40)] {
        let mut effective = Vec::new();
        for format in ["a{}", "value-{:08d}", "{:032x}", "{hex32}"] {
            let layout = layout(&keyed(format, count, 0.0, ""));
            effective.push(layout.effective_values.round());
            let ratio = evaluate(&layout, &volume(partitions), &rule()).max_over_mean();
            let p = f64::from(partitions);
            let expected = (2.0 * p * p.ln() / f64::from(count)).sqrt();
            assert!(
                ratio >= 1.0 && ratio <= 1.0 + 2.0 * expected,
                "{format} {count} {ratio}"
            );
        }
        assert!(effective.iter().all(|value| *value == f64::from(count)));
    }
}

#[test]
fn an_id_that_is_only_read_by_itself_is_nearly_perfect() {
    for partitions in [1, 5, 10, 20] {
        let text = format!(
            "name: t
fields: {{id: {{format: '{{hex32}}', count: 60000, unique: true}}}}
workload: [{{name: read, op: point, where: c.id = @id, rate: 5000}}]
horizons: [{{name: now, gb: 10, ru: 100000, partitions: {partitions}}}]
candidates: [{{key: /id}}]
"
        );
        let simulation = simulate(&Scenario::from_yaml(&text, "test").unwrap()).unwrap();
        assert!(
            simulation.rows[0].score >= 95.0,
            "{partitions}: {}",
            simulation.rows[0].score
        );
    }
}

#[test]
fn rates_and_throughput_scale_together() {
    for zipf in [0.0, 0.7, 1.2] {
        let verdicts = [1.0, 0.5, 0.9].map(|factor| {
            let mut scenario = keyed("v{:05d}", 2_000, zipf, "");
            scenario.horizons[0].rates = factor;
            scenario.horizons[0].ru = Some(10_000.0 * factor);
            simulate(&scenario).unwrap().rows[0].verdict
        });
        assert!(
            verdicts.iter().all(|verdict| *verdict == verdicts[0]),
            "{zipf}: {verdicts:?}"
        );
    }
}
