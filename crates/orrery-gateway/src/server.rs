//! A socket server that knows nothing of the account behind it: it accepts
//! connections, tells TLS from plain HTTP by the first byte, speaks HTTP/1.1 and
//! HTTP/2, bounds what a client may send, and hands whole requests to a [`Handler`].
//!
//! The handler is a parameter so that the same stack can answer the protocol, the
//! health probes, or (in the speed tests) a constant.

mod body;
mod certificate;
mod connection;
mod health;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub use certificate::{Certificate, CertificateError};
pub use health::{Health, MetricsSource, Readiness};

/// What every handler answers with: a whole body, so that `Content-Length` is
/// always known.
pub type Response = http::Response<Full<Bytes>>;

/// One complete request.
#[derive(Debug)]
pub struct Call {
    /// Method, target and headers.
    pub head: http::request::Parts,
    /// The whole body; empty when there is none.
    pub body: Bytes,
    /// Whether it came over TLS.
    pub secure: bool,
}

/// Why the server turned a request away before its body was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The body is longer than [`ServerConfig::max_body_bytes`].
    BodyTooLarge,
    /// The body did not arrive within [`ServerConfig::body_timeout`].
    BodyTimeout,
    /// The connection broke, or the framing of the body was wrong.
    BodyBroken,
    /// [`Handler::admit`] did not let it in.
    NotAdmitted,
}

/// Answers requests. Implementations must not block the worker for long.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, call: Call) -> impl Future<Output = Response> + Send;

    /// The answer to a request that need not be read further than its head; asked before a long
    /// body is read.
    fn admit(&self, head: &http::request::Parts, secure: bool) -> Option<Response> {
        let _ = (head, secure);
        None
    }

    /// Words the answer to a request that was refused before it was complete.
    fn refuse(&self, head: &http::request::Parts, refusal: Refusal) -> Response;
}

/// How a [`Server`] listens and what it bounds.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where to listen; port 0 lets the system choose.
    pub address: SocketAddr,
    /// The certificate for TLS; without one only plain HTTP is spoken.
    pub certificate: Option<Certificate>,
    /// Connections served at once; further ones wait in the accept queue.
    pub max_connections: usize,
    /// Longest request body, in bytes.
    pub max_body_bytes: usize,
    /// Memory that the bodies of all requests under way may take together, small ones aside;
    /// further ones wait.
    pub max_bodies_bytes: usize,
    /// Longest request head over HTTP/1.1, in bytes.
    pub max_head_bytes: usize,
    /// Time for the first bytes and the TLS handshake.
    pub handshake_timeout: Duration,
    /// Time for a request head; an idle kept-alive connection lives this long too.
    pub head_timeout: Duration,
    /// Time for a request body.
    pub body_timeout: Duration,
    /// Time that requests under way get when the server stops.
    pub drain_timeout: Duration,
}

impl ServerConfig {
    /// Defaults for an address: plain HTTP, generous but finite bounds.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            certificate: None,
            max_connections: 4096,
            // Items end at 2 MiB; a batch may double that with JSON escapes.
            max_body_bytes: 4 << 20,
            max_bodies_bytes: 32 << 20,
            max_head_bytes: 256 << 10,
            handshake_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(120),
            body_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(10),
        }
    }
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The certificate does not work.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// A bound listener with its handler; nothing is accepted until [`Server::run_until`].
pub struct Server<H> {
    listener: TcpListener,
    local_addr: SocketAddr,
    shared: Arc<connection::Shared<H>>,
}

impl<H: Handler> Server<H> {
    /// Takes the port. The backlog holds connections from here on.
    pub async fn bind(config: ServerConfig, handler: Arc<H>) -> Result<Self, BindError> {
        let listen_error = |source| BindError::Listen {
            address: config.address,
            source,
        };
        let tls = match &config.certificate {
            Some(certificate) => Some(TlsAcceptor::from(Arc::new(certificate.server_config()?))),
            None => None,
        };
        let listener = TcpListener::bind(config.address)
            .await
            .map_err(listen_error)?;
        let local_addr = listener.local_addr().map_err(listen_error)?;
        Ok(Self {
            listener,
            local_addr,
            shared: Arc::new(connection::Shared {
                bodies: body::BodyRoom::new(config.max_bodies_bytes),
                config,
                handler,
                tls,
            }),
        })
    }

    /// The address that was really taken.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown` completes, then lets requests under way finish, for at
    /// most [`ServerConfig::drain_timeout`].
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) {
        let (stop, stopping) = watch::channel(false);
        let slots = Arc::new(Semaphore::new(self.shared.config.max_connections));
        let mut connections = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                accepted = accept(&self.listener, &slots) => accepted,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            };
            let (stream, slot) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors or the like: wait for some to be freed.
                    log::warn!("cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let shared = Arc::clone(&self.shared);
            let stopping = stopping.clone();
            connections.spawn(async move {
                connection::serve(&shared, stream, stopping).await;
                drop(slot);
            });
        }
        drop(self.listener);
        let _ = stop.send(true);
        let drain = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(self.shared.config.drain_timeout, drain)
            .await
            .is_err()
        {
            log::warn!("requests still under way after the drain time are cut off");
        }
    }
}

/// Waits for a free slot first, so that a full server leaves newcomers in the backlog.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> std::io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots)
        .acquire_owned()
        .await
        .map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}
