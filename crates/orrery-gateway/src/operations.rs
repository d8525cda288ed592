//! What the operations do: decode, call the engine, encode. A module for each family
//! of resources.

pub(crate) mod account;
mod batch;
mod change_feed;
mod feeds;
mod items;
mod metadata;
mod pk_ranges;
mod query;
mod record;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::StatusCode;
use orrery_engine::write::{WriteOutcome, WriteRequest};
use orrery_engine::{Answer, Container, Engine, Error, Failure};
use orrery_model::partition_key::PartitionKey;
use orrery_model::resource_path::{ResourceKind, ResourcePath};
use tokio::sync::oneshot;

use crate::gateway::Gateway;
use crate::regions;
use crate::request::{Operation, RequestHeaders};
use crate::respond::errors::{GatewayError, Problem};
use crate::respond::{ActivityId, Reply, names};
use crate::server::Call;
use crate::trace::Part;
use record::Times;

/// A request on its way to an answer.
pub(crate) struct Exchange<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) call: &'a Call,
    pub(crate) headers: RequestHeaders<'a>,
    pub(crate) activity: &'a ActivityId,
}

/// A request to the data of a container.
pub(crate) struct ContainerCall<'a> {
    engine: &'a Engine,
    container: Arc<Container>,
    path: ResourcePath,
    headers: RequestHeaders<'a>,
    /// The key of the header, once it was read.
    key: OnceLock<Option<PartitionKey>>,
    body: &'a Bytes,
    /// The parts of a batch, for the trace, where there is one.
    parts: OnceLock<Vec<Part>>,
    is_traced: bool,
    strict_splits: bool,
}

/// Runs an authorised operation.
pub(crate) async fn run(
    exchange: &Exchange<'_>,
    path: ResourcePath,
    operation: Operation,
) -> Result<Reply, Problem> {
    match path.kind() {
        ResourceKind::Account => Ok(account::read(
            &exchange.gateway.engine,
            &exchange.gateway.config,
            exchange.call,
        )),
        ResourceKind::Address => Err(GatewayError::Unsupported(
            "Direct mode is not served here: set the client's connection mode to Gateway."
                .to_owned(),
        )
        .into()),
        ResourceKind::Item | ResourceKind::PartitionKeyRange => {
            in_container(exchange, path, operation).await
        }
        ResourceKind::Container
            if matches!(
                operation,
                Operation::DeletePartitionKey | Operation::Truncate
            ) =>
        {
            in_container(exchange, path, operation).await
        }
        _ => {
            exchange.gateway.engine.admit_metadata()?;
            metadata::run(exchange, path, operation).await
        }
    }
}

/// Runs an operation on a container's data. Refusals carry the session position and
/// the container's paths as well: SDKs learn from a 404 or 409 too.
async fn in_container(
    exchange: &Exchange<'_>,
    path: ResourcePath,
    operation: Operation,
) -> Result<Reply, Problem> {
    let engine = &exchange.gateway.engine;
    let container = engine.catalog().container(&path)?;
    let owner = exchange.gateway.owners.of(&container);
    // Ranges are metadata: only requests to items are recorded.
    let is_item = path.kind() != ResourceKind::PartitionKeyRange;
    let recorder = exchange.gateway.config.trace.0.as_deref();
    let recorder = recorder.filter(|_| is_item);
    let call = ContainerCall {
        engine,
        container,
        path,
        headers: exchange.headers,
        key: OnceLock::new(),
        body: &exchange.call.body,
        parts: OnceLock::new(),
        is_traced: recorder.is_some(),
        strict_splits: exchange.gateway.config.strict_splits,
    };
    let started_us = recorder.map_or(0, |_| engine.clock().now_us());
    let reply = match call.run(operation).await {
        Ok(reply) => reply,
        Err(problem) => problem.into_reply(exchange.activity, exchange.call.head.uri.path()),
    };
    if let Some(recorder) = recorder {
        let times = Times {
            started_us,
            ended_us: engine.clock().now_us(),
        };
        record::hand_over(recorder, &call, operation, &reply, exchange.activity, times);
    }
    Ok(regions::with_session(reply, engine).in_container(owner))
}

