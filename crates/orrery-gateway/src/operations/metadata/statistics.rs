//! Partition statistics on a container's read (request units: section 12): for each range its
//! size, and the logical partitions that stand out.

use orrery_engine::statistics::sizes::RangeSizes;
use orrery_engine::{Container, Engine, Error};
use orrery_model::json;
use orrery_model::value::{Object, Value};

use crate::admin::throughput::key_value;

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
    let ranges = engine.partition_statistics(container)?;
    Ok(ranges.iter().map(range).collect())
}

fn range(sizes: &RangeSizes) -> Value<'static> {
    let keys = sizes.named.iter().map(|named| {
        Value::Object(Object::from_iter([
            ("partitionKey", key_value(&named.key)),
            ("sizeInKB", Value::from(named.bytes.div_ceil(1024))),
        ]))
    });
    Value::Object(Object::from_iter([
        ("id", Value::from(sizes.id.to_string())),
        (
            "sizeInKB",
            Value::from(sizes.counters.total_bytes().div_ceil(1024)),
        ),
        ("documentCount", Value::from(sizes.counters.items)),
        (
            "sampledDistinctPartitionKeyCount",
            Value::from(sizes.distinct),
        ),
        ("partitionKeys", Value::Array(keys.collect())),
    ]))
}
