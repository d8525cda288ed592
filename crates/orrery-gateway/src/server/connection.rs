//! One connection: which protocol it speaks, and its requests until it closes.

use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::{Call, Handler, Refusal, Response, ServerConfig, body};

/// What all connections of a server share.
pub(super) struct Shared<H> {
    pub(super) config: ServerConfig,
    pub(super) handler: Arc<H>,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) bodies: body::BodyRoom,
}

/// What the first bytes of a connection announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Tls,
    Http1,
    /// HTTP/2 with prior knowledge (RFC 9113: section 3.3).
    Http2,
}

/// Serves a connection to its end. Errors end the connection and are the client's
/// business; they are only traced.
pub(super) async fn serve<H: Handler>(
    shared: &Arc<Shared<H>>,
    stream: TcpStream,
    stopping: watch::Receiver<bool>,
) {
    // Answers are small and complete: waiting to fill segments only adds latency.
    let _ = stream.set_nodelay(true);
    let timeout = shared.config.handshake_timeout;
    let mut until_stop = stopping.clone();
    let opening = tokio::select! {
        opening = tokio::time::timeout(timeout, sniff(&stream)) => opening,
        () = stopped(&mut until_stop) => return,
    };
    let Ok(Some(opening)) = opening else { return };
    match (opening, &shared.tls) {
        (Opening::Tls, Some(acceptor)) => {
            let Ok(Ok(stream)) = tokio::time::timeout(timeout, acceptor.accept(stream)).await
            else {
                return;
            };
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            drive(shared, TokioIo::new(stream), http2, true, stopping).await;
        }
        (Opening::Tls, None) => {}
        (opening, _) => {
            let http2 = opening == Opening::Http2;
            drive(shared, TokioIo::new(stream), http2, false, stopping).await;
        }
    }
}

/// Looks at the first bytes without taking them. `None` when the peer closed.
async fn sniff(stream: &TcpStream) -> Option<Opening> {
    /// First byte of a TLS record that carries a handshake.
    const TLS_HANDSHAKE: u8 = 0x16;
    let mut first = [0; 3];
    loop {
        let seen = stream.peek(&mut first).await.ok()?;
        match &first[..seen] {
            [] => return None,
            [TLS_HANDSHAKE, ..] => return Some(Opening::Tls),
            b"PRI" => return Some(Opening::Http2),
            // `POST`, `PUT` and `PATCH` share the first letter with the preface.
            b"P" | b"PR" => tokio::time::sleep(std::time::Duration::from_millis(2)).await,
            _ => return Some(Opening::Http1),
        }
    }
}

async fn drive<H: Handler, I: Read + Write + Unpin + Send + 'static>(
    shared: &Arc<Shared<H>>,
    io: I,
    http2: bool,
    secure: bool,
    mut stopping: watch::Receiver<bool>,
) {
    let service = service_fn(|request: http::Request<Incoming>| {
        let shared = Arc::clone(shared);
        async move { Ok::<_, std::convert::Infallible>(respond(&shared, request, secure).await) }
    });
    // The two builders have no common trait, hence the macro instead of a function.
    macro_rules! until_closed {
        ($connection:expr) => {{
            let mut connection = pin!($connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stopped(&mut stopping) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                log::trace!("connection ended: {error}");
            }
        }};
    }
    if http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(256)
            .max_header_list_size(shared.config.max_head_bytes as u32)
            // What a client may send unasked, for each connection.
            .initial_stream_window_size(256 << 10)
            .initial_connection_window_size(512 << 10)
            .keep_alive_interval(shared.config.head_timeout);
        until_closed!(builder.serve_connection(io, service));
    } else {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(shared.config.head_timeout)
            .max_buf_size(shared.config.max_head_bytes)
            // A client may close its side once it has asked.
            .half_close(true);
        until_closed!(builder.serve_connection(io, service));
    }
}

/// Completes when the server stops (or is gone).
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

async fn respond<H: Handler>(
    shared: &Shared<H>,
    request: http::Request<Incoming>,
    secure: bool,
) -> Response {
    let (head, incoming) = request.into_parts();
    let waits = head.headers.contains_key(http::header::EXPECT);
    let mut reply = None;
    let admit = || match shared.handler.admit(&head, secure) {
        None => Ok(()),
        refused => {
            reply = refused;
            Err(Refusal::NotAdmitted)
        }
    };
    let read = body::read(incoming, &shared.config, &shared.bodies, waits, admit).await;
    match read {
        Ok(whole) => {
            let body = whole.bytes.clone();
            let reply = shared.handler.answer(Call { head, body, secure }).await;
            // The body's share of the memory is held as long as the handler may have it.
            drop(whole);
            reply
        }
        Err(refusal) => reply.unwrap_or_else(|| shared.handler.refuse(&head, refusal)),
    }
}
