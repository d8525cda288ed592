//! Partial aggregates of ranges: `{"item": …, "item2": …}`.

use crate::pipeline::accumulator::{Accumulator, AggregateKind};
use crate::plan::QueryInfo;
use crate::signatures::BuiltIn;
use orrery_model::value::Value;

/// One member of a row, combined over ranges.
pub(super) enum Partial {
    /// No aggregate: the same in all rows of a group.
    First(Option<Value<'static>>),
    /// COUNT, COUNTIF, SUM: results add up.
    Sum(Accumulator, bool),
    /// Sum and count; the sum ends with a range that has none.
    Average(Option<f64>, f64),
    /// The best of ranges that had values, `false` once one of them had no result.
    Extreme(Accumulator, bool, &'static str),
    /// Lists and sets: elements of all ranges.
    Elements(Accumulator),
}

impl Partial {
    pub(super) fn new(kind: Option<BuiltIn>) -> Self {
        let Some(kind) = kind.and_then(AggregateKind::of) else {
            return Self::First(None);
        };
        match kind {
            AggregateKind::Average => Self::Average(Some(0.0), 0.0),
            AggregateKind::Count | AggregateKind::CountIf | AggregateKind::Sum => {
                Self::Sum(Accumulator::new(AggregateKind::Sum), true)
            }
            AggregateKind::Max => Self::Extreme(Accumulator::new(kind), true, "max"),
            AggregateKind::Min => Self::Extreme(Accumulator::new(kind), true, "min"),
            AggregateKind::MakeList | AggregateKind::MakeSet => {
                Self::Elements(Accumulator::new(kind))
            }
        }
    }

    pub(super) fn take(&mut self, partial: &Value<'_>) {
        let item = partial.member("item");
        match self {
            Self::First(Some(_)) => {}
            Self::First(first) => *first = Some(partial.clone().into_owned()),
            Self::Sum(sum, valid) => {
                // A range without a result spoils the whole.
                *valid &= !item.is_undefined();
                sum.take(item);
            }
            Self::Average(sum, count) => {
                let (range_sum, range_count) =
                    (item.member("sum").as_f64(), item.member("count").as_f64());
                *sum = sum.and_then(|sum| Some(sum + range_sum?));
                *count += range_count.unwrap_or(0.0);
            }
            Self::Extreme(best, valid, member) => {
                let detail = partial.member("item2");
                if detail.is_undefined() {
                    best.take(item);
                } else if detail
                    .member("count")
                    .as_f64()
                    .is_some_and(|count| count > 0.0)
                {
                    let value = detail.member(member);
                    *valid &= !value.is_undefined();
                    best.take(value);
                }
            }
            Self::Elements(list) => {
                for element in item.as_array().unwrap_or_default() {
                    list.take(element);
                }
            }
        }
    }

    pub(super) fn finish(self) -> Value<'static> {
        match self {
            Self::First(first) => first.unwrap_or(Value::Undefined),
            Self::Sum(state, true) | Self::Extreme(state, true, _) | Self::Elements(state) => {
                state.finish()
            }
            Self::Sum(_, false) | Self::Extreme(_, false, _) => Value::Undefined,
            Self::Average(sum, count) => {
                Value::from(sum.filter(|_| count > 0.0).map(|sum| sum / count))
            }
        }
    }
}

/// The members of one group.
pub(super) struct Partials(Vec<Partial>);

impl Partials {
    pub(super) fn new(info: &QueryInfo) -> Self {
        if info.has_select_value {
            return Self(vec![Partial::new(info.aggregates.first().copied())]);
        }
        Self(
            info.group_by_aliases
                .iter()
                .map(|(_, kind)| Partial::new(*kind))
                .collect(),
        )
    }

    pub(super) fn take(&mut self, info: &QueryInfo, payload: &Value<'_>) {
        if info.has_select_value {
            let partial = if info.aggregates.is_empty() {
                payload
            } else {
                payload.element(0)
            };
            self.0.iter_mut().for_each(|state| state.take(partial));
            return;
        }
        for ((alias, _), state) in info.group_by_aliases.iter().zip(&mut self.0) {
            state.take(payload.member(alias));
        }
    }

    pub(super) fn finish(self, info: &QueryInfo) -> Value<'static> {
        let mut values = self.0.into_iter().map(Partial::finish);
        if info.has_select_value {
            return values.next().unwrap_or(Value::Undefined);
        }
        let members = info
            .group_by_aliases
            .iter()
            .map(|(alias, _)| alias.clone())
            .zip(values);
        Value::Object(members.filter(|(_, value)| !value.is_undefined()).collect())
    }
}
