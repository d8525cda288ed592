//! The trace of a server, and the logs that are made of it.

use std::path::Path;

use serde_json::Value as Json;

use crate::harness::{Folder, Server, run, succeed};

fn lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A server that traces, loaded and ended.
fn traced(folder: &Folder, more: &[&str]) -> Vec<Json> {
    let trace = folder.at("trace.ndjson");
    let server = Server::start(&[&["--in-memory", "--trace", &trace], more].concat());
    succeed(&[
        "load",
        "--endpoint",
        &server.url,
        "--items",
        "10",
        "--clients",
        "2",
        "--requests",
        "60",
        "--duration",
        "30s",
        "--warm-up",
        "0s",
        "--mix",
        "read=1,create=1,query=1,patch=1,batch=1",
    ]);
    server.stop();
    lines(Path::new(&trace))
}

fn of<'l>(lines: &'l [Json], operation: &str) -> Vec<&'l Json> {
    lines
        .iter()
        .filter(|line| line["op"].as_str() == Some(operation))
        .collect()
}

#[test]
fn every_request_to_items_is_a_line() {
    let folder = Folder::new();
    let all = traced(&folder, &[]);
    assert_eq!(all[0]["orreryTrace"], 1);
    assert_eq!(all[1]["container"], "dbs/load/colls/items");
    assert_eq!(all[1]["partitionKey"]["paths"][0], "/pk");
    assert_eq!(all[1]["rate"], 400);
    assert_eq!(all[1]["ranges"].as_array().unwrap().len(), 1);
    for operation in ["Read", "Create", "Query", "Patch"] {
        let found = of(&all, operation);
        assert!(!found.is_empty(), "{operation}");
        for line in found {
            assert!(line["ru"].as_f64().unwrap() > 0.0, "{line}");
            assert!(
                line["key"][0].as_str().unwrap().starts_with("key-"),
                "{line}"
            );
            assert_eq!(line["in"], "dbs/load/colls/items");
            assert_eq!(line["range"], "0");
            assert!(line["t"].as_u64().unwrap() > 1_700_000_000_000_000);
        }
    }
    assert!(of(&all, "Read").iter().all(|line| line["id"].is_string()));
    let query = of(&all, "Query")[0];
    assert!(
        query["sql"].as_str().unwrap().starts_with("SELECT"),
        "{query}"
    );
    // The load fills with a bulk and runs atomic batches: each operation has its status.
    let batches = of(&all, "Batch");
    assert!(!batches.is_empty());
    for batch in batches {
        for part in batch["ops"].as_array().unwrap() {
            assert_eq!(part["status"], 201, "{batch}");
        }
    }
}

#[test]
fn hashes_hide_values_and_keep_them_apart() {
    let folder = Folder::new();
    let all = traced(&folder, &["--trace-hash-keys"]);
    assert_eq!(all[0]["hashedKeys"], true);
    let text = std::fs::read_to_string(folder.path().join("trace.ndjson")).unwrap();
    for hidden in ["key-", "item-"] {
        assert!(!text.contains(hidden), "{hidden}");
    }
    let mut keys: Vec<&str> = of(&all, "Read")
        .iter()
        .map(|line| line["key"][0].as_str().unwrap())
        .collect();
    assert!(
        keys.iter()
            .all(|key| key.starts_with('#') && key.len() == 17)
    );
    keys.sort_unstable();
    keys.dedup();
    assert!((2..=10).contains(&keys.len()), "{keys:?}");
}

#[test]
fn a_trace_stays_within_its_limit() {
    let folder = Folder::new();
    let trace = folder.at("trace.ndjson");
    let server = Server::start(&["--in-memory", "--trace", &trace, "--trace-limit", "1"]);
    succeed(&[
        "load",
        "--endpoint",
        &server.url,
        "--items",
        "10",
        "--clients",
        "4",
        "--requests",
        "5000",
        "--duration",
        "60s",
        "--warm-up",
        "0s",
    ]);
    server.stop();
    let former = lines(&folder.path().join("trace.ndjson.1"));
    let last = lines(Path::new(&trace));
    for file in [&former, &last] {
        assert_eq!(file[0]["orreryTrace"], 1);
        assert_eq!(file[1]["container"], "dbs/load/colls/items");
    }
    let bytes: u64 = ["trace.ndjson", "trace.ndjson.1"]
        .iter()
        .map(|name| std::fs::metadata(folder.path().join(name)).unwrap().len())
        .sum();
    assert!(bytes <= 3 << 20, "{bytes}");
}

