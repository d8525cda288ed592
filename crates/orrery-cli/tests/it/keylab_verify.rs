//! `orrery keylab verify`: predictions on the engine.

use serde_json::Value as Json;

use crate::harness::{Folder, run, succeed};

fn example(name: &str) -> String {
    format!(
        "{}/../../examples/keylab/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// A model that a test can afford.
const SMALL: [&str; 8] = [
    "--items",
    "2000",
    "--values",
    "2000",
    "--visits",
    "6000",
    "--seconds",
    "20",
];

#[test]
fn predictions_hold_on_the_engine() {
    let (workflow, reference, log) = (
        example("s04-workflow.yaml"),
        example("s10-reference.yaml"),
        example("s05-log.yaml"),
    );
    let runs: [&[&str]; 4] = [
        &[&workflow, "--all", "--horizon", "now"],
        &[&reference, "--horizon", "100x"],
        // One value takes everything, and labels that spread it.
        &[&log, "--candidate", "/date"],
        &[&log, "--candidate", "date.random40"],
    ];
    for arguments in runs {
        let said = succeed(&[&["keylab", "verify"], arguments, &SMALL].concat());
        assert!(said.out.contains("within their tolerances"), "{}", said.out);
        assert!(!said.out.contains("FAIL"), "{}", said.out);
    }
}

#[test]
fn the_same_seed_measures_the_same() {
    let log = example("s05-log.yaml");
    let measured = |seed: &str| -> Json {
        let key = [
            "keylab",
            "verify",
            &log,
            "--candidate",
            "/level",
            "--json",
            "--seed",
            seed,
        ];
        let said = run(&[&key[..], &SMALL].concat());
        serde_json::from_str(&said.out).unwrap()
    };
    let first = measured("7");
    assert_eq!(first, measured("7"));
    assert_ne!(first, measured("8"));
    assert_eq!(first["schema"], "orrery-keylab-verification/1");
    let checks = first["runs"][0]["checks"].as_array().unwrap();
    let check = |name: &str| {
        checks
            .iter()
            .find(|check| check["quantity"] == name)
            .unwrap()
    };
    // INFO has 70 % of the lines: its partition refuses most of them.
    let share = check("429 share")["measured"].as_str().unwrap();
    let share: f64 = share.trim_end_matches(" %").parse().unwrap();
    assert!((60.0..90.0).contains(&share), "{share}");
    let partitions = check("GB of the fullest partition");
    assert_eq!(
        partitions["measuredByPartition"].as_array().unwrap().len(),
        20
    );
}

#[test]
fn real_items_are_verified_too() {
    let folder = Folder::new();
    let mut items = String::new();
    for number in 0..3_000 {
        let (customer, kind) = (number * 7919 % 400, number % 3);
        let item =
            format!("{{\"id\":\"{number}\",\"customer\":\"c{customer}\",\"kind\":\"k{kind}\"}}\n");
        items.push_str(&item);
    }
    let data = folder.write("items.ndjson", &items);
    let workload = folder.write(
        "workload.yaml",
        "workload:\n\
         - {name: by customer, op: query, where: c.customer = @c, rate: 400}\n\
         - {name: by kind, op: query, where: c.kind = @k, rate: 20}\n\
         - {name: create, op: create, rate: 50}\n\
         horizons: [{name: now, gb: 120, ru: 20000}]\n",
    );
    let base = ["keylab", "verify", "--data", &data, "--workload", &workload];
    for key in ["/customer", "/kind", "/id"] {
        let said = succeed(&[&base[..], &["--candidate", key], &SMALL].concat());
        assert!(said.out.contains("within their tolerances"), "{}", said.out);
    }
    let said = run(&[&base[..], &["--candidate", "/nothing"]].concat());
    assert_eq!(said.code, 1);
    assert!(said.err.contains("/nothing"), "{said:?}");
}

#[test]
fn more_partitions_than_memory_has_room_for_are_refused() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(example("s10-reference.yaml")).unwrap();
    let many = text.replacen("{name: 1x,", "{name: 1x, partitions: 5000,", 1);
    assert_ne!(text, many);
    let scenario = folder.write("many.yaml", &many);
    let said = run(&["keylab", "verify", &scenario, "--horizon", "1x"]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("5000 partitions are more than 4096"),
        "{}",
        said.err
    );
}

#[test]
fn demand_beyond_all_throughput_is_refused() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(example("s10-reference.yaml")).unwrap();
    let much = text.replacen("{name: 1x,", "{name: 1x, rates: 1e9,", 1);
    let scenario = folder.write("much.yaml", &much);
    let said = run(&[
        "keylab",
        "verify",
        &scenario,
        "--horizon",
        "1x",
        "--candidate",
        "/id",
    ]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("to be replayed"), "{}", said.err);
}
