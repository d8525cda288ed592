//! An account in memory behind a real port, and a client that signs.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use orrery_engine::{Clock, Engine, EngineConfig, Entropy};
use orrery_gateway::auth::{EMULATOR_KEY, Keys};
use orrery_gateway::config::GatewayConfig;
use orrery_gateway::gateway::Gateway;
use orrery_model::json;
use orrery_model::value::Value;
use orrery_storage::MemoryStore;

use crate::http::{Client, Response};
use crate::server::{Running, local};

/// The second of all tests.
pub const NOW: u64 = 1_800_000_000;
/// A key that only reads.
pub const READ_ONLY_KEY: &str = "cmVhZC1vbmx5LWtleS1vZi10aGUtdGVzdHMtMTIzNDU2Nzg5MA==";
/// A key of nobody.
pub const WRONG_KEY: &str = "d3Jvbmcta2V5LW9mLXRoZS10ZXN0cy0xMjM0NTY3ODkwMTIzNDU=";

struct StoppedClock;

impl Clock for StoppedClock {
    fn now_us(&self) -> u64 {
        NOW * 1_000_000
    }
}

/// Numbers that never repeat.
struct Counting(AtomicU64);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            // Multiplying by an odd constant spreads the counter over all bits.
            let number = self
                .0
                .fetch_add(1, Ordering::Relaxed)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
            chunk.copy_from_slice(&number.to_le_bytes()[..chunk.len()]);
        }
    }
}

/// A running account and a connection to it.
pub struct Account {
    pub server: Running,
    pub client: Client<TcpStream>,
    /// The engine behind it.
    pub engine: Engine,
}

impl Account {
    /// An account with nothing in it.
    pub fn empty() -> Self {
        Self::configured(|_| {})
    }

    /// The same with another configuration.
    pub fn configured(change: impl FnOnce(&mut GatewayConfig)) -> Self {
        let mut keys = Keys::single(EMULATOR_KEY.parse().expect("the published key"));
        keys.primary_readonly = Some(READ_ONLY_KEY.parse().expect("a key"));
        let mut config = GatewayConfig::new(keys);
        change(&mut config);
        let clock: Arc<dyn Clock> = Arc::new(StoppedClock);
        let entropy: Arc<dyn Entropy> = Arc::new(Counting(AtomicU64::new(1)));
        let engine = Engine::open(
            Arc::new(MemoryStore::new()),
            Arc::clone(&clock),
            Arc::clone(&entropy),
            EngineConfig::default(),
        )
        .expect("an empty engine");
        let gateway = Gateway::new(engine.clone(), clock, &*entropy, config);
        let server = Running::start(local(), gateway);
        let client = Client::connect(server.address);
        Self {
            server,
            client,
            engine,
        }
    }

    /// An account with database `db`, container `c` on `/pk`, container `h` on `/t`, `/u`,
    /// container `w` of several ranges, and an item in `c`.
    pub fn with_containers() -> Self {
        let mut account = Self::empty();
        let mut make = |path: &str, header: (&str, &str), body: &str| {
            let made = account.send("POST", path, &[header], body.as_bytes());
            assert_eq!(made.status, 201, "{path}: {}", made.text());
        };
        let throughput = ("x-ms-offer-throughput", "400");
        make("/dbs", ("accept", "*/*"), r#"{"id":"db"}"#);
        make(
            "/dbs/db/colls",
            throughput,
            r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#,
        );
        make(
            "/dbs/db/colls",
            throughput,
            r#"{"id":"h","partitionKey":{"paths":["/t","/u"],"kind":"MultiHash","version":2}}"#,
        );
        make(
            "/dbs/db/colls",
            ("x-ms-offer-throughput", "30000"),
            r#"{"id":"w","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#,
        );
        make(
            "/dbs/db/colls/c/docs",
            ("x-ms-documentdb-partitionkey", r#"["a"]"#),
            r#"{"id":"1","pk":"a","n":1}"#,
        );
        account
    }

    /// Sends a signed request.
    pub fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let date = date(NOW);
        let authorization = signed(EMULATOR_KEY, method, target, &date);
        let mut all = vec![
            ("authorization", authorization.as_str()),
            ("x-ms-date", date.as_str()),
        ];
        all.extend_from_slice(headers);
        self.client.send(method, target, &all, body)
    }

    /// Sends a signed request for one item of `c`.
    pub fn item(
        &mut self,
        method: &str,
        id: &str,
        key: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let target = if id.is_empty() {
            "/dbs/db/colls/c/docs".to_owned()
        } else {
            format!("/dbs/db/colls/c/docs/{id}")
        };
        let mut all = vec![("x-ms-documentdb-partitionkey", key)];
        all.extend_from_slice(headers);
        self.send(method, &target, &all, body.as_bytes())
    }
}

/// A body as JSON.
pub fn parsed(response: &Response) -> Value<'static> {
    match json::parse(&response.body) {
        Ok(value) => value.into_owned(),
        Err(error) => panic!("{error}: {}", response.text()),
    }
}

/// A date as clients write it.
pub fn date(seconds: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The header for a path of names, by the rule of the protocol and not by the gateway's code.
pub fn signed(key: &str, method: &str, target: &str, date: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    let decoded = percent_encoding::percent_decode_str(path)
        .decode_utf8_lossy()
        .into_owned();
    let segments: Vec<&str> = decoded
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    let (kind, link) = match segments.len() {
        0 => (String::new(), String::new()),
        _ if segments.contains(&"operations") => ("colls".to_owned(), segments[..4].join("/")),
        odd if odd % 2 == 1 => (segments[odd - 1].to_owned(), segments[..odd - 1].join("/")),
        even => (segments[even - 2].to_owned(), segments.join("/")),
    };
    let link = if kind == "offers" {
        segments
            .get(1)
            .map_or_else(String::new, |rid| rid.to_lowercase())
    } else {
        link
    };
    authorization(key, method, &kind, &link, date)
}

/// The header for a type and link.
pub fn authorization(key: &str, method: &str, kind: &str, link: &str, date: &str) -> String {
    let payload = format!(
        "{}\n{kind}\n{link}\n{}\n\n",
        method.to_lowercase(),
        date.to_lowercase()
    );
    let key = STANDARD.decode(key).expect("a key");
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).expect("any length");
    mac.update(payload.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let token = format!("type=master&ver=1.0&sig={signature}");
    percent_encoding::utf8_percent_encode(&token, percent_encoding::NON_ALPHANUMERIC).to_string()
}
