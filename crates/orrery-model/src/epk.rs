//! Effective partition keys: where a partition key value lies in the key space of a container,
//! and ranges of that space (protocol: sections 6.2 and 6.3).

mod split;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

pub use crate::murmur::{murmur3_x64_128, murmur3_x86_32};

/// A position in the key space: bytes, written as upper-case hex. Trailing zero bytes do not
/// count in comparisons, so that a boundary of 16 bytes equals its padded form of 32.
#[derive(Clone)]
pub struct EffectivePartitionKey(Vec<u8>);

impl EffectivePartitionKey {
    /// The lowest position, `""`.
    pub const MIN: Self = Self(Vec::new());

    /// The position above all keys, `"FF"`.
    pub fn max() -> Self {
        Self(vec![0xff])
    }

    /// A position from its bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Reads hex of either case; `None` for anything else and beyond any real length.
    pub fn from_hex(text: &str) -> Option<Self> {
        const LONGEST: usize = 4096;
        let digits = text.as_bytes();
        if digits.len() > LONGEST {
            return None;
        }
        let (pairs, odd) = digits.as_chunks::<2>();
        if !odd.is_empty() {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let bytes = pairs
            .iter()
            .map(|&[high, low]| Some((digit(high)? << 4) | digit(low)?));
        bytes.collect::<Option<Vec<u8>>>().map(Self)
    }

    /// The bytes as computed.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes that count in comparisons: without trailing zeros.
    pub fn significant(&self) -> &[u8] {
        let end = self
            .0
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        &self.0[..end]
    }

    /// Upper-case hex, as headers and bodies have it.
    pub fn to_hex(&self) -> String {
        self.to_string()
    }

    /// The first position above everything that starts with this one.
    pub fn end_of_prefix(&self) -> Self {
        let mut bytes = self.0.clone();
        bytes.push(0xff);
        Self(bytes)
    }
}

impl PartialEq for EffectivePartitionKey {
    fn eq(&self, other: &Self) -> bool {
        self.significant() == other.significant()
    }
}

impl Eq for EffectivePartitionKey {}

impl Hash for EffectivePartitionKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.significant().hash(state);
    }
}

impl Ord for EffectivePartitionKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.significant().cmp(other.significant())
    }
}

impl PartialOrd for EffectivePartitionKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for EffectivePartitionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02X}"))
    }
}

impl fmt::Debug for EffectivePartitionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Epk({self})")
    }
}

/// A half-open range of positions: `min` belongs to it, `max` does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EpkRange {
    /// First position.
    pub min: EffectivePartitionKey,
    /// First position behind.
    pub max: EffectivePartitionKey,
}

impl EpkRange {
    /// The whole key space.
    pub fn full() -> Self {
        Self {
            min: EffectivePartitionKey::MIN,
            max: EffectivePartitionKey::max(),
        }
    }

    /// The range from `min` up to, without, `max`.
    pub fn new(min: EffectivePartitionKey, max: EffectivePartitionKey) -> Self {
        Self { min, max }
    }

    /// Everything that starts with this position: a key, or a prefix of a hierarchical key.
    pub fn of_prefix(prefix: EffectivePartitionKey) -> Self {
        let max = prefix.end_of_prefix();
        Self { min: prefix, max }
    }

    /// Whether nothing lies in it.
    pub fn is_empty(&self) -> bool {
        self.min >= self.max
    }

    /// Whether the position lies in it.
    pub fn contains(&self, position: &EffectivePartitionKey) -> bool {
        self.min <= *position && *position < self.max
    }

    /// Whether the other range lies wholly in it.
    pub fn covers(&self, other: &Self) -> bool {
        self.min <= other.min && other.max <= self.max
    }

    /// Whether the ranges share a position.
    pub fn overlaps(&self, other: &Self) -> bool {
        std::cmp::max(&self.min, &other.min) < std::cmp::min(&self.max, &other.max)
    }

    /// What the ranges share.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let min = self.min.clone().max(other.min.clone());
        let max = self.max.clone().min(other.max.clone());
        (min < max).then_some(Self { min, max })
    }
}

impl fmt::Display for EpkRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{},{})", self.min, self.max)
    }
}
