//! The socket server with a handler that only echoes.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use orrery_gateway::server::{
    Call, Certificate, Handler, Health, Readiness, Refusal, Response, Server, ServerConfig,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::sync::oneshot;

use crate::http::{Client, tcp};

/// Answers with what it got.
struct Echo;

impl Handler for Echo {
    async fn answer(&self, call: Call) -> Response {
        if call.head.uri.path() == "/slow" {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let text = format!(
            "{} {} {:?} tls={} {}",
            call.head.method,
            call.head.uri.path(),
            call.head.version,
            call.secure,
            call.body.len()
        );
        http::Response::new(Full::new(Bytes::from(text)))
    }

    fn admit(&self, head: &http::request::Parts, _: bool) -> Option<Response> {
        (head.uri.path() == "/closed").then(|| self.refuse(head, Refusal::NotAdmitted))
    }

    fn refuse(&self, _: &http::request::Parts, refusal: Refusal) -> Response {
        let mut response = http::Response::new(Full::new(Bytes::from(format!("{refusal:?}"))));
        *response.status_mut() = match refusal {
            Refusal::BodyTooLarge => http::StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::BodyTimeout => http::StatusCode::REQUEST_TIMEOUT,
            Refusal::BodyBroken => http::StatusCode::BAD_REQUEST,
            Refusal::NotAdmitted => http::StatusCode::FORBIDDEN,
        };
        response
    }
}

/// A running server, stopped when dropped.
pub struct Running {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    /// Runs a handler on its own runtime and thread.
    pub fn start<H: Handler>(config: ServerConfig, handler: H) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (send, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let server = Server::bind(config, Arc::new(handler))
                    .await
                    .expect("a free port");
                send.send(server.local_addr()).expect("the test waits");
                server.run_until(async { drop(stopped.await) }).await;
            });
        });
        let address = address.recv().expect("the server starts");
        Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Stops and waits for the end.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends well");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Loopback, a port of the system's choice.
pub fn local() -> ServerConfig {
    ServerConfig::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
}

/// The time at which test certificates are made: today, for their clients look at the
/// real clock.
fn today() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

fn with_tls() -> (ServerConfig, Certificate) {
    let certificate = Certificate::ephemeral(&[], today()).expect("a certificate");
    (
        ServerConfig {
            certificate: Some(certificate.clone()),
            ..local()
        },
        certificate,
    )
}

/// A TLS set-up that trusts only this certificate's authority.
fn trusting(certificate: &Certificate, protocols: &[&[u8]]) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(certificate.authority_pem().as_bytes());
    roots.add(authority.expect("PEM")).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}

fn tls_client(
    address: SocketAddr,
    certificate: &Certificate,
) -> Client<rustls::StreamOwned<rustls::ClientConnection, std::net::TcpStream>> {
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let connection =
        rustls::ClientConnection::new(trusting(certificate, &[]), name).expect("a client");
    Client::over(rustls::StreamOwned::new(connection, tcp(address)))
}

#[test]
fn one_port_speaks_plain_and_tls() {
    let (config, certificate) = with_tls();
    let server = Running::start(config, Echo);
    let plain = Client::connect(server.address).send("GET", "/a", &[], b"");
    assert_eq!(plain.text(), "GET /a HTTP/1.1 tls=false 0");
    let secure = tls_client(server.address, &certificate).send("POST", "/b", &[], b"body");
    assert_eq!(secure.text(), "POST /b HTTP/1.1 tls=true 4");
}

#[test]
fn a_connection_is_kept_alive() {
    let server = Running::start(local(), Echo);
    let mut client = Client::connect(server.address);
    for round in 0..3 {
        let response = client.send("PUT", "/x", &[], &vec![b'a'; round]);
        assert_eq!(
            response.text(),
            format!("PUT /x HTTP/1.1 tls=false {round}")
        );
        assert_ne!(response.header("connection"), Some("close"));
    }
}

#[test]
fn a_slow_first_byte_is_no_other_protocol() {
    let server = Running::start(local(), Echo);
    let mut client = Client::connect(server.address);
    client.write(b"P");
    std::thread::sleep(Duration::from_millis(30));
    client.write(b"OST /slow-start HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok");
    assert_eq!(
        client.read(false).expect("a response").text(),
        "POST /slow-start HTTP/1.1 tls=false 2"
    );
}

