//! The heaviest logical partitions of late, in bounded memory: the Space-Saving sketch (Metwally,
//! Agrawal, El Abbadi, 2005). Counts halve every half minute, so that yesterday's hot key does not
//! hide today's.
//!
//! A key with more than a 64th of the load is always in the list; its figure is too high by at
//! most its `error`.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// Keys that are kept.
const KEPT: usize = 64;
/// Seconds after which counts halve.
const HALF_LIFE: u64 = 30;

/// A logical partition with what it took of late.
#[derive(Debug, Clone, PartialEq)]
pub struct Heavy {
    /// Its effective partition key.
    pub key: Vec<u8>,
    /// Hundredths of request units, halved every half minute.
    pub hundredths: u64,
    /// By how much that may be too high.
    pub error: u64,
    /// Operations served, halved alike.
    pub requests: u64,
    /// Operations refused, halved alike.
    pub refused: u64,
    /// Its share of all that its physical partition took, in percent.
    pub share: f64,
}

#[derive(Debug)]
struct Entry {
    key: Vec<u8>,
    error: u64,
    requests: u64,
    refused: u64,
}

/// The sketch.
#[derive(Debug, Default)]
pub struct HeavyKeys {
    /// Hashes of the entries' keys, apart so that a search looks at many at once.
    hashes: Vec<u32>,
    /// What the entries took, in hundredths, apart for the same reason.
    weights: Vec<u64>,
    entries: Vec<Entry>,
    /// No entry is lighter than this; those as light are looked for from `next` on.
    least: u64,
    next: usize,
    total: u64,
    halved: u64,
}

impl HeavyKeys {
    /// Notes an operation on a key.
    pub fn note(&mut self, second: u64, key: &[u8], hundredths: u64) {
        let at = self.note_charge(second, key, hundredths);
        self.entries[at].requests += 1;
    }

    /// Notes what an operation cost that is counted elsewhere. Answers where the key's entry is.
    pub fn note_charge(&mut self, second: u64, key: &[u8], hundredths: u64) -> usize {
        self.age(second);
        self.total += hundredths;
        let at = self.place(key);
        self.weights[at] += hundredths;
        at
    }

    /// Notes a refused operation on a key.
    pub fn refuse(&mut self, second: u64, key: &[u8]) {
        self.age(second);
        let at = self.place(key);
        self.entries[at].refused += 1;
    }

    /// The heaviest, heaviest first; equals in the order of their keys.
    pub fn heaviest(&mut self, second: u64, most: usize) -> Vec<Heavy> {
        self.age(second);
        let total = self.total.max(1) as f64;
        let heavy = |(entry, &hundredths): (&Entry, &u64)| Heavy {
            key: entry.key.clone(),
            hundredths,
            error: entry.error,
            requests: entry.requests,
            refused: entry.refused,
            share: hundredths as f64 * 100.0 / total,
        };
        let entries = self.entries.iter().zip(&self.weights);
        let is_there = |(entry, weight): &(&Entry, &u64)| **weight > 0 || entry.refused > 0;
        let mut all: Vec<Heavy> = entries.filter(is_there).map(heavy).collect();
        all.sort_by(|a, b| {
            let weight = |heavy: &Heavy| (heavy.hundredths, heavy.refused);
            weight(b).cmp(&weight(a)).then_with(|| a.key.cmp(&b.key))
        });
        all.truncate(most);
        all
    }

    fn age(&mut self, second: u64) {
        if self.halved == 0 {
            self.halved = second;
        }
        let halvings = second.saturating_sub(self.halved) / HALF_LIFE;
        if halvings == 0 {
            return;
        }
        self.halved += halvings * HALF_LIFE;
        let by = u32::try_from(halvings).unwrap_or(u32::MAX);
        let halve = |count: &mut u64| *count = count.checked_shr(by).unwrap_or(0);
        halve(&mut self.total);
        halve(&mut self.least);
        self.weights.iter_mut().for_each(halve);
        for entry in &mut self.entries {
            halve(&mut entry.error);
            halve(&mut entry.requests);
            halve(&mut entry.refused);
        }
    }

