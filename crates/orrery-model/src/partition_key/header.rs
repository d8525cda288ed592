//! The JSON form of a key, as in the `x-ms-documentdb-partitionkey` header.

use super::{KeyComponent, PartitionKey, PartitionKeyError};
use crate::json;
use crate::value::{Object, Value};

/// Longest header that is read: three escaped values of the greatest length.
const MAX_HEADER_BYTES: usize = 3 * 6 * super::MAX_KEY_BYTES + 64;

impl PartitionKey {
    /// Reads the header: an array of values, `{}` for undefined, bounds as the service writes
    /// them, `"Infinity"` alone for the end of the key space.
    pub fn parse_header(text: &str) -> Result<Self, PartitionKeyError> {
        let error = || PartitionKeyError::Header {
            text: text.chars().take(200).collect(),
        };
        if text.len() > MAX_HEADER_BYTES {
            return Err(PartitionKeyError::TooLong);
        }
        let key = if let Some(value) = plain_string(text) {
            Self(vec![KeyComponent::String(value.to_owned())])
        } else {
            let value = json::parse_str(text).map_err(|_| error())?;
            Self::from_value(&value).ok_or_else(error)?
        };
        key.check_length()?;
        Ok(key)
    }

    /// The key of a parsed header or of a `partitionKey` member.
    pub fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Array(elements) => elements.iter().map(component).collect(),
            Value::String(text) if text == "Infinity" => Some(Self(vec![KeyComponent::Infinity])),
            _ => None,
        }
    }

    /// The header's form of the key.
    pub fn to_json(&self) -> String {
        json::to_string(&self.to_value())
    }

    /// The key as a JSON value.
    pub fn to_value(&self) -> Value<'_> {
        match self.0.as_slice() {
            [KeyComponent::Infinity] => Value::from("Infinity"),
            components => Value::Array(components.iter().map(KeyComponent::to_value).collect()),
        }
    }
}

/// The string in `["string"]`, which most keys are, if it needs no JSON parser.
fn plain_string(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("[\"")?.strip_suffix("\"]")?;
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    inner.bytes().all(is_plain).then_some(inner)
}

fn component(value: &Value<'_>) -> Option<KeyComponent> {
    match value {
        Value::Object(object) if object.is_empty() => Some(KeyComponent::Undefined),
        Value::Object(object) => bound(object),
        Value::Array(_) => None,
        scalar => Some(KeyComponent::from(scalar)),
    }
}

fn bound(object: &Object<'_>) -> Option<KeyComponent> {
    match object.get("type")?.as_str()? {
        "MinNumber" => Some(KeyComponent::MinNumber),
        "MaxNumber" => Some(KeyComponent::MaxNumber),
        "MinString" => Some(KeyComponent::MinString),
        "MaxString" => Some(KeyComponent::MaxString),
        _ => None,
    }
}
