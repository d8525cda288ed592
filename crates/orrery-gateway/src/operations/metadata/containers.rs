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
        // Sizes in KB; the limits are those of one logical partition and of scripts.
        let quota = "functions=100;storedProcedures=100;triggers=25;documentSize=20971520;\
                     documentsSize=20971520;documentsCount=-1;collectionSize=20971520;";
        reply = reply
            .header(names::RESOURCE_QUOTA, HeaderValue::from_static(quota))
            .header_text(names::RESOURCE_USAGE, usage);
    }
    Ok(reply)
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
