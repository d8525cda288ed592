//! Batches over the wire, in both forms.

use orrery_gateway::hybrid_row::{OperationRow, RecordReader, RecordWriter, ResultRow};

use crate::account::{Account, parsed};

const ATOMIC: [(&str, &str); 2] = [
    ("x-ms-cosmos-is-batch-request", "True"),
    ("x-ms-cosmos-batch-atomic", "True"),
];

#[test]
fn a_batch_succeeds_or_fails_whole() {
    let mut account = Account::with_containers();
    let good = r#"[{"operationType":"Create","resourceBody":{"id":"2","pk":"a"}},
        {"operationType":"Read","id":"1"},{"operationType":"Delete","id":"1"}]"#;
    let done = account.item("POST", "", r#"["a"]"#, &ATOMIC, good);
    assert_eq!(done.status, 200, "{}", done.text());
    let results = parsed(&done);
    let codes = |results: &orrery_model::value::Value<'_>| -> Vec<f64> {
        let list = results.as_array().expect("an array");
        list.iter()
            .map(|result| result.member("statusCode").as_f64().expect("a status"))
            .collect()
    };
    assert_eq!(codes(&results), [201.0, 200.0, 204.0]);
    assert_eq!(
        results
            .element(0)
            .member("resourceBody")
            .member("id")
            .as_str(),
        Some("2")
    );
    assert!(results.element(0).member("eTag").as_str().is_some());
    assert!(
        results
            .element(0)
            .member("requestCharge")
            .as_f64()
            .expect("a charge")
            > 0.0
    );

    let bad = r#"[{"operationType":"Create","resourceBody":{"id":"3","pk":"a"}},
        {"operationType":"Create","resourceBody":{"id":"2","pk":"a"}},{"operationType":"Read","id":"2"}]"#;
    let failed = account.item("POST", "", r#"["a"]"#, &ATOMIC, bad);
    assert_eq!(
        (failed.status, codes(&parsed(&failed))),
        (207, vec![424.0, 409.0, 424.0])
    );
    assert_eq!(account.item("GET", "3", r#"["a"]"#, &[], "").status, 404);
}

#[test]
fn a_bulk_goes_on_after_a_failure() {
    let mut account = Account::with_containers();
    let headers = [
        ("x-ms-cosmos-is-batch-request", "True"),
        ("x-ms-cosmos-batch-atomic", "False"),
        ("x-ms-cosmos-batch-continue-on-error", "True"),
        ("x-ms-documentdb-partitionkeyrangeid", "0"),
    ];
    let body = br#"[{"operationType":"Create","partitionKey":"[\"a\"]","resourceBody":{"id":"1","pk":"a"}},
        {"operationType":"Upsert","partitionKey":"[\"z\"]","resourceBody":{"id":"9","pk":"z"},"minimalReturnPreference":true},
        {"operationType":"Delete","partitionKey":"[\"q\"]","id":"none"}]"#;
    let done = account.send("POST", "/dbs/db/colls/c/docs", &headers, body);
    assert_eq!(done.status, 207, "{}", done.text());
    let results = parsed(&done);
    let status = |place| results.element(place).member("statusCode").as_f64();
    assert_eq!(
        (status(0), status(1), status(2)),
        (Some(409.0), Some(201.0), Some(404.0))
    );
    assert!(results.element(1).member("resourceBody").is_undefined());
    assert!(results.element(1).member("eTag").as_str().is_some());
}

#[test]
fn a_binary_batch_is_answered_in_binary() {
    let mut account = Account::with_containers();
    let row = |operation_type, id, body| OperationRow {
        operation_type,
        resource_type: 2,
        id,
        resource_body: body,
        ..OperationRow::default()
    };
    let patch: &[u8] = br#"{"operations":[{"op":"set","path":"/n","value":2}]}"#;
    let mut stream = RecordWriter::new();
    for operation in [
        row(0, None, Some(br#"{"id":"2","pk":"a"}"#)),
        row(1, Some("1"), Some(patch)),
        row(2, Some("1"), None),
        row(5, Some("1"), Some(br#"{"id":"1","pk":"a","n":3}"#)),
        row(20, None, Some(br#"{"id":"4","pk":"a"}"#)),
        row(4, Some("2"), None),
    ] {
        stream.push(&operation.encode());
    }
    let mut headers = ATOMIC.to_vec();
    headers.push(("x-ms-documentdb-partitionkey", r#"["a"]"#));
    let done = account.send("POST", "/dbs/db/colls/c/docs", &headers, &stream.finish());
    assert_eq!(done.status, 200, "{}", done.text());
    let records: Vec<&[u8]> = RecordReader::new(&done.body)
        .expect("a stream")
        .map(|record| record.expect("a record"))
        .collect();
    let results: Vec<ResultRow<'_>> = records
        .iter()
        .map(|record| ResultRow::decode(record).expect("a row"))
        .collect();
    let statuses: Vec<i32> = results.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [201, 200, 200, 200, 201, 204]);
    assert!(results.iter().all(|result| result.request_charge > 0.0));
    let patched =
        orrery_model::json::parse(results[1].resource_body.expect("an item")).expect("JSON");
    assert_eq!(patched.member("n").as_f64(), Some(2.0));
}
