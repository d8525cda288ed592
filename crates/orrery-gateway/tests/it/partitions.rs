//! The admin API's partitions, and what clients see of a split.

use crate::account::{Account, NOW, READ_ONLY_KEY, WRONG_KEY, authorization, date, parsed};
use crate::http::Response;

const PATH: &str = "/_orrery/partitions/dbs/db/colls/c";
const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

fn ask(account: &mut Account, key: &str, method: &str, path: &str, body: &str) -> Response {
    let date = date(NOW);
    let link = path.trim_start_matches('/');
    let authorization = authorization(key, method, "_orrery", link, &date);
    let headers = [
        ("authorization", authorization.as_str()),
        ("x-ms-date", date.as_str()),
    ];
    account.client.send(method, path, &headers, body.as_bytes())
}

fn admin(account: &mut Account, method: &str, body: &str) -> Response {
    ask(account, KEY, method, PATH, body)
}

/// Splits range 0 of `c` in two and works until that is done.
fn split(account: &mut Account) {
    let asked = admin(account, "POST", r#"{"split":{"range":"0"}}"#);
    assert_eq!(asked.status, 202, "{}", asked.text());
    while account.engine.advance_reshapes(100).expect("advanced") > 0 {}
}

#[test]
fn only_a_full_master_key_may_ask() {
    let mut account = Account::with_containers();
    for (key, status) in [(KEY, 200), (READ_ONLY_KEY, 403), (WRONG_KEY, 401)] {
        let answer = ask(&mut account, key, "GET", PATH, "");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    assert_eq!(account.client.send("GET", PATH, &[], b"").status, 401);
}

#[test]
fn what_is_wrong_is_told() {
    let mut account = Account::with_containers();
    for (path, status) in [
        ("/_orrery/partitions/dbs/db/colls/nobody", 404),
        ("/_orrery/partitions/dbs/db", 400),
        ("/_orrery/nothing", 400),
        ("/_orrery/", 400),
    ] {
        let answer = ask(&mut account, KEY, "GET", path, "");
        assert!(
            answer.status == status || answer.status == 404,
            "{path}: {}",
            answer.text()
        );
    }
    for body in [
        "",
        "{}",
        "[]",
        r#"{"split":{}}"#,
        r#"{"split":{"range":"x"}}"#,
        r#"{"split":{"range":"0","into":1}}"#,
        r#"{"split":{"range":"0","into":"2"}}"#,
        r#"{"split":{"range":"0","by":"luck"}}"#,
        r#"{"split":{"range":"0","at":"ZZ"}}"#,
        r#"{"split":{"range":"0","by":"hash","at":"10"}}"#,
        r#"{"split":{"range":"0"},"merge":{"ranges":["0"]}}"#,
        r#"{"merge":{"ranges":["0"]}}"#,
        r#"{"merge":{"ranges":"0"}}"#,
    ] {
        let answer = admin(&mut account, "POST", body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
    }
    let gone = admin(&mut account, "POST", r#"{"split":{"range":"7"}}"#);
    assert_eq!(
        (gone.status, gone.header("x-ms-substatus")),
        (410, Some("1002"))
    );
    assert_eq!(admin(&mut account, "DELETE", "").status, 405);
}

#[test]
fn a_split_is_shown_from_request_to_end() {
    let mut account = Account::with_containers();
    split(&mut account);
    let shown = parsed(&admin(&mut account, "GET", ""));
    let partitions = shown.member("partitions").as_array().expect("a list");
    let ids: Vec<_> = partitions
        .iter()
        .map(|one| one.member("id").as_str())
        .collect();
    assert_eq!(ids, [Some("1"), Some("2")]);
    let operation = shown.member("operations").element(0);
    assert_eq!(operation.member("stage").as_str(), Some("done"));
    assert_eq!(operation.member("copied").as_i64(), Some(1));
}

#[test]
fn clients_of_the_old_range_are_told_to_look_again() {
    let mut account = Account::with_containers();
    let before = account.send(
        "GET",
        "/dbs/db/colls/c/pkranges",
        &[("a-im", "Incremental Feed")],
        b"",
    );
    let etag = before.header("etag").expect("an etag").to_owned();
    let read = account.item("GET", "1", r#"["a"]"#, &[], "");
    let token = read
        .header("x-ms-session-token")
        .expect("a token")
        .to_owned();
    split(&mut account);
    for headers in [
        &[("x-ms-documentdb-partitionkeyrangeid", "0")][..],
        &[
            ("x-ms-documentdb-partitionkeyrangeid", "0"),
            ("a-im", "Incremental Feed"),
        ],
    ] {
        let gone = account.send("GET", "/dbs/db/colls/c/docs", headers, b"");
        assert_eq!(
            (gone.status, gone.header("x-ms-substatus")),
            (410, Some("1002"))
        );
    }
    let incremental = [
        ("a-im", "Incremental Feed"),
        ("if-none-match", etag.as_str()),
    ];
    let new = account.send("GET", "/dbs/db/colls/c/pkranges", &incremental, b"");
    let ranges = parsed(&new);
    let ranges = ranges
        .member("PartitionKeyRanges")
        .as_array()
        .expect("ranges");
    assert_eq!(ranges.len(), 2);
    for range in ranges {
        assert_eq!(range.member("parents").element(0).as_str(), Some("0"));
    }
    // The parent's token is as good as ever, and key requests need no range.
    let session = [("x-ms-session-token", token.as_str())];
    let read = account.item("GET", "1", r#"["a"]"#, &session, "");
    assert_eq!(read.status, 200, "{}", read.text());
    let token = read.header("x-ms-session-token").expect("a token");
    assert!(!token.starts_with("0:"), "{token}");
    assert_eq!(
        token.split_once(":-1#").map(|(range, _)| range.len()),
        Some(1)
    );
    // A merge raises the version; the tokens of all ancestors are good.
    let of_child = token.to_owned();
    let asked = admin(&mut account, "POST", r#"{"merge":{"ranges":["1","2"]}}"#);
    assert_eq!(asked.status, 202, "{}", asked.text());
    while account.engine.advance_reshapes(100).expect("advanced") > 0 {}
    for session in [
        of_child.clone(),
        format!("{of_child},0:-1#1"),
        "3:0#1".to_owned(),
    ] {
        let session = [("x-ms-session-token", session.as_str())];
        let read = account.item("GET", "1", r#"["a"]"#, &session, "");
        assert_eq!(read.status, 200, "{}", read.text());
        let token = read.header("x-ms-session-token").expect("a token");
        assert!(token.starts_with("3:0#"), "{token}");
    }
    let future = [("x-ms-session-token", "3:1#0")];
    let read = account.item("GET", "1", r#"["a"]"#, &future, "");
    assert_eq!(
        (read.status, read.header("x-ms-substatus")),
        (404, Some("1002"))
    );
}

#[test]
fn queries_of_sdks_that_lose_their_way_are_answered_for_the_old_range() {
    let mut account = Account::with_containers();
    split(&mut account);
    let text = br#"{"query":"SELECT VALUE c.id FROM c ORDER BY c.id"}"#;
    let mut ask = |agent: &str| {
        let headers = [
            ("x-ms-documentdb-isquery", "True"),
            ("Content-Type", "application/query+json"),
            ("x-ms-documentdb-partitionkeyrangeid", "0"),
            ("User-Agent", agent),
        ];
        account.send("POST", "/dbs/db/colls/c/docs", &headers, text)
    };
    for agent in [
        "Node.js/20.20.2 (linux; x64) azure-cosmos-js/4.10.1",
        "azsdk-python-cosmos/4.17.1 Python/3.11.2 (Linux)",
        "azsdk-python-cosmos-async/4.17.1 Python/3.11.2 (Linux)",
    ] {
        let answer = ask(agent);
        assert_eq!(answer.status, 200, "{agent}: {}", answer.text());
        assert_ne!(answer.header("x-ms-item-count"), Some("0"));
    }
    for agent in ["azsdk-java-cosmos/4.69.0", "azsdk-rust-cosmos/0.30", ""] {
        let gone = ask(agent);
        assert_eq!(
            (gone.status, gone.header("x-ms-substatus")),
            (410, Some("1002")),
            "{agent}"
        );
    }
}
