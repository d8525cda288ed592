//! JSON values with the service's type rules; `undefined` is a value.
//!
//! Equality ([`Value::equals`]) ignores the order of members; the total order
//! ([`Value::order`]) is the one of ORDER BY, MIN and MAX (query language: section 5.1).

mod number;
mod object;

use std::borrow::Cow;
use std::cmp::Ordering;

pub use number::Number;
pub use object::Object;

use crate::distinct_hash;

/// A value. `Undefined` never appears in stored items; in results it is absence.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Not JSON: the result of reading what is not there.
    Undefined,
    /// JSON null.
    Null,
    /// JSON true or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string, borrowed from the JSON text where it has no escapes.
    String(Cow<'a, str>),
    /// An array; never holds `Undefined`.
    Array(Vec<Value<'a>>),
    /// An object; never holds `Undefined`.
    Object(Object<'a>),
}

static UNDEFINED: Value<'static> = Value::Undefined;

impl<'a> Value<'a> {
    /// A shared `Undefined`, for readers that answer references.
    pub fn undefined() -> &'static Value<'static> {
        &UNDEFINED
    }

    /// Whether this is `Undefined`.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined)
    }

    /// Whether this is JSON null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The Boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// The number as a double (integers beyond 2^53 round), if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// The number as an integer, if it is one without fraction that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(value) => Some(value),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Value<'a>]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The object, if it is one, for change.
    pub fn as_object_mut(&mut self) -> Option<&mut Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The member of that name; `Undefined` where there is none or this is no object.
    pub fn member(&self, name: &str) -> &Value<'a> {
        match self {
            Self::Object(object) => object.get(name).unwrap_or(&UNDEFINED),
            _ => &UNDEFINED,
        }
    }

    /// The element at that position; `Undefined` where there is none or this is no array.
    pub fn element(&self, index: usize) -> &Value<'a> {
        match self {
            Self::Array(elements) => elements.get(index).unwrap_or(&UNDEFINED),
            _ => &UNDEFINED,
        }
    }

    /// The same value, independent of the text that it was read from.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Undefined => Value::Undefined,
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Number(value) => Value::Number(value),
            Self::String(value) => Value::String(Cow::Owned(value.into_owned())),
            Self::Array(elements) => {
                Value::Array(elements.into_iter().map(Value::into_owned).collect())
            }
            Self::Object(object) => Value::Object(object.into_owned()),
        }
    }

    /// The same value borrowing its strings from this one.
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Undefined => Value::Undefined,
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(value) => Value::Number(*value),
            Self::String(value) => Value::String(Cow::Borrowed(value)),
            Self::Array(elements) => Value::Array(elements.iter().map(Value::borrowed).collect()),
            Self::Object(object) => Value::Object(object.borrowed()),
        }
    }

    /// The place of the value's type in the total order: undefined, null, Booleans, numbers,
    /// strings, arrays, objects.
    pub fn type_rank(&self) -> u8 {
        match self {
            Self::Undefined => 0,
            Self::Null => 1,
            Self::Bool(_) => 2,
            Self::Number(_) => 3,
            Self::String(_) => 4,
            Self::Array(_) => 5,
            Self::Object(_) => 6,
        }
    }

    /// Deep equality: the order of members is ignored, integers and doubles compare exactly.
    /// `Undefined` equals itself here; what `=` makes of it is the language's matter.
    pub fn equals(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Self::Undefined, Value::Undefined) | (Self::Null, Value::Null) => true,
            (Self::Bool(a), Value::Bool(b)) => a == b,
            (Self::Number(a), Value::Number(b)) => a == b,
            (Self::String(a), Value::String(b)) => a == b,
            (Self::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            (Self::Object(a), Value::Object(b)) => a.equals(b),
            _ => false,
        }
    }

    /// The total order across all types; arrays among themselves and objects among themselves
    /// sort by their distinct hash, which is stable but meaningless.
    pub fn order(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Self::Number(a), Value::Number(b)) => a.order(*b),
            (Self::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Array(_), Value::Array(_)) | (Self::Object(_), Value::Object(_)) => {
                distinct_hash::order_key(self).cmp(&distinct_hash::order_key(other))
            }
            _ => self.type_rank().cmp(&other.type_rank()),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::String(Cow::Borrowed(value))
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Self::String(Cow::Owned(value))
    }
}

impl<'a> From<Cow<'a, str>> for Value<'a> {
    fn from(value: Cow<'a, str>) -> Self {
        Self::String(value)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Number(Number::Int(value))
    }
}

impl From<i32> for Value<'_> {
    fn from(value: i32) -> Self {
        Self::Number(Number::Int(i64::from(value)))
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Self::Number(Number::Int(i64::from(value)))
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<Number> for Value<'_> {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl<'a> From<Object<'a>> for Value<'a> {
    fn from(value: Object<'a>) -> Self {
        Self::Object(value)
    }
}

impl<'a, T: Into<Value<'a>>> From<Vec<T>> for Value<'a> {
    fn from(value: Vec<T>) -> Self {
        Self::Array(value.into_iter().map(Into::into).collect())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    /// `None` is `Undefined`, so that an absent member stays absent.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Undefined, Into::into)
    }
}
