//! The floor of HTTP: the gateway's own server stack, answering a constant.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use clap::Args;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::Full;
use orrery_gateway::server::{Call, Handler, Refusal, Response, Server, ServerConfig};

use crate::output;

/// A floor that nobody ends ends itself.
const LIFETIME: Duration = Duration::from_secs(1800);

/// What the head of its answer has: status line, content type, length and date.
const HEAD_BYTES: usize = 110;

/// Options of `orrery bench-floor`.
#[derive(Debug, Args)]
pub struct FloorArgs {
    /// Size of the answer, headers included.
    #[arg(long, default_value_t = 1024)]
    size: usize,
}

struct Constant(Bytes);

impl Handler for Constant {
    async fn answer(&self, _: Call) -> Response {
        let mut response = http::Response::new(Full::new(self.0.clone()));
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    fn refuse(&self, _: &http::request::Parts, _: Refusal) -> Response {
        let mut response = http::Response::new(Full::new(Bytes::new()));
        *response.status_mut() = http::StatusCode::BAD_REQUEST;
        response
    }
}

/// Runs the command.
pub fn run(args: &FloorArgs) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let handler = Arc::new(Constant(Bytes::from(vec![
        b'1';
        args.size
            .saturating_sub(HEAD_BYTES)
    ])));
    runtime.block_on(async {
        let config = ServerConfig::new(SocketAddr::from(([127, 0, 0, 1], 0)));
        let server = Server::bind(config, handler).await?;
        output::line(&format!(
            "Now listening on: http://{}/",
            server.local_addr()
        ))?;
        server.run_until(tokio::time::sleep(LIFETIME)).await;
        anyhow::Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}
