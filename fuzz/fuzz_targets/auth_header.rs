//! Any authorization header and date: refused, unless it is the account's signature.
#![no_main]

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use orrery_gateway::auth::{Authenticator, EMULATOR_KEY, Identity, Key, Keys, Signed};

fuzz_target!(|input: (&[u8], &[u8])| {
    let (authorization, date) = input;
    let mut headers = HeaderMap::new();
    for (name, bytes) in [("authorization", authorization), ("x-ms-date", date)] {
        if let Ok(value) = HeaderValue::from_bytes(bytes) {
            headers.insert(name, value);
        }
    }
    let key: Key = EMULATOR_KEY.parse().expect("a key");
    let authenticator = Authenticator::new(Keys::single(key), false);
    let signed = Signed {
        verb: "get",
        resource_type: "docs",
        link: "dbs/a/colls/b/docs/c",
    };
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let identity = authenticator.identify(&headers, signed, now);
    assert!(
        !matches!(identity, Ok(Identity::Owner | Identity::Reader)),
        "nobody guesses a signature"
    );
});
