//! `orrery keylab`: commands, bad input, exit codes.

use std::io::Write as _;

use crate::harness::{Folder, Said, run, succeed};

const WORKLOAD: &str = "
workload:
  - {name: by customer, op: query, where: c.customer = @c, rate: 100, returns: 5}
  - {name: create, op: create, rate: 20}
horizons:
  - {name: now, gb: 10}
";

fn orders(count: usize) -> String {
    let mut lines = String::new();
    for number in 0..count {
        let customer = number % 997;
        let item =
            format!("{{\"id\":\"{number}\",\"customer\":\"c{customer}\",\"country\":\"X\"}}\n");
        lines.push_str(&item);
    }
    lines
}

fn example(name: &str) -> String {
    format!(
        "{}/../../examples/keylab/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[test]
fn help_of_every_command_has_examples_and_exit_codes() {
    for command in ["analyze", "check", "generate", "init", "simulate", "verify"] {
        let said = succeed(&["keylab", command, "--help"]);
        for words in [
            "Examples:",
            "Exit code:",
            &format!("orrery keylab {command}"),
        ] {
            assert!(said.out.contains(words), "{command}: {words}");
        }
    }
}

#[test]
fn a_scenario_is_checked_against_its_rows() {
    let said = succeed(&[
        "keylab",
        "simulate",
        &example("s10-reference.yaml"),
        "--check",
    ]);
    assert!(
        said.out.contains("every expected row agrees"),
        "{}",
        said.out
    );
    let folder = Folder::new();
    let text = std::fs::read_to_string(example("s10-reference.yaml")).unwrap();
    let wrong = folder.write("wrong.yaml", &text.replace("total: 2190", "total: 1190"));
    let said = run(&["keylab", "simulate", &wrong, "--check"]);
    assert_eq!(said.code, 1);
    assert!(
        said.out
            .contains("/foodGroup at 10x: RU/s total 2190 instead of 1190"),
        "{}",
        said.out
    );
    let said = succeed(&[
        "keylab",
        "simulate",
        &example("s10-reference.yaml"),
        "--json",
    ]);
    let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["schema"], "orrery-keylab-simulation/1");
    assert_eq!(
        document["simulations"][0]["rows"].as_array().unwrap().len(),
        3
    );
}

#[test]
fn data_and_workload_give_a_key_and_reports() {
    let folder = Folder::new();
    let data = folder.write("orders.ndjson", &orders(3_000));
    // Enough for more than one partition: with one, every key will do.
    let workload = folder.write("workload.yaml", &WORKLOAD.replace("gb: 10", "gb: 100"));
    let out = folder.at("report");
    let said = succeed(&[
        "keylab",
        "analyze",
        "--data",
        &data,
        "--workload",
        &workload,
        "--out",
        &out,
    ]);
    assert!(said.out.contains("recommended: /customer"), "{}", said.out);
    for name in ["report.json", "report.md", "report.html"] {
        assert!(
            std::fs::metadata(folder.path().join("report").join(name))
                .unwrap()
                .len()
                > 500
        );
    }
    let said = succeed(&[
        "keylab",
        "analyze",
        "--data",
        &data,
        "--workload",
        &workload,
        "--emit",
        "bicep",
    ]);
    assert!(said.out.contains("paths: ['/customer']"), "{}", said.out);
}

#[test]
fn every_form_of_the_same_items_is_read_alike() {
    let folder = Folder::new();
    let lines = orders(2_000);
    let array = format!("[{}]", lines.trim_end().replace('\n', ","));
    let mut csv = String::from("id,customer,country\n");
    for number in 0..2_000 {
        let line = format!("{number},c{},X\n", number % 997);
        csv.push_str(&line);
    }
    let half = lines.match_indices('\n').nth(999).unwrap().0 + 1;
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    folder.write("parts/a.ndjson", &lines[..half]);
    folder.write("parts/b.jsonl", &lines[half..]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(lines.as_bytes()).unwrap();
    std::fs::write(folder.path().join("z.ndjson.gz"), packed.finish().unwrap()).unwrap();
    let inputs = [
        folder.write("lines.ndjson", &lines),
        folder.write("array.json", &array),
        folder.write("table.csv", &csv),
        folder.at("parts"),
        folder.at("z.ndjson.gz"),
    ];
    for input in inputs {
        let said = succeed(&["keylab", "analyze", "--data", &input, "--json"]);
        let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(document["numDocsTotal"], 2_000, "{input}");
        let spreads = document["spreads"].as_array().unwrap();
        let customer = spreads
            .iter()
            .find(|spread| spread["key"] == "/customer")
            .unwrap();
        let distinct = customer["numDistinctValues"].as_f64().unwrap();
        assert!((distinct - 997.0).abs() < 12.0, "{input}: {distinct}");
    }
}

fn failing(folder: &Folder, name: &str, bytes: &[u8]) -> Said {
    std::fs::write(folder.path().join(name), bytes).unwrap();
    run(&["keylab", "analyze", "--data", &folder.at(name)])
}

#[test]
fn broken_places_are_told_and_counted_and_the_rest_is_used() {
    let folder = Folder::new();
    let mut text = orders(50);
    text.push_str("{\"id\":\"x\",\"customer\":}\n");
    text.push_str("[1,2]\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(b"{\"id\":\"\xff\"}\n");
    bytes.extend_from_slice(orders(10).as_bytes());
    let said = failing(&folder, "broken.ndjson", &bytes);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.err.contains("broken.ndjson:51:22: no JSON value"),
        "{}",
        said.err
    );
    assert!(
        said.err
            .contains("broken.ndjson:52:1: an item is a JSON object"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("broken.ndjson:53:8: not UTF-8"),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("60 items")
            && said.out.contains("3 places of the data could not be read"),
        "{}",
        said.out
    );
}

#[test]
fn files_that_hold_nothing_usable_are_refused_by_name() {
    let folder = Folder::new();
    let said = failing(&folder, "empty.ndjson", b"");
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("no item in") && said.err.contains("empty.ndjson"),
        "{}",
        said.err
    );
    let endless = vec![b'x'; 20 << 20];
    let said = failing(&folder, "endless.ndjson", &endless);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("endless.ndjson:1: the line is over 8 MB"),
        "{}",
        said.err
    );
    let said = failing(&folder, "columns.parquet", b"PAR1....");
    assert_eq!(said.code, 1);
    assert!(
        said.err
            .contains("after 0 rows of a Parquet file of 8 bytes"),
        "{}",
        said.err
    );
    let said = failing(&folder, "table", b"a,b\n1,2\n");
    assert!(
        said.err.contains("a name that ends in .csv"),
        "{}",
        said.err
    );
    let said = run(&["keylab", "analyze", "--data", &folder.at("missing.ndjson")]);
    assert!(
        said.code == 1 && said.err.contains("missing.ndjson"),
        "{}",
        said.err
    );
}

#[test]
fn a_packed_file_that_is_cut_short_counts_for_what_it_holds() {
    let folder = Folder::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(orders(200_000).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let said = failing(&folder, "cut.ndjson.gz", &packed[..packed.len() / 2]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.err.contains("reading ended early after"),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("what was read before counts"),
        "{}",
        said.out
    );
}

#[test]
fn mistakes_in_yaml_are_told_with_their_place() {
    let folder = Folder::new();
    let data = folder.write("orders.ndjson", &orders(10));
    let told = |text: &str| {
        let workload = folder.write("w.yaml", text);
        let said = run(&[
            "keylab",
            "analyze",
            "--data",
            &data,
            "--workload",
            &workload,
        ]);
        assert_eq!(said.code, 1, "{text}: {said:?}");
        said.err
    };
    let error = told("workload: []\nhorizns: []\n");
    assert!(
        error.contains("w.yaml") && error.contains("line 2") && error.contains("horizns"),
        "{error}"
    );
    let error = told("workload: [{name: a, op: fly, rate: 1}]\nhorizons: [{name: now, gb: 1}]\n");
    assert!(error.contains("fly"), "{error}");
    let error = told(
        "workload: [{name: a, op: query, where: 'c.a = =', rate: 1}]\nhorizons: [{name: now, gb: 1}]\n",
    );
    assert!(
        error.contains("workload[0].where") && error.contains("c.a = ="),
        "{error}"
    );
    let error =
        told("workload: [{name: a, op: query, rate: -1}]\nhorizons: [{name: now, gb: 1}]\n");
    assert!(error.contains("rate is negative"), "{error}");
    let error = told("horizons: [{name: now, gb: 1, ru: 5}]\n");
    assert!(
        error.contains("horizons[0]") && error.contains("between 400 and 1000000"),
        "{error}"
    );
    let error = told("workload: [{name: a, op: query, rate: 1}]\n");
    assert!(error.contains("name at least one"), "{error}");
    let error = told("arrival: nowhere\n");
    assert!(
        error.contains("'nowhere' is no member of the data"),
        "{error}"
    );
    std::fs::write(folder.path().join("w.yaml"), b"workload: []\n# \xff\n").unwrap();
    let said = run(&[
        "keylab",
        "analyze",
        "--data",
        &data,
        "--workload",
        &folder.at("w.yaml"),
    ]);
    assert!(said.err.contains("line 2: not UTF-8"), "{}", said.err);
}

#[test]
fn init_writes_a_workload_that_analyze_takes() {
    let folder = Folder::new();
    let data = folder.write("orders.ndjson", &orders(2_000));
    let said = succeed(&["keylab", "init", "--data", &data]);
    assert!(said.out.contains("c.customer = @customer"), "{}", said.out);
    let workload = folder.write("workload.yaml", &said.out);
    let said = succeed(&[
        "keylab",
        "analyze",
        "--data",
        &data,
        "--workload",
        &workload,
    ]);
    assert!(said.out.contains("recommended: /"), "{}", said.out);
    assert!(
        said.out.contains("guesses of `keylab init`"),
        "{}",
        said.out
    );
    let explained = |key: &str| {
        run(&[
            "keylab",
            "analyze",
            "--data",
            &data,
            "--workload",
            &workload,
            "--key",
            key,
        ])
    };
    let said = explained("/country");
    assert!(
        said.code == 0 && said.out.starts_with("/country: ") && said.out.contains("Recommended is"),
        "{said:?}"
    );
    let said = explained("/nothing");
    assert!(
        said.code == 1 && said.err.contains("no candidate is called /nothing"),
        "{said:?}"
    );
}

#[test]
fn generated_data_is_analysed_with_its_workload() {
    let folder = Folder::new();
    let out = folder.at("tasks");
    succeed(&[
        "keylab",
        "generate",
        &example("s04-workflow.yaml"),
        "--items",
        "5000",
        "--out",
        &out,
    ]);
    let (data, workload) = (
        format!("{out}/items.ndjson"),
        format!("{out}/workload.yaml"),
    );
    let said = succeed(&[
        "keylab",
        "analyze",
        "--data",
        &data,
        "--workload",
        &workload,
    ]);
    assert!(
        said.out.contains("recommended: /projectId") || said.out.contains("recommended: /id"),
        "{}",
        said.out
    );
}

#[test]
fn the_gate_tells_rejected_keys_fan_out_and_regressions() {
    let folder = Folder::new();
    let data = folder.write("orders.ndjson", &orders(3_000));
    let workload = folder.write("workload.yaml", WORKLOAD);
    let bicep = |path: &str| {
        format!(
            "resource orders 'x@1' = {{\n  properties: {{ resource: {{ id: 'orders'\n    partitionKey: {{ paths: ['{path}'], kind: 'Hash', version: 2 }} }} }}\n}}\n"
        )
    };
    let good = folder.write("good.bicep", &bicep("/customer"));
    let bad = folder.write("bad.bicep", &bicep("/country"));
    let id = folder.write("id.bicep", &bicep("/id"));
    let with = |file: &str, more: &[&str]| {
        let mut arguments = vec![
            "keylab",
            "check",
            file,
            "--data",
            &data,
            "--workload",
            &workload,
        ];
        arguments.extend(more);
        run(&arguments)
    };
    succeed(&["keylab", "check", &good]);
    let saved = folder.at("baseline.json");
    let said = with(&good, &["--save", &saved]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(with(&good, &["--baseline", &saved]).code, 0);
    let said = with(&id, &["--baseline", &saved]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(
        said.out
            .contains("'by customer' visits every partition; it was single"),
        "{}",
        said.out
    );
    let heavy = folder.write("heavy.yaml", &WORKLOAD.replace("gb: 10", "gb: 100"));
    let said = run(&[
        "keylab",
        "check",
        &bad,
        "--data",
        &data,
        "--workload",
        &heavy,
    ]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(
        said.out
            .contains("bad.bicep:3: orders: /country is rejected: G2"),
        "{}",
        said.out
    );
    let said = run(&["keylab", "check", &data]);
    assert_eq!(said.code, 1);
}
