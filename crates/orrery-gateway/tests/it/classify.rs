//! Verb, path and headers to an operation: the table of the protocol.

use http::{HeaderMap, HeaderName, Method};
use orrery_gateway::request::{Operation, RequestHeaders, classify};
use orrery_gateway::respond::errors::GatewayError;
use orrery_model::resource_path::ResourcePath;

fn of(
    method: &str,
    path: &str,
    headers: &[(&'static str, &'static str)],
) -> Result<Operation, GatewayError> {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                value.parse().expect("a value"),
            )
        })
        .collect();
    let method = Method::from_bytes(method.as_bytes()).expect("a verb");
    let path = ResourcePath::parse(path).map_err(GatewayError::from)?;
    classify(&method, &path, RequestHeaders::new(&headers))
}

#[test]
fn posts_on_a_feed_are_told_apart_in_order() {
    let docs = "/dbs/a/colls/b/docs";
    let plan = ("x-ms-cosmos-is-query-plan-request", "True");
    let query = ("x-ms-documentdb-isquery", "true");
    let batch = ("x-ms-cosmos-is-batch-request", "TRUE");
    let upsert = ("x-ms-documentdb-is-upsert", "True");
    assert_eq!(of("POST", docs, &[]), Ok(Operation::Create));
    assert_eq!(of("POST", docs, &[upsert]), Ok(Operation::Upsert));
    assert_eq!(of("POST", docs, &[upsert, batch]), Ok(Operation::Batch));
    assert_eq!(
        of("POST", docs, &[upsert, batch, query]),
        Ok(Operation::Query)
    );
    assert_eq!(
        of("POST", docs, &[upsert, batch, query, plan]),
        Ok(Operation::QueryPlan)
    );
    assert_eq!(
        of("POST", docs, &[("x-ms-documentdb-query", "True")]),
        Ok(Operation::Query)
    );
    for content_type in [
        "application/query+json",
        "Application/Query+JSON; charset=utf-8",
    ] {
        assert_eq!(
            of("POST", docs, &[("content-type", content_type)]),
            Ok(Operation::Query)
        );
    }
    assert_eq!(
        of("POST", docs, &[("x-ms-documentdb-isquery", "False")]),
        Ok(Operation::Create)
    );
    assert_eq!(
        of("POST", docs, &[("a-im", "Incremental Feed")]),
        Ok(Operation::ReadFeed)
    );
}

#[test]
fn verbs_on_resources_and_feeds() {
    let all = [
        "GET", "HEAD", "PUT", "PATCH", "DELETE", "POST", "OPTIONS", "BREW",
    ];
    let no = Err(GatewayError::MethodNotAllowed);
    let rows = [
        (
            "/",
            [
                Ok(Operation::Read),
                Ok(Operation::Read),
                no.clone(),
                no.clone(),
                no.clone(),
                no.clone(),
            ],
        ),
        (
            "/dbs/a/colls/b/docs/c",
            [
                Ok(Operation::Read),
                Ok(Operation::Read),
                Ok(Operation::Replace),
                Ok(Operation::Patch),
                Ok(Operation::Delete),
                no.clone(),
            ],
        ),
        (
            "/dbs/a/colls/b",
            [
                Ok(Operation::Read),
                Ok(Operation::Read),
                Ok(Operation::Replace),
                no.clone(),
                Ok(Operation::Delete),
                no.clone(),
            ],
        ),
        (
            "/dbs/a/colls",
            [
                Ok(Operation::ReadFeed),
                Ok(Operation::ReadFeed),
                no.clone(),
                no.clone(),
                no.clone(),
                Ok(Operation::Create),
            ],
        ),
        (
            "/dbs/a/colls/b/sprocs/s",
            [
                Ok(Operation::Read),
                Ok(Operation::Read),
                Ok(Operation::Replace),
                no.clone(),
                Ok(Operation::Delete),
                Ok(Operation::Execute),
            ],
        ),
        (
            "/dbs/a/colls/b/pkranges",
            [
                Ok(Operation::ReadFeed),
                Ok(Operation::ReadFeed),
                no.clone(),
                no.clone(),
                no.clone(),
                no.clone(),
            ],
        ),
        (
            "/offers/AbCd",
            [
                Ok(Operation::Read),
                Ok(Operation::Read),
                Ok(Operation::Replace),
                no.clone(),
                no.clone(),
                no.clone(),
            ],
        ),
    ];
    for (path, expected) in rows {
        for (place, method) in all.iter().enumerate() {
            let expected = expected.get(place).cloned().unwrap_or_else(|| no.clone());
            assert_eq!(of(method, path, &[]), expected, "{method} {path}");
        }
    }
}

#[test]
fn operations_of_containers() {
    let path = "/dbs/a/colls/b/operations/partitionkeydelete";
    assert_eq!(of("POST", path, &[]), Ok(Operation::DeletePartitionKey));
    assert_eq!(of("GET", path, &[]), Err(GatewayError::MethodNotAllowed));
    assert_eq!(
        of("PUT", "/dbs/a/colls/b/operations/collectiontruncate", &[]),
        Ok(Operation::Truncate)
    );
    assert_eq!(
        of("POST", "/dbs/a/colls/b/operations/x", &[]),
        Err(GatewayError::UnknownPath)
    );
    assert_eq!(of("GET", "/nothing", &[]), Err(GatewayError::UnknownPath));
    assert_eq!(of("GET", "//dbs//a/", &[]), Ok(Operation::Read));
}