#[test]
fn http2_with_prior_knowledge_and_by_negotiation() {
    let (config, certificate) = with_tls();
    let server = Running::start(config, Echo);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(server.address)
            .await
            .expect("connects");
        assert_eq!(
            over_http2(TokioIo::new(stream)).await,
            "POST /h2 HTTP/2.0 tls=false 5"
        );

        let connector = tokio_rustls::TlsConnector::from(trusting(&certificate, &[b"h2"]));
        let stream = tokio::net::TcpStream::connect(server.address)
            .await
            .expect("connects");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = connector.connect(name, stream).await.expect("TLS");
        assert_eq!(
            over_http2(TokioIo::new(stream)).await,
            "POST /h2 HTTP/2.0 tls=true 5"
        );
    });
}

async fn over_http2<I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static>(
    io: I,
) -> String {
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    let request = http::Request::post("http://localhost/h2")
        .body(Full::new(Bytes::from_static(b"hello")))
        .expect("a request");
    let response = sender.send_request(request).await.expect("a response");
    let body = response
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    String::from_utf8_lossy(&body).into_owned()
}

#[test]
fn a_body_over_the_limit_is_refused_and_the_answer_arrives() {
    let server = Running::start(
        ServerConfig {
            max_body_bytes: 1000,
            ..local()
        },
        Echo,
    );
    let announced = Client::connect(server.address).send("POST", "/", &[], &vec![b'x'; 200_000]);
    assert_eq!(
        (announced.status, announced.text().as_str()),
        (413, "BodyTooLarge")
    );

    let mut client = Client::connect(server.address);
    client.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..3 {
        client.write(b"190\r\n");
        client.write(&[b'y'; 400]);
        client.write(b"\r\n");
    }
    client.write(b"0\r\n\r\n");
    assert_eq!(client.read(false).expect("a response").status, 413);

    let allowed = Client::connect(server.address).send("POST", "/", &[], &[b'z'; 1000]);
    assert_eq!(allowed.status, 200);
}