    /// Where the key's entry is. A new key takes the place of the lightest and inherits its weight.
    fn place(&mut self, key: &[u8]) -> usize {
        let hash = hash(key);
        if let Some(at) = self.known(hash, key) {
            return at;
        }
        if self.entries.len() < KEPT {
            self.hashes.push(hash);
            self.weights.push(0);
            self.entries.push(Entry {
                key: key.to_vec(),
                error: 0,
                requests: 0,
                refused: 0,
            });
            return self.entries.len() - 1;
        }
        let at = self.lightest();
        self.hashes[at] = hash;
        let entry = &mut self.entries[at];
        entry.key.clear();
        entry.key.extend_from_slice(key);
        entry.error = self.weights[at];
        entry.requests = 0;
        entry.refused = 0;
        at
    }

    /// The entry of this key.
    fn known(&self, hash: u32, key: &[u8]) -> Option<usize> {
        /// Compared without a branch, so in a few instructions.
        const TOGETHER: usize = 16;
        #[expect(clippy::needless_bitwise_bool, reason = "a branch is what it avoids")]
        let has_hash = |hashes: &&[u32]| {
            let hashes = hashes.iter().copied();
            hashes.fold(false, |found, one| found | (one == hash))
        };
        let chunks = self.hashes.chunks(TOGETHER).enumerate();
        chunks
            .filter(|(_, hashes)| has_hash(hashes))
            .flat_map(|(chunk, hashes)| {
                let first = chunk * TOGETHER;
                first..first + hashes.len()
            })
            .find(|&at| self.hashes[at] == hash && self.entries[at].key == key)
    }

    /// One of the lightest entries. They are used up in turn before a new least weight is looked
    /// for: among keys that come once each, the next one is the one behind the last.
    fn lightest(&mut self) -> usize {
        let light = |weights: &[u64], least| weights.iter().position(|&weight| weight <= least);
        let behind = light(&self.weights[self.next..], self.least).map(|at| self.next + at);
        let found = behind.or_else(|| light(&self.weights, self.least));
        let at = found.unwrap_or_else(|| {
            self.least = self.weights.iter().min().copied().unwrap_or(0);
            light(&self.weights, self.least).unwrap_or(0)
        });
        self.next = (at + 1) % self.weights.len().max(1);
        at
    }
}

fn hash(key: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_keys_stay_and_their_figures_are_bounded() {
        let mut keys = HeavyKeys::default();
        for round in 0..2_000_u64 {
            keys.note(1, b"hot", 500);
            if round % 4 == 0 {
                keys.note(1, b"warm", 500);
            }
            keys.note(1, &round.to_be_bytes(), 100);
        }
        let found = keys.heaviest(1, 2);
        assert_eq!(found[0].key, b"hot");
        assert_eq!(found[1].key, b"warm");
        let exact = [2_000 * 500, 500 * 500];
        for (heavy, exact) in found.iter().zip(exact) {
            assert!(heavy.hundredths >= exact, "{heavy:?}");
            assert!(heavy.hundredths - heavy.error <= exact, "{heavy:?}");
        }
        assert!((found[0].share - 68.97).abs() < 0.01, "{}", found[0].share);
    }

    #[test]
    fn what_is_over_fades() {
        let mut keys = HeavyKeys::default();
        keys.note(100, b"old", 10_000);
        keys.refuse(100, b"old");
        keys.note(100 + 4 * HALF_LIFE, b"new", 1_000);
        let found = keys.heaviest(100 + 4 * HALF_LIFE, 9);
        assert_eq!(found[0].key, b"new");
        assert_eq!((found[1].hundredths, found[1].refused), (625, 0));
        assert!(keys.heaviest(u64::MAX, 9).is_empty());
    }
}
