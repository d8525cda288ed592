//! What a request asks for: target, operation, headers, body (protocol: sections 0
//! and 3.1). Nothing here touches the engine.

mod body;
mod classify;
mod headers;
pub mod http_date;
mod target;

pub use body::{QueryBody, json_body};
pub use classify::{Operation, classify};
pub(crate) use headers::parse_indexing_directive;
pub use headers::{ChangeFeedMode, RequestHeaders};
pub use target::{RangeScope, TargetHeaders};
