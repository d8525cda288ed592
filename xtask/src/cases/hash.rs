//! Cases of partition key hashes and of distinct hashes.

use orrery_model::distinct_hash;
use orrery_model::json;
use orrery_model::murmur::{murmur3_x64_128, murmur3_x86_32};
use orrery_model::partition_key::{
    KeyComponent, KeyRange, PartitionKey, PartitionKeyDefinition, PartitionKeyKind,
};
use serde_json::Value;

use super::Outcome;

/// The bits of not-a-number in the runtime that recorded the cases.
const NET_NAN: f64 = f64::from_bits(0xFFF8_0000_0000_0000);

/// Runs one case of `partition-key-hash`.
pub fn run_partition_key(case: &Value) -> Outcome {
    let expected = &case["expected"];
    if let Some(hex) = case["bytesHex"].as_str() {
        return murmur(hex, case["seed"].as_u64().unwrap_or(0), expected);
    }
    let Some(key) = case["values"].as_array().map(|values| key(values)) else {
        return Outcome::Fail("the case has no values".to_owned());
    };
    if expected.get("rawHashV2").is_some() {
        return raw_hash(&key, expected);
    }
    let paths = case["paths"].as_array().map_or(key.len().max(1), Vec::len);
    let version = case["version"].as_u64().unwrap_or(2) as u8;
    let definition = match definition(case["kind"].as_str().unwrap_or("Hash"), version, paths) {
        Ok(definition) => definition,
        Err(why) => return Outcome::Fail(why),
    };
    if expected.get("epk").is_some() {
        return epk(&definition, &key, &expected["epk"]);
    }
    prefix_range(&definition, &key, expected)
}

/// Runs one case of `distinct-hash`.
pub fn run_distinct(case: &Value) -> Outcome {
    let expected = &case["expected"];
    let texts = |list: &Value| -> Vec<String> {
        list.as_array()
            .map(|list| list.iter().map(ToString::to_string).collect())
            .unwrap_or_default()
    };
    let hash = |text: &str| {
        json::parse_str(text).map_or_else(
            |error| format!("not JSON: {error}"),
            |value| format!("{:032X}", distinct_hash::hash(&value)),
        )
    };
    if let Some(ascending) = expected.get("ascending") {
        return ascending_order(&texts(&case["values"]), &texts(ascending));
    }
    let text = case["value"].to_string();
    let value = match json::parse_str(&text) {
        Ok(value) => value,
        Err(error) => return Outcome::Fail(format!("not JSON: {error}")),
    };
    let order_key = u128::from_be_bytes(distinct_hash::order_key(&value));
    let order_key = format!("{order_key:032X}");
    Outcome::all([
        text_equal("hash", &expected["hash"], &hash(&text)),
        text_equal("order key", &expected["orderKey"], &order_key),
    ])
}

fn ascending_order(values: &[String], ascending: &[String]) -> Outcome {
    let mut parsed = Vec::new();
    for text in values {
        match json::parse_str(text) {
            Ok(value) => parsed.push((value, text)),
            Err(error) => return Outcome::Fail(format!("not JSON: {error}")),
        }
    }
    parsed.sort_by_key(|(value, _)| distinct_hash::order_key(value));
    let sorted: Vec<String> = parsed.into_iter().map(|(_, text)| text.clone()).collect();
    // Equal hashes may stand in either order.
    let hashes = |texts: &[String]| -> Vec<u128> {
        texts
            .iter()
            .filter_map(|text| {
                json::parse_str(text)
                    .ok()
                    .map(|value| distinct_hash::hash(&value))
            })
            .collect()
    };
    if hashes(&sorted) == hashes(ascending) {
        Outcome::Pass
    } else {
        Outcome::Fail(format!("expected {ascending:?}, got {sorted:?}"))
    }
}

fn key(values: &[Value]) -> PartitionKey {
    PartitionKey(values.iter().map(component).collect())
}

