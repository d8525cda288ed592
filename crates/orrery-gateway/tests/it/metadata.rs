//! The account document, databases, containers, offers, and the pages beside them.

use crate::account::{Account, parsed};

#[test]
fn the_account_shows_the_address_that_the_client_used() {
    let mut account = Account::empty();
    let read = account.send("GET", "/", &[], b"");
    assert_eq!(read.status, 200, "{}", read.text());
    let document = parsed(&read);
    let location = document.member("writableLocations").element(0);
    assert_eq!(
        location.member("databaseAccountEndpoint").as_str(),
        Some("http://localhost/")
    );
    assert_eq!(
        document
            .member("userConsistencyPolicy")
            .member("defaultConsistencyLevel")
            .as_str(),
        Some("Session")
    );
}

#[test]
fn a_public_endpoint_wins() {
    let mut account = Account::configured(|config| {
        config.public_endpoint = Some("https://shop.example:8081".to_owned());
    });
    let document = parsed(&account.send("GET", "/", &[], b""));
    let location = document.member("readableLocations").element(0);
    assert_eq!(
        location.member("databaseAccountEndpoint").as_str(),
        Some("https://shop.example:8081/")
    );
    assert_eq!(document.member("id").as_str(), Some("shop"));
}

#[test]
fn databases_and_containers_come_and_go() {
    let mut account = Account::with_containers();
    let feed = account.send("GET", "/dbs", &[], b"");
    assert_eq!(
        (feed.status, feed.header("x-ms-item-count")),
        (200, Some("1"))
    );
    assert_eq!(parsed(&feed).member("_rid").as_str(), Some(""));
    let containers = account.send("GET", "/dbs/db/colls", &[], b"");
    assert_eq!(
        parsed(&containers)
            .member("DocumentCollections")
            .as_array()
            .map(<[_]>::len),
        Some(3)
    );

    let read = account.send(
        "GET",
        "/dbs/db/colls/c",
        &[("x-ms-documentdb-populatequotainfo", "True")],
        b"",
    );
    assert_eq!(read.status, 200);
    assert!(
        read.header("x-ms-resource-usage")
            .expect("usage")
            .contains("documentsCount=1;")
    );
    assert!(
        read.header("x-ms-resource-quota")
            .expect("a quota")
            .contains("documentsCount=-1;")
    );
    assert_eq!(
        read.header("x-ms-documentdb-collection-index-transformation-progress"),
        Some("100")
    );
    let etag = read.header("etag").expect("an etag").to_owned();
    let link = parsed(&read)
        .member("_self")
        .as_str()
        .expect("a link")
        .to_owned();
    assert!(link.starts_with("dbs/") && link.ends_with('/'), "{link}");

    let deleted = account.send("DELETE", "/dbs/db/colls/c", &[("If-Match", &etag)], b"");
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    assert!(
        deleted.header("x-ms-alt-content-path").is_some()
            && deleted.header("x-ms-content-path").is_some()
    );
    let gone = account.send("GET", "/dbs/db/colls/c", &[], b"");
    assert_eq!(gone.status, 404);
    assert_eq!(account.send("DELETE", "/dbs/db", &[], b"").status, 204);
    assert_eq!(account.send("GET", "/dbs/db", &[], b"").status, 404);
}

#[test]
fn offers_are_found_by_query_and_replaced() {
    let mut account = Account::empty();
    assert_eq!(
        account.send("POST", "/dbs", &[], br#"{"id":"db"}"#).status,
        201
    );
    let body = br#"{"id":"t","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    let made = account.send(
        "POST",
        "/dbs/db/colls",
        &[("x-ms-offer-throughput", "500")],
        body,
    );
    assert_eq!(made.status, 201, "{}", made.text());
    let rid = parsed(&made)
        .member("_rid")
        .as_str()
        .expect("a rid")
        .to_owned();
    let query = format!(
        r#"{{"query":"SELECT * FROM root r WHERE r.offerResourceId = @rid","parameters":[{{"name":"@rid","value":"{rid}"}}]}}"#
    );
    let headers = [
        ("x-ms-documentdb-isquery", "True"),
        ("Content-Type", "application/query+json"),
    ];
    let found = account.send("POST", "/offers", &headers, query.as_bytes());
    assert_eq!(found.status, 200, "{}", found.text());
    let offer = parsed(&found).member("Offers").element(0).clone();
    assert_eq!(
        offer.member("content").member("offerThroughput").as_f64(),
        Some(500.0)
    );
    let path = format!("/offers/{}", offer.member("_rid").as_str().expect("a rid"));
    let text = orrery_model::json::to_string(&offer)
        .replace("\"offerThroughput\":500", "\"offerThroughput\":600");
    let replaced = account.send("PUT", &path, &[], text.as_bytes());
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    assert_eq!(
        parsed(&replaced)
            .member("content")
            .member("offerThroughput")
            .as_f64(),
        Some(600.0)
    );
    assert!(replaced.header("x-ms-cosmos-min-throughput").is_some());
}

#[test]
fn names_with_other_letters_are_escaped_in_headers() {
    let mut account = Account::empty();
    assert_eq!(
        account
            .send("POST", "/dbs", &[], r#"{"id":"dé b"}"#.as_bytes())
            .status,
        201
    );
    let read = account.send("GET", "/dbs/d%C3%A9%20b", &[], b"");
    assert_eq!(read.status, 200, "{}", read.text());
    assert_eq!(
        read.header("x-ms-alt-content-path"),
        Some("dbs/d%C3%A9%20b")
    );
}

#[test]
fn the_pages_beside_the_account_need_no_key() {
    let mut account = Account::configured(|config| config.authority_pem = Some("PEM".to_owned()));
    let pem = account
        .client
        .send("GET", "/_explorer/emulator.pem", &[], b"");
    assert_eq!((pem.status, pem.text().as_str()), (200, "PEM"));
    let index = account
        .client
        .send("GET", "/_explorer/index.html", &[], b"");
    assert_eq!(index.status, 200);
    assert!(index.text().contains("OrreryDB"));
    assert_eq!(
        account.client.send("GET", "/_explorer/x", &[], b"").status,
        404
    );
}
