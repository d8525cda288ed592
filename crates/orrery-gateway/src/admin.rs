//! What only this server has, under `/_orrery/` (docs/admin-api.md): signed with a master key like
//! any request, with the type `_orrery` and the path without its leading slash as the link.

mod limits;
mod partitions;
mod regions;
pub(crate) mod throughput;

use http::{HeaderValue, Method, StatusCode};
use orrery_model::json;
use orrery_model::resource_path::{ResourceKind, ResourcePath};
use orrery_model::value::Value;

use crate::auth::{Identity, Signed};
use crate::gateway::lower_verb;
use crate::metrics;
use crate::operations::{Exchange, account, blocking};
use crate::respond::Reply;
use crate::respond::errors::{GatewayError, Problem};

/// What paths of the admin API start with.
pub(crate) const PREFIX: &str = "/_orrery/";

/// Answers a request to the admin API.
pub(crate) async fn answer(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    let head = &exchange.call.head;
    let path = head.uri.path();
    authorize(exchange, path)?;
    let rest = path.strip_prefix(PREFIX).unwrap_or_default();
    if let Some(link) = rest.strip_prefix("partitions/") {
        return of_partitions(exchange, link);
    }
    let engine = &exchange.gateway.engine;
    match (&head.method, rest) {
        (&Method::GET, "limits") => Ok(respond(StatusCode::OK, &limits::show(engine))),
        (&Method::GET, "throughput") => {
            let depth = throughput::depth(head.uri.query())?;
            // The names of keys are looked up in the store.
            let engine = engine.clone();
            let shown = blocking(move || {
                throughput::show(&engine, depth).map_err(orrery_engine::Failure::from)
            });
            Ok(respond(StatusCode::OK, &shown.await?))
        }
        (&Method::PUT, "throttle") => {
            let answer = throughput::switch(engine, &exchange.call.body)?;
            Ok(respond(StatusCode::OK, &answer))
        }
        (&Method::GET, "metrics") => {
            let content_type = HeaderValue::from_static(metrics::CONTENT_TYPE);
            let text = metrics::text(engine)?;
            Ok(Reply::with_body(StatusCode::OK, content_type, text))
        }
        (&Method::GET, "regions") => Ok(regions_reply(exchange)),
        (&Method::PUT, "regions") => {
            regions::set(engine, &exchange.call.body)?;
            Ok(regions_reply(exchange))
        }
        (&Method::POST, "failover") => {
            regions::fail_over(engine, &exchange.call.body)?;
            Ok(regions_reply(exchange))
        }
        (_, "limits" | "throughput" | "throttle" | "metrics" | "regions" | "failover") => {
            Err(GatewayError::MethodNotAllowed.into())
        }
        _ => Err(GatewayError::UnknownPath.into()),
    }
}

fn regions_reply(exchange: &Exchange<'_>) -> Reply {
    let gateway = exchange.gateway;
    let endpoint = account::endpoint(&gateway.config, exchange.call);
    let shown = regions::show(&gateway.engine, &gateway.config, &endpoint);
    respond(StatusCode::OK, &shown)
}

fn of_partitions(exchange: &Exchange<'_>, link: &str) -> Result<Reply, Problem> {
    let head = &exchange.call.head;
    let resource = ResourcePath::parse(&format!("/{link}")).map_err(GatewayError::from)?;
    if resource.kind() != ResourceKind::Container || resource.is_feed() {
        return Err(GatewayError::UnknownPath.into());
    }
    let engine = &exchange.gateway.engine;
    let container = engine.container(&resource)?;
    match head.method {
        Method::GET | Method::HEAD => Ok(respond(
            StatusCode::OK,
            &partitions::show(engine, &container),
        )),
        Method::POST => {
            let asked = partitions::change(engine, &container, &exchange.call.body)?;
            Ok(respond(StatusCode::ACCEPTED, &asked))
        }
        _ => Err(GatewayError::MethodNotAllowed.into()),
    }
}

/// Only who has a full master key may come here.
fn authorize(exchange: &Exchange<'_>, path: &str) -> Result<(), Problem> {
    let gateway = exchange.gateway;
    let head = &exchange.call.head;
    let verb = lower_verb(&head.method);
    let signed = Signed {
        verb: verb.as_ref(),
        resource_type: "_orrery",
        link: path.trim_start_matches('/'),
    };
    match gateway
        .authenticator
        .identify(&head.headers, signed, gateway.now())?
    {
        Identity::Owner => Ok(()),
        Identity::Reader | Identity::Bearer(_) => Err(GatewayError::NotPermitted.into()),
    }
}

fn respond(status: StatusCode, value: &Value<'_>) -> Reply {
    let mut text = Vec::new();
    json::write(value, &mut text);
    Reply::json(status, text)
}
