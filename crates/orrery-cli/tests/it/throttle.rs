//! Throughput from the command line: throttling, the running values, the live view, metrics.

use crate::harness::{Folder, Server, command, get, run, succeed};

/// Reads a loaded container as fast as one connection can.
fn load(server: &Server, more: &[&str]) -> serde_json::Value {
    let line = [
        "load",
        "--json",
        "--endpoint",
        &server.url,
        "--items",
        "5",
        "--clients",
        "1",
        "--requests",
        "400",
        "--duration",
        "30s",
        "--warm-up",
        "0s",
    ];
    let said = succeed(&[&line[..], more].concat());
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn a_throttling_server_refuses_and_a_usual_one_does_not() {
    let usual = Server::start(&["--in-memory"]);
    assert!(usual.greeting.contains("Throttling         off"));
    let outcome = load(&usual, &[]);
    assert_eq!(outcome["total"]["refused"]["429"], serde_json::Value::Null);
    let small = Server::start(&["--in-memory", "--throttle", "--scale", "1/10"]);
    for part in [
        "Throttling         on",
        "1,000 RU/s and 5 GB each, a key value up to 2 GB (scale 1/10)",
    ] {
        assert!(small.greeting.contains(part), "{part}: {}", small.greeting);
    }
    let outcome = load(&small, &[]);
    let refused = outcome["total"]["refused"]["429"].as_u64().unwrap_or(0);
    assert!(refused > 0, "{outcome}");
}

#[test]
fn top_shows_one_frame_for_scripts() {
    let server = Server::start(&["--in-memory", "--throttle", "--scale", "1/10"]);
    load(&server, &["--mix", "read=1,query=1"]);
    let said = succeed(&["top", "--once", "--endpoint", &server.url, "--width", "200"]);
    for part in [
        "1 containers",
        "throttling on",
        "load/items  manual 40 RU/s, 1 ranges",
        "of 40.0",
        "429:",
        "hottest keys",
        "key-",
        "heaviest queries",
        "SELECT",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    assert!(!said.out.contains('\x1b'));
    let none = succeed(&["top", "--once", "--endpoint", &server.url, "--in", "other"]);
    assert!(
        none.out.starts_with("OrreryDB  0 containers"),
        "{}",
        none.out
    );
    let wrong = run(&[
        "top",
        "--once",
        "--endpoint",
        &server.url,
        "--key",
        "d3Jvbmc=",
    ]);
    assert_eq!(wrong.code, 1);
}

#[test]
fn limits_come_from_a_file_and_mistakes_are_named() {
    let folder = Folder::new();
    let limits = folder.write(
        "limits.json",
        r#"{"physicalPartitionRate": 50, "logicalPartitionBytes": 1048576}"#,
    );
    let server = Server::start(&["--in-memory", "--limits", &limits, "--no-auth"]);
    assert!(
        server
            .greeting
            .contains("50 RU/s and 50 GB each, a key value up to 1 MB (scale 1/1)"),
        "{}",
        server.greeting
    );
    let shown = get(server.authority(), "/_orrery/limits");
    assert!(shown.contains(r#""physicalPartitionRate":50"#), "{shown}");
    let wrong = folder.write("wrong.json", r#"{"physicalPartitionRates": 50}"#);
    let said = run(&["serve", "--in-memory", "--port", "0", "--limits", &wrong]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("physicalPartitionRates"), "{}", said.err);
}

#[test]
fn metrics_stand_beside_the_health_probes() {
    // A port that was free a moment ago; nothing else on this machine picks it on purpose.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let port = free.port().to_string();
    let server = Server::spawn(&mut command(&[
        "serve",
        "--in-memory",
        "--port",
        "0",
        "--health-port",
        &port,
    ]));
    load(&server, &[]);
    let metrics = get(&format!("127.0.0.1:{port}"), "/metrics");
    assert!(metrics.contains("content-type: text/plain; version=0.0.4"));
    let labels = r#"{database="load",container="items",partition_key_range="0"}"#;
    for line in [
        "# TYPE orrery_request_units_total counter".to_owned(),
        format!("orrery_document_count{labels} 5"),
        format!("orrery_throttled_requests_total{labels} 0"),
        format!("orrery_partition_throughput{labels} 400"),
    ] {
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
    let served = metrics
        .lines()
        .find_map(|line| line.strip_prefix(&format!("orrery_requests_total{labels} ")));
    assert!(served.unwrap().parse::<u64>().unwrap() >= 400);
}

#[test]
fn metrics_of_several_regions_are_told_apart() {
    let server = Server::start(&["--in-memory", "--no-auth", "--regions", "East US,West US"]);
    load(&server, &[]);
    let metrics = get(server.authority(), "/_orrery/metrics");
    let value = |name: &str, region: &str| {
        let line = format!(
            r#"{name}{{database="load",container="items",region="{region}",partition_key_range="0"}} "#
        );
        let mut lines = metrics.lines();
        let found = lines.find_map(|text| text.strip_prefix(&line));
        found.unwrap().parse::<f64>().unwrap()
    };
    // Nobody reads in West US; what was written came there too.
    assert!(value("orrery_requests_total", "East US") >= 400.0);
    assert!(value("orrery_requests_total", "West US").abs() < f64::EPSILON);
    let [east, west] = ["East US", "West US"].map(|name| value("orrery_request_units_total", name));
    assert!(0.0 < west && west < east, "{west} of {east}");
}
