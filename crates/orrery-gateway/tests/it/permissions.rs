//! Resource tokens: what a permission opens, and what stays shut.

use crate::account::{Account, parsed};
use crate::http::Response;

const KEY: &str = r#"["a"]"#;

/// An account with user `u` and one permission; its token.
fn with_permission(permission: &str, headers: &[(&str, &str)]) -> (Account, String) {
    let mut account = Account::with_containers();
    assert_eq!(
        account
            .send("POST", "/dbs/db/users", &[], br#"{"id":"u"}"#)
            .status,
        201
    );
    let path = "/dbs/db/users/u/permissions";
    let made = account.send("POST", path, headers, permission.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    let token = parsed(&made)
        .member("_token")
        .as_str()
        .expect("a token")
        .to_owned();
    assert!(token.starts_with("type=resource&ver=1&sig="), "{token}");
    (account, token)
}

fn bearer(
    account: &mut Account,
    token: &str,
    method: &str,
    target: &str,
    key: &str,
    body: &str,
) -> Response {
    let token = percent_encoding::utf8_percent_encode(token, percent_encoding::NON_ALPHANUMERIC);
    let token = token.to_string();
    let headers = [
        ("authorization", token.as_str()),
        ("x-ms-documentdb-partitionkey", key),
    ];
    account
        .client
        .send(method, target, &headers, body.as_bytes())
}

#[test]
fn a_read_permission_on_a_container_reads_its_items() {
    let (mut account, token) = with_permission(
        r#"{"id":"p","permissionMode":"Read","resource":"dbs/db/colls/c"}"#,
        &[],
    );
    let mut ask = |method: &str, target: &str, body: &str| {
        bearer(&mut account, &token, method, target, KEY, body).status
    };
    assert_eq!(ask("GET", "/", ""), 200);
    assert_eq!(ask("GET", "/dbs/db/colls/c", ""), 200);
    assert_eq!(ask("GET", "/dbs/db/colls/c/pkranges", ""), 200);
    assert_eq!(ask("GET", "/dbs/db/colls/c/docs/1", ""), 200);
    assert_eq!(ask("GET", "/dbs/db/colls/c/docs", ""), 200);
    assert_eq!(
        ask("POST", "/dbs/db/colls/c/docs", r#"{"id":"2","pk":"a"}"#),
        403
    );
    assert_eq!(ask("DELETE", "/dbs/db/colls/c/docs/1", ""), 403);
    assert_eq!(ask("GET", "/dbs/db/colls/h", ""), 403);
    assert_eq!(ask("GET", "/dbs", ""), 403);
    assert_eq!(ask("GET", "/dbs/db/users", ""), 403);
    assert_eq!(ask("GET", "/offers", ""), 403);
}

#[test]
fn a_permission_for_one_key_opens_that_key_only() {
    let permission = r#"{"id":"p","permissionMode":"All","resource":"dbs/db/colls/c","resourcePartitionKey":["a"]}"#;
    let (mut account, token) = with_permission(permission, &[]);
    let mut ask = |method: &str, target: &str, key: &str, body: &str| {
        bearer(&mut account, &token, method, target, key, body).status
    };
    assert_eq!(
        ask(
            "POST",
            "/dbs/db/colls/c/docs",
            KEY,
            r#"{"id":"2","pk":"a"}"#
        ),
        201
    );
    assert_eq!(ask("GET", "/dbs/db/colls/c/docs/1", KEY, ""), 200);
    assert_eq!(
        ask(
            "POST",
            "/dbs/db/colls/c/docs",
            r#"["b"]"#,
            r#"{"id":"2","pk":"b"}"#
        ),
        403
    );
    assert_eq!(ask("GET", "/dbs/db/colls/c/docs/1", r#"["b"]"#, ""), 403);
}

#[test]
fn a_permission_on_an_item_opens_the_item() {
    let (mut account, token) = with_permission(
        r#"{"id":"p","permissionMode":"All","resource":"dbs/db/colls/c/docs/1"}"#,
        &[],
    );
    let mut ask = |method: &str, target: &str, body: &str| {
        bearer(&mut account, &token, method, target, KEY, body).status
    };
    assert_eq!(
        ask(
            "PUT",
            "/dbs/db/colls/c/docs/1",
            r#"{"id":"1","pk":"a","n":2}"#
        ),
        200
    );
    assert_eq!(ask("GET", "/dbs/db/colls/c", ""), 200);
    assert_eq!(ask("DELETE", "/dbs/db/colls/c", ""), 403);
    assert_eq!(ask("GET", "/dbs/db/colls/c/docs", ""), 403);
    assert_eq!(ask("GET", "/dbs/db/colls/c/docs/11", ""), 403);
}

#[test]
fn a_token_ends_with_its_permission_and_cannot_be_forged() {
    let (mut account, token) = with_permission(
        r#"{"id":"p","permissionMode":"All","resource":"dbs/db/colls/c"}"#,
        &[],
    );
    let read = "/dbs/db/colls/c/docs/1";
    assert_eq!(
        bearer(&mut account, &token, "GET", read, KEY, "").status,
        200
    );
    for at in "type=resource&ver=1&sig=".len()..token.len() - 1 {
        let mut forged = token.clone().into_bytes();
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).expect("text");
        let status = bearer(&mut account, &forged, "GET", read, KEY, "").status;
        assert_eq!(status, 401, "{at}");
    }
    let path = "/dbs/db/users/u/permissions/p";
    assert_eq!(account.send("DELETE", path, &[], b"").status, 204);
    assert_eq!(
        bearer(&mut account, &token, "GET", read, KEY, "").status,
        401
    );
}

#[test]
fn the_life_of_a_token_is_bounded() {
    let permission = br#"{"id":"q","permissionMode":"All","resource":"dbs/db/colls/h"}"#;
    let (mut account, _) = with_permission(
        r#"{"id":"p","permissionMode":"All","resource":"dbs/db/colls/c"}"#,
        &[("x-ms-documentdb-expiry-seconds", "600")],
    );
    for life in ["599", "18001", "soon"] {
        let headers = [("x-ms-documentdb-expiry-seconds", life)];
        let refused = account.send("POST", "/dbs/db/users/u/permissions", &headers, permission);
        assert_eq!(refused.status, 400, "{life}: {}", refused.text());
    }
    let read = account.send("GET", "/dbs/db/users/u/permissions/q", &[], b"");
    assert_eq!(read.status, 404, "a refused permission is not kept");
}
