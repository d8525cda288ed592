//! The partition key ranges feed (protocol: section 7).
//!
//! SDKs repeat the request with the etag of the answer until they get a 304, so the etag is the
//! version of the range map and an answer to a known version is empty.

use orrery_model::ids::{Etag, PartitionKeyRangeId};
use orrery_model::rid::RidKind;
use orrery_model::value::{Object, Value};
use orrery_model::{charge::Charge, json};

use crate::answer::{Answer, Meta};
use crate::container::Container;
use crate::engine::Engine;
use crate::page::FeedPage;
use crate::partition::Partition;

/// The answer to a ranges request.
#[derive(Debug, Clone, PartialEq)]
pub struct RangesPage {
    /// The version of the map, as the `etag` header.
    pub etag: String,
    /// The ranges since the client's version; `None` is the 304.
    pub page: Option<FeedPage>,
}

impl Engine {
    /// The ranges of a container: all, or with `since` (an etag of before) what came after it.
    pub fn pk_ranges(&self, container: &Container, since: Option<&str>) -> Answer<RangesPage> {
        let map = container.ranges();
        // A version that we cannot read, or that lies ahead, is none: the client gets all.
        let since = since
            .and_then(|etag| etag.trim().trim_matches('"').parse::<u64>().ok())
            .filter(|version| *version <= map.version());
        let mut page = FeedPage::default();
        if since != Some(map.version()) {
            let share = 1.0 / map.partitions().len().max(1) as f64;
            let new = |partition: &&std::sync::Arc<Partition>| {
                since.is_none_or(|since| partition.since() > since)
            };
            for partition in map.partitions().iter().filter(new) {
                page.push(&range_json(container, partition, share));
            }
        }
        let value = RangesPage {
            etag: format!("\"{}\"", map.version()),
            page: (since != Some(map.version())).then_some(page),
        };
        Answer {
            value,
            meta: Meta::of_charge(Charge::ONE),
        }
    }

    /// One range's JSON text.
    pub fn pk_range(&self, container: &Container, id: PartitionKeyRangeId) -> Option<Vec<u8>> {
        let map = container.ranges();
        let share = 1.0 / map.partitions().len().max(1) as f64;
        map.by_id(id)
            .map(|partition| range_json(container, partition, share))
    }
}

fn range_json(container: &Container, partition: &Partition, share: f64) -> Vec<u8> {
    let id = partition.id();
    // The kind is one of a container's children, so there is a rid.
    let rid = container
        .rid()
        .child(RidKind::PartitionKeyRange, u64::from(id.0) + 2);
    let rid = rid.unwrap_or(container.rid());
    let parents: Vec<Value<'_>> = partition
        .parents()
        .iter()
        .map(|parent| Value::from(parent.to_string()))
        .collect();
    let etag = Etag::from_bits(u128::from(partition.since()));
    let range = Object::from_iter([
        ("_rid", Value::from(rid.to_string())),
        ("id", Value::from(id.to_string())),
        ("_etag", Value::from(etag.as_str().to_owned())),
        ("minInclusive", Value::from(partition.range().min.to_hex())),
        ("maxExclusive", Value::from(partition.range().max.to_hex())),
        ("ridPrefix", Value::from(id.0)),
        ("_self", Value::from(rid.self_link())),
        ("throughputFraction", Value::from(share)),
        ("status", Value::from("online")),
        ("parents", Value::Array(parents)),
        ("ownedArchivalPKRangeIds", Value::Array(Vec::new())),
        ("_ts", Value::from(partition.statistics().last_ts)),
        ("lsn", Value::from(partition.lsn().0)),
    ]);
    let mut text = Vec::with_capacity(400);
    json::write(&Value::Object(range), &mut text);
    text
}
