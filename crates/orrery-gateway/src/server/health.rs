//! The health port that container tools poll: `/alive`, `/ready`, `/status`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::StatusCode;
use http_body_util::Full;

use super::{Call, Handler, Refusal, Response};

/// Whether the account answers yet; shared between the binary and the health port.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Says that requests are (or are no longer) served.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Release);
    }

    /// Whether requests are served.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Handler of the health port.
#[derive(Debug, Clone, Default)]
pub struct Health {
    readiness: Readiness,
}

impl Health {
    /// Reports the given readiness.
    pub fn new(readiness: Readiness) -> Self {
        Self { readiness }
    }
}

impl Handler for Health {
    async fn answer(&self, call: Call) -> Response {
        let ready = self.readiness.get();
        let by_readiness = if ready {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        match call.head.uri.path().trim_end_matches('/') {
            "/alive" => json(StatusCode::OK, r#"{"alive":true}"#),
            "/ready" | "/status" if ready => json(by_readiness, r#"{"alive":true,"ready":true}"#),
            "/ready" | "/status" => json(by_readiness, r#"{"alive":true,"ready":false}"#),
            _ => json(
                StatusCode::NOT_FOUND,
                r#"{"error":"ask /alive, /ready or /status"}"#,
            ),
        }
    }

    fn refuse(&self, _: &http::request::Parts, _: Refusal) -> Response {
        json(StatusCode::BAD_REQUEST, "{}")
    }
}

fn json(status: StatusCode, body: &'static str) -> Response {
    let mut response = http::Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    response
}
