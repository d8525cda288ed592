//! Read feed of items, and what read feeds, change feeds and queries have in common:
//! the part of the container that they address.

use orrery_engine::page::Target;
use orrery_engine::{Answer, Error};

use super::{ContainerCall, page_reply};
use crate::request::TargetHeaders;
use crate::respond::Reply;
use crate::respond::errors::Problem;

/// Reads a page of the items.
pub(super) async fn read(call: &ContainerCall<'_>) -> Result<Reply, Problem> {
    let target = call.target()?;
    let page = call.headers.page()?;
    let Answer { value, meta } = call
        .blocking(move |engine, container| engine.read_feed(container, &target, &page))
        .await?;
    Ok(page_reply(
        &call.container,
        call.path.kind().feed_array(),
        &value.rows,
        value.count,
    )
    .continuation(value.continuation)
    .meta(meta))
}

impl ContainerCall<'_> {
    /// What the targeting headers mean in this container.
    pub(super) fn target(&self) -> Result<Target, Problem> {
        match TargetHeaders::read(self.headers)? {
            TargetHeaders::None => Ok(Target::All),
            TargetHeaders::Key(key) => Ok(Target::Key(key)),
            TargetHeaders::Range(scope) => {
                let own = self.container.rid().to_string();
                if scope.container_rid.is_some_and(|rid| rid != own) {
                    return Err(Error::NameCacheIsStale.into());
                }
                Ok(Target::Range {
                    id: scope.id,
                    epk: scope.epk,
                })
            }
            TargetHeaders::Epk(epk) => {
                // Key space without a range: the one range that owns it. Clients split
                // what spans several before they ask.
                let ranges = self.container.ranges();
                let owners: Vec<_> = ranges
                    .overlapping(&epk)
                    .map(|partition| partition.id())
                    .collect();
                match *owners.as_slice() {
                    [id] => Ok(Target::Range { id, epk: Some(epk) }),
                    [first, ..] => Err(Error::PartitionKeyRangeGone {
                        range: first,
                        container: self.container.rid().to_string(),
                    }
                    .into()),
                    [] => Ok(Target::All),
                }
            }
        }
    }
}
