//! Items over the wire: statuses, bodies, and the headers that SDKs read.

use crate::account::{Account, parsed};

const KEY: &str = r#"["a"]"#;

#[test]
fn an_item_lives_and_dies() {
    let mut account = Account::with_containers();
    let created = account.item("POST", "", KEY, &[], r#"{"id":"2","pk":"a","n":5}"#);
    assert_eq!(created.status, 201);
    let etag = created.header("etag").expect("an etag").to_owned();
    assert_eq!(
        parsed(&created).member("_etag").as_str(),
        Some(etag.as_str())
    );

    let read = account.item("GET", "2", KEY, &[], "");
    assert_eq!(
        (read.status, read.body.as_slice()),
        (200, created.body.as_slice())
    );

    let unchanged = account.item("GET", "2", KEY, &[("If-None-Match", &etag)], "");
    assert_eq!(
        (unchanged.status, unchanged.header("etag")),
        (304, Some(etag.as_str()))
    );

    let replaced = account.item(
        "PUT",
        "2",
        KEY,
        &[("If-Match", &etag)],
        r#"{"id":"2","pk":"a","n":6}"#,
    );
    assert_eq!(replaced.status, 200);
    assert_ne!(replaced.header("etag"), Some(etag.as_str()));
    let stale = account.item(
        "PUT",
        "2",
        KEY,
        &[("If-Match", &etag)],
        r#"{"id":"2","pk":"a","n":7}"#,
    );
    assert_eq!(stale.status, 412);

    let patch = r#"{"operations":[{"op":"incr","path":"/n","value":4}]}"#;
    let patched = account.item("PATCH", "2", KEY, &[], patch);
    assert_eq!(
        (patched.status, parsed(&patched).member("n").as_f64()),
        (200, Some(10.0))
    );

    let upsert = [("x-ms-documentdb-is-upsert", "True")];
    assert_eq!(
        account
            .item("POST", "", KEY, &upsert, r#"{"id":"2","pk":"a"}"#)
            .status,
        200
    );
    assert_eq!(
        account
            .item("POST", "", KEY, &upsert, r#"{"id":"3","pk":"a"}"#)
            .status,
        201
    );

    let deleted = account.item("DELETE", "2", KEY, &[], "");
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    assert_eq!(account.item("GET", "2", KEY, &[], "").status, 404);
}

#[test]
fn every_answer_tells_charge_position_and_owner() {
    let mut account = Account::with_containers();
    let container = account.send("GET", "/dbs/db/colls/c", &[], b"");
    let rid = parsed(&container)
        .member("_rid")
        .as_str()
        .expect("a rid")
        .to_owned();
    for (status, response) in [
        (
            201,
            account.item("POST", "", KEY, &[], r#"{"id":"2","pk":"a"}"#),
        ),
        (200, account.item("GET", "1", KEY, &[], "")),
        (404, account.item("GET", "nope", KEY, &[], "")),
        (
            409,
            account.item("POST", "", KEY, &[], r#"{"id":"2","pk":"a"}"#),
        ),
        (
            412,
            account.item("DELETE", "1", KEY, &[("If-Match", "\"x\"")], ""),
        ),
        (204, account.item("DELETE", "2", KEY, &[], "")),
    ] {
        assert_eq!(response.status, status, "{}", response.text());
        let header = |name: &str| {
            response
                .header(name)
                .unwrap_or_else(|| panic!("{status}: {name}"))
        };
        assert!(
            header("x-ms-request-charge")
                .parse::<f64>()
                .expect("a number")
                > 0.0,
            "{status}"
        );
        let token = header("x-ms-session-token");
        let (range, position) = token
            .split_once(":-1#")
            .unwrap_or_else(|| panic!("{token}"));
        assert_eq!(
            (range, position),
            (header("x-ms-documentdb-partitionkeyrangeid"), header("lsn"))
        );
        assert_eq!(header("x-ms-alt-content-path"), "dbs/db/colls/c");
        assert_eq!(header("x-ms-content-path"), rid);
        assert_eq!(header("x-ms-activity-id").len(), 36);
    }
}

#[test]
fn the_clients_activity_id_comes_back() {
    let mut account = Account::with_containers();
    let id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let read = account.item("GET", "1", KEY, &[("x-ms-activity-id", id)], "");
    assert_eq!(read.header("x-ms-activity-id"), Some(id));
    let made = account.item("GET", "1", KEY, &[("x-ms-activity-id", "mine")], "");
    assert_ne!(made.header("x-ms-activity-id"), Some("mine"));
}

#[test]
fn minimal_return_drops_the_body_and_nothing_else() {
    let mut account = Account::with_containers();
    let minimal = [("Prefer", "return=minimal")];
    let created = account.item("POST", "", KEY, &minimal, r#"{"id":"2","pk":"a"}"#);
    assert_eq!((created.status, created.body.len()), (201, 0));
    assert!(created.header("etag").is_some() && created.header("x-ms-session-token").is_some());
    let read = account.item("GET", "2", KEY, &minimal, "");
    assert_ne!(read.body.len(), 0, "reads are unaffected");
}

#[test]
fn head_is_a_read_without_its_body() {
    let mut account = Account::with_containers();
    let read = account.item("GET", "1", KEY, &[], "");
    let head = account.item("HEAD", "1", KEY, &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), read.header("content-length"));
    assert_eq!(account.item("HEAD", "nope", KEY, &[], "").status, 404);
    assert_eq!(
        account.item("GET", "1", KEY, &[], "").status,
        200,
        "the connection is still in step"
    );
}

#[test]
fn a_feed_is_read_page_by_page() {
    let mut account = Account::with_containers();
    for id in 2..=5 {
        let body = format!(r#"{{"id":"{id}","pk":"a"}}"#);
        assert_eq!(account.item("POST", "", KEY, &[], &body).status, 201);
    }
    let mut ids = Vec::new();
    let mut token = None::<String>;
    for _ in 0..10 {
        let mut headers = vec![("x-ms-max-item-count", "2")];
        if let Some(token) = &token {
            headers.push(("x-ms-continuation", token));
        }
        let page = account.send("GET", "/dbs/db/colls/c/docs", &headers, b"");
        assert_eq!(page.status, 200, "{}", page.text());
        let value = parsed(&page);
        let items = value.member("Documents").as_array().expect("an array");
        assert_eq!(
            page.header("x-ms-item-count"),
            Some(items.len().to_string().as_str())
        );
        assert_eq!(value.member("_count").as_f64(), Some(items.len() as f64));
        ids.extend(
            items
                .iter()
                .map(|item| item.member("id").as_str().expect("an id").to_owned()),
        );
        token = page.header("x-ms-continuation").map(str::to_owned);
        if token.is_none() {
            break;
        }
    }
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
}

#[test]
fn a_change_feed_goes_on_after_its_etag() {
    let mut account = Account::with_containers();
    let feed = |account: &mut Account, more: &[(&str, &str)]| {
        let mut headers = vec![
            ("A-IM", "Incremental Feed"),
            ("x-ms-documentdb-partitionkeyrangeid", "0"),
        ];
        headers.extend_from_slice(more);
        account.send("GET", "/dbs/db/colls/c/docs", &headers, b"")
    };
    let first = feed(&mut account, &[]);
    assert_eq!(
        (first.status, first.header("x-ms-item-count")),
        (200, Some("1"))
    );
    assert!(
        parsed(&first)
            .member("Documents")
            .element(0)
            .member("_lsn")
            .as_f64()
            .is_some()
    );
    let etag = first.header("etag").expect("an etag").to_owned();
    let nothing = feed(&mut account, &[("If-None-Match", &etag)]);
    assert_eq!(
        (nothing.status, nothing.header("x-ms-item-count")),
        (304, Some("0"))
    );
    let from_now = feed(&mut account, &[("If-None-Match", "*")]);
    assert_eq!(from_now.status, 304);
    let position = from_now
        .header("etag")
        .expect("a usable position")
        .to_owned();
    assert_eq!(
        account
            .item("POST", "", KEY, &[], r#"{"id":"2","pk":"a"}"#)
            .status,
        201
    );
    let next = feed(&mut account, &[("If-None-Match", &position)]);
    assert_eq!(
        (next.status, next.header("x-ms-item-count")),
        (200, Some("1"))
    );
}

#[test]
fn ranges_are_told_until_there_is_nothing_new() {
    let mut account = Account::with_containers();
    let incremental = [("A-IM", "Incremental Feed")];
    let all = account.send("GET", "/dbs/db/colls/c/pkranges", &incremental, b"");
    assert_eq!(all.status, 200);
    let value = parsed(&all);
    let ranges = value
        .member("PartitionKeyRanges")
        .as_array()
        .expect("an array")
        .to_vec();
    assert_eq!(ranges[0].member("minInclusive").as_str(), Some(""));
    assert_eq!(
        ranges[ranges.len() - 1].member("maxExclusive").as_str(),
        Some("FF")
    );
    let etag = all.header("etag").expect("an etag").to_owned();
    let known = [
        ("A-IM", "Incremental Feed"),
        ("If-None-Match", etag.as_str()),
    ];
    let none = account.send("GET", "/dbs/db/colls/c/pkranges", &known, b"");
    assert_eq!(
        (none.status, none.header("etag")),
        (304, Some(etag.as_str()))
    );
    assert_eq!(
        account
            .send("GET", "/dbs/db/colls/c/pkranges/0", &[], b"")
            .status,
        200
    );
    assert_eq!(
        account
            .send("GET", "/dbs/db/colls/c/pkranges/99", &[], b"")
            .status,
        404
    );
}

#[test]
fn a_logical_partition_is_deleted_whole() {
    let mut account = Account::with_containers();
    assert_eq!(
        account
            .item("POST", "", r#"["b"]"#, &[], r#"{"id":"1","pk":"b"}"#)
            .status,
        201
    );
    let path = "/dbs/db/colls/c/operations/partitionkeydelete";
    let deleted = account.send("POST", path, &[("x-ms-documentdb-partitionkey", KEY)], b"");
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    assert_eq!(account.item("GET", "1", KEY, &[], "").status, 404);
    assert_eq!(account.item("GET", "1", r#"["b"]"#, &[], "").status, 200);
}
