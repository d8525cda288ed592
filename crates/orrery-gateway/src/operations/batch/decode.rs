//! Operations of a batch from either form.

use orrery_engine::write::{BatchKind, BatchOperation, Conditions, IndexingDirective};
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;
use orrery_model::value::Value;

use crate::hybrid_row::{OperationRow, RecordReader};
use crate::request::parse_indexing_directive;
use crate::respond::errors::GatewayError;

/// Number of the resource type item in HybridRow.
const RESOURCE_TYPE_DOCUMENT: i32 = 2;

/// The parts of an operation, whichever form they came in.
#[derive(Default)]
struct Parts<'a> {
    operation_type: &'a str,
    id: Option<&'a str>,
    body: Option<Vec<u8>>,
    partition_key: Option<PartitionKey>,
    if_match: Option<&'a str>,
    if_none_match: Option<&'a str>,
    indexing_directive: Option<&'a str>,
    minimal_return: bool,
}

impl Parts<'_> {
    fn finish(self, at: usize) -> Result<BatchOperation, GatewayError> {
        let id = || {
            self.id
                .map(str::to_owned)
                .ok_or_else(|| invalid(at, "it needs an id"))
        };
        let body = || {
            self.body
                .clone()
                .ok_or_else(|| invalid(at, "it needs a resourceBody"))
        };
        let kind = match self.operation_type {
            "Create" => BatchKind::Create { body: body()? },
            "Upsert" => BatchKind::Upsert { body: body()? },
            "Read" => BatchKind::Read { id: id()? },
            "Replace" => BatchKind::Replace {
                id: id()?,
                body: body()?,
            },
            "Patch" => BatchKind::Patch {
                id: id()?,
                body: body()?,
            },
            "Delete" => BatchKind::Delete { id: id()? },
            _ => return Err(invalid(at, "its operationType is unknown")),
        };
        let indexing = match self.indexing_directive {
            None => IndexingDirective::Default,
            Some(text) => parse_indexing_directive(text)
                .ok_or_else(|| invalid(at, "its indexingDirective is unknown"))?,
        };
        Ok(BatchOperation {
            kind,
            key: self.partition_key,
            conditions: Conditions {
                if_match: self.if_match.map(str::to_owned),
                if_none_match: self.if_none_match.map(str::to_owned),
            },
            indexing,
            minimal: self.minimal_return,
        })
    }
}

fn invalid(at: usize, what: &str) -> GatewayError {
    GatewayError::Body(format!("Operation {at} of the batch is invalid: {what}."))
}

/// The JSON form: an array of operations.
pub(super) fn json(body: &[u8]) -> Result<Vec<BatchOperation>, GatewayError> {
    // An item lies in its operation, and that in the list.
    let value =
        json::parse_wrapped(body, 2).map_err(|error| GatewayError::Body(error.to_string()))?;
    let list = value
        .as_array()
        .ok_or_else(|| GatewayError::Body("A batch is a JSON array of operations.".to_owned()))?;
    list.iter()
        .enumerate()
        .map(|(at, operation)| json_operation(at, operation))
        .collect()
}

fn json_operation(at: usize, operation: &Value<'_>) -> Result<BatchOperation, GatewayError> {
    let text = |name: &str| match operation.member(name) {
        Value::Undefined | Value::Null => Ok(None),
        value => match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(invalid(at, &format!("its {name} is not a string"))),
        },
    };
    let minimal_return = match operation.member("minimalReturnPreference") {
        Value::Undefined | Value::Null => false,
        value => value
            .as_bool()
            .ok_or_else(|| invalid(at, "its minimalReturnPreference is not a boolean"))?,
    };
    Parts {
        operation_type: text("operationType")?.unwrap_or_default(),
        id: text("id")?,
        body: match operation.member("resourceBody") {
            Value::Undefined | Value::Null => None,
            body => {
                let mut bytes = Vec::new();
                json::write(body, &mut bytes);
                Some(bytes)
            }
        },
        partition_key: match operation.member("partitionKey") {
            Value::Undefined | Value::Null => None,
            key => Some(json_key(key).ok_or_else(|| invalid(at, "its partitionKey is wrong"))?),
        },
        if_match: text("ifMatch")?,
        if_none_match: text("ifNoneMatch")?,
        indexing_directive: text("indexingDirective")?,
        minimal_return,
    }
    .finish(at)
}

/// The key is the header's JSON inside of a string; some clients send the array.
fn json_key(key: &Value<'_>) -> Option<PartitionKey> {
    match key.as_str() {
        Some(text) => PartitionKey::parse_header(text).ok(),
        None => PartitionKey::from_value(key),
    }
}

/// The binary form.
pub(super) fn hybrid_row(body: &[u8]) -> Result<Vec<BatchOperation>, GatewayError> {
    let wrong = |error: &dyn std::fmt::Display| {
        GatewayError::Body(format!("The binary batch is invalid: {error}."))
    };
    let records = RecordReader::new(body).map_err(|error| wrong(&error))?;
    records
        .enumerate()
        .map(|(at, record)| {
            let record = record.map_err(|error| wrong(&error))?;
            let row = OperationRow::decode(record).map_err(|error| wrong(&error))?;
            row_operation(at, &row)
        })
        .collect()
}

fn row_operation(at: usize, row: &OperationRow<'_>) -> Result<BatchOperation, GatewayError> {
    if row.resource_type != RESOURCE_TYPE_DOCUMENT {
        return Err(invalid(at, "only items can be in a batch"));
    }
    Parts {
        // Numbers of operation types (protocol-rntbd: section 8).
        operation_type: match row.operation_type {
            0 => "Create",
            1 => "Patch",
            2 => "Read",
            4 => "Delete",
            5 => "Replace",
            20 => "Upsert",
            _ => return Err(invalid(at, "its operationType is unknown")),
        },
        id: row.id,
        body: row.resource_body.map(<[u8]>::to_vec),
        partition_key: match row.partition_key {
            None => None,
            Some(text) => Some(
                PartitionKey::parse_header(text)
                    .map_err(|_| invalid(at, "its partitionKey is wrong"))?,
            ),
        },
        if_match: row.if_match,
        if_none_match: row.if_none_match,
        indexing_directive: row.indexing_directive,
        minimal_return: row.minimal_return,
    }
    .finish(at)
}