#[test]
fn a_trace_becomes_the_logs_of_the_service() {
    let folder = Folder::new();
    let all = traced(&folder, &[]);
    let trace = folder.at("trace.ndjson");
    let said = succeed(&["diagnostics", &trace, "--account", "shop"]);
    let logs: Vec<Json> = said
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |category: &str| {
        logs.iter()
            .filter(|entry| entry["category"] == category)
            .count()
    };
    let requests = all.iter().filter(|line| line["op"].is_string()).count();
    assert_eq!(count("DataPlaneRequests"), requests);
    assert_eq!(count("QueryRuntimeStatistics"), of(&all, "Query").len());
    assert!(count("PartitionKeyRUConsumption") >= requests);
    let charge = |entry: &Json| {
        let text = entry["properties"]["requestCharge"].as_str().unwrap();
        text.parse::<f64>().unwrap()
    };
    let logged: f64 = logs
        .iter()
        .filter(|entry| entry["category"] == "DataPlaneRequests")
        .map(charge)
        .sum();
    let traced: f64 = all.iter().filter_map(|line| line["ru"].as_f64()).sum();
    assert!((logged - traced).abs() < 0.01 * traced, "{logged} {traced}");
    let only = succeed(&[
        "diagnostics",
        &trace,
        "--category",
        "QueryRuntimeStatistics",
    ]);
    assert_eq!(only.out.lines().count(), of(&all, "Query").len());
    let other = folder.write("other.json", "{\"a\":1}\n");
    assert_eq!(run(&["diagnostics", &other]).code, 1);
}

#[test]
fn large_keys_are_told_as_statistics() {
    let folder = Folder::new();
    let trace = folder.at("trace.ndjson");
    // Of 400 items "giant" has a half; 150 keys have one item each, less than a hundredth.
    let large = [("giant", 200), ("big", 30), ("medium", 12), ("small", 8)];
    let large = large
        .iter()
        .flat_map(|&(key, count)| (0..count).map(move |_| key.to_owned()));
    let keys = large.chain((0..150).map(|single| format!("s{single}")));
    let lines = keys
        .enumerate()
        .map(|(number, key)| format!("{{\"id\":\"{number}\",\"k\":\"{key}\"}}\n"));
    let items: String = lines.collect();
    let items = folder.write("items.ndjson", &items);
    let server = Server::start(&["--in-memory", "--trace", &trace]);
    for (name, path) in [("shop/orders", "/k"), ("shop/even", "/id")] {
        succeed(&[
            "import",
            &items,
            "--into",
            name,
            "--partition-key",
            path,
            "--endpoint",
            &server.url,
        ]);
    }
    server.stop();
    let rows = |arguments: &[&str]| -> Vec<Json> {
        let category = ["--category", "PartitionKeyStatistics"];
        let said = succeed(&[&["diagnostics", &trace], &category[..], arguments].concat());
        let lines = said.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let logs = rows(&[]);
    let keys: Vec<&str> = logs
        .iter()
        .map(|line| line["properties"]["partitionKey"].as_str().unwrap())
        .collect();
    assert_eq!(keys, [r#"["giant"]"#, r#"["big"]"#, r#"["medium"]"#]);
    assert!(
        logs.iter()
            .all(|line| line["properties"]["collectionName"] == "orders")
    );
    let tables = rows(&["--form", "table", "--region", "East US"]);
    assert_eq!(tables.len(), 3);
    assert_eq!(tables[0]["Type"], "CDBPartitionKeyStatistics");
    assert_eq!(tables[0]["RegionName"], "East US");
    let kb = |row: &Json| row["SizeKb"].as_u64().unwrap();
    assert!(kb(&tables[0]) >= 20, "{tables:?}");
    assert!(kb(&tables[0]) > kb(&tables[1]) && kb(&tables[1]) > kb(&tables[2]));
    // The laboratory reads such rows beside the others.
    let all = succeed(&["diagnostics", &trace, "--form", "table"]);
    let rows = folder.write("rows.ndjson", &all.out);
    let said = succeed(&[
        "keylab",
        "init",
        "--data",
        &items,
        "--diagnostics",
        &rows,
        "--in",
        "shop/orders",
    ]);
    assert!(said.out.contains("\"op\":\"batch\""), "{said:?}");
}