fn component(value: &Value) -> KeyComponent {
    match value {
        Value::Null => KeyComponent::Null,
        Value::Bool(value) => KeyComponent::Bool(*value),
        Value::String(text) => KeyComponent::String(text.clone()),
        Value::Number(number) => KeyComponent::Number(number.as_f64().unwrap_or(NET_NAN)),
        Value::Array(_) => KeyComponent::Undefined,
        Value::Object(members) => match members.get("$double").and_then(Value::as_str) {
            Some("Infinity") => KeyComponent::Number(f64::INFINITY),
            Some("-Infinity") => KeyComponent::Number(f64::NEG_INFINITY),
            Some(_) => KeyComponent::Number(NET_NAN),
            None => KeyComponent::Undefined,
        },
    }
}

fn definition(kind: &str, version: u8, paths: usize) -> Result<PartitionKeyDefinition, String> {
    let kind = match kind {
        "Hash" => PartitionKeyKind::Hash,
        "MultiHash" => PartitionKeyKind::MultiHash,
        "Range" => PartitionKeyKind::Range,
        other => return Err(format!("no such kind of key: {other}")),
    };
    let paths = (0..paths).map(|number| format!("/p{number}"));
    PartitionKeyDefinition::new(paths, kind, version).map_err(|error| error.to_string())
}

fn epk(definition: &PartitionKeyDefinition, key: &PartitionKey, expected: &Value) -> Outcome {
    text_equal("EPK", expected, &definition.effective(key).to_hex())
}

fn raw_hash(key: &PartitionKey, expected: &Value) -> Outcome {
    let each = |hash: &dyn Fn(&KeyComponent) -> String| -> Value {
        key.components().iter().map(hash).collect()
    };
    let version_2 = each(&|component| format!("{:032X}", component.raw_hash_v2()));
    let version_1 = each(&|component| format!("{:08X}", component.raw_hash_v1()));
    let mut outcomes = vec![
        Outcome::equal("version 2", &expected["rawHashV2"], &version_2),
        Outcome::equal("version 1", &expected["rawHashV1"], &version_1),
    ];
    for (member, kind, version) in [
        ("HashV1", "Hash", 1),
        ("HashV2", "Hash", 2),
        ("MultiHashV2", "MultiHash", 2),
    ] {
        let Some(derived) = expected["derivedEpk"].get(member) else {
            continue;
        };
        outcomes.push(match definition(kind, version, key.len()) {
            Ok(definition) => epk(&definition, key, derived),
            Err(why) => Outcome::Fail(why),
        });
    }
    Outcome::all(outcomes)
}

fn prefix_range(
    definition: &PartitionKeyDefinition,
    key: &PartitionKey,
    expected: &Value,
) -> Outcome {
    let (min, max, max_inclusive) = match definition.key_range(key) {
        KeyRange::Point(position) => (position.to_hex(), position.to_hex(), true),
        KeyRange::Prefix(range) => (range.min.to_hex(), range.max.to_hex(), false),
    };
    Outcome::all([
        text_equal("min", &expected["min"], &min),
        text_equal("max", &expected["max"], &max),
        Outcome::equal(
            "max is inclusive",
            &expected["isMaxInclusive"],
            &Value::Bool(max_inclusive),
        ),
    ])
}

fn murmur(hex: &str, seed: u64, expected: &Value) -> Outcome {
    let bytes: Option<Vec<u8>> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok())
        .collect();
    let Some(bytes) = bytes else {
        return Outcome::Fail(format!("`{hex}` is not hex"));
    };
    if let Some(hash) = expected["murmur3_32"].as_u64() {
        return Outcome::equal("hash", &hash, &murmur3_x86_32(&bytes, seed as u32).into());
    }
    let (low, high) = murmur3_x64_128(&bytes, (seed, seed));
    let halves = &expected["murmur3_x64_128"];
    Outcome::all([
        text_equal("low half", &halves["low"], &low.to_string()),
        text_equal("high half", &halves["high"], &high.to_string()),
    ])
}

fn text_equal(what: &str, expected: &Value, actual: &str) -> Outcome {
    match expected.as_str() {
        Some(expected) => Outcome::equal(what, &expected, &actual),
        None => Outcome::Fail(format!("{what}: the case states none")),
    }
}
