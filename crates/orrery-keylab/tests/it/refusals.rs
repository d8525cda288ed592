//! Workloads and scenarios that contradict themselves: refused, with the place and the name.

use orrery_keylab::analysis::{Analysis, Laboratory};
use orrery_keylab::profile::{Profile, Profiler};
use orrery_keylab::report::terminal;
use orrery_keylab::scenario::Scenario;
use orrery_keylab::workload::Workload;

const SCENARIO: &str = "name: s
fields:
  customer: {format: 'C{:03d}', count: 200}
  status: {values: {New: 0.1, Done: 0.9}}
workload: [{name: by customer, op: query, where: c.customer = @c, rate: 9, charge: 3}]
horizons: [{name: now, gb: 50, ru: 3000}]
candidates: [{key: /customer}]
";

const WORKLOAD: &str = "workload: [{name: by customer, op: query, where: c.customer = @c, rate: 9}]
horizons: [{name: now, gb: 50}]
";

fn scenario_error(from: &str, to: &str) -> String {
    assert!(SCENARIO.contains(from), "{from}");
    let text = SCENARIO.replace(from, to);
    let error = Scenario::from_yaml(&text, "s.yaml").expect_err(to);
    error.to_string()
}

fn workload_error(from: &str, to: &str) -> String {
    assert!(WORKLOAD.contains(from), "{from}");
    let text = WORKLOAD.replace(from, to);
    let error = Workload::from_yaml(&text, "w.yaml").expect_err(to);
    error.to_string()
}

fn assert_words(error: &str, words: &[&str]) {
    for word in words {
        assert!(error.contains(word), "{error}: {word}");
    }
}

fn profile() -> Profile {
    let mut profiler = Profiler::new(1_000, 500, 1 << 20);
    for number in 0..300_u64 {
        let item = format!(
            "{{\"id\":\"{number}\",\"customer\":\"c{}\",\"address\":{{\"city\":\"x\"}}}}",
            number % 50
        );
        profiler.item(number, item.as_bytes()).unwrap();
    }
    profiler.finish()
}

fn analyze(workload: &str) -> Result<Analysis, String> {
    let workload = Workload::from_yaml(workload, "w.yaml").map_err(|error| error.to_string())?;
    let profile = profile();
    let laboratory = Laboratory::new(&profile, &workload).map_err(|error| error.to_string())?;
    Ok(laboratory.analyze())
}

#[test]
fn keys_that_no_container_can_have() {
    let of_workload = |key: &str| {
        let candidates = format!("candidates: [{key}]\nhorizons: [{{name: now, gb: 50}}]");
        workload_error("horizons: [{name: now, gb: 50}]", &candidates)
    };
    let of_scenario = |key: &str| {
        scenario_error(
            "candidates: [{key: /customer}]",
            &format!("candidates: [{{key: {key}}}]"),
        )
    };
    for error in [of_workload("[]"), of_scenario("[]")] {
        assert_words(&error, &["candidates[0]", "two or three levels, not 0"]);
    }
    for error in [
        of_workload("[/a, /b, /c, /d]"),
        of_scenario("[/a, /b, /c, /d]"),
    ] {
        assert_words(&error, &["candidates[0]", "two or three levels, not 4"]);
    }
    assert_words(&of_workload("[/a, /a]"), &["twice"]);
    assert_words(&of_workload("''"), &["a path names a member"]);
    assert_words(&of_workload("{concat: {of: []}}"), &["concat"]);
    assert_words(&of_scenario("{concat: {of: []}}"), &["concat"]);
    assert_words(
        &of_workload("{suffix: {of: a, buckets: 0}}"),
        &["buckets: from 1"],
    );
    assert_words(
        &of_workload("{suffix: {of: a}}"),
        &["line 2", "a key is a path"],
    );
    let none = scenario_error("candidates: [{key: /customer}]", "candidates: []");
    assert_words(&none, &["s.yaml: candidates", "at least one key"]);
}

#[test]
fn more_partitions_than_anybody_has() {
    let most = "1 to 65536 partitions, not 1000000000";
    let wrong = "gb: 50, partitions: 1000000000";
    assert_words(&workload_error("gb: 50", wrong), &["horizons[0]", most]);
    assert_words(&scenario_error("gb: 50", wrong), &["horizons[0]", most]);
    let adapted = scenario_error(
        "key: /customer",
        "key: /customer, partitions: {now: 1000000000}",
    );
    assert_words(&adapted, &["candidates[0].partitions.now", most]);
}

#[test]
fn more_values_than_can_be_placed() {
    for count in ["0", "1000000000000"] {
        let wrong = format!("gb: 50, counts: {{customer: {count}}}");
        let error = scenario_error("gb: 50", &wrong);
        assert_words(&error, &["horizons[0].counts.customer"]);
    }
}

