//! What a request asks for: target, operation, headers, body (protocol: sections 0
//! and 3.1). Nothing here touches the engine.

pub mod http_date;
