//! The regions of the account: who takes the writes, and how far the others are behind.

use orrery_engine::Engine;
use orrery_engine::regions::RegionInfo;
use orrery_model::json;
use orrery_model::value::{Object, Value};

use crate::config::GatewayConfig;
use crate::regions::with_port;
use crate::respond::errors::{GatewayError, Problem};

/// All regions, with their endpoints as the asking client reaches them.
pub(super) fn show(engine: &Engine, config: &GatewayConfig, endpoint: &str) -> Value<'static> {
    let regions = engine.regions();
    let writer = regions.iter().find(|region| region.writes);
    let writer = writer.map_or(Value::Null, |region| Value::from(region.name.clone()));
    let regions = regions.iter().enumerate();
    let shown = regions.map(|(place, region)| {
        let port = config.region_ports.of(place);
        let endpoint = port.map(|port| with_port(endpoint, port));
        region_json(region, endpoint)
    });
    let shown = shown.collect();
    Value::Object(Object::from_iter([
        ("writeRegion", writer),
        (
            "consistency",
            Value::from(config.consistency.name().to_owned()),
        ),
        ("regions", Value::Array(shown)),
    ]))
}

fn region_json(region: &RegionInfo, endpoint: Option<String>) -> Value<'static> {
    Value::Object(Object::from_iter([
        ("name", Value::from(region.name.clone())),
        ("endpoint", endpoint.map_or(Value::Null, Value::from)),
        ("writes", Value::Bool(region.writes)),
        ("lagMillis", Value::from(region.lag_ms)),
        ("paused", Value::Bool(region.is_paused)),
    ]))
}

/// `{"region": "West US", "lagMillis": 500, "paused": true}`: what is not given stays.
pub(super) fn set(engine: &Engine, body: &[u8]) -> Result<(), Problem> {
    let body = parse(body)?;
    let lag_ms = match body.member("lagMillis") {
        Value::Undefined => None,
        number => {
            let millis = number.as_f64().filter(|millis| *millis >= 0.0);
            let millis = millis.filter(|millis| *millis <= LONGEST_LAG_MS);
            Some(millis.ok_or_else(|| wrong("lagMillis is a number from 0 to 86400000."))? as u64)
        }
    };
    let paused = match body.member("paused") {
        Value::Undefined => None,
        Value::Bool(paused) => Some(*paused),
        _ => return Err(wrong("paused is true or false.").into()),
    };
    if lag_ms.is_none() && paused.is_none() {
        return Err(wrong("lagMillis or paused says what to change.").into());
    }
    Ok(engine.set_replication(&region_of(&body)?, lag_ms, paused)?)
}

/// A day: the snapshots between then and now are kept for so long.
const LONGEST_LAG_MS: f64 = 86_400_000.0;

/// `{"region": "West US"}` takes the writes from now on.
pub(super) fn fail_over(engine: &Engine, body: &[u8]) -> Result<(), Problem> {
    let body = parse(body)?;
    Ok(engine.fail_over(&region_of(&body)?)?)
}

fn parse(body: &[u8]) -> Result<Value<'_>, Problem> {
    Ok(json::parse(body).map_err(|error| GatewayError::Body(error.to_string()))?)
}

fn region_of(body: &Value<'_>) -> Result<String, Problem> {
    let name = body.member("region").as_str();
    Ok(name
        .ok_or_else(|| wrong("region is the name of a region."))?
        .to_owned())
}

fn wrong(why: &str) -> GatewayError {
    GatewayError::Body(why.to_owned())
}
