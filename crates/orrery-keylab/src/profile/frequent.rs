//! Frequent values with bounded counters: Misra and Gries 1982, purged in batches, which has the
//! error bound of Space-Saving (Metwally et al. 2005) and a constant cost for each value.

use rustc_hash::FxHashMap;

/// Values that are counted at least; a share above one in so many is never lost.
const KEPT: usize = 1_024;
/// Counters at which the small half goes.
const FULL: usize = 2 * KEPT;
/// Values below one in so many are not frequent.
const THIN: u64 = 500;

/// Counters of frequent values, by hash.
#[derive(Debug, Clone, Default)]
pub struct Frequent {
    counters: FxHashMap<u64, Counter>,
    items: u64,
    bytes: u64,
    /// What a counter may lack.
    lost: u64,
    lost_bytes: u64,
    /// Whether at the last purge no value stood out.
    thin: bool,
}

/// What is known of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counter {
    /// Items with it, at least.
    pub items: u64,
    /// Bytes of these items, at least.
    pub bytes: u64,
}

impl Frequent {
    /// Counts a value; tells whether it had a counter, so that it was there before.
    pub fn add(&mut self, hash: u64, items: u64, bytes: u64) -> bool {
        self.items += items;
        self.bytes += bytes;
        if let Some(counter) = self.counters.get_mut(&hash) {
            counter.items += items;
            counter.bytes += bytes;
            return true;
        }
        self.counters.insert(hash, Counter { items, bytes });
        if self.counters.len() >= FULL {
            self.purge();
        }
        false
    }

    /// Subtracts the median from every counter and drops what has nothing left.
    fn purge(&mut self) {
        let mut items: Vec<u64> = self
            .counters
            .values()
            .map(|counter| counter.items)
            .collect();
        let mut bytes: Vec<u64> = self
            .counters
            .values()
            .map(|counter| counter.bytes)
            .collect();
        let (_, &mut items_cut, _) = items.select_nth_unstable(KEPT);
        let (_, &mut bytes_cut, _) = bytes.select_nth_unstable(KEPT);
        self.lost += items_cut;
        self.lost_bytes += bytes_cut;
        self.counters.retain(|_, counter| {
            counter.items = counter.items.saturating_sub(items_cut);
            counter.bytes = counter.bytes.saturating_sub(bytes_cut);
            counter.items > 0 || counter.bytes > 0
        });
        let most = self
            .counters
            .values()
            .map(|counter| counter.items)
            .max()
            .unwrap_or(0);
        self.thin = (most + self.lost) * THIN < self.items;
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: Self) {
        self.lost += other.lost;
        self.lost_bytes += other.lost_bytes;
        let (items, bytes) = (self.items + other.items, self.bytes + other.bytes);
        // In order of the hash, so that the outcome does not depend on the map's order.
        let mut counters: Vec<(u64, Counter)> = other.counters.into_iter().collect();
        counters.sort_unstable_by_key(|(hash, _)| *hash);
        for (hash, counter) in counters {
            self.add(hash, counter.items, counter.bytes);
        }
        self.items = items;
        self.bytes = bytes;
    }

    /// The share of the items that a value has: lower and upper bound.
    pub fn share(&self, hash: u64) -> (f64, f64) {
        let counted = self.counters.get(&hash).map_or(0, |counter| counter.items);
        let total = self.items.max(1) as f64;
        (counted as f64 / total, (counted + self.lost) as f64 / total)
    }

    /// The share of the bytes that the largest value has: lower and upper bound.
    pub fn largest_by_bytes(&self) -> (f64, f64) {
        self.largest(|counter| counter.bytes, self.bytes, self.lost_bytes)
    }

    /// The share of the items that the most frequent value has: lower and upper bound.
    pub fn largest_by_items(&self) -> (f64, f64) {
        self.largest(|counter| counter.items, self.items, self.lost)
    }

    fn largest(&self, measure: impl Fn(&Counter) -> u64, total: u64, lost: u64) -> (f64, f64) {
        let most = self.counters.values().map(measure).max().unwrap_or(0);
        let total = total.max(1) as f64;
        (most as f64 / total, (most + lost) as f64 / total)
    }

    /// Whether no value stands out: the last purge left none that is frequent.
    pub fn is_thin(&self) -> bool {
        self.thin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_format::mix;

    #[test]
    fn heavy_values_survive_a_crowd() {
        let mut frequent = Frequent::default();
        for number in 0..200_000_u64 {
            frequent.add(mix(number), 1, 100);
            if number % 20 == 0 {
                frequent.add(7, 1, 1_000);
            }
        }
        let (low, high) = frequent.share(7);
        let truth = 10_000.0 / 210_000.0;
        assert!(low <= truth && truth <= high, "{low} {high}");
        assert!(high - low < 1.5 / KEPT as f64);
        let (low, high) = frequent.largest_by_bytes();
        let truth = 10_000.0 * 1_000.0 / (200_000.0 * 100.0 + 10_000.0 * 1_000.0);
        assert!(low <= truth && truth <= high, "{low} {high}");
        assert!(!frequent.is_thin());
    }

    #[test]
    fn small_sets_are_exact_and_merge() {
        let (mut left, mut right) = (Frequent::default(), Frequent::default());
        for number in 0..900_u64 {
            left.add(number % 3, 1, 10);
            right.add(number % 2, 1, 10);
        }
        left.merge(right);
        assert_eq!(left.share(0), (750.0 / 1_800.0, 750.0 / 1_800.0));
        assert_eq!(left.largest_by_items().0, 750.0 / 1_800.0);
    }

    #[test]
    fn unique_values_are_thin() {
        let mut frequent = Frequent::default();
        for number in 0..100_000_u64 {
            frequent.add(mix(number), 1, 10);
        }
        assert!(frequent.is_thin());
    }
}
