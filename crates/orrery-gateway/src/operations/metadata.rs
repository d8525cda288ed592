//! Databases, containers, users, permissions, scripts, keys and offers: one shape for
//! all, with the extras of some in the modules below.

mod containers;
mod offers;
mod permissions;
mod statistics;

use http::StatusCode;
use orrery_engine::catalog::{MetadataOptions, QuerySpec, Resource, ResourceFeed, ResourceOutcome};
use orrery_engine::{Answer, Error};
use orrery_model::resource_path::{ResourceKind, ResourcePath};

use super::{Exchange, blocking, envelope};
use crate::request::{Operation, QueryBody, RequestHeaders};
use crate::respond::errors::{GatewayError, Problem};
use crate::respond::{Owner, Reply, names};

/// Runs an operation on a metadata resource or feed.
pub(super) async fn run(
    exchange: &Exchange<'_>,
    path: ResourcePath,
    operation: Operation,
) -> Result<Reply, Problem> {
    match operation {
        Operation::Read => read(exchange, &path).await,
        Operation::ReadFeed | Operation::Query => list(exchange, path, operation).await,
        Operation::Create | Operation::Upsert | Operation::Replace | Operation::Delete => {
            write(exchange, path, operation).await
        }
        Operation::Execute => Err(execute(exchange, &path)),
        _ => Err(GatewayError::MethodNotAllowed.into()),
    }
}

/// The catalog is in memory: reading it does not block.
async fn read(exchange: &Exchange<'_>, path: &ResourcePath) -> Result<Reply, Problem> {
    let mut answer = exchange.gateway.engine.catalog().read(path)?;
    let etag = exchange.headers.text(&http::header::IF_NONE_MATCH)?;
    if etag.is_some_and(|etag| answer.value.etag.matches(etag)) {
        let etag = answer.value.etag.as_str().to_owned();
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED)
            .etag(etag)
            .meta(answer.meta));
    }
    let is_container = path.kind() == ResourceKind::Container;
    let headers = exchange.headers;
    if is_container && headers.flag(&names::POPULATE_PARTITION_STATISTICS)? {
        let engine = exchange.gateway.engine.clone();
        let container = engine.container(path)?;
        let mut body = std::mem::take(&mut answer.value.body);
        // The sizes of logical partitions are looked up in the store.
        answer.value.body = blocking(move || {
            statistics::add(&engine, &container, &mut body)?;
            Ok(body)
        })
        .await?;
    }
    reply(exchange, path, answer)
}

async fn write(
    exchange: &Exchange<'_>,
    path: ResourcePath,
    operation: Operation,
) -> Result<Reply, Problem> {
    let options = options(exchange.headers, path.kind())?;
    let (engine, body) = (exchange.gateway.engine.clone(), exchange.call.body.clone());
    let target = path.clone();
    let answer = blocking(move || match operation {
        Operation::Create => engine.catalog().create(&target, &body, &options),
        Operation::Upsert => engine.catalog().upsert(&target, &body, &options),
        Operation::Replace => engine.catalog().replace(&target, &body, &options),
        _ => engine.catalog().delete(&target, &options),
    })
    .await?;
    reply(exchange, &path, answer)
}

async fn list(
    exchange: &Exchange<'_>,
    path: ResourcePath,
    operation: Operation,
) -> Result<Reply, Problem> {
    let page = exchange.headers.page()?;
    if operation == Operation::Query && path.kind() == ResourceKind::Conflict {
        check_conflict_scope(exchange.headers)?;
    }
    let engine = exchange.gateway.engine.clone();
    let array = path.kind().feed_array();
    let query = match operation {
        Operation::Query => Some(QueryBody::parse(&exchange.call.body)?.into_spec()),
        _ => None,
    };
    let Answer {
        value: ResourceFeed {
            owner,
            alt_path,
            page,
        },
        meta,
    } = blocking(move || match query {
        Some(query) => engine.catalog().query(&path, &query, &page),
        None => engine.catalog().list(&path, &page),
    })
    .await?;
    let rid = owner.map_or_else(String::new, |owner| owner.to_string());
    let reply = Reply::json(
        StatusCode::OK,
        envelope(&rid, array, &page.rows, page.count),
    )
    .item_count(page.count)
    .continuation(page.continuation)
    .meta(meta);
    Ok(if rid.is_empty() {
        reply
    } else {
        reply.owned_by(Owner::new(&alt_path, &rid))
    })
}

/// Conflicts lie in partitions as items do: a query for them names a key, or says that it crosses
/// partitions.
fn check_conflict_scope(headers: RequestHeaders<'_>) -> Result<(), Problem> {
    let crosses = headers.flag(&names::ENABLE_CROSS_PARTITION)?;
    if crosses || headers.partition_key()?.is_some() {
        return Ok(());
    }
    Err(Error::CrossPartitionDisabled.into())
}

/// Scripts are kept but do not run; whether there is such a procedure is still told.
fn execute(exchange: &Exchange<'_>, path: &ResourcePath) -> Problem {
    match exchange.gateway.engine.catalog().read(path) {
        Err(failure) => failure.into(),
        Ok(_) => GatewayError::Unsupported(
            "Stored procedures cannot be executed: this account does not run scripts.".to_owned(),
        )
        .into(),
    }
}

fn options(
    headers: RequestHeaders<'_>,
    kind: ResourceKind,
) -> Result<MetadataOptions, GatewayError> {
    let mut options = MetadataOptions {
        if_match: headers.text(&http::header::IF_MATCH)?.map(str::to_owned),
        ..MetadataOptions::default()
    };
    match kind {
        ResourceKind::Database | ResourceKind::Container | ResourceKind::Offer => {
            offers::read_headers(headers, &mut options)?;
        }
        ResourceKind::Permission => {
            permissions::life(headers)?;
        }
        _ => {}
    }
    Ok(options)
}

fn reply(
    exchange: &Exchange<'_>,
    path: &ResourcePath,
    Answer { value, meta }: Answer<Resource>,
) -> Result<Reply, Problem> {
    let Resource {
        rid,
        etag,
        mut body,
        alt_path,
        outcome,
        offer,
        ..
    } = value;
    if path.kind() == ResourceKind::Permission && outcome != ResourceOutcome::Deleted {
        permissions::add_token(&mut body, rid, exchange)?;
    }
    let status = match outcome {
        ResourceOutcome::Found => StatusCode::OK,
        ResourceOutcome::Created => StatusCode::CREATED,
        ResourceOutcome::Deleted => StatusCode::NO_CONTENT,
    };
    let mut reply = match outcome {
        ResourceOutcome::Deleted => Reply::empty(status),
        _ => Reply::json(status, body).etag(etag.as_str().to_owned()),
    };
    if let Some(facts) = offer {
        reply = offers::add_headers(reply, facts);
    }
    if path.kind() == ResourceKind::Container && outcome != ResourceOutcome::Deleted {
        reply = containers::add_headers(reply, exchange, path, status)?;
    }
    let owner = Owner::new(&alt_path, &rid.to_string());
    Ok(reply.owned_by(owner).meta(meta))
}

impl QueryBody {
    /// The same for the engine.
    pub(super) fn into_spec(self) -> QuerySpec {
        QuerySpec {
            text: self.text,
            parameters: self.parameters,
            resume_filter: self.resume_filter,
        }
    }
}
