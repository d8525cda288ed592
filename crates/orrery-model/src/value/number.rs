//! Numbers: 64-bit integers kept exactly, everything else a double.
//!
//! One number has one form when made through `From`: an integer that fits 64 bits is `Int`, and
//! zero has no sign. So JSON `1`, `1.0` and `1e0` are the same value, and `-0` is `0`.

use std::cmp::Ordering;

/// A number: 64-bit integers are kept exactly, all else is a double.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// An integer that fits 64 bits.
    Int(i64),
    /// Any other number; may be NaN or infinite inside a query, never in an item.
    Double(f64),
}

/// 2^63: the first double above every `i64`.
const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

impl Number {
    /// As a double; integers beyond 2^53 round to the nearest.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Double(value) => value,
        }
    }

    /// As an integer, where it is one that fits.
    pub fn as_i64(self) -> Option<i64> {
        match Self::canonical(self) {
            Self::Int(value) => Some(value),
            Self::Double(_) => None,
        }
    }

    /// Whether it is finite, hence can be written as JSON.
    pub fn is_finite(self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Double(value) => value.is_finite(),
        }
    }

    /// The one form of this number: `Int` where it is an integer that fits.
    pub fn canonical(self) -> Self {
        match self {
            Self::Int(_) => self,
            Self::Double(value) => Self::from(value),
        }
    }

    /// Exact comparison; `None` when either is NaN.
    pub fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Double(b)) => compare_int_double(a, b),
            (Self::Double(a), Self::Int(b)) => compare_int_double(b, a).map(Ordering::reverse),
        }
    }

    /// The total order: exact, NaN below all others and equal to itself.
    pub fn order(self, other: Self) -> Ordering {
        self.compare(other).unwrap_or_else(|| {
            let is_nan = |number: Self| number.as_f64().is_nan();
            is_nan(other).cmp(&is_nan(self))
        })
    }
}

fn compare_int_double(a: i64, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        None
    } else if b >= TWO_POW_63 {
        Some(Ordering::Less)
    } else if b < -TWO_POW_63 {
        Some(Ordering::Greater)
    } else {
        // In range, so the whole part converts exactly and the fraction decides between equals.
        let whole = b.trunc();
        let by_whole = a.cmp(&(whole as i64));
        Some(by_whole.then_with(|| 0.0_f64.partial_cmp(&(b - whole)).unwrap_or(Ordering::Equal)))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.compare(*other)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        if value.trunc() == value && (-TWO_POW_63..TWO_POW_63).contains(&value) {
            Self::Int(value as i64)
        } else {
            Self::Double(value)
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Double(value as f64), Self::Int)
    }
}
