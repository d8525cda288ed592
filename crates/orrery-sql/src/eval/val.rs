//! A value that is borrowed where possible.

use crate::program::node::Step;
use orrery_model::value::Value;
use std::ops::Deref;

/// A borrowed or a new value. (`Cow` would be invariant in its lifetime.)
#[derive(Debug, Clone)]
pub(crate) enum Val<'e> {
    /// Part of the item, of a constant or of a binding.
    Ref(&'e Value<'e>),
    /// Made by an operator.
    Own(Value<'e>),
}

impl<'e> Val<'e> {
    pub(crate) const UNDEFINED: Self = Self::Own(Value::Undefined);

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(**self, Value::Undefined)
    }

    /// The value itself; text inside stays borrowed.
    pub(crate) fn into_value(self) -> Value<'e> {
        match self {
            Self::Ref(value) => value.clone(),
            Self::Own(value) => value,
        }
    }

    /// The value, owning all its text.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Ref(value) => value.clone().into_owned(),
            Self::Own(value) => value.into_owned(),
        }
    }

    /// A member or an element; undefined where there is none.
    pub(crate) fn step(self, step: &Step) -> Self {
        match (self, step) {
            (Self::Ref(Value::Object(object)), Step::Member(name)) => {
                object.get(name).map_or(Self::UNDEFINED, Self::Ref)
            }
            (Self::Own(Value::Object(mut object)), Step::Member(name)) => {
                object.remove(name).map_or(Self::UNDEFINED, Self::Own)
            }
            (Self::Ref(Value::Array(elements)), Step::Element(index)) => position(*index)
                .and_then(|place| elements.get(place))
                .map_or(Self::UNDEFINED, Self::Ref),
            (Self::Own(Value::Array(mut elements)), Step::Element(index)) => match position(*index)
            {
                Some(place) if place < elements.len() => Self::Own(elements.swap_remove(place)),
                _ => Self::UNDEFINED,
            },
            _ => Self::UNDEFINED,
        }
    }
}

fn position(index: u64) -> Option<usize> {
    usize::try_from(index).ok()
}

impl<'e> Deref for Val<'e> {
    type Target = Value<'e>;

    fn deref(&self) -> &Value<'e> {
        match self {
            Self::Ref(value) => value,
            Self::Own(value) => value,
        }
    }
}

impl<'e> From<Value<'e>> for Val<'e> {
    fn from(value: Value<'e>) -> Self {
        Self::Own(value)
    }
}
