//! Signatures: vectors of the documentation, and what each failure answers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use orrery_gateway::auth::{AuthFailure, Authenticator, Identity, Key, Keys, Signed};

use crate::account::{Account, NOW, READ_ONLY_KEY, WRONG_KEY, authorization, date, parsed, signed};

/// Key and signature of the example in the service's documentation of access control.
const DOCUMENTED_KEY: &str =
    "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw==";
const DOCUMENTED_HEADER: &str =
    "type%3dmaster%26ver%3d1.0%26sig%3dc09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu%2bc%2bc%3d";
const DOCUMENTED_DATE: &str = "Thu, 27 Apr 2017 00:51:12 GMT";
const DOCUMENTED_TIME: u64 = 1_493_254_272;

fn documented() -> Authenticator {
    let key: Key = DOCUMENTED_KEY.parse().expect("a key");
    Authenticator::new(Keys::single(key), false)
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                http::HeaderName::from_static(name),
                value.parse().expect("a value"),
            )
        })
        .collect()
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

const TODO_LIST: Signed<'static> = Signed {
    verb: "get",
    resource_type: "dbs",
    link: "dbs/ToDoList",
};

#[test]
fn the_documented_signature_is_accepted() {
    let identify =
        |headers: &HeaderMap| documented().identify(headers, TODO_LIST, at(DOCUMENTED_TIME));
    let accepted = headers(&[
        ("authorization", DOCUMENTED_HEADER),
        ("x-ms-date", DOCUMENTED_DATE),
    ]);
    assert_eq!(identify(&accepted), Ok(Identity::Owner));
    // Unescaped, as some SDKs leave it; and with the date in lower case.
    let plain = "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+c+c=";
    let unescaped = headers(&[
        ("authorization", plain),
        ("x-ms-date", "thu, 27 apr 2017 00:51:12 gmt"),
    ]);
    assert_eq!(identify(&unescaped), Ok(Identity::Owner));
    let other_case = headers(&[
        (
            "authorization",
            &DOCUMENTED_HEADER
                .replace("%2b", "%2B")
                .replace("%3d", "%3D"),
        ),
        ("x-ms-date", DOCUMENTED_DATE),
    ]);
    assert_eq!(identify(&other_case), Ok(Identity::Owner));
}

#[test]
fn the_date_header_is_signed_in_the_other_place() {
    use base64::Engine as _;
    use hmac::{Hmac, KeyInit, Mac};
    let payload = format!(
        "get\ndbs\ndbs/ToDoList\n\n{}\n",
        DOCUMENTED_DATE.to_lowercase()
    );
    let key = base64::engine::general_purpose::STANDARD
        .decode(DOCUMENTED_KEY)
        .expect("a key");
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).expect("any length");
    mac.update(payload.as_bytes());
    let signature = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
    let by_date = headers(&[
        (
            "authorization",
            &format!("type=master&ver=1.0&sig={signature}"),
        ),
        ("date", DOCUMENTED_DATE),
    ]);
    assert_eq!(
        documented().identify(&by_date, TODO_LIST, at(DOCUMENTED_TIME)),
        Ok(Identity::Owner)
    );
}

#[test]
fn every_flipped_bit_of_a_signature_is_refused() {
    for at_byte in 0..44 {
        let mut plain = *b"c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+c+c=";
        plain[at_byte] ^= 1;
        let text = String::from_utf8_lossy(&plain).into_owned();
        if !text.is_ascii() || text.contains(['&', '%']) {
            continue;
        }
        let forged = headers(&[
            ("authorization", &format!("type=master&ver=1.0&sig={text}")),
            ("x-ms-date", DOCUMENTED_DATE),
        ]);
        let refused = documented().identify(&forged, TODO_LIST, at(DOCUMENTED_TIME));
        assert!(
            matches!(refused, Err(AuthFailure::Mismatch(_))),
            "byte {at_byte}: {refused:?}"
        );
    }
}

#[test]
fn a_signature_ends_after_a_quarter_of_an_hour_and_some_skew() {
    let accepted = headers(&[
        ("authorization", DOCUMENTED_HEADER),
        ("x-ms-date", DOCUMENTED_DATE),
    ]);
    let minutes = |minutes: i64| {
        let now = at(DOCUMENTED_TIME.saturating_add_signed(minutes * 60));
        documented().identify(&accepted, TODO_LIST, now)
    };
    assert_eq!(minutes(-4), Ok(Identity::Owner));
    assert_eq!(minutes(14), Ok(Identity::Owner));
    assert!(matches!(minutes(21), Err(AuthFailure::NotCurrent { .. })));
    assert!(matches!(minutes(-6), Err(AuthFailure::NotCurrent { .. })));
}

#[test]
fn all_keys_are_tried_and_debug_output_hides_them() {
    let mut keys = Keys::single(WRONG_KEY.parse().expect("a key"));
    keys.secondary = Some(DOCUMENTED_KEY.parse().expect("a key"));
    keys.secondary_readonly = Some(READ_ONLY_KEY.parse().expect("a key"));
    assert!(!format!("{keys:?}").contains("dsZQ"));
    let authenticator = Authenticator::new(keys, false);
    let by = |key: &str| {
        let token = authorization(key, "get", "dbs", "dbs/ToDoList", DOCUMENTED_DATE);
        let sent = headers(&[("authorization", &token), ("x-ms-date", DOCUMENTED_DATE)]);
        authenticator.identify(&sent, TODO_LIST, at(DOCUMENTED_TIME))
    };
    assert_eq!(by(WRONG_KEY), Ok(Identity::Owner));
    assert_eq!(by(DOCUMENTED_KEY), Ok(Identity::Owner));
    assert_eq!(by(READ_ONLY_KEY), Ok(Identity::Reader));
    assert!(by("bm90IG9uZSBvZiB0aGUga2V5cyBhdCBhbGw=").is_err());
}

