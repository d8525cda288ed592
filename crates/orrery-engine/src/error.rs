//! Why an operation was refused, in terms of meaning; the gateway owns the one table from these
//! to status, sub-status and message (protocol: section 4).

use std::sync::Arc;

use orrery_model::ids::PartitionKeyRangeId;
use orrery_sql::errors::SqlErrors;
use orrery_sql::pipeline::ExecutionError;
use orrery_storage::StoreError;
use thiserror::Error as ThisError;

/// The reason of a refusal.
#[derive(Debug, Clone, ThisError)]
pub enum Error {
    /// The request is wrong in itself: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The partition key given is not the item's, or not of the definition's shape: 400/1001.
    #[error(
        "Partition key provided either doesn't correspond to definition in the collection or \
         doesn't match partition key field values specified in the document."
    )]
    PartitionKeyMismatch,
    /// The operation needs a partition key: 400.
    #[error("PartitionKey value must be supplied for this operation.")]
    PartitionKeyMissing,
    /// The query spans ranges and the client did not allow that: 400/1004.
    #[error(
        "Cross partition query is required but disabled. Please set \
         x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, \
         or revise your query to avoid this exception."
    )]
    CrossPartitionDisabled,
    /// The query needs the client's merge: 400/1004 with the plan in the body.
    #[error(
        "The provided cross partition query can not be directly served by the gateway. This is a \
         first chance (internal) exception that all newer clients will know how to handle \
         gracefully."
    )]
    CrossPartition {
        /// The plan as JSON text, for `additionalErrorInfo`.
        plan: Vec<u8>,
    },
    /// The container at this name is not the one that the client meant: 400/1024.
    #[error("The requested collection rid does not match the collection at this name.")]
    RidMismatch,
    /// The item or resource is not there: 404.
    #[error("Entity with the specified id does not exist in the system.")]
    NotFound,
    /// The database or container above is not there: 404/1003.
    #[error("Owner resource does not exist")]
    OwnerNotFound,
    /// The session token is ahead of the partition: 404/1002.
    #[error("The read session is not available for the input session token.")]
    ReadSessionNotAvailable,
    /// The verb does not fit the path: 405.
    #[error("Method not allowed")]
    MethodNotAllowed,
    /// The id, name or a unique key is taken: 409.
    #[error("{0}")]
    Conflict(String),
    /// Another item of the logical partition has the values of a unique key: 409.
    #[error(
        "Unique index constraint violation. Resource with specified id, name, or unique index \
         already exists."
    )]
    UniqueKey,
    /// An item of that id is there under another partition key of the same place (keys of version
    /// 1 count up to their first 101 bytes): 409/3302.
    #[error(
        "Entity with the specified id already exists in the system under another partition key \
         with the same effective partition key."
    )]
    KeyCollision,
    /// The name now belongs to another container: 410/1000.
    #[error("The requested resource is no longer available at the server.")]
    NameCacheIsStale,
    /// The partition key range does not exist (any more): 410/1002.
    #[error("PartitionKeyRange with id '{range}' in collection '{container}' doesn't exist.")]
    PartitionKeyRangeGone {
        /// The id that was asked for.
        range: PartitionKeyRangeId,
        /// The container's rid.
        container: String,
    },
    /// The partition is moving: 410/1007.
    #[error("The partition is completing a split.")]
    CompletingSplit,
    /// If-Match does not hold: 412.
    #[error("Operation cannot be performed because one of the specified precondition is not met.")]
    PreconditionFailed,
    /// The condition of a patch does not hold: 412/1110.
    #[error("One of the specified pre-condition is not met")]
    PatchConditionFailed,
    /// The operation took too long: 408.
    #[error("{0}")]
    Timeout(String),
    /// Item, batch or answer over its size limit: 413.
    #[error("{0}")]
    TooLarge(String),
    /// Another operation of the same batch failed: 424.
    #[error("The operation was not executed because another operation of the batch failed.")]
    FailedDependency,
    /// The logical partition is full: 403/1014.
    #[error("Partition key reached maximum size of {}", size_text(*limit_bytes))]
    LogicalPartitionFull {
        /// The limit, for the message.
        limit_bytes: u64,
    },
    /// Not allowed: 403.
    #[error("{0}")]
    Forbidden(String),
    /// A database that shares its throughput has no room for another container: 403/1010.
    #[error("The database that shares its throughput already has {limit} collections.")]
    SharedThroughputFull {
        /// The most.
        limit: usize,
    },
    /// The budget of this second is spent: 429.
    #[error("{0}")]
    TooManyRequests(Throttle),
    /// The store refused or failed: 503.
    #[error("{0}")]
    Storage(Arc<StoreError>),
    /// The engine cannot serve: 503.
    #[error("{0}")]
    Unavailable(String),
    /// The query is wrong: 400 with the list of reasons.
    #[error("{0}")]
    Sql(SqlErrors),
    /// What is stored does not decode: 500. Never the client's fault.
    #[error("Stored data of the {0} is damaged")]
    Damaged(&'static str),
}

