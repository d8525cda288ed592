//! Recorded requests as the workload of the laboratory.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::harness::{Folder, Server, run, succeed};

/// How far a rate may be from the one that the application kept.
const TOLERANCE: f64 = 0.02;
const BY_CUSTOMER: &str = "SELECT * FROM c WHERE c.customer = @customer";
const BY_TOTAL: &str = "SELECT VALUE c.id FROM c WHERE c.total > @least";

/// A small application on one connection, as an SDK without its niceties.
struct Application {
    stream: TcpStream,
    counts: [u64; 4],
}

impl Application {
    fn start(authority: &str) -> Self {
        let stream = TcpStream::connect(authority).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        let mut application = Self {
            stream,
            counts: [0; 4],
        };
        application.send("POST", "/dbs", "", r#"{"id":"shop"}"#, 201);
        let definition =
            r#"{"id":"orders","partitionKey":{"paths":["/customer"],"kind":"Hash","version":2}}"#;
        application.send("POST", "/dbs/shop/colls", "", definition, 201);
        application
    }

    fn send(&mut self, verb: &str, path: &str, headers: &str, body: &str, expected: u16) {
        let length = body.len();
        write!(
            self.stream,
            "{verb} {path} HTTP/1.1\r\nhost: app\r\nx-ms-version: 2020-07-15\r\n{headers}content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = Vec::new();
        let head = loop {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
            if answer.ends_with(b"\r\n\r\n") {
                break String::from_utf8(answer).unwrap().to_ascii_lowercase();
            }
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.trim().parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(status, expected, "{verb} {path}: {head}");
    }

    fn create(&mut self, number: u64, customer: &str) {
        let headers = format!("x-ms-documentdb-partitionkey: [\"{customer}\"]\r\n");
        let item = format!(r#"{{"id":"{number}","customer":"{customer}","total":{number}}}"#);
        self.send("POST", "/dbs/shop/colls/orders/docs", &headers, &item, 201);
        self.counts[0] += 1;
    }

    fn read(&mut self, number: u64, customer: &str) {
        let headers = format!("x-ms-documentdb-partitionkey: [\"{customer}\"]\r\n");
        let path = format!("/dbs/shop/colls/orders/docs/{number}");
        self.send("GET", &path, &headers, "", 200);
        self.counts[1] += 1;
    }

    fn query(&mut self, place: usize, text: &str, parameter: &str, value: &str) {
        let headers = "content-type: application/query+json\r\nx-ms-documentdb-isquery: true\r\n\
            x-ms-documentdb-query-enablecrosspartition: true\r\n";
        let body = format!(
            r#"{{"query":"{text}","parameters":[{{"name":"{parameter}","value":{value}}}]}}"#
        );
        self.send("POST", "/dbs/shop/colls/orders/docs", headers, &body, 200);
        self.counts[place] += 1;
    }
}

/// Runs the application against a server that records; the seconds that it took, and the counts of
/// creates, reads, and the two queries.
fn recorded(trace: &str) -> (f64, [u64; 4]) {
    const STEPS: u64 = 250;
    const STEP: Duration = Duration::from_millis(10);
    let server = Server::start(&["--in-memory", "--no-auth", "--trace", trace]);
    let mut application = Application::start(server.authority());
    let started = Instant::now();
    for step in 0..STEPS {
        // Half of all requests are those of one customer.
        let customer = if step % 2 == 0 {
            "hot".to_owned()
        } else {
            format!("c{step}")
        };
        application.create(step, &customer);
        application.read(step, &customer);
        application.read(step, &customer);
        application.query(2, BY_CUSTOMER, "@customer", &format!("\"{customer}\""));
        if step % 5 == 0 {
            application.query(3, BY_TOTAL, "@least", "1000");
        }
        let due = STEP * (step as u32 + 1);
        std::thread::sleep(due.saturating_sub(started.elapsed()));
    }
    let seconds = started.elapsed().as_secs_f64();
    application.query(3, BY_TOTAL, "@least", "1000");
    let counts = application.counts;
    drop(application);
    server.stop();
    (seconds, counts)
}

/// Name, class and rate of each pattern under a key.
fn routes(report: &Json, key: &str) -> Vec<(String, String, f64)> {
    let rows = report["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["key"] == key).unwrap();
    let mut routes: Vec<(String, String, f64)> = row["routes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|route| {
            let text = |value: &Json| value.as_str().unwrap().to_owned();
            let rate = route["rate"].as_f64().unwrap();
            (
                text(&route["pattern"]),
                text(&route["reach"]["class"]),
                rate,
            )
        })
        .collect();
    routes.sort_by(|left, right| left.0.cmp(&right.0));
    routes
}

#[test]
fn a_trace_tells_what_a_person_would_have_written() {
    let folder = Folder::new();
    let trace = folder.at("trace.ndjson");
    let (seconds, counts) = recorded(&trace);
    let rate = |count: u64| count as f64 / seconds;
    let [creates, reads, by_customer, by_total] = counts.map(rate);
    let by_hand = folder.write(
        "workload.yaml",
        &format!(
            "workload:\n\
             - {{name: create, op: create, rate: {creates}}}\n\
             - {{name: read, op: point, where: c.customer = @customer AND c.id = @id, rate: {reads}}}\n\
             - {{name: \"{BY_CUSTOMER}\", op: query, where: c.customer = @customer, rate: {by_customer}}}\n\
             - {{name: \"{BY_TOTAL}\", op: query, where: c.total > @least, rate: {by_total}}}\n\
             horizons: [{{name: now, gb: 1}}]\n"
        ),
    );
    let mut items = String::new();
    for number in 0..250 {
        let customer = number % 50;
        let item =
            format!("{{\"id\":\"{number}\",\"customer\":\"c{customer}\",\"total\":{number}}}\n");
        items.push_str(&item);
    }
    let data = folder.write("items.ndjson", &items);
    let report = |arguments: &[&str]| -> Json {
        let said = succeed(&[&["keylab", "analyze", "--json"], arguments].concat());
        serde_json::from_str(&said.out).unwrap()
    };
    let wanted = report(&["--data", &data, "--workload", &by_hand]);
    for recorded in [
        report(&["--trace", &trace]),
        report(&["--trace", &trace, "--data", &data]),
    ] {
        for key in ["/customer", "/id"] {
            let (found, wanted) = (routes(&recorded, key), routes(&wanted, key));
            assert_eq!(found.len(), wanted.len(), "{found:?}");
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!((&found.0, &found.1), (&wanted.0, &wanted.1));
                assert!(
                    (found.2 / wanted.2 - 1.0).abs() < TOLERANCE,
                    "{found:?} {wanted:?}"
                );
            }
        }
    }
    // The heavy customer shows although the trace holds each item once.
    let said = succeed(&["keylab", "init", "--trace", &trace]);
    for words in [
        "\"customer\":{\"hot\":0.5",
        "/customer",
        BY_TOTAL,
        "horizons:",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let written = folder.write("recorded.yaml", &said.out);
    let again = report(&["--data", &data, "--workload", &written]);
    assert_eq!(routes(&again, "/customer").len(), 4);
}

#[test]
fn logs_that_others_wrote_are_read() {
    let folder = Folder::new();
    let data = folder.write(
        "items.ndjson",
        "{\"id\":\"1\",\"k\":\"a\"}\n{\"id\":\"2\",\"k\":\"b\"}\n{\"id\":\"3\",\"k\":\"b\"}\n",
    );
    let log = folder.write(
        "log.ndjson",
        "{\"query\":\"SELECT * FROM c WHERE c.k = 'a'\",\"count\":600,\"ru\":3.1}\n{\"op\":\"create\",\"count\":60,\"ru\":7}\n",
    );
    let base = ["keylab", "analyze", "--data", &data, "--json"];
    let said = succeed(&[&base[..], &["--query-log", &log, "--seconds", "60"]].concat());
    let report: Json = serde_json::from_str(&said.out).unwrap();
    let found = routes(&report, "/k");
    assert_eq!(found[0].1, "single");
    assert!(
        (found[0].2 - 10.0).abs() < 1e-9 && (found[1].2 - 1.0).abs() < 1e-9,
        "{found:?}"
    );
    // Without times nobody knows the rates; broken lines are told with their place.
    let said = run(&[&base[..], &["--query-log", &log]].concat());
    assert_eq!(said.code, 1);
    assert!(said.err.contains("--seconds"), "{said:?}");
    let broken = folder.write(
        "broken.ndjson",
        "{\"op\":\"create\"}\n{\"op\":\"juggle\"}\n",
    );
    let said = run(&[&base[..], &["--query-log", &broken, "--seconds", "1"]].concat());
    assert_eq!(said.code, 3);
    assert!(
        said.out.contains("broken.ndjson:2") && said.out.contains("juggle"),
        "{said:?}"
    );
    let said = run(&["keylab", "analyze", "--trace", &data]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("no trace of version 1"), "{said:?}");
}

#[test]
fn our_own_diagnostics_come_back_as_a_workload() {
    let folder = Folder::new();
    let trace = folder.at("trace.ndjson");
    let (_, counts) = recorded(&trace);
    let logs = folder.write("logs.ndjson", &succeed(&["diagnostics", &trace]).out);
    let report = |arguments: &[&str]| -> Json {
        let said = succeed(&[&["keylab", "analyze", "--json"], arguments].concat());
        serde_json::from_str(&said.out).unwrap()
    };
    let data = folder.write(
        "items.ndjson",
        "{\"id\":\"1\",\"customer\":\"a\"}\n{\"id\":\"2\",\"customer\":\"a\"}\n",
    );
    let found = report(&["--data", &data, "--diagnostics", &logs]);
    let rates: Vec<f64> = routes(&found, "/id").iter().map(|route| route.2).collect();
    let of_trace = report(&["--data", &data, "--trace", &trace]);
    let wanted: Vec<f64> = routes(&of_trace, "/id")
        .iter()
        .map(|route| route.2)
        .collect();
    assert_eq!(rates.len(), counts.len());
    for (found, wanted) in rates.iter().zip(&wanted) {
        assert!(
            (found / wanted - 1.0).abs() < TOLERANCE,
            "{rates:?} {wanted:?}"
        );
    }
}

#[test]
fn a_running_container_is_sampled_and_checked() {
    let folder = Folder::new();
    let mut items = String::new();
    for number in 0..3_000 {
        let customer = number % 300;
        let item = format!("{{\"id\":\"{number}\",\"customer\":\"c{customer}\"}}\n");
        items.push_str(&item);
    }
    let file = folder.write("items.ndjson", &items);
    let server = Server::start(&["--in-memory"]);
    let account = ["--endpoint", &server.url, "--in", "shop/orders"];
    succeed(&[
        "import",
        &file,
        "--into",
        "shop/orders",
        "--partition-key",
        "/customer",
        "--endpoint",
        &server.url,
    ]);
    let analyze = ["keylab", "analyze", "--json", "--sample-rate", "1000000"];
    let said = succeed(&[&analyze[..], &account, &["--sample-ru", "100000"]].concat());
    let report: Json = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["numDocsTotal"], 3_000);
    assert!(said.err.contains("all of them"), "{said:?}");
    // A budget ends after the page that uses it up.
    let said = succeed(&[&analyze[..], &account, &["--sample-ru", "1"]].concat());
    let report: Json = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["numDocsTotal"], 1_000);
    assert!(said.err.contains("the oldest of each range"), "{said:?}");
    let workload = folder.write(
        "workload.yaml",
        "workload: [{name: by customer, op: query, where: c.customer = @c, rate: 9}]\nhorizons: [{name: now, gb: 1}]\n",
    );
    let check = ["keylab", "check", "--data", &file, "--workload", &workload];
    let said = succeed(&[&check[..], &account].concat());
    assert!(said.out.contains("1 key passes"), "{said:?}");
    let said = run(&["keylab", "analyze", "--endpoint", &server.url]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("--in"), "{said:?}");
}
