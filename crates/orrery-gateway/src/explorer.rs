//! The two pages that people and container tools expect beside the account: the
//! certificate to trust, and a page that says that this is the right port.

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body_util::Full;

use crate::config::GatewayConfig;
use crate::server::Response;

/// Where the pages are.
pub(crate) const PREFIX: &str = "/_explorer";

const INDEX: &str = include_str!("explorer/index.html");

/// Answers a page.
pub(crate) fn answer(config: &GatewayConfig, path: &str) -> Response {
    match path.strip_prefix(PREFIX).unwrap_or_default() {
        "" | "/" | "/index.html" => {
            page(StatusCode::OK, "text/html; charset=utf-8", INDEX.to_owned())
        }
        "/emulator.pem" => match &config.authority_pem {
            Some(pem) => page(StatusCode::OK, "application/x-pem-file", pem.clone()),
            None => page(
                StatusCode::NOT_FOUND,
                "text/plain",
                "This server has no certificate.\n".to_owned(),
            ),
        },
        _ => page(
            StatusCode::NOT_FOUND,
            "text/plain",
            "There is no such page.\n".to_owned(),
        ),
    }
}

fn page(status: StatusCode, content_type: &'static str, text: String) -> Response {
    let mut response = http::Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
