//! Physical partitions: what there are, and their splits and merges.

use std::sync::Arc;

use orrery_engine::partition::Partition;
use orrery_engine::split::{Cut, Reshape, ReshapeKind};
use orrery_engine::{Container, Engine};
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::json;
use orrery_model::value::{Object, Value};

use crate::respond::errors::{GatewayError, Problem};

/// The partitions of a container, and the splits and merges that are under way or were lately.
pub(super) fn show(engine: &Engine, container: &Container) -> Value<'static> {
    let ranges = container.ranges();
    let partitions = ranges.partitions().iter().map(|one| partition_json(one));
    let reshapes = engine.reshapes_of(container);
    let operations = reshapes.iter().map(|one| operation_json(one));
    Value::Object(Object::from_iter([
        ("container", Value::from(container.alt_path().to_owned())),
        ("version", Value::from(ranges.version())),
        ("partitions", Value::Array(partitions.collect())),
        ("operations", Value::Array(operations.collect())),
    ]))
}

/// Lines up what the body asks for; answers the operation.
pub(super) fn change(
    engine: &Engine,
    container: &Arc<Container>,
    body: &[u8],
) -> Result<Value<'static>, Problem> {
    let wrong = |why: &str| GatewayError::Body(why.to_owned());
    let body = json::parse(body).map_err(|error| GatewayError::Body(error.to_string()))?;
    let split = body.member("split");
    let merge = body.member("merge");
    let reshape = match (split, merge) {
        (Value::Object(_), Value::Undefined) => {
            let range = range_id(split.member("range"))
                .ok_or_else(|| wrong("split.range is the id of a range."))?;
            let cut = cut(split).ok_or_else(|| {
                wrong("split.by is \"hash\" or \"size\", split.at an effective partition key.")
            })?;
            let into = match split.member("into") {
                Value::Undefined => 2,
                into => into
                    .as_i64()
                    .and_then(|into| u32::try_from(into).ok())
                    .ok_or_else(|| wrong("split.into is a number."))?,
            };
            engine.split_range(container, range, cut, into)?
        }
        (Value::Undefined, Value::Object(_)) => {
            let ranges = merge.member("ranges").as_array();
            let ranges: Option<Vec<_>> =
                ranges.and_then(|ranges| ranges.iter().map(range_id).collect());
            let ranges = ranges.ok_or_else(|| wrong("merge.ranges is a list of range ids."))?;
            engine.merge_ranges(container, &ranges)?
        }
        _ => return Err(wrong("Give either \"split\" or \"merge\".").into()),
    };
    Ok(operation_json(&reshape))
}

/// Ids are texts, as in the ranges feed; numbers are understood as well.
fn range_id(value: &Value<'_>) -> Option<PartitionKeyRangeId> {
    match value {
        Value::String(text) => PartitionKeyRangeId::parse(text),
        other => u32::try_from(other.as_i64()?).ok().map(PartitionKeyRangeId),
    }
}

fn cut(split: &Value<'_>) -> Option<Cut> {
    match (split.member("by"), split.member("at")) {
        (Value::Undefined, Value::Undefined) => Some(Cut::Hash),
        (Value::String(by), Value::Undefined) => match by.as_ref() {
            "hash" => Some(Cut::Hash),
            "size" => Some(Cut::Size),
            _ => None,
        },
        (Value::Undefined, Value::String(at)) => EffectivePartitionKey::from_hex(at).map(Cut::At),
        _ => None,
    }
}

fn ids(ids: &[PartitionKeyRangeId]) -> Value<'static> {
    Value::Array(ids.iter().map(|id| Value::from(id.to_string())).collect())
}

fn partition_json(partition: &Partition) -> Value<'static> {
    let statistics = partition.statistics();
    Value::Object(Object::from_iter([
        ("id", Value::from(partition.id().to_string())),
        ("parents", ids(partition.parents())),
        ("minInclusive", Value::from(partition.range().min.to_hex())),
        ("maxExclusive", Value::from(partition.range().max.to_hex())),
        ("items", Value::from(statistics.items)),
        ("itemBytes", Value::from(statistics.item_bytes)),
        ("indexBytes", Value::from(statistics.index_bytes)),
        ("lsn", Value::from(partition.lsn().0)),
    ]))
}

fn operation_json(reshape: &Reshape) -> Value<'static> {
    let progress = reshape.progress();
    let kind = match reshape.kind() {
        ReshapeKind::Split { .. } => "split",
        ReshapeKind::Merge { .. } => "merge",
    };
    let mut object = Object::from_iter([
        ("id", Value::from(reshape.number())),
        ("kind", Value::from(kind)),
        ("ranges", ids(&reshape.kind().sources())),
        ("stage", Value::from(progress.stage.name())),
        ("items", Value::from(progress.items)),
        ("copied", Value::from(progress.copied)),
        ("children", ids(&progress.children)),
    ]);
    if progress.stage.is_over() {
        let took = progress.over_us.saturating_sub(progress.asked_us);
        object.insert("pauseMicros", Value::from(progress.pause_us));
        object.insert("tookMillis", Value::from(took / 1_000));
    }
    if let Some(failure) = progress.failure {
        object.insert("error", Value::from(failure));
    }
    Value::Object(object)
}
