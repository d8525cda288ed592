//! Partition keys: definitions, values, and the way from a value to its effective partition key
//! (protocol: section 6).

mod definition;
pub mod encoding;
mod header;

use crate::value::{Number, Object, Value};

pub use definition::{
    KeyRange, MAX_HIERARCHY_LEVELS, PartitionKeyDefinition, PartitionKeyKind, PlacementHash,
};

/// Longest key value that is hashed with version 1 in full, in bytes; longer ones share a prefix.
pub const MAX_V1_KEY_BYTES: usize = 101;
/// Longest key value, in bytes (protocol: section 6.1).
pub const MAX_KEY_BYTES: usize = 2048;

/// A key or definition that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartitionKeyError {
    /// The header is not a JSON array of key values.
    #[error("Partition key {text} is invalid.")]
    Header {
        /// The header's text, cut.
        text: String,
    },
    /// A value is longer than the service takes.
    #[error("Partition key exceeded maximum length of {MAX_KEY_BYTES} bytes")]
    TooLong,
    /// The definition in a container body is not valid.
    #[error("{0}")]
    Definition(String),
}

/// One value of a partition key. Bounds stand only in ranges, never in items.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyComponent {
    /// The path is absent in the item; `{}` in the header.
    Undefined,
    /// JSON null.
    Null,
    /// JSON false or true.
    Bool(bool),
    /// A finite double. Readers turn negative zero into zero; one made directly hashes apart, as
    /// in the SDKs.
    Number(f64),
    /// A string.
    String(String),
    /// Below all numbers.
    MinNumber,
    /// Above all numbers.
    MaxNumber,
    /// Below all strings.
    MinString,
    /// Above all strings.
    MaxString,
    /// Above everything.
    Infinity,
}

/// Components have no NaN (`From<&Value>` maps it to undefined), so equality is total.
impl Eq for KeyComponent {}

impl KeyComponent {
    /// A number. Negative zero becomes zero: they are equal in the language, so they must be one
    /// logical partition (what the service does is unconfirmed).
    pub fn number(value: f64) -> Self {
        if value.is_nan() {
            Self::Undefined
        } else {
            Self::Number(value + 0.0)
        }
    }

    /// Whether this can be the key of an item, as opposed to a bound of a range.
    pub fn is_value(&self) -> bool {
        matches!(
            self,
            Self::Undefined | Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_)
        )
    }

    /// As a JSON value; undefined is `{}` as in the header.
    pub fn to_value(&self) -> Value<'_> {
        let bound = |name: &'static str| Value::Object(Object::from_iter([("type", name)]));
        match self {
            Self::Undefined => Value::Object(Object::new()),
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(value) => Value::Number(Number::from(*value)),
            Self::String(value) => Value::from(value.as_str()),
            Self::MinNumber => bound("MinNumber"),
            Self::MaxNumber => bound("MaxNumber"),
            Self::MinString => bound("MinString"),
            Self::MaxString => bound("MaxString"),
            Self::Infinity => Value::from("Infinity"),
        }
    }
}

impl From<&Value<'_>> for KeyComponent {
    /// Arrays and objects count as undefined, as in the .NET SDK's extraction.
    fn from(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(value) => Self::number(value.as_f64()),
            Value::String(value) => Self::String(value.clone().into_owned()),
            Value::Undefined | Value::Array(_) | Value::Object(_) => Self::Undefined,
        }
    }
}

impl From<&str> for KeyComponent {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<f64> for KeyComponent {
    fn from(value: f64) -> Self {
        Self::number(value)
    }
}

impl From<bool> for KeyComponent {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// The values of a partition key, one per path; fewer for a prefix of a hierarchical key, none
/// for the key of a container made without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionKey(pub Vec<KeyComponent>);

impl PartitionKey {
    /// A key of one value.
    pub fn single(component: impl Into<KeyComponent>) -> Self {
        Self(vec![component.into()])
    }

    /// The values.
    pub fn components(&self) -> &[KeyComponent] {
        &self.0
    }

    /// How many values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is the "none" key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these are the first values of the other key.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The key as an injective byte string: equal bytes, equal key. Different keys may share an
    /// effective partition key, never this.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(24);
        for component in &self.0 {
            encoding::write_hashed_v2(component, &mut bytes);
        }
        bytes
    }

    /// Refuses values beyond [`MAX_KEY_BYTES`].
    pub fn check_length(&self) -> Result<(), PartitionKeyError> {
        let long = |component: &KeyComponent| matches!(component, KeyComponent::String(text) if text.len() > MAX_KEY_BYTES);
        if self.0.iter().any(long) {
            Err(PartitionKeyError::TooLong)
        } else {
            Ok(())
        }
    }
}

impl FromIterator<KeyComponent> for PartitionKey {
    fn from_iter<I: IntoIterator<Item = KeyComponent>>(components: I) -> Self {
        Self(components.into_iter().collect())
    }
}

impl KeyComponent {
    /// The version-2 hash of this component alone, before its top two bits are cleared.
    pub fn raw_hash_v2(&self) -> u128 {
        definition::hash_v2(std::slice::from_ref(self))
    }

    /// The version-1 hash of this component alone, without truncation.
    pub fn raw_hash_v1(&self) -> u32 {
        definition::hash_v1(std::slice::from_ref(self))
    }
}
