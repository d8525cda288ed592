//! Intervals of partition key values in the order of types, then of values.

use orrery_model::partition_key::KeyComponent;
use std::cmp::Ordering;

/// One end of an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The value, or a bound of its type.
    pub value: KeyComponent,
    /// Whether the value itself is inside.
    pub inclusive: bool,
}

/// A non-empty interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: Bound,
    /// Upper end.
    pub high: Bound,
}

impl Interval {
    /// Just one value.
    pub fn of(value: KeyComponent) -> Self {
        let bound = Bound {
            value,
            inclusive: true,
        };
        Self {
            low: bound.clone(),
            high: bound,
        }
    }

    /// From a value up, or down, to the end of its type; `None` for types without an order here.
    pub fn half(value: KeyComponent, inclusive: bool, upwards: bool) -> Option<Self> {
        let (least, most) = match value {
            KeyComponent::Number(_) => (KeyComponent::MinNumber, KeyComponent::MaxNumber),
            KeyComponent::String(_) => (KeyComponent::MinString, KeyComponent::MaxString),
            _ => return None,
        };
        let near = Bound { value, inclusive };
        let far = |value| Bound {
            value,
            inclusive: false,
        };
        Some(if upwards {
            Self {
                low: near,
                high: far(most),
            }
        } else {
            Self {
                low: far(least),
                high: near,
            }
        })
    }

    /// The strings that begin with `prefix`.
    pub fn prefixed(prefix: &str) -> Self {
        let low = Bound {
            value: KeyComponent::from(prefix),
            inclusive: true,
        };
        let value = after(prefix).map_or(KeyComponent::MaxString, KeyComponent::String);
        Self {
            low,
            high: Bound {
                value,
                inclusive: false,
            },
        }
    }

    /// The value of an interval that has only one.
    pub fn point(&self) -> Option<&KeyComponent> {
        (self.low == self.high && self.low.inclusive).then_some(&self.low.value)
    }

    /// What both have in common; `None` when that is nothing.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let low = tighter(&self.low, &other.low, Ordering::Greater);
        let high = tighter(&self.high, &other.high, Ordering::Less);
        let filled = match order(&low.value, &high.value) {
            Ordering::Less => true,
            Ordering::Equal => low.inclusive && high.inclusive,
            Ordering::Greater => false,
        };
        filled.then(|| Self {
            low: low.clone(),
            high: high.clone(),
        })
    }
}

fn tighter<'a>(left: &'a Bound, right: &'a Bound, wanted: Ordering) -> &'a Bound {
    match order(&left.value, &right.value) {
        Ordering::Equal if left.inclusive => right,
        Ordering::Equal => left,
        found if found == wanted => left,
        _ => right,
    }
}

/// The least string above all that begin with `prefix`.
fn after(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        // The surrogates between D7FF and E000 are no characters.
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            other => char::from_u32(u32::from(other) + 1),
        };
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}

/// The order of key values: by type as in the binary encoding (protocol: section 6.2).
pub(super) fn order(left: &KeyComponent, right: &KeyComponent) -> Ordering {
    match (left, right) {
        (KeyComponent::Number(left), KeyComponent::Number(right)) => left.total_cmp(right),
        (KeyComponent::String(left), KeyComponent::String(right)) => left.cmp(right),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &KeyComponent) -> u8 {
    match value {
        KeyComponent::Undefined => 0,
        KeyComponent::Null => 1,
        KeyComponent::Bool(false) => 2,
        KeyComponent::Bool(true) => 3,
        KeyComponent::MinNumber => 4,
        KeyComponent::Number(_) => 5,
        KeyComponent::MaxNumber => 6,
        KeyComponent::MinString => 7,
        KeyComponent::String(_) => 8,
        KeyComponent::MaxString => 9,
        KeyComponent::Infinity => 10,
    }
}
