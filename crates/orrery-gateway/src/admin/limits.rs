//! The limits and switches that this server runs with.

use orrery_engine::Engine;
use orrery_model::value::{Object, Value};

/// All of them.
pub(super) fn show(engine: &Engine) -> Value<'static> {
    let metering = engine.metering();
    Value::Object(Object::from_iter([
        ("throttle", Value::Bool(engine.throttles_by_default())),
        ("burst", Value::Bool(metering.burst)),
        ("serverless", Value::Bool(metering.serverless)),
        ("statistics", Value::Bool(metering.statistics)),
        ("limits", engine.limits().to_value()),
    ]))
}