/// Sends a head and reads what comes without sending more.
fn answer_to_head(address: SocketAddr, head: &str) -> String {
    use std::io::Read as _;
    let mut stream = std::net::TcpStream::connect(address).expect("connected");
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a time-out");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = [0; 512];
    let read = stream.read(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

#[test]
fn a_refusal_does_not_wait_for_the_body() {
    let server = Running::start(
        ServerConfig {
            body_timeout: Duration::from_secs(60),
            ..local()
        },
        Echo,
    );
    let head = |path: &str, length: usize| {
        format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n")
    };
    let too_long = answer_to_head(server.address, &head("/", 5 << 20));
    assert!(too_long.starts_with("HTTP/1.1 413"), "{too_long}");
    let closed = answer_to_head(server.address, &head("/closed", 1 << 20));
    assert!(closed.starts_with("HTTP/1.1 403"), "{closed}");
}

#[test]
fn long_bodies_share_memory_and_wait_for_each_other() {
    let server = Running::start(
        ServerConfig {
            max_bodies_bytes: 1 << 20,
            body_timeout: Duration::from_millis(400),
            ..local()
        },
        Echo,
    );
    // Holds all of the memory and sends nothing.
    let mut idle = std::net::TcpStream::connect(server.address).expect("connected");
    let head = format!(
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        1 << 20
    );
    idle.write_all(head.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(100));
    let mut client = Client::connect(server.address);
    let small = client.send("POST", "/", &[], b"small bodies pass");
    assert_eq!(small.status, 200);
    // Its time is over before ours is, and the memory is free again.
    let large = vec![b'x'; 900_000];
    let answer = client.send("POST", "/", &[], &large);
    assert_eq!(answer.status, 200);
    assert!(answer.text().ends_with(" 900000"), "{}", answer.text());
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let config = ServerConfig {
        body_timeout: Duration::from_millis(50),
        ..local()
    };
    let server = Running::start(config, Echo);
    let mut client = Client::connect(server.address);
    client.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
    assert_eq!(client.read(false).expect("a response").status, 408);
}

#[test]
fn a_head_that_does_not_come_closes_the_connection() {
    let config = ServerConfig {
        head_timeout: Duration::from_millis(50),
        ..local()
    };
    let server = Running::start(config, Echo);
    let mut client = Client::connect(server.address);
    client.write(b"GET / HTTP/1.1\r\nHost: x\r\n");
    let answer = client.read(false);
    assert!(
        answer.is_none_or(|response| response.status == 408),
        "an unfinished head has no answer"
    );
}

#[test]
fn a_request_under_way_survives_the_stop() {
    let mut server = Running::start(local(), Echo);
    let mut client = Client::connect(server.address);
    assert_eq!(client.send("GET", "/warm", &[], b"").status, 200);
    client.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    std::thread::sleep(Duration::from_millis(50));
    let address = server.address;
    server.stop();
    assert_eq!(
        client
            .read(false)
            .expect("the answer of before the stop")
            .status,
        200
    );
    assert!(
        std::net::TcpStream::connect(address).is_err(),
        "nobody listens any more"
    );
}

#[test]
fn idle_connections_do_not_hold_up_the_stop() {
    let config = ServerConfig {
        drain_timeout: Duration::from_secs(300),
        ..local()
    };
    let mut server = Running::start(config, Echo);
    let mut used = Client::connect(server.address);
    assert_eq!(used.send("GET", "/", &[], b"").status, 200);
    let silent = tcp(server.address);
    server.stop();
    drop((used, silent));
}

#[test]
fn more_connections_than_slots_wait_for_their_turn() {
    let server = Running::start(
        ServerConfig {
            max_connections: 1,
            ..local()
        },
        Echo,
    );
    let mut first = Client::connect(server.address);
    assert_eq!(first.send("GET", "/1", &[], b"").status, 200);
    let mut second = Client::connect(server.address);
    second.write(b"GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(first.send("GET", "/3", &[], b"").status, 200);
    drop(first);
    assert_eq!(
        second.read(false).expect("a turn").text(),
        "GET /2 HTTP/1.1 tls=false 0"
    );
}

#[test]
fn garbage_does_not_end_the_server() {
    let (config, _) = with_tls();
    let server = Running::start(config, Echo);
    for garbage in [
        &b"\x16\x03\x01\x00\x05hello"[..],
        b"\x00\x01\x02",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxx",
    ] {
        let mut stream = tcp(server.address);
        let _ = stream.write_all(garbage);
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    assert_eq!(
        Client::connect(server.address)
            .send("GET", "/", &[], b"")
            .status,
        200
    );
}

#[test]
fn a_certificate_is_kept_until_it_has_to_be_renewed() {
    let folder = std::env::temp_dir().join(format!("orrery-certificate-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let start = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let load = |names: &[&str], days: u64| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let now = start + Duration::from_secs(days * 86_400);
        Certificate::load_or_create(&folder, &names, now)
            .expect("a certificate")
            .authority_pem()
            .to_owned()
    };
    let first = load(&["box.example"], 0);
    assert_eq!(
        load(&["box.example"], 700),
        first,
        "a kept certificate is used again"
    );
    assert_eq!(load(&[], 1), first, "fewer names need no other certificate");
    let renewed = load(&["box.example"], 790);
    assert_ne!(renewed, first, "near its end it is renewed");
    assert_ne!(
        load(&["other.example"], 790),
        renewed,
        "another name needs another certificate"
    );
    std::fs::write(folder.join("certificate.key"), "damaged").expect("writable");
    load(&[], 790);
    std::fs::remove_dir_all(&folder).expect("removable");
}

#[test]
fn the_health_port_tells_readiness() {
    let readiness = Readiness::default();
    let server = Running::start(local(), Health::new(readiness.clone()));
    let mut client = Client::connect(server.address);
    let mut ask = |path: &str| client.send("GET", path, &[], b"").status;
    assert_eq!(
        (ask("/alive"), ask("/ready"), ask("/status")),
        (200, 503, 503)
    );
    readiness.set(true);
    assert_eq!(
        (ask("/alive"), ask("/ready"), ask("/status"), ask("/x")),
        (200, 200, 200, 404)
    );
}
