//! Queries over the wire: pages, targets, plans, and what clients have to merge.

use base64::Engine as _;
use orrery_model::json;
use orrery_model::value::Value;

use crate::account::{Account, parsed};
use crate::http::Response;

fn filled() -> Account {
    let mut account = Account::with_containers();
    for number in 2..=6 {
        let key = if number % 2 == 0 { "a" } else { "b" };
        let body = format!(r#"{{"id":"{number}","pk":"{key}","n":{number}}}"#);
        assert_eq!(
            account
                .item("POST", "", &format!(r#"["{key}"]"#), &[], &body)
                .status,
            201
        );
    }
    account
}

fn query(account: &mut Account, text: &str, headers: &[(&str, &str)]) -> Response {
    let mut all = vec![
        ("x-ms-documentdb-isquery", "True"),
        ("Content-Type", "application/query+json"),
    ];
    all.extend_from_slice(headers);
    account.send("POST", "/dbs/db/colls/c/docs", &all, text.as_bytes())
}

fn numbers(response: &Response) -> Vec<f64> {
    assert_eq!(response.status, 200, "{}", response.text());
    let value = parsed(response);
    let rows = value.member("Documents").as_array().expect("rows");
    assert_eq!(
        response.header("x-ms-item-count"),
        Some(rows.len().to_string().as_str())
    );
    rows.iter()
        .map(|row| row.as_f64().expect("a number"))
        .collect()
}

const CROSS: (&str, &str) = ("x-ms-documentdb-query-enablecrosspartition", "True");

#[test]
fn a_query_answers_rows_charge_and_metrics() {
    let mut account = filled();
    let text = r#"{"query":"SELECT VALUE c.n FROM c WHERE c.n > @n","parameters":[{"name":"@n","value":3}]}"#;
    let headers = [CROSS, ("x-ms-documentdb-populatequerymetrics", "True")];
    let answer = query(&mut account, text, &headers);
    let mut rows = numbers(&answer);
    rows.sort_by(f64::total_cmp);
    assert_eq!(rows, [4.0, 5.0, 6.0]);
    assert!(
        answer
            .header("x-ms-documentdb-query-metrics")
            .expect("metrics")
            .contains("outputDocumentCount=3")
    );
    assert!(
        answer
            .header("x-ms-request-charge")
            .expect("a charge")
            .parse::<f64>()
            .expect("a number")
            > 2.0
    );
    assert!(answer.header("x-ms-session-token").is_some());
}

#[test]
fn a_query_tells_its_indexes_and_advice_on_request() {
    let mut account = filled();
    let text = r#"{"query":"SELECT * FROM c WHERE c.n = 3 AND CONTAINS(c.pk, 'a')"}"#;
    let answer = query(
        &mut account,
        text,
        &[
            CROSS,
            ("x-ms-cosmos-populateindexmetrics", "True"),
            ("x-ms-cosmos-populatequeryadvice", "True"),
        ],
    );
    let index = answer
        .header("x-ms-cosmos-index-utilization")
        .expect("index metrics");
    let index = base64::prelude::BASE64_STANDARD
        .decode(index)
        .expect("base64");
    let index = json::parse(&index).expect("JSON");
    let spec = |at: usize| {
        let used = index.member("UtilizedSingleIndexes").element(at);
        used.member("IndexSpec").as_str().map(str::to_owned)
    };
    assert_eq!(
        (spec(0).as_deref(), spec(1).as_deref(), spec(2)),
        (Some("/n/?"), Some("/pk/?"), None)
    );
    let advice = answer.header("x-ms-cosmos-query-advice").expect("advice");
    assert!(advice.contains("QA1002"), "{advice}");
    let answer = query(
        &mut account,
        text,
        &[CROSS, ("x-ms-cosmos-populateindexmetrics-V2", "True")],
    );
    let index = answer
        .header("x-ms-cosmos-index-utilization")
        .expect("index metrics");
    assert!(
        index.contains("UtilizedIndexes") && index.contains("%2Fn%2F%3F"),
        "{index}"
    );
    let plain = query(&mut account, text, &[CROSS]);
    assert!(plain.header("x-ms-cosmos-index-utilization").is_none());
    // A key that the request names counts as an equality.
    let all = query(
        &mut account,
        r#"{"query":"SELECT * FROM c"}"#,
        &[
            ("x-ms-documentdb-partitionkey", r#"["a"]"#),
            ("x-ms-cosmos-populateindexmetrics-V2", "True"),
        ],
    );
    let index = all.header("x-ms-cosmos-index-utilization").expect("told");
    let (used, rest) = index.split_once("PotentialIndexes").expect("both lists");
    assert!(
        used.contains("%2Fpk%2F%3F") && !rest.contains("%2Fpk%2F%3F"),
        "{index}"
    );
}

#[test]
fn a_query_of_one_key_runs_whole() {
    let mut account = filled();
    let key = ("x-ms-documentdb-partitionkey", r#"["a"]"#);
    let count = query(
        &mut account,
        r#"{"query":"SELECT VALUE COUNT(1) FROM c"}"#,
        &[key],
    );
    assert_eq!(numbers(&count), [4.0]);
    let sorted = query(
        &mut account,
        r#"{"query":"SELECT VALUE c.n FROM c ORDER BY c.n DESC"}"#,
        &[key],
    );
    assert_eq!(numbers(&sorted), [6.0, 4.0, 2.0, 1.0]);
}

#[test]
fn a_query_goes_on_after_its_continuation() {
    let mut account = filled();
    let range = ("x-ms-documentdb-partitionkeyrangeid", "0");
    let mut rows = Vec::new();
    let mut token: Option<String> = None;
    for _ in 0..10 {
        let mut headers = vec![
            range,
            ("x-ms-max-item-count", "2"),
            ("x-ms-cosmos-query-optimisticdirectexecute", "True"),
        ];
        if let Some(token) = &token {
            headers.push(("x-ms-continuation", token));
        }
        let page = query(
            &mut account,
            r#"{"query":"SELECT VALUE c.n FROM c ORDER BY c.n"}"#,
            &headers,
        );
        rows.extend(numbers(&page));
        token = page.header("x-ms-continuation").map(str::to_owned);
        let expected = token.is_some().then_some("False");
        assert_eq!(
            page.header("x-ms-cosmos-query-requiresdistribution"),
            expected
        );
        if token.is_none() {
            break;
        }
    }
    assert_eq!(rows, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn a_query_that_clients_merge_is_answered_with_its_plan() {
    let mut account = Account::with_containers();
    let headers = [("x-ms-documentdb-isquery", "True"), CROSS];
    let text = br#"{"query":"SELECT VALUE COUNT(1) FROM c"}"#;
    let refused = account.send("POST", "/dbs/db/colls/w/docs", &headers, text);
    assert_eq!(
        (refused.status, refused.header("x-ms-substatus")),
        (400, Some("1004"))
    );
    let error = parsed(&refused);
    let plan = error
        .member("additionalErrorInfo")
        .as_str()
        .expect("a plan")
        .to_owned();
    let plan = json::parse_str(&plan).expect("JSON").into_owned();
    assert_eq!(
        plan.member("queryInfo")
            .member("aggregates")
            .element(0)
            .as_str(),
        Some("Count")
    );
}

#[test]
fn a_plan_is_asked_for_by_a_header() {
    let mut account = filled();
    let headers = [
        ("x-ms-cosmos-is-query-plan-request", "True"),
        (
            "x-ms-cosmos-supported-query-features",
            "Aggregate, OrderBy, Top",
        ),
        ("x-ms-cosmos-query-version", "1.0"),
    ];
    let body = br#"{"query":"SELECT * FROM c ORDER BY c.n"}"#;
    let answer = account.send("POST", "/dbs/db/colls/c/docs", &headers, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let plan = parsed(&answer);
    assert_eq!(
        plan.member("queryInfo")
            .member("orderBy")
            .element(0)
            .as_str(),
        Some("Ascending")
    );
    assert!(matches!(plan.member("queryRanges"), Value::Array(ranges) if !ranges.is_empty()));
}

#[test]
fn errors_in_a_query_have_code_and_place() {
    let mut account = filled();
    let refused = query(
        &mut account,
        r#"{"query":"SELECT * FROM c WHERE ="}"#,
        &[CROSS],
    );
    assert_eq!(refused.status, 400);
    let message = parsed(&refused)
        .member("message")
        .as_str()
        .expect("a message")
        .to_owned();
    assert!(
        message.contains("Syntax error, incorrect syntax near '='"),
        "{message}"
    );
    assert!(
        message.starts_with(r#"Message: {"errors":[{"severity":"Error""#),
        "{message}"
    );
}

#[test]
fn a_continuation_limit_of_nothing_is_too_small() {
    let mut account = filled();
    let headers = [
        CROSS,
        ("x-ms-documentdb-responsecontinuationtokenlimitinkb", "0"),
    ];
    let refused = query(&mut account, r#"{"query":"SELECT * FROM c"}"#, &headers);
    assert!(
        refused.status == 400
            && refused
                .text()
                .contains("continuation token limit specified is not large enough")
    );
}

#[test]
fn a_container_of_several_ranges_is_queried_range_by_range() {
    let mut account = Account::with_containers();
    let ranges = parsed(&account.send("GET", "/dbs/db/colls/w/pkranges", &[], b""));
    let count = ranges
        .member("PartitionKeyRanges")
        .as_array()
        .expect("ranges")
        .len();
    assert!(count > 1, "{count} ranges");
    for id in 0..30 {
        let (key, body) = (
            format!(r#"["{id}"]"#),
            format!(r#"{{"id":"x","pk":"{id}"}}"#),
        );
        let headers = [("x-ms-documentdb-partitionkey", key.as_str())];
        let made = account.send("POST", "/dbs/db/colls/w/docs", &headers, body.as_bytes());
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let mut sum = 0.0;
    for range in 0..count {
        let range = range.to_string();
        let headers = [
            ("x-ms-documentdb-isquery", "True"),
            ("x-ms-documentdb-partitionkeyrangeid", range.as_str()),
        ];
        let text = br#"{"query":"SELECT VALUE COUNT(1) FROM c"}"#;
        let answer = account.send("POST", "/dbs/db/colls/w/docs", &headers, text);
        assert_eq!(
            answer.header("x-ms-documentdb-partitionkeyrangeid"),
            Some(range.as_str())
        );
        sum += numbers(&answer).iter().sum::<f64>();
    }
    assert_eq!(sum, 30.0);
}