impl ContainerCall<'_> {
    async fn run(&self, operation: Operation) -> Result<Reply, Problem> {
        self.check_intended_rid()?;
        if self.path.kind() == ResourceKind::PartitionKeyRange {
            self.engine.admit_metadata()?;
            return pk_ranges::run(self, operation);
        }
        match operation {
            // A point read is short: it runs where it stands.
            Operation::Read => items::read(self),
            Operation::ReadFeed if self.headers.change_feed_mode()?.is_some() => {
                change_feed::read(self).await
            }
            Operation::ReadFeed => feeds::read(self).await,
            Operation::Query => query::run(self).await,
            Operation::QueryPlan => query::plan(self),
            Operation::Batch => batch::execute(self).await,
            Operation::DeletePartitionKey => items::delete_partition_key(self).await,
            Operation::Truncate => Err(GatewayError::Unsupported(
                "Collection truncate is not enabled for this account.".to_owned(),
            )
            .into()),
            Operation::Execute => Err(GatewayError::MethodNotAllowed.into()),
            Operation::Create
            | Operation::Upsert
            | Operation::Replace
            | Operation::Patch
            | Operation::Delete => items::write(self, operation).await,
        }
    }

    /// The partition key of the header. Operation and trace need it, so it is read once.
    fn partition_key(&self) -> Result<Option<&PartitionKey>, GatewayError> {
        if let Some(known) = self.key.get() {
            return Ok(known.as_ref());
        }
        let key = self.headers.partition_key()?;
        Ok(self.key.get_or_init(|| key).as_ref())
    }

    /// The client may name the container that it thinks of (protocol: section 1.3).
    fn check_intended_rid(&self) -> Result<(), Problem> {
        match self.headers.text(&names::INTENDED_COLLECTION_RID)? {
            Some(rid) if !rid.is_empty() && rid != self.container.rid().to_string() => {
                Err(Error::RidMismatch.into())
            }
            _ => Ok(()),
        }
    }

    /// Hands a write to the partition's committer and waits without holding a thread.
    async fn submit(&self, request: WriteRequest) -> Result<Answer<WriteOutcome>, Problem> {
        let (sender, receiver) = oneshot::channel();
        self.engine.submit(&self.container, request, move |result| {
            // The client may have gone; the write stands all the same.
            let _ = sender.send(result);
        });
        match receiver.await {
            Ok(result) => Ok(result?),
            Err(_) => Err(stopped()),
        }
    }

    /// Runs something longer on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine, &Arc<Container>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Problem> {
        let (engine, container) = (self.engine.clone(), Arc::clone(&self.container));
        blocking(move || work(&engine, &container)).await
    }
}

/// Runs something on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(stopped()),
    }
}

/// The engine dropped the request: it is shutting down, or a bug ended it.
fn stopped() -> Problem {
    Error::Unavailable("The engine stopped before it answered.".to_owned()).into()
}

/// The envelope of a feed (protocol: section 1.1).
fn envelope(rid: &str, array: &str, rows: &[u8], count: u32) -> Vec<u8> {
    let mut body = Vec::with_capacity(rows.len() + rid.len() + array.len() + 48);
    body.extend_from_slice(b"{\"_rid\":\"");
    body.extend_from_slice(rid.as_bytes());
    body.extend_from_slice(b"\",\"");
    body.extend_from_slice(array.as_bytes());
    body.extend_from_slice(b"\":[");
    body.extend_from_slice(rows);
    body.extend_from_slice(format!("],\"_count\":{count}}}").as_bytes());
    body
}

/// A page of a container's feed.
fn page_reply(container: &Container, array: &str, rows: &[u8], count: u32) -> Reply {
    let body = envelope(&container.rid().to_string(), array, rows, count);
    Reply::json(StatusCode::OK, body).item_count(count)
}
