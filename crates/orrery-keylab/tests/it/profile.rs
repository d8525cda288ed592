//! Profiles of data.

use orrery_keylab::placement::version2;
use orrery_keylab::profile::{Profile, Profiler};
use orrery_keylab::table::Table;

fn text(number: u64) -> String {
    let status = if number.is_multiple_of(10) {
        "open"
    } else {
        "done"
    };
    let city = if number.is_multiple_of(4) {
        String::new()
    } else {
        format!(",\"address\":{{\"city\":\"c{}\"}}", number % 7)
    };
    format!(
        "{{\"id\":\"i{number}\",\"status\":\"{status}\",\"customer\":{}{city},\"tags\":[1,2]}}",
        number % 500
    )
}

fn profile(parts: &[(u64, u64)], sample: usize) -> Profile {
    let mut whole: Option<Profiler> = None;
    for &(from, to) in parts {
        let mut profiler = Profiler::new(sample, sample, 100 << 20);
        for number in from..to {
            profiler.item(number, text(number).as_bytes()).unwrap();
        }
        match &mut whole {
            Some(whole) => whole.merge(profiler),
            None => whole = Some(profiler),
        }
    }
    whole.unwrap().finish()
}

#[test]
fn paths_are_counted_by_type() {
    let profile = profile(&[(0, 4_000)], 10_000);
    let stats = |name: &str| {
        &profile
            .paths
            .iter()
            .find(|path| path.name == name)
            .unwrap()
            .stats
    };
    assert_eq!(
        (stats("id").strings, stats("customer").numbers),
        (4_000, 4_000)
    );
    assert_eq!(stats("address/city").strings, 3_000);
    assert_eq!(
        (
            stats("tags").arrays,
            stats("tags").elements,
            stats("tags").most_elements
        ),
        (4_000, 8_000, 2)
    );
    let distinct = stats("customer").distinct.estimate();
    assert!((distinct - 500.0).abs() < 10.0, "{distinct}");
    assert_eq!(stats("status").frequent.largest_by_items(), (0.9, 0.9));
}

#[test]
fn parts_merge_to_the_whole() {
    let whole = profile(&[(0, 6_000)], 1_000);
    let parts = profile(&[(0, 2_500), (2_500, 2_600), (2_600, 6_000)], 1_000);
    assert_eq!((whole.items, whole.bytes), (parts.items, parts.bytes));
    let indexes = |profile: &Profile| -> Vec<u64> {
        profile
            .sample
            .items()
            .iter()
            .map(|item| item.index)
            .collect()
    };
    assert_eq!(
        indexes(&whole),
        indexes(&parts),
        "the sample does not depend on the parts"
    );
    assert_eq!(whole.sample.items().len(), 1_000);
    for (left, right) in whole.paths.iter().zip(&parts.paths) {
        assert_eq!(left.name, right.name);
        assert_eq!(
            left.stats.distinct.estimate(),
            right.stats.distinct.estimate()
        );
    }
}

#[test]
fn versions_of_an_item_stay_together() {
    let mut profiler = Profiler::new(300, 300, 100 << 20);
    for round in 0..3_u64 {
        for number in 0..1_000_u64 {
            let item = format!("{{\"id\":\"i{number}\",\"round\":{round}}}");
            profiler
                .item(round * 1_000 + number, item.as_bytes())
                .unwrap();
        }
    }
    let profile = profiler.finish();
    let table = Table::of(&profile, &[], version2);
    let id = table.column("id").unwrap();
    let mut versions = vec![0; id.values.len()];
    for code in &id.codes {
        versions[*code as usize] += 1;
    }
    let complete = versions.iter().filter(|count| **count == 3).count();
    assert!(complete >= 99, "{complete} of 100");
}

#[test]
fn times_can_be_cut() {
    let mut profiler = Profiler::new(1_000, 1_000, 1 << 20);
    for day in 1..=28 {
        for hour in 0..4 {
            let item =
                format!("{{\"id\":\"{day}-{hour}\",\"at\":\"2026-02-{day:02}T{hour:02}:30:00Z\"}}");
            profiler.item(day * 10 + hour, item.as_bytes()).unwrap();
        }
    }
    let table = Table::of(&profiler.finish(), &[], version2);
    let values = |unit: &str| table.truncated("at", unit).unwrap().values.len();
    assert_eq!(["month", "day", "hour"].map(values), [1, 28, 112]);
    assert!(table.truncated("id", "day").is_none());
}
