//! What a container's answer tells in headers besides its body (protocol: section 3.2).

use http::{HeaderValue, StatusCode};
use orrery_model::resource_path::ResourcePath;

use super::Exchange;
use crate::respond::errors::Problem;
use crate::respond::{Reply, names};

/// Adds index progress, and quota and usage where they are asked for.
pub(super) fn add_headers(
    reply: Reply,
    exchange: &Exchange<'_>,
    path: &ResourcePath,
    status: StatusCode,
) -> Result<Reply, Problem> {
    // A path of a feed or of a container that is gone names none.
    let container = exchange.gateway.engine.catalog().container(path).ok();
    let progress = container.map_or(100, |container| container.index_progress());
    let mut reply = reply
        .header_text(names::INDEX_TRANSFORMATION_PROGRESS, progress.to_string())
        .header(
            names::LAZY_INDEXING_PROGRESS,
            HeaderValue::from_static("-1"),
        );
    if status == StatusCode::OK && exchange.headers.flag(&names::POPULATE_QUOTA_INFO)? {
        let usage = usage(exchange, path)?;
        reply = reply
            .header_text(names::RESOURCE_QUOTA, quota(exchange))
            .header_text(names::RESOURCE_USAGE, usage);
    }
    Ok(reply)
}

/// Sizes in KB; the limits are those of one logical partition and of scripts.
fn quota(exchange: &Exchange<'_>) -> String {
    let limits = exchange.gateway.engine.limits();
    let kilobytes = limits.logical_partition_bytes / 1024;
    format!(
        "functions={};storedProcedures={};triggers={};documentSize={kilobytes};\
         documentsSize={kilobytes};documentsCount=-1;collectionSize={kilobytes};",
        limits.user_defined_functions, limits.stored_procedures, limits.triggers
    )
}

fn usage(exchange: &Exchange<'_>, path: &ResourcePath) -> Result<String, Problem> {
    let container = exchange.gateway.engine.catalog().container(path)?;
    let (items, bytes) =
        container
            .ranges()
            .partitions()
            .iter()
            .fold((0, 0), |(items, bytes), part| {
                let counters = part.statistics();
                (items + counters.items, bytes + counters.total_bytes())
            });
    let kilobytes = bytes / 1024;
    Ok(format!(
        "functions=0;storedProcedures=0;triggers=0;documentSize={kilobytes};\
         documentsSize={kilobytes};documentsCount={items};collectionSize={kilobytes};"
    ))
}
