//! Throughput: what containers and ranges may use and did use, who was refused, and the switch.

use orrery_engine::statistics::heavy::Heavy;
use orrery_engine::statistics::report::{ContainerReport, HeavyKey, RangeReport, ReportDepth};
use orrery_engine::statistics::seconds::{KEPT_SECONDS, SecondCount, Totals};
use orrery_engine::statistics::shapes::QueryShape;
use orrery_engine::{Engine, Error};
use orrery_model::json;
use orrery_model::partition_key::{KeyComponent, PartitionKey};
use orrery_model::resource_path::{ResourceKind, ResourcePath};
use orrery_model::value::{Object, Value};

use crate::respond::errors::{GatewayError, Problem};

/// Keys of a range and queries of a container, unless the request says otherwise.
const USUAL_MOST: usize = 5;

/// How much is asked for: `seconds=60&top=5`.
pub(super) fn depth(query: Option<&str>) -> Result<ReportDepth, GatewayError> {
    let mut depth = ReportDepth {
        seconds: 60,
        most: USUAL_MOST,
    };
    for pair in query.unwrap_or_default().split('&') {
        let wrong = || GatewayError::Input(format!("'{pair}' is not understood."));
        match pair.split_once('=') {
            None if pair.is_empty() => {}
            Some(("seconds", number)) => {
                let seconds = number.parse::<u64>().map_err(|_| wrong())?;
                depth.seconds = seconds.clamp(1, KEPT_SECONDS);
            }
            Some(("top", number)) => {
                depth.most = number.parse::<usize>().map_err(|_| wrong())?.min(64);
            }
            _ => return Err(wrong()),
        }
    }
    Ok(depth)
}

/// All containers, in the region whose endpoint was asked.
pub(super) fn show(engine: &Engine, depth: ReportDepth) -> Result<Value<'static>, Error> {
    let reports = engine.report(depth)?;
    let containers = reports.iter().map(container_json).collect();
    let mut shown = Object::from_iter([
        ("now", Value::from(engine.clock().now_seconds())),
        ("seconds", Value::from(depth.seconds)),
        ("throttle", Value::Bool(engine.throttles_by_default())),
    ]);
    if let Some(region) = engine.reported_region() {
        shown.insert("region", region);
    }
    shown.insert("containers", Value::Array(containers));
    Ok(Value::Object(shown))
}

/// Switches refusals: `{"throttle": true}` for the account, with `"container"` for one container,
/// where null leaves it to the account again.
pub(super) fn switch(engine: &Engine, body: &[u8]) -> Result<Value<'static>, Problem> {
    let wrong = |why: &str| GatewayError::Body(why.to_owned());
    let body = json::parse(body).map_err(|error| GatewayError::Body(error.to_string()))?;
    let throttle = match body.member("throttle") {
        Value::Bool(throttle) => Some(*throttle),
        Value::Null => None,
        _ => return Err(wrong("throttle is true or false.").into()),
    };
    let link = match body.member("container") {
        Value::Undefined | Value::Null => {
            let throttle = throttle.ok_or_else(|| wrong("throttle is true or false."))?;
            engine.set_throttle(throttle);
            let answer = Object::from_iter([("throttle", Value::Bool(throttle))]);
            return Ok(Value::Object(answer));
        }
        link => link
            .as_str()
            .ok_or_else(|| wrong("container is a link such as dbs/shop/colls/orders."))?,
    };
    let path = ResourcePath::from_link(link).map_err(GatewayError::from)?;
    if path.kind() != ResourceKind::Container || path.is_feed() {
        return Err(wrong("container is a link such as dbs/shop/colls/orders.").into());
    }
    let container = engine.container(&path)?;
    container.throughput().set_throttle(throttle);
    Ok(Value::Object(Object::from_iter([
        ("container", Value::from(container.alt_path().to_owned())),
        ("throttle", Value::Bool(engine.throttles(&container))),
    ])))
}

