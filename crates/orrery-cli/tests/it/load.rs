//! The load generator against a real server.

use crate::harness::{Server, run, succeed};

#[test]
fn a_closed_loop_of_every_operation_is_answered() {
    let server = Server::start(&["--in-memory"]);
    let mix = "read=5,create=1,upsert=1,replace=1,patch=1,query=1,batch=1";
    let said = succeed(&[
        "load",
        "--endpoint",
        &server.url,
        "--mix",
        mix,
        "--items",
        "50",
        "--clients",
        "4",
        "--requests",
        "400",
        "--warm-up",
        "0s",
        "--keys",
        "zipf",
        "--json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["total"]["requests"], 400, "{report:#}");
    assert_eq!(
        report["total"]["refused"],
        serde_json::json!({}),
        "{report:#}"
    );
    assert_eq!(report["total"]["broken"], 0);
    assert!(
        report["total"]["requestCharge"].as_f64().unwrap() > 400.0,
        "{report:#}"
    );
    for name in [
        "read", "create", "upsert", "replace", "patch", "query", "batch",
    ] {
        let operation = &report["operations"][name];
        assert!(
            operation["requests"].as_u64().unwrap() > 0,
            "{name}: {report:#}"
        );
        let latency = &operation["latencyMicroseconds"];
        assert!(
            latency["p50"].as_f64().unwrap() <= latency["max"].as_f64().unwrap(),
            "{name}"
        );
    }
}

#[test]
fn an_open_loop_sends_what_is_due() {
    let server = Server::start(&["--in-memory"]);
    let said = succeed(&[
        "load",
        "--endpoint",
        &server.url,
        "--rate",
        "200",
        "--items",
        "10",
        "--clients",
        "4",
        "--duration",
        "1s",
        "--warm-up",
        "0s",
        "--json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    // Due at 0, 5, 10, ... 995 ms, however slow the machine.
    assert_eq!(report["total"]["requests"], 200, "{report:#}");
    assert_eq!(report["loop"], "open");
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let said = run(&[
        "load",
        "--endpoint",
        "http://127.0.0.1:1",
        "--duration",
        "1s",
    ]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("orrery serve"), "{said:?}");
}