#[test]
fn rates_that_are_no_numbers() {
    for (rate, words) in [
        ("1e308", "rate is more than 1e12"),
        (".inf", "rate is not a number"),
        (".nan", "rate is not a number"),
        ("-1", "rate is negative"),
    ] {
        let wrong = format!("rate: {rate}");
        for error in [
            workload_error("rate: 9", &wrong),
            scenario_error("rate: 9", &wrong),
        ] {
            assert_words(&error, &["workload[0] ('by customer')", words]);
        }
    }
    let horizon = workload_error("gb: 50", "gb: 50, rates: .inf");
    assert_words(&horizon, &["horizons[0]", "rates is not a number"]);
}

#[test]
fn shares_that_are_no_shares() {
    for (at, words) in [
        ("{c1: -0.9}", "the share of c1 is negative"),
        ("{c1: 0.9, c2: 0.8}", "add up to 1.700"),
        ("{c1: 0}", "add up to nothing"),
    ] {
        let error = workload_error("rate: 9", &format!("rate: 9, at: {{customer: {at}}}"));
        assert_words(&error, &["('by customer')", "at.customer", words]);
    }
    for (values, words) in [
        ("{New: -0.1, Done: 0.9}", "the share of New is negative"),
        ("{New: 0.9, Done: 0.9}", "add up to 1.800"),
        ("{New: 0, Done: 0.9}", "the share of New is 0"),
        ("{}", "at least one"),
    ] {
        let error = scenario_error("{New: 0.1, Done: 0.9}", values);
        assert_words(&error, &["fields.status", words]);
    }
    let groups = scenario_error(
        "{values: {New: 0.1, Done: 0.9}}",
        "{groups: [{format: 'a{}', count: 3, share: -1}]}",
    );
    assert_words(&groups, &["fields.status.groups", "negative"]);
}

#[test]
fn batches_lifetimes_and_names() {
    for batch in [0, 101] {
        let error = workload_error("rate: 9", &format!("rate: 9, batch: {batch}"));
        assert_words(&error, &["('by customer')", "batch: from 1 to 100"]);
    }
    for ttl in [-5, 0] {
        let error = workload_error("horizons:", &format!("ttl: {ttl}\nhorizons:"));
        assert_words(&error, &["w.yaml: ttl", "-1"]);
    }
    let twice = "[{name: now, gb: 50}, {name: now, gb: 90}]";
    let error = workload_error("[{name: now, gb: 50}]", twice);
    assert_words(&error, &["horizons[1]", "'now' is the name of [0]"]);
    let error = workload_error(
        "rate: 9}",
        "rate: 9}, {name: by customer, op: create, rate: 1}",
    );
    assert_words(&error, &["workload[1]", "'by customer'"]);
}

#[test]
fn members_of_made_keys_may_be_written_as_paths() {
    for key in [
        "{concat: {of: [/customer, /id]}}",
        "{suffix: {of: /customer, buckets: 3, hash: /id}}",
    ] {
        let workload = format!("{WORKLOAD}candidates: [{key}]\n");
        let notes = analyze(&workload).unwrap().notes.join("\n");
        assert!(!notes.contains("WARNING"), "{notes}");
    }
}

#[test]
fn members_without_the_alias_are_told() {
    let error = analyze(&WORKLOAD.replace("c.customer = @c", "customer = @c")).unwrap_err();
    assert_words(
        &error,
        &["workload[0].where ('by customer')", "'customer'", "c.name"],
    );
    let long = format!("c.customer = {}", "'x' OR ".repeat(10_000));
    let error = analyze(&WORKLOAD.replace("c.customer = @c", &long)).unwrap_err();
    assert!(error.len() < 1_000, "{} letters", error.len());
}

#[test]
fn what_the_data_does_not_have_is_told_in_the_report() {
    let notes = |workload: &str| analyze(workload).unwrap().notes.join("\n");
    let found = notes(&WORKLOAD.replace("rate: 9", "rate: 9, at: {nosuch: x}, sets: [address]"));
    assert_words(&found, &["WARNING: `at`", "'by customer'", "nosuch"]);
    assert!(!found.contains("address"), "{found}");
    for (key, words) in [
        ("/nosuch", "/nosuch"),
        (
            "{suffix: {of: customer, buckets: 3, hash: nosuch}}",
            "its label is made from nosuch",
        ),
    ] {
        let workload = format!("{WORKLOAD}candidates: [{key}]\n");
        assert_words(&notes(&workload), &["WARNING", words]);
    }
}

#[test]
fn throughput_that_is_too_little_is_told_with_what_would_do() {
    let workload = WORKLOAD
        .replace("rate: 9", "rate: 900")
        .replace("gb: 50", "gb: 50, ru: 400");
    let report = terminal::render(&analyze(&workload).unwrap());
    assert_words(
        &report,
        &[
            "recommended: none",
            "400 RU/s at now are too few for every key",
            "Raise `ru`",
        ],
    );
}

#[test]
fn the_parser_speaks_plainly() {
    let twice = workload_error("horizons:", "workload: []\nhorizons:");
    assert_words(&twice, &["line 2", "written twice: workload"]);
    assert!(!twice.contains("Policy"), "{twice}");
}
