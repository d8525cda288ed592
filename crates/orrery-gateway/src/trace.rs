//! What a trace of the data plane is made of: one record for each request to items, handed to
//! whoever the binary chose to write it down. The gateway knows nothing of files.

use std::fmt;
use std::sync::Arc;

use orrery_engine::Container;
use orrery_model::charge::Charge;
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::partition_key::PartitionKey;

/// Takes records. Called on the way of every request: it must be quick, and never wait.
pub trait Recorder: Send + Sync {
    /// Takes one.
    fn record(&self, record: &Record<'_>);
}

/// A recorder, or none.
#[derive(Clone, Default)]
pub struct Trace(pub Option<Arc<dyn Recorder>>);

impl fmt::Debug for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() {
            "Trace(on)"
        } else {
            "Trace(off)"
        })
    }
}

/// One request to the items of a container.
#[derive(Debug, Clone, Copy)]
pub struct Record<'r> {
    /// When it came, in microseconds since 1970.
    pub started_us: u64,
    /// How long it took.
    pub took_us: u64,
    /// What it did, by the service's names.
    pub operation: &'static str,
    /// The container.
    pub container: &'r Container,
    /// The range that served it.
    pub range: Option<PartitionKeyRangeId>,
    /// Its partition key, from the header or from the item.
    pub key: Option<&'r PartitionKey>,
    /// The item's id, where the path names one.
    pub id: Option<&'r str>,
    /// The body, for queries the text and the parameters.
    pub query: Option<Query<'r>>,
    /// The parts of a batch or bulk.
    pub parts: &'r [Part],
    /// HTTP status.
    pub status: u16,
    /// `x-ms-substatus`, or 0.
    pub sub_status: u32,
    /// Request charge.
    pub charge: Charge,
    /// Bytes of the request's body.
    pub request_bytes: usize,
    /// Bytes of the answer's body.
    pub response_bytes: usize,
    /// Items on the page, for feeds and queries.
    pub items: Option<u32>,
    /// Whether it goes on with an earlier page.
    pub is_continued: bool,
    /// `x-ms-activity-id`.
    pub activity: &'r str,
    /// `x-ms-cosmos-correlated-activityid`: what the pages of one query have in common.
    pub correlated: Option<&'r str>,
    /// `User-Agent`.
    pub user_agent: Option<&'r str>,
}

/// A query.
#[derive(Debug, Clone, Copy)]
pub struct Query<'r> {
    /// Its text.
    pub text: &'r str,
    /// Its parameters.
    pub parameters: &'r [(String, orrery_model::value::Value<'static>)],
}

/// One operation of a batch or bulk.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it did.
    pub operation: &'static str,
    /// Its own key, if it has one.
    pub key: Option<PartitionKey>,
    /// The item's id, where it is named.
    pub id: Option<String>,
    /// HTTP status.
    pub status: u16,
    /// Request charge.
    pub charge: Charge,
}