fn container_json(report: &ContainerReport) -> Value<'static> {
    let ranges = report.ranges.iter().map(range_json).collect();
    let queries = report.queries.iter().map(query_json).collect();
    let buckets = report.container.throughput().buckets();
    Value::Object(Object::from_iter([
        (
            "container",
            Value::from(report.container.alt_path().to_owned()),
        ),
        ("provision", Value::from(report.provision.name())),
        ("rate", optional(report.rate)),
        ("scaledRate", optional(report.scaled_rate)),
        ("throttle", Value::Bool(report.throttles)),
        (
            "bucketPercents",
            Value::Array(buckets.map(Value::from).to_vec()),
        ),
        ("normalized", rounded(report.normalized())),
        ("ranges", Value::Array(ranges)),
        ("queries", Value::Array(queries)),
    ]))
}

fn range_json(report: &RangeReport) -> Value<'static> {
    let seconds = report.recent.iter().map(second_json).collect();
    let keys = report.heaviest.iter().map(key_json).collect();
    let mut object = Object::from_iter([
        ("id", Value::from(report.id.to_string())),
        ("minInclusive", Value::from(report.space.min.to_hex())),
        ("maxExclusive", Value::from(report.space.max.to_hex())),
        ("budget", rounded(report.budget.map(units))),
        ("savings", Value::from(units(report.savings))),
        ("items", Value::from(report.counters.items)),
        ("itemBytes", Value::from(report.counters.item_bytes)),
        ("indexBytes", Value::from(report.counters.index_bytes)),
        ("normalized", rounded(report.normalized())),
    ]);
    insert_totals(&mut object, &report.totals);
    object.insert("seconds", Value::Array(seconds));
    object.insert("keys", Value::Array(keys));
    Value::Object(object)
}

fn second_json(second: &SecondCount) -> Value<'static> {
    let mut object = Object::from_iter([("second", Value::from(second.second))]);
    insert_totals(&mut object, &second.counts);
    Value::Object(object)
}

fn insert_totals(object: &mut Object<'static>, totals: &Totals) {
    object.insert("charge", units(totals.hundredths));
    object.insert("requests", totals.requests);
    object.insert("refused", totals.refused);
}

fn key_json(key: &HeavyKey) -> Value<'static> {
    let Heavy {
        hundredths,
        error,
        requests,
        refused,
        share,
        ..
    } = &key.weight;
    Value::Object(Object::from_iter([
        ("key", key.key.as_ref().map_or(Value::Null, key_value)),
        ("epk", Value::from(key.epk.to_hex())),
        ("charge", Value::from(units(*hundredths))),
        ("error", Value::from(units(*error))),
        ("requests", Value::from(*requests)),
        ("refused", Value::from(*refused)),
        ("share", rounded(Some(*share))),
    ]))
}

fn query_json(shape: &QueryShape) -> Value<'static> {
    let ranges = shape.ranges.iter().map(|id| Value::from(id.to_string()));
    Value::Object(Object::from_iter([
        ("text", Value::from(shape.text.clone())),
        ("pages", Value::from(shape.pages)),
        ("charge", Value::from(units(shape.hundredths))),
        ("error", Value::from(units(shape.error))),
        ("rows", Value::from(shape.rows)),
        ("ranges", Value::Array(ranges.collect())),
    ]))
}

/// A key as the header has it.
pub(crate) fn key_value(key: &PartitionKey) -> Value<'static> {
    let components = key.components().iter().map(KeyComponent::to_value);
    Value::Array(components.collect()).into_owned()
}

fn units(hundredths: u64) -> f64 {
    hundredths as f64 / 100.0
}

fn rounded(number: Option<f64>) -> Value<'static> {
    number.map_or(Value::Null, |number| {
        Value::from((number * 100.0).round() / 100.0)
    })
}

fn optional(number: Option<u64>) -> Value<'static> {
    number.map_or(Value::Null, Value::from)
}
