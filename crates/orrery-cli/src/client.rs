//! A signed HTTP/1.1 client for an account's endpoint: one blocking connection, kept alive.
//!
//! The commands speak the public protocol and nothing else, so that whatever they can do an SDK
//! can do too. Blocking sockets and one thread per connection keep the load generator's timing
//! exact (an event loop's timers are a millisecond coarse) and everything else simple.

pub mod account;
pub mod bulk;
mod response;
mod signature;
mod wire;

use std::fmt::Write as _;
use std::io::{BufReader, Write as _};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};

pub use orrery_gateway::auth::EMULATOR_KEY as PUBLISHED_KEY;
pub use response::Response;
pub use signature::Key;
pub use wire::Trust;
use wire::Wire;

/// Longest wait for a server that has stopped answering.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest wait for a whole answer, however slowly it comes.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(180);
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where an account is and what opens it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The master key; `None` for a server started with `--no-auth`.
    pub key: Option<Key>,
    /// For https, whom to trust; `None` for plain HTTP.
    pub trust: Option<Trust>,
}

impl Endpoint {
    /// Reads `http://host:port/`, `https://host:port/`, `host:port` or `host`.
    pub fn parse(text: &str, key: Option<&str>) -> Result<Self> {
        let tls = text.strip_prefix("https://");
        let rest = tls.or_else(|| text.strip_prefix("http://")).unwrap_or(text);
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => {
                let port = port.parse().with_context(|| {
                    format!("`{text}` is not an endpoint; an example is http://127.0.0.1:8081")
                })?;
                (host, port)
            }
            None => (authority, 8081),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            bail!("`{text}` is not an endpoint; an example is http://127.0.0.1:8081");
        }
        let key = key.map(Key::parse).transpose()?;
        Ok(Self {
            host: host.to_owned(),
            port,
            key,
            trust: tls.map(|_| Trust::of_host(host)),
        })
    }

    /// The endpoint as an address that a person can open.
    pub fn url(&self) -> String {
        let scheme = if self.trust.is_some() {
            "https"
        } else {
            "http"
        };
        if self.host.contains(':') {
            format!("{scheme}://[{}]:{}/", self.host, self.port)
        } else {
            format!("{scheme}://{}:{}/", self.host, self.port)
        }
    }
}

/// One request, ready to be signed.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// HTTP verb.
    pub verb: &'static str,
    /// Path as sent, percent-encoded, with its leading slash.
    pub path: &'a str,
    /// Resource type of the signature (protocol: section 2.1), such as `docs`.
    pub resource_type: &'static str,
    /// Resource link of the signature: the decoded path of the resource or of the feed's owner.
    pub link: &'a str,
    /// Headers beyond those that every request has.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body; empty for none.
    pub body: &'a [u8],
}

/// A connection that opens itself when first used and again after a failure.
#[derive(Debug)]
pub struct Connection {
    endpoint: Arc<Endpoint>,
    stream: Option<BufReader<Wire>>,
    outgoing: Vec<u8>,
    response: Response,
    date: (u64, String),
}

