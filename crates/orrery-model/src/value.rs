//! JSON values with the service's type rules; `undefined` is a value.

use std::borrow::Cow;

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

/// Members in the order of the text; names are unique (the last one of a repeated name wins).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object<'a> {
    members: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Object<'a> {
    /// The members in order.
    pub fn members(&self) -> &[(Cow<'a, str>, Value<'a>)] {
        &self.members
    }
}

/// A number: 64-bit integers are kept exactly, all else is a double.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer that fits 64 bits.
    Int(i64),
    /// Any other number; may be NaN or infinite inside a query, never in an item.
    Double(f64),
}
