//! Partition statistics on a container's read (request units: section 12): for each range its
//! size, and the logical partitions that stand out. Like the service's, they name at most three
//! keys of a physical partition, and only those with a hundredth of its items or more.

use orrery_engine::{Container, Engine, Error};
use orrery_model::json;
use orrery_model::value::{Object, Value};

use crate::admin::throughput::key_value;

/// Keys that are named for each physical partition.
const MOST_KEYS: usize = 3;

/// Adds `statistics` to a container's body.
pub(super) fn add(engine: &Engine, container: &Container, body: &mut Vec<u8>) -> Result<(), Error> {
    let ranges = ranges(engine, container)?;
    // The body is an object with members: the statistics become its last one.
    body.pop();
    body.extend_from_slice(b",\"statistics\":");
    json::write(&Value::Array(ranges), body);
    body.push(b'}');
    Ok(())
}

/// The statistics of all ranges.
pub(crate) fn ranges(engine: &Engine, container: &Container) -> Result<Vec<Value<'static>>, Error> {
    let state = container.state();
    let map = container.ranges();
    let mut ranges = Vec::with_capacity(map.partitions().len());
    for partition in map.partitions() {
        let counters = partition.statistics();
        let sizes = engine.key_sizes(&state, partition)?;
        let least = counters.items.div_ceil(100);
        let keys = sizes
            .largest
            .iter()
            .filter(|large| large.items >= least)
            .filter_map(|large| {
                Some(Value::Object(Object::from_iter([
                    ("partitionKey", key_value(large.key.as_ref()?)),
                    ("sizeInKB", Value::from(large.bytes.div_ceil(1024))),
                ])))
            });
        ranges.push(Value::Object(Object::from_iter([
            ("id", Value::from(partition.id().to_string())),
            (
                "sizeInKB",
                Value::from(counters.total_bytes().div_ceil(1024)),
            ),
            ("documentCount", Value::from(counters.items)),
            (
                "sampledDistinctPartitionKeyCount",
                Value::from(sizes.distinct),
            ),
            (
                "partitionKeys",
                Value::Array(keys.take(MOST_KEYS).collect()),
            ),
        ])));
    }
    Ok(ranges)
}