impl Connection {
    /// A connection that is not open yet.
    pub fn new(endpoint: Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            stream: None,
            outgoing: Vec::new(),
            response: Response::default(),
            date: (0, String::new()),
        }
    }

    /// Sends a request and reads its whole answer, whatever its status.
    ///
    /// # Errors
    /// Only when there is no answer; the connection is then closed and the next call opens it anew.
    pub fn send(&mut self, request: &Request<'_>) -> Result<&Response> {
        let head = request.verb == "HEAD";
        self.encode(request);
        let fresh = self.stream.is_none();
        let mut outcome = self.exchange(head);
        // A kept connection may have been closed by the server while it was idle; only requests
        // that change nothing are repeated.
        let repeatable = request.verb == "GET"
            || request.headers.iter().any(|(name, _)| {
                *name == "x-ms-documentdb-isquery" || *name == "x-ms-cosmos-is-query-plan-request"
            });
        if outcome.is_err() && !fresh && repeatable {
            self.stream = None;
            outcome = self.exchange(head);
        }
        if let Err(error) = outcome {
            self.stream = None;
            return Err(error);
        }
        if self.response.closes() {
            self.stream = None;
        }
        Ok(&self.response)
    }

    fn exchange(&mut self, head: bool) -> Result<()> {
        if self.stream.is_none() {
            let stream = connect(&self.endpoint)?;
            let wire = Wire::new(stream, &self.endpoint.host, self.endpoint.trust.as_ref())?;
            self.stream = Some(BufReader::with_capacity(64 << 10, wire));
        }
        let stream = self.stream.as_mut().expect("opened above");
        stream.get_mut().until = Instant::now() + WHOLE_TIMEOUT;
        let wire = stream.get_mut();
        wire.write_all(&self.outgoing)
            .and_then(|()| wire.flush())
            .with_context(|| format!("sending to {}", self.endpoint.url()))?;
        self.response
            .read(stream, head)
            .with_context(|| format!("waiting for an answer of {}", self.endpoint.url()))
    }

    fn encode(&mut self, request: &Request<'_>) {
        let seconds = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        if self.date.0 != seconds || self.date.1.is_empty() {
            self.date = (seconds, httpdate::fmt_http_date(SystemTime::now()));
        }
        let date = &self.date.1;
        let mut text = String::with_capacity(512);
        let _ = write!(
            text,
            "{} {} HTTP/1.1\r\nhost: {}:{}\r\nx-ms-date: {date}\r\nx-ms-version: 2020-07-15\r\n",
            request.verb, request.path, self.endpoint.host, self.endpoint.port
        );
        if let Some(key) = &self.endpoint.key {
            let _ = write!(
                text,
                "authorization: {}\r\n",
                key.authorization(request.verb, request.resource_type, request.link, date)
            );
        }
        for (name, value) in request.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        if !request.body.is_empty() || request.verb == "POST" || request.verb == "PUT" {
            let _ = write!(text, "content-length: {}\r\n", request.body.len());
        }
        text.push_str("\r\n");
        self.outgoing.clear();
        self.outgoing.extend_from_slice(text.as_bytes());
        self.outgoing.extend_from_slice(request.body);
    }
}

fn connect(endpoint: &Endpoint) -> Result<TcpStream> {
    let addresses = (endpoint.host.as_str(), endpoint.port)
        .to_socket_addrs()
        .with_context(|| format!("`{}` is not a host that this machine knows", endpoint.host))?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
                stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    let reason = last.map_or_else(|| "no address".to_owned(), |error| error.to_string());
    bail!(
        "no server answers at {} ({reason}); start one with `orrery serve`, or give another --endpoint",
        endpoint.url()
    )
}

/// Percent-encodes one path segment: everything but unreserved characters.
pub fn encode_segment(segment: &str) -> String {
    let mut text = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_leniently() {
        let endpoint = Endpoint::parse("http://localhost:9000/", Some(PUBLISHED_KEY)).unwrap();
        assert_eq!((endpoint.host.as_str(), endpoint.port), ("localhost", 9000));
        assert_eq!(Endpoint::parse("127.0.0.1", None).unwrap().port, 8081);
        assert_eq!(
            Endpoint::parse("[::1]:81", None).unwrap().url(),
            "http://[::1]:81/"
        );
        let secure = Endpoint::parse("https://localhost:8081", None).expect("an endpoint");
        assert_eq!(secure.url(), "https://localhost:8081/");
        assert!(matches!(secure.trust, Some(Trust::Anything)));
        let far = Endpoint::parse("https://example.com:443/", None).expect("an endpoint");
        assert!(matches!(far.trust, Some(Trust::Nothing)));
        assert!(Endpoint::parse("http://:80", None).is_err());
        assert!(Endpoint::parse("http://a:port", None).is_err());
    }

    #[test]
    fn segments_are_encoded_byte_by_byte() {
        assert_eq!(encode_segment("a b/ü"), "a%20b%2F%C3%BC");
    }
}
