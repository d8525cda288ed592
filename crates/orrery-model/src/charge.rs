//! Request charges: pure functions from what an operation did to request units (request units:
//! section 6).

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Request units of one operation.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Charge(pub f64);

impl Charge {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// The least that an operation costs: a read that finds nothing or nothing new.
    pub const ONE: Self = Self(1.0);

    /// With two decimals, as each response is rounded.
    pub fn rounded(self) -> Self {
        Self((self.0 * 100.0).round() / 100.0)
    }

    /// In hundredths of a unit, rounded; `None` for what is no charge.
    pub fn hundredths(self) -> Option<u64> {
        let hundredths = (self.0 * 100.0).round();
        (0.0..1e15)
            .contains(&hundredths)
            .then_some(hundredths as u64)
    }

    /// The number.
    pub fn units(self) -> f64 {
        self.0
    }
}

impl Add for Charge {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Charge {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Charge {
    fn sum<I: Iterator<Item = Self>>(charges: I) -> Self {
        charges.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Charge {
    /// The header's form: at most two decimals. Every answer has one, so it does not go through
    /// the search for the shortest decimal of a double.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(hundredths) = self.hundredths() else {
            return self.rounded().0.fmt(formatter);
        };
        let (whole, part) = (hundredths / 100, hundredths % 100);
        match (part / 10, part % 10) {
            (0, 0) => write!(formatter, "{whole}"),
            (tenths, 0) => write!(formatter, "{whole}.{tenths}"),
            (tenths, rest) => write!(formatter, "{whole}.{tenths}{rest}"),
        }
    }
}

/// How much a read costs against session consistency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadCost {
    /// Session and weaker.
    #[default]
    Single,
    /// Strong and bounded staleness read two replicas.
    Double,
}

impl ReadCost {
    fn factor(self) -> f64 {
        match self {
            Self::Single => 1.0,
            Self::Double => 2.0,
        }
    }
}

/// Which published facts the charges follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Fitted to published measurements: 0.32 per term.
    #[default]
    Measured,
    /// The rules of the vendor's page of 2026: 0.2 per term.
    Doc2026,
}

/// Read and write units by size: the steps are powers of two of KiB from 1 to 2,048.
const STEPS: [(f64, f64); 12] = [
    (1.00, 4.95),
    (1.04, 6.29),
    (1.14, 6.67),
    (1.33, 7.04),
    (1.67, 9.52),
    (2.19, 11.23),
    (4.76, 22.67),
    (9.95, 48.19),
    (20.28, 98.29),
    (40.95, 184.57),
    (145.90, 625.00),
    (291.80, 1250.00),
];

/// What the system properties add to an item's JSON, in KiB.
const SYSTEM_KIB: f64 = 0.3;
/// Units of starting a stored procedure.
const PROCEDURE: f64 = 4.9;
/// Units per patched property, on top of the replace.
const PATCHED_PROPERTY: f64 = 0.4;

fn step(user_bytes: usize) -> (f64, f64) {
    let kib = user_bytes as f64 / 1024.0 + SYSTEM_KIB;
    let last = STEPS.len() - 1;
    let at = (0..last)
        .find(|&power| kib <= f64::from(1_u32 << power))
        .unwrap_or(last);
    STEPS[at]
}

/// What one query page on one physical partition did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryCost {
    /// Index seeks: each equality, each member of IN, each start of a range.
    pub seeks: u64,
    /// Index entries walked over: CONTAINS, LIKE, aggregates on the index.
    pub entries_scanned: u64,
    /// Items read.
    pub items_loaded: u64,
    /// Bytes of the items read.
    pub bytes_loaded: u64,
    /// Results.
    pub items_returned: u64,
    /// Bytes of the results.
    pub bytes_returned: u64,
    /// Results that are not the item as it is.
    pub items_projected: u64,
    /// Items tested against a predicate that no index answers.
    pub items_tested: u64,
}

impl Add for QueryCost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            seeks: self.seeks.saturating_add(other.seeks),
            entries_scanned: self.entries_scanned.saturating_add(other.entries_scanned),
            items_loaded: self.items_loaded.saturating_add(other.items_loaded),
            bytes_loaded: self.bytes_loaded.saturating_add(other.bytes_loaded),
            items_returned: self.items_returned.saturating_add(other.items_returned),
            bytes_returned: self.bytes_returned.saturating_add(other.bytes_returned),
            items_projected: self.items_projected.saturating_add(other.items_projected),
            items_tested: self.items_tested.saturating_add(other.items_tested),
        }
    }
}

/// A point read of an item of that many bytes of user JSON.
pub fn read(user_bytes: usize, cost: ReadCost) -> Charge {
    Charge(step(user_bytes).0 * cost.factor())
}

/// A point read that found nothing (404) or nothing new (304).
pub fn read_nothing(cost: ReadCost) -> Charge {
    Charge(cost.factor())
}

/// A page of a read feed or change feed with items of these sizes.
pub fn feed(user_bytes: impl IntoIterator<Item = usize>, cost: ReadCost) -> Charge {
    let items: Charge = user_bytes.into_iter().map(|bytes| read(bytes, cost)).sum();
    Charge(items.0.max(1.0))
}

/// A page of a query on one physical partition.
pub fn query(work: &QueryCost, cost: ReadCost) -> Charge {
    let count = |amount: u64| amount as f64;
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let units = 2.70
        + 0.11 * count(work.seeks)
        + 0.010 * count(work.entries_scanned)
        + 0.011 * count(work.items_loaded)
        + 0.0086 * kib(work.bytes_loaded)
        + 0.011 * count(work.items_returned)
        + 0.0011 * kib(work.bytes_returned)
        + 0.003 * count(work.items_projected)
        + 0.002 * count(work.items_tested);
    Charge(units * cost.factor())
}

/// A stored procedure, on top of the operations that it made.
pub fn procedure(parts: Charge) -> Charge {
    Charge(PROCEDURE) + parts
}

impl Profile {
    fn per_term(self) -> f64 {
        match self {
            Self::Measured => 0.32,
            Self::Doc2026 => 0.20,
        }
    }

    fn terms(self, count: usize) -> f64 {
        self.per_term() * count as f64
    }

    /// A create of an item with that many index terms.
    pub fn create(self, user_bytes: usize, terms: usize) -> Charge {
        Charge(step(user_bytes).1 + self.terms(terms))
    }

    /// A replace: the old item leaves, the new one comes, only changed terms count.
    pub fn replace(self, old_bytes: usize, new_bytes: usize, terms_changed: usize) -> Charge {
        Charge(step(old_bytes).1 + step(new_bytes).1 + self.terms(terms_changed))
    }

    /// A patch: a replace and something per patched property.
    pub fn patch(
        self,
        old_bytes: usize,
        new_bytes: usize,
        terms_changed: usize,
        properties: usize,
    ) -> Charge {
        self.replace(old_bytes, new_bytes, terms_changed)
            + Charge(PATCHED_PROPERTY * properties as f64)
    }

    /// A delete of an item with that many index terms.
    pub fn delete(self, user_bytes: usize, terms: usize) -> Charge {
        self.create(user_bytes, terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_written_as_the_shortest_decimal_of_two_places() {
        let quarters = (0..40_000).map(|quarter| f64::from(quarter) / 400.0);
        for units in quarters.chain([2.8349999, 1e6 + 0.005, 1e18, -1.5, f64::NAN]) {
            let charge = Charge(units);
            assert_eq!(charge.to_string(), charge.rounded().0.to_string());
        }
    }
}
