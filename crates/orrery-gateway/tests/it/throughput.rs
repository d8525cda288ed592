//! Throughput on the wire: refusals, the admin API, statistics of containers, the trace.

use std::sync::{Arc, Mutex};

use orrery_gateway::auth::EMULATOR_KEY;
use orrery_gateway::trace::{Record, Recorder, Trace};
use orrery_model::value::Value;

use crate::account::{Account, NOW, READ_ONLY_KEY, authorization, date, parsed};
use crate::http::Response;

fn admin(account: &mut Account, key: &str, method: &str, path: &str, body: &str) -> Response {
    let date = date(NOW);
    let link = path.trim_start_matches('/').split('?').next();
    let link = link.unwrap_or_default();
    let authorization = authorization(key, method, "_orrery", link, &date);
    let headers = [
        ("authorization", authorization.as_str()),
        ("x-ms-date", date.as_str()),
    ];
    account.client.send(method, path, &headers, body.as_bytes())
}

fn throttle(account: &mut Account, body: &str) -> Response {
    admin(account, EMULATOR_KEY, "PUT", "/_orrery/throttle", body)
}

#[test]
fn a_refusal_has_its_headers_and_names_no_charge() {
    let mut account = Account::with_containers();
    let link = r#"{"throttle":true,"container":"dbs/db/colls/c"}"#;
    assert_eq!(throttle(&mut account, link).status, 200);
    let refused = (0..500)
        .map(|_| account.item("GET", "1", r#"["a"]"#, &[], ""))
        .find(|answer| answer.status != 200)
        .expect("400 RU are spent in a second that does not end");
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("x-ms-substatus"), Some("3200"));
    assert_eq!(refused.header("x-ms-retry-after-ms"), Some("1000"));
    assert_eq!(refused.header("x-ms-request-charge"), Some("0"));
    assert!(refused.header("x-ms-session-token").is_some());
    assert!(refused.text().contains("Request rate is large"));
    // Nobody else is.
    let headers = [("x-ms-documentdb-partitionkey", r#"["b"]"#)];
    let other = account.send("GET", "/dbs/db/colls/w/docs/1", &headers, b"");
    assert_eq!(other.status, 404);
    let off = r#"{"throttle":null,"container":"dbs/db/colls/c"}"#;
    assert_eq!(throttle(&mut account, off).status, 200);
    let served = account.item("GET", "1", r#"["a"]"#, &[], "");
    assert_eq!(served.status, 200);
}

#[test]
fn headers_of_priority_and_bucket_are_read() {
    let mut account = Account::with_containers();
    for (name, value, status) in [
        ("x-ms-cosmos-priority-level", "Low", 200),
        ("x-ms-cosmos-priority-level", "high", 200),
        ("x-ms-cosmos-priority-level", "Middle", 400),
        ("x-ms-cosmos-throughput-bucket", "3", 200),
        ("x-ms-cosmos-throughput-bucket", "many", 400),
    ] {
        let answer = account.item("GET", "1", r#"["a"]"#, &[(name, value)], "");
        assert_eq!(answer.status, status, "{name}: {value}");
    }
}

#[test]
fn the_admin_api_shows_throughput_and_limits() {
    let mut account = Account::with_containers();
    for _ in 0..3 {
        account.item("GET", "1", r#"["a"]"#, &[], "");
    }
    let path = "/_orrery/throughput?seconds=10&top=3";
    let shown = parsed(&admin(&mut account, EMULATOR_KEY, "GET", path, ""));
    assert_eq!(shown.member("throttle"), &Value::Bool(false));
    let container = shown.member("containers").element(0);
    assert_eq!(
        container.member("container").as_str(),
        Some("dbs/db/colls/c")
    );
    assert_eq!(container.member("provision").as_str(), Some("manual"));
    let range = container.member("ranges").element(0);
    assert_eq!(range.member("budget").as_f64(), Some(400.0));
    assert_eq!(range.member("requests").as_i64(), Some(4));
    let key = range.member("keys").element(0);
    assert_eq!(key.member("key").element(0).as_str(), Some("a"));
    assert_eq!(
        range.member("seconds").element(0).member("second").as_i64(),
        Some(NOW as i64)
    );
    let limits = parsed(&admin(
        &mut account,
        EMULATOR_KEY,
        "GET",
        "/_orrery/limits",
        "",
    ));
    let rate = limits.member("limits").member("physicalPartitionRate");
    assert_eq!(rate.as_i64(), Some(10_000));
    let metrics = admin(&mut account, EMULATOR_KEY, "GET", "/_orrery/metrics", "");
    assert!(metrics.text().contains("orrery_requests_total{"));
    for (key, method, path, body, status) in [
        (READ_ONLY_KEY, "GET", "/_orrery/throughput", "", 403),
        (
            EMULATOR_KEY,
            "GET",
            "/_orrery/throughput?seconds=x",
            "",
            400,
        ),
        (EMULATOR_KEY, "GET", "/_orrery/throughput?hours=1", "", 400),
        (EMULATOR_KEY, "GET", "/_orrery/throttle", "", 405),
        (EMULATOR_KEY, "PUT", "/_orrery/throttle", "{}", 400),
        (
            EMULATOR_KEY,
            "PUT",
            "/_orrery/throttle",
            r#"{"throttle":null}"#,
            400,
        ),
        (
            EMULATOR_KEY,
            "PUT",
            "/_orrery/throttle",
            r#"{"throttle":true,"container":"dbs/db"}"#,
            400,
        ),
        (
            EMULATOR_KEY,
            "PUT",
            "/_orrery/throttle",
            r#"{"throttle":true,"container":"dbs/db/colls/x"}"#,
            404,
        ),
    ] {
        let answer = admin(&mut account, key, method, path, body);
        assert_eq!(
            answer.status,
            status,
            "{method} {path} {body}: {}",
            answer.text()
        );
    }
}

#[test]
fn a_container_tells_the_statistics_of_its_partitions() {
    let mut account = Account::with_containers();
    for number in 0..9 {
        let body = format!(
            r#"{{"id":"n{number}","pk":"giant","x":"{}"}}"#,
            "x".repeat(3_000)
        );
        account.item("POST", "", r#"["giant"]"#, &[], &body);
    }
    let plain = account.send("GET", "/dbs/db/colls/c", &[], b"");
    assert!(parsed(&plain).member("statistics").is_undefined());
    let headers = [
        ("x-ms-documentdb-populatepartitionstatistics", "True"),
        ("x-ms-documentdb-populatequotainfo", "True"),
    ];
    let told = account.send("GET", "/dbs/db/colls/c", &headers, b"");
    let body = parsed(&told);
    assert_eq!(body.member("id").as_str(), Some("c"));
    let range = body.member("statistics").element(0);
    assert_eq!(range.member("id").as_str(), Some("0"));
    assert_eq!(range.member("documentCount").as_i64(), Some(10));
    let distinct = range.member("sampledDistinctPartitionKeyCount");
    assert_eq!(distinct.as_i64(), Some(2));
    let keys = range.member("partitionKeys");
    let first = keys.element(0);
    assert_eq!(
        first.member("partitionKey").element(0).as_str(),
        Some("giant")
    );
    let size = first.member("sizeInKB").as_i64().expect("a size");
    assert!((27..40).contains(&size), "{size}");
    let second = keys.element(1).member("partitionKey");
    assert_eq!(second.element(0).as_str(), Some("a"));
    let quota = told.header("x-ms-resource-quota").expect("a quota");
    assert!(quota.contains("documentSize=20971520;"), "{quota}");
    let usage = told.header("x-ms-resource-usage").expect("a usage");
    assert!(usage.contains("documentsCount=10;"), "{usage}");
}

/// Keeps what tests look at.
#[derive(Default)]
struct Recording(Mutex<Vec<String>>);

impl Recorder for Recording {
    fn record(&self, record: &Record<'_>) {
        let parts: Vec<_> = record
            .parts
            .iter()
            .map(|part| (part.operation, part.status))
            .collect();
        let line = format!(
            "{} {} {:?} {:?} {:?} {} {}",
            record.operation,
            record.status,
            record.key.map(|key| key.components().len()),
            record.id,
            record.query.map(|query| query.text),
            record.charge,
            if parts.is_empty() {
                String::new()
            } else {
                format!("{parts:?}")
            },
        );
        self.0
            .lock()
            .expect("no panic")
            .push(line.trim_end().to_owned());
    }
}

#[test]
fn requests_to_items_are_recorded_and_nothing_else_is() {
    let recording = Arc::new(Recording::default());
    let recorder = Arc::clone(&recording);
    let mut account = Account::configured(|config| config.trace = Trace(Some(recorder)));
    account.send("POST", "/dbs", &[], br#"{"id":"db"}"#);
    let container = br#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    account.send("POST", "/dbs/db/colls", &[], container);
    account.send("GET", "/dbs/db/colls/c/pkranges", &[], b"");
    // Without the header the key is the item's.
    let docs = "/dbs/db/colls/c/docs";
    account.send("POST", docs, &[], br#"{"id":"1","pk":"a"}"#);
    account.item("GET", "1", r#"["a"]"#, &[], "");
    account.item("GET", "2", r#"["a"]"#, &[], "");
    let query = [
        ("content-type", "application/query+json"),
        ("x-ms-documentdb-isquery", "True"),
        ("x-ms-documentdb-query-enablecrosspartition", "True"),
    ];
    account.send("POST", docs, &query, br#"{"query":"SELECT 1"}"#);
    let batch = [("x-ms-cosmos-is-batch-request", "True")];
    let body = r#"[{"operationType":"Create","resourceBody":{"id":"3","pk":"a"}},{"operationType":"Read","id":"9"}]"#;
    account.item("POST", "", r#"["a"]"#, &batch, body);
    let lines = recording.0.lock().expect("no panic");
    assert_eq!(
        *lines,
        [
            "Create 201 Some(1) None None 5.91",
            "Read 200 Some(1) Some(\"1\") None 1",
            "Read 404 Some(1) Some(\"2\") None 1",
            "Query 200 None None Some(\"SELECT 1\") 2.82",
            "Batch 207 Some(1) None None 1 [(\"Create\", 424), (\"Read\", 404)]",
        ]
    );
}
