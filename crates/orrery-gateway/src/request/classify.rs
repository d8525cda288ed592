//! Verb, path and headers to an operation (protocol: section 0).

use http::Method;
use orrery_model::resource_path::{ResourceKind, ResourcePath};

use super::RequestHeaders;
use crate::respond::errors::GatewayError;
use crate::respond::names;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Read one resource, with or without its body.
    Read,
    /// Read a feed or a change feed.
    ReadFeed,
    /// Run a query.
    Query,
    /// Plan a query.
    QueryPlan,
    /// Run a batch.
    Batch,
    /// Create, or replace what has the same id.
    Upsert,
    /// Create.
    Create,
    /// Replace.
    Replace,
    /// Patch an item.
    Patch,
    /// Delete.
    Delete,
    /// Execute a stored procedure.
    Execute,
    /// Delete all items of a logical partition.
    DeletePartitionKey,
    /// Delete all items of a container.
    Truncate,
}

impl Operation {
    /// Whether it changes nothing, so that a read-only key suffices.
    pub fn is_read(self) -> bool {
        matches!(
            self,
            Self::Read | Self::ReadFeed | Self::Query | Self::QueryPlan
        )
    }
}

/// The operation that a request asks for.
pub fn classify(
    method: &Method,
    path: &ResourcePath,
    headers: RequestHeaders<'_>,
) -> Result<Operation, GatewayError> {
    if let Some(operation) = path.operation() {
        return match (operation, method) {
            ("partitionkeydelete", &Method::POST) => Ok(Operation::DeletePartitionKey),
            ("collectiontruncate", &Method::PUT) => Ok(Operation::Truncate),
            ("partitionkeydelete" | "collectiontruncate", _) => Err(GatewayError::MethodNotAllowed),
            _ => Err(GatewayError::UnknownPath),
        };
    }
    let operation = if path.is_feed() {
        of_feed(method, path.kind(), headers)?
    } else {
        of_resource(method, path.kind())?
    };
    if is_served(path.kind(), operation) {
        Ok(operation)
    } else {
        Err(GatewayError::MethodNotAllowed)
    }
}

fn of_feed(
    method: &Method,
    kind: ResourceKind,
    headers: RequestHeaders<'_>,
) -> Result<Operation, GatewayError> {
    match *method {
        Method::GET | Method::HEAD => Ok(Operation::ReadFeed),
        Method::POST if headers.flag(&names::IS_QUERY_PLAN)? => Ok(Operation::QueryPlan),
        Method::POST if is_query(headers)? => Ok(Operation::Query),
        Method::POST if headers.flag(&names::IS_BATCH)? => Ok(Operation::Batch),
        Method::POST if headers.flag(&names::IS_UPSERT)? => Ok(Operation::Upsert),
        // A change feed narrowed by a query is posted as well (protocol: section 9.1).
        Method::POST if kind == ResourceKind::Item && headers.contains(&names::A_IM) => {
            Ok(Operation::ReadFeed)
        }
        Method::POST => Ok(Operation::Create),
        _ => Err(GatewayError::MethodNotAllowed),
    }
}

fn is_query(headers: RequestHeaders<'_>) -> Result<bool, GatewayError> {
    let by_type = headers
        .get(&http::header::CONTENT_TYPE)
        .is_some_and(|value| {
            let essence = value
                .as_bytes()
                .split(|byte| *byte == b';')
                .next()
                .unwrap_or_default();
            essence
                .trim_ascii()
                .eq_ignore_ascii_case(b"application/query+json")
        });
    Ok(by_type || headers.flag(&names::IS_QUERY)? || headers.flag(&names::IS_QUERY_LEGACY)?)
}

fn of_resource(method: &Method, kind: ResourceKind) -> Result<Operation, GatewayError> {
    match *method {
        Method::GET | Method::HEAD => Ok(Operation::Read),
        Method::PUT => Ok(Operation::Replace),
        Method::PATCH => Ok(Operation::Patch),
        Method::DELETE => Ok(Operation::Delete),
        Method::POST if kind == ResourceKind::StoredProcedure => Ok(Operation::Execute),
        _ => Err(GatewayError::MethodNotAllowed),
    }
}

/// Whether this kind of resource has this operation at all (protocol: sections 0, 1.1).
fn is_served(kind: ResourceKind, operation: Operation) -> bool {
    use Operation as O;
    match kind {
        ResourceKind::Account => operation == O::Read,
        ResourceKind::Address | ResourceKind::PartitionKeyRange | ResourceKind::Schema => {
            matches!(operation, O::Read | O::ReadFeed)
        }
        ResourceKind::Offer => {
            matches!(operation, O::Read | O::ReadFeed | O::Query | O::Replace)
        }
        ResourceKind::Conflict => {
            matches!(
                operation,
                O::Read | O::ReadFeed | O::Query | O::QueryPlan | O::Delete
            )
        }
        ResourceKind::Item => operation != O::Execute,
        ResourceKind::StoredProcedure => !matches!(operation, O::Patch | O::Batch),
        _ => !matches!(operation, O::Patch | O::Batch | O::Execute),
    }
}