#[test]
fn failures_say_what_to_do() {
    let mut account = Account::with_containers();
    let missing = account.client.send("GET", "/dbs/db", &[], b"");
    assert_eq!(
        (missing.status, missing.header("x-ms-substatus")),
        (401, Some("5000"))
    );
    assert!(
        missing
            .text()
            .contains("Required Header authorization is missing")
    );

    let now = date(NOW);
    let wrong = signed(WRONG_KEY, "GET", "/dbs/db", &now);
    let sent = [
        ("authorization", wrong.as_str()),
        ("x-ms-date", now.as_str()),
    ];
    let mismatch = account.client.send("GET", "/dbs/db", &sent, b"");
    assert_eq!(mismatch.status, 401);
    let message = parsed(&mismatch)
        .member("message")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        message.contains("The input authorization token can't serve the request."),
        "{message}"
    );
    assert!(
        message.contains(r"Server used the following payload to sign: 'get\ndbs\ndbs/db\n"),
        "{message}"
    );

    let old = date(NOW - 3600);
    let stale = signed(orrery_gateway::auth::EMULATOR_KEY, "GET", "/dbs/db", &old);
    let sent = [
        ("authorization", stale.as_str()),
        ("x-ms-date", old.as_str()),
    ];
    let expired = account.client.send("GET", "/dbs/db", &sent, b"");
    assert_eq!(expired.status, 403);
    assert!(
        expired
            .text()
            .contains("The authorization token is not valid at the current time.")
    );
}

#[test]
fn paths_of_rids_are_signed_by_their_last_rid() {
    let mut account = Account::with_containers();
    let read = account.send("GET", "/dbs/db/colls/c", &[], b"");
    let link = parsed(&read)
        .member("_self")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let rid = parsed(&read)
        .member("_rid")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let now = date(NOW);
    let token = authorization(
        orrery_gateway::auth::EMULATOR_KEY,
        "GET",
        "pkranges",
        &rid.to_lowercase(),
        &now,
    );
    let sent = [
        ("authorization", token.as_str()),
        ("x-ms-date", now.as_str()),
    ];
    let ranges = account
        .client
        .send("GET", &format!("/{link}pkranges"), &sent, b"");
    assert_eq!(ranges.status, 200, "{}", ranges.text());
}

#[test]
fn escapes_in_a_path_are_signed_decoded_or_as_they_stand() {
    let mut account = Account::with_containers();
    assert_eq!(
        account
            .item("POST", "", r#"["a"]"#, &[], r#"{"id":"a b","pk":"a"}"#)
            .status,
        201
    );
    assert_eq!(
        account.item("GET", "a%20b", r#"["a"]"#, &[], "").status,
        200
    );
    let now = date(NOW);
    let raw = authorization(
        orrery_gateway::auth::EMULATOR_KEY,
        "GET",
        "docs",
        "dbs/db/colls/c/docs/a%20b",
        &now,
    );
    let sent = [
        ("authorization", raw.as_str()),
        ("x-ms-date", now.as_str()),
        ("x-ms-documentdb-partitionkey", r#"["a"]"#),
    ];
    let read = account
        .client
        .send("GET", "/dbs/db/colls/c/docs/a%20b", &sent, b"");
    assert_eq!(read.status, 200, "{}", read.text());
}

#[test]
fn an_account_without_proof_takes_everybody() {
    let mut account = Account::configured(|config| config.no_auth = true);
    assert_eq!(
        account
            .client
            .send("POST", "/dbs", &[], br#"{"id":"x"}"#)
            .status,
        201
    );
    let nonsense = [("authorization", "nonsense")];
    assert_eq!(
        account.client.send("GET", "/dbs/x", &nonsense, b"").status,
        200
    );
}

/// A token as the emulator's clients make them: the key's text in the signature's place.
fn directory_token(key: &str, start: u64, expiry: u64) -> String {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let claims = format!(r#"{{"aud":"https://localhost.localhost","nbf":{start},"exp":{expiry}}}"#);
    let token = [
        encode(r#"{"typ":"JWT","alg":"RS256"}"#),
        encode(&claims),
        encode(key),
    ]
    .join(".");
    let text = format!("type=aad&ver=1.0&sig={token}");
    percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[test]
fn directory_tokens_prove_nothing_but_the_key_inside() {
    let mut account = Account::with_containers();
    let mut read = |key: &str, start: u64, expiry: u64| {
        let token = directory_token(key, start, expiry);
        account
            .client
            .send("GET", "/dbs/db", &[("authorization", &token)], b"")
            .status
    };
    let key = orrery_gateway::auth::EMULATOR_KEY;
    assert_eq!(read(key, NOW - 10, NOW + 3600), 200);
    assert_eq!(read(READ_ONLY_KEY, NOW - 10, NOW + 3600), 200);
    assert_eq!(read(WRONG_KEY, NOW - 10, NOW + 3600), 401);
    assert_eq!(read("", NOW - 10, NOW + 3600), 401);
    assert_eq!(read(key, NOW - 3600, NOW - 10), 403);
    assert_eq!(read(key, NOW + 3600, NOW + 7200), 403);
    let reader = directory_token(READ_ONLY_KEY, NOW - 10, NOW + 3600);
    let refused = account
        .client
        .send("DELETE", "/dbs/db", &[("authorization", &reader)], b"");
    assert_eq!(refused.status, 403);
}
