//! The aggregates (query-language: section 7.4).

use crate::signatures::BuiltIn;
use orrery_model::distinct_hash;
use orrery_model::value::Value;
use rustc_hash::FxHashSet;
use std::cmp::Ordering;

/// Which aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateKind {
    /// AVG
    Average,
    /// COUNT
    Count,
    /// COUNTIF
    CountIf,
    /// MAKELIST
    MakeList,
    /// MAKESET
    MakeSet,
    /// MAX
    Max,
    /// MIN
    Min,
    /// SUM
    Sum,
}

impl AggregateKind {
    pub(crate) fn of(function: BuiltIn) -> Option<Self> {
        Some(match function {
            BuiltIn::Average => Self::Average,
            BuiltIn::Count => Self::Count,
            BuiltIn::CountIf => Self::CountIf,
            BuiltIn::MakeList => Self::MakeList,
            BuiltIn::MakeSet => Self::MakeSet,
            BuiltIn::Max => Self::Max,
            BuiltIn::Min => Self::Min,
            BuiltIn::Sum => Self::Sum,
            _ => return None,
        })
    }
}

/// An aggregate under way.
#[derive(Debug, Clone)]
pub(crate) enum Accumulator {
    Count(u64),
    CountIf(u64),
    /// `None` once a value was no number.
    Sum(Option<f64>),
    Average(Option<(f64, u64)>),
    /// The best value so far; `valid` ends with the first array or object.
    Extreme {
        best: Option<Value<'static>>,
        valid: bool,
        wanted: Ordering,
    },
    List(Vec<Value<'static>>),
    Set(Vec<Value<'static>>, FxHashSet<u128>),
}

impl Accumulator {
    pub(crate) fn new(kind: AggregateKind) -> Self {
        match kind {
            AggregateKind::Average => Self::Average(Some((0.0, 0))),
            AggregateKind::Count => Self::Count(0),
            AggregateKind::CountIf => Self::CountIf(0),
            AggregateKind::MakeList => Self::List(Vec::new()),
            AggregateKind::MakeSet => Self::Set(Vec::new(), FxHashSet::default()),
            AggregateKind::Max => Self::Extreme {
                best: None,
                valid: true,
                wanted: Ordering::Greater,
            },
            AggregateKind::Min => Self::Extreme {
                best: None,
                valid: true,
                wanted: Ordering::Less,
            },
            AggregateKind::Sum => Self::Sum(Some(0.0)),
        }
    }

    /// Takes the value of a row; answers the bytes that it now holds in addition.
    pub(crate) fn take(&mut self, value: &Value<'_>) -> usize {
        if value.is_undefined() {
            return 0;
        }
        match self {
            Self::Count(count) => *count += 1,
            Self::CountIf(count) => *count += u64::from(matches!(value, Value::Bool(true))),
            Self::Sum(sum) => {
                *sum = sum.and_then(|sum| Some(sum + value.as_f64()?));
            }
            Self::Average(state) => {
                *state = state.and_then(|(sum, count)| Some((sum + value.as_f64()?, count + 1)));
            }
            Self::Extreme {
                best,
                valid,
                wanted,
            } => {
                if matches!(value, Value::Array(_) | Value::Object(_)) {
                    *valid = false;
                } else if best
                    .as_ref()
                    .is_none_or(|best| value.order(best) == *wanted)
                {
                    *best = Some(value.clone().into_owned());
                }
            }
            Self::List(list) => {
                list.push(value.clone().into_owned());
                return size(value);
            }
            Self::Set(list, seen) => {
                if seen.insert(distinct_hash::hash(value)) {
                    list.push(value.clone().into_owned());
                    return size(value) + 32;
                }
            }
        }
        0
    }

    /// Takes so many defined values at once; only a count can.
    pub(crate) fn count(&mut self, rows: u64) {
        if let Self::Count(count) = self {
            *count = count.saturating_add(rows);
        }
    }

    /// The result.
    pub(crate) fn finish(self) -> Value<'static> {
        match self {
            Self::Count(count) | Self::CountIf(count) => Value::from(count),
            Self::Sum(sum) => Value::from(sum),
            Self::Average(state) => {
                Value::from(state.and_then(|(sum, count)| (count > 0).then(|| sum / count as f64)))
            }
            Self::Extreme { best, valid, .. } => best.filter(|_| valid).unwrap_or(Value::Undefined),
            Self::List(list) | Self::Set(list, _) => Value::Array(list),
        }
    }
}

/// Bytes that a value occupies, roughly.
pub(crate) fn size(value: &Value<'_>) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(size).sum(),
        Value::Object(object) => object
            .iter()
            .map(|(name, member)| name.len() + 24 + size(member))
            .sum(),
        _ => 0,
    };
    inside + size_of::<Value<'_>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(kind: AggregateKind, values: &[Value<'_>]) -> Value<'static> {
        let mut state = Accumulator::new(kind);
        for value in values {
            state.take(value);
        }
        state.finish()
    }

    #[test]
    fn nothing() {
        let undefined = [Value::Undefined, Value::Undefined];
        assert_eq!(fold(AggregateKind::Sum, &undefined), Value::from(0));
        assert_eq!(fold(AggregateKind::Count, &undefined), Value::from(0));
        for kind in [
            AggregateKind::Average,
            AggregateKind::Min,
            AggregateKind::Max,
        ] {
            assert_eq!(fold(kind, &undefined), Value::Undefined);
        }
    }

    #[test]
    fn mixed_types() {
        let mixed = [
            Value::from(3),
            Value::Null,
            Value::from("x"),
            Value::from(true),
        ];
        assert_eq!(fold(AggregateKind::Sum, &mixed), Value::Undefined);
        assert_eq!(fold(AggregateKind::Average, &mixed), Value::Undefined);
        assert_eq!(fold(AggregateKind::Min, &mixed), Value::Null);
        assert_eq!(fold(AggregateKind::Max, &mixed), Value::from("x"));
        let array = [Value::from(3), Value::Array(Vec::new())];
        assert_eq!(fold(AggregateKind::Max, &array), Value::Undefined);
        assert_eq!(fold(AggregateKind::CountIf, &mixed), Value::from(1));
    }

    #[test]
    fn lists_and_sets() {
        let values = [
            Value::from(1),
            Value::from(1.0),
            Value::Undefined,
            Value::from("1"),
        ];
        assert_eq!(
            fold(AggregateKind::MakeList, &values)
                .as_array()
                .map(<[_]>::len),
            Some(3)
        );
        assert_eq!(
            fold(AggregateKind::MakeSet, &values)
                .as_array()
                .map(<[_]>::len),
            Some(2)
        );
    }
}
