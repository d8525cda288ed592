//! The health port that container tools poll: `/alive`, `/ready`, `/status`; and `/metrics`.

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

/// Where `/metrics` come from.
pub type MetricsSource = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Handler of the health port.
#[derive(Clone, Default)]
pub struct Health {
    readiness: Readiness,
    metrics: Option<MetricsSource>,
}

impl Health {
    /// Reports the given readiness.
    pub fn new(readiness: Readiness) -> Self {
        Self {
            readiness,
            metrics: None,
        }
    }

    /// Answers `/metrics` from this source.
    pub fn with_metrics(mut self, metrics: MetricsSource) -> Self {
        self.metrics = Some(metrics);
        self
    }

    async fn metrics(&self) -> Response {
        let Some(source) = self.metrics.clone() else {
            return json(StatusCode::NOT_FOUND, r#"{"error":"no metrics here"}"#);
        };
        let text = tokio::task::spawn_blocking(move || source()).await;
        let Ok(Some(text)) = text else {
            return json(
                StatusCode::SERVICE_UNAVAILABLE,
                r#"{"error":"the metrics cannot be read"}"#,
            );
        };
        let mut response = http::Response::new(Full::new(Bytes::from(text)));
        response.headers_mut().insert(
            http::header::CONTENT_TYPE,
            http::HeaderValue::from_static(crate::metrics::CONTENT_TYPE),
        );
        response
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
            "/metrics" => self.metrics().await,
            "/alive" => json(StatusCode::OK, r#"{"alive":true}"#),
            "/ready" | "/status" if ready => json(by_readiness, r#"{"alive":true,"ready":true}"#),
            "/ready" | "/status" => json(by_readiness, r#"{"alive":true,"ready":false}"#),
            _ => json(
                StatusCode::NOT_FOUND,
                r#"{"error":"ask /alive, /ready, /status or /metrics"}"#,
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