/// Which budget is spent, and when to come back (request units: section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
#[error("{}", self.cause.text())]
pub struct Throttle {
    /// Which budget.
    pub cause: ThrottleCause,
    /// When to come back.
    pub retry_after_ms: u64,
}

/// A budget that can be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThrottleCause {
    /// That of the physical partition: 3200.
    RequestUnits,
    /// The share of the request's throughput bucket: 3212.
    Bucket,
    /// The buckets were changed a moment ago: 3213.
    BucketChange,
    /// That of the account for metadata.
    Metadata,
    /// That of the account for changes of throughput.
    ThroughputChanges,
}

impl ThrottleCause {
    fn text(self) -> &'static str {
        match self {
            Self::RequestUnits => {
                "Request rate is large. More Request Units may be needed, so no changes were made. \
                 Please retry this request later."
            }
            Self::Bucket => {
                "Request rate is large. The throughput bucket of the request has reached its \
                 maximum throughput percentage."
            }
            Self::BucketChange => {
                "The throughput buckets were changed within the last 10 minutes. Please retry this \
                 request later."
            }
            Self::ThroughputChanges => {
                "Request rate is large. The throughput of the account was changed too many times \
                 within the last 5 minutes. Please retry this request later."
            }
            Self::Metadata => {
                "Request rate is large. The request did not complete due to a high rate of metadata \
                 requests."
            }
        }
    }
}

impl Throttle {
    /// The physical partition's budget is spent.
    pub fn request_units(retry_after_ms: u64) -> Self {
        let cause = ThrottleCause::RequestUnits;
        Self {
            cause,
            retry_after_ms,
        }
    }

    /// The bucket's share is spent.
    pub fn bucket(retry_after_ms: u64) -> Self {
        let cause = ThrottleCause::Bucket;
        Self {
            cause,
            retry_after_ms,
        }
    }

    /// Throughput may be changed again later.
    pub fn throughput_changes(retry_after_ms: u64) -> Self {
        let cause = ThrottleCause::ThroughputChanges;
        Self {
            cause,
            retry_after_ms,
        }
    }

    /// The buckets may be changed again later.
    pub fn bucket_change(retry_after_ms: u64) -> Self {
        let cause = ThrottleCause::BucketChange;
        Self {
            cause,
            retry_after_ms,
        }
    }

    /// The account's metadata budget is spent.
    pub fn metadata(retry_after_ms: u64) -> Self {
        let cause = ThrottleCause::Metadata;
        Self {
            cause,
            retry_after_ms,
        }
    }
}

/// A size in the largest unit that it fills: `20 GB`, and `20.48 MB` in a scale model.
fn size_text(bytes: u64) -> String {
    let units = [("GB", 30), ("MB", 20), ("KB", 10)];
    for (name, shift) in units {
        if bytes >> shift > 0 {
            let size = bytes as f64 / (1_u64 << shift) as f64;
            return format!("{} {name}", (size * 100.0).round() / 100.0);
        }
    }
    format!("{bytes} bytes")
}

impl Error {
    /// A 400 with this text.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest(message.into())
    }

    /// The service's answer to a taken id or unique key.
    pub fn conflict() -> Self {
        Self::Conflict("Entity with the specified id already exists in the system.".to_owned())
    }
}

impl From<ExecutionError> for Error {
    fn from(error: ExecutionError) -> Self {
        let text = error.to_string();
        match error {
            ExecutionError::RowTooLarge => Self::TooLarge(text),
            ExecutionError::TooLate => Self::Timeout(text),
            ExecutionError::TooManySteps
            | ExecutionError::TooMuchMemory
            | ExecutionError::NotFinite
            | ExecutionError::BadState => Self::BadRequest(text),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Storage(Arc::new(error))
    }
}
