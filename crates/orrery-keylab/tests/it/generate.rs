//! Generated data follows its scenario.

use orrery_keylab::analysis::Laboratory;
use orrery_keylab::generate::{Generator, workload};
use orrery_keylab::profile::Profiler;
use orrery_keylab::workload::Workload;

fn scenario() -> orrery_keylab::scenario::Scenario {
    let path = crate::scenarios::files()
        .into_iter()
        .find(|path| path.ends_with("s04-workflow.yaml"));
    crate::scenarios::scenario(&path.unwrap())
}

#[test]
fn a_seed_gives_the_same_items_and_the_shares_of_the_scenario() {
    let scenario = scenario();
    let mut first = Generator::new(&scenario, 7).unwrap();
    let mut second = Generator::new(&scenario, 7).unwrap();
    let mut other = Generator::new(&scenario, 8).unwrap();
    let mut done = 0;
    let mut differs = false;
    for _ in 0..5_000 {
        let item = first.item();
        assert_eq!(item, second.item());
        differs |= item != other.item();
        assert_eq!(item.len(), scenario.item_bytes);
        let value = orrery_model::json::parse(&item).unwrap();
        done += u32::from(value.member("status").as_str() == Some("done"));
    }
    assert!(differs);
    assert!((4_400..4_600).contains(&done), "{done}");
}

#[test]
fn the_workload_and_the_data_lead_to_the_scenarios_verdicts() {
    let scenario = scenario();
    let mut generator = Generator::new(&scenario, 1).unwrap();
    let mut profiler = Profiler::new(100_000, 100_000, 100 << 20);
    for number in 0..30_000 {
        profiler.item(number, &generator.item()).unwrap();
    }
    let profile = profiler.finish();
    let workload = Workload::from_yaml(&workload(&scenario).unwrap(), "workload.yaml").unwrap();
    let analysis = Laboratory::new(&profile, &workload).unwrap().analyze();
    let row = |key: &str| analysis.rows.iter().find(|row| row.key == key).unwrap();
    for candidate in &scenario.candidates {
        let expected = candidate.expect.as_ref().unwrap();
        let key = candidate.title();
        // Reassignments are history, which one version of each item cannot show.
        if key != "/assigneeId" {
            assert_eq!(
                row(&key).verdict,
                expected.verdict,
                "{key}: {:?}",
                row(&key).first_failure
            );
        }
    }
    let now = &row("/projectId").horizons[0].outcome;
    assert!((now.total / 4_715.0 - 1.0).abs() < 0.02, "{}", now.total);
}
