//! Cutting the key space (protocol: section 6.3).

use super::{EffectivePartitionKey, EpkRange};
use crate::partition_key::{PartitionKeyDefinition, PlacementHash, encoding};

/// One above the greatest version-2 hash, whose top two bits are clear.
const HASH_END: u128 = 1 << 126;
/// Bytes of a version-2 hash.
const HASH_BYTES: usize = 16;

impl EpkRange {
    /// The whole key space of a container in `count` ranges of equal share, in order. Containers
    /// of kind Range have no even cut and get one range.
    pub fn split_evenly(definition: &PartitionKeyDefinition, count: u32) -> Vec<Self> {
        let count = count.max(1);
        let cut = |part: u32| match definition.placement() {
            PlacementHash::Range => None,
            PlacementHash::Murmur32 => {
                let hash = (u64::from(u32::MAX) + 1) * u64::from(part) / u64::from(count);
                Some(from_hash32(hash as u32))
            }
            PlacementHash::Murmur128 | PlacementHash::Murmur128PerLevel => {
                // The service multiplies the rounded share: four fifths are `33…30`, as an SDK's
                // test has it, and the last range is a little longer.
                let hash = HASH_END / u128::from(count) * u128::from(part);
                Some(EffectivePartitionKey::from_bytes(
                    hash.to_be_bytes().to_vec(),
                ))
            }
        };
        let mut ranges = Vec::with_capacity(count as usize);
        let mut min = EffectivePartitionKey::MIN;
        for next in (1..count).filter_map(cut) {
            ranges.push(Self::new(min, next.clone()));
            min = next;
        }
        ranges.push(Self::new(min, EffectivePartitionKey::max()));
        ranges
    }

    /// The position that halves the range's hash space; `None` where there is none inside.
    pub fn midpoint(&self, definition: &PartitionKeyDefinition) -> Option<EffectivePartitionKey> {
        let levels = match definition.placement() {
            PlacementHash::Range => return None,
            PlacementHash::Murmur32 => {
                let min = u64::from(hash32(&self.min).unwrap_or(0));
                let max = hash32(&self.max).map_or(u64::from(u32::MAX) + 1, u64::from);
                let middle = from_hash32((min + max.checked_sub(min)? / 2) as u32);
                return self.strictly_inside(middle);
            }
            PlacementHash::Murmur128 => 1,
            PlacementHash::Murmur128PerLevel => definition.paths().len(),
        };
        let middle = midpoint128(self.min.as_bytes(), Some(self.max.as_bytes()), levels)?;
        self.strictly_inside(EffectivePartitionKey::from_bytes(middle))
    }

    fn strictly_inside(&self, position: EffectivePartitionKey) -> Option<EffectivePartitionKey> {
        (self.min < position && position < self.max).then_some(position)
    }
}

fn from_hash32(hash: u32) -> EffectivePartitionKey {
    let mut bytes = Vec::new();
    encoding::write_number(f64::from(hash), &mut bytes);
    EffectivePartitionKey::from_bytes(bytes)
}

/// The hash at the front of a version-1 position.
fn hash32(position: &EffectivePartitionKey) -> Option<u32> {
    let number = encoding::read_number(position.as_bytes())?;
    (0.0..=f64::from(u32::MAX))
        .contains(&number)
        .then_some(number as u32)
}

/// The hash of the first level, and the bytes of the levels below it.
fn first_level(bytes: &[u8]) -> (u128, &[u8]) {
    let (level, below) = bytes.split_at(bytes.len().min(HASH_BYTES));
    let mut padded = [0; HASH_BYTES];
    padded[..level.len()].copy_from_slice(level);
    (u128::from_be_bytes(padded).min(HASH_END), below)
}

/// Halves at the first level; where the ends share it or are neighbours, one level below.
/// `max` is `None` for the end of the level.
fn midpoint128(min: &[u8], max: Option<&[u8]>, levels: usize) -> Option<Vec<u8>> {
    let levels = levels.checked_sub(1)?;
    let (low, low_below) = first_level(min);
    let (high, high_below) = max.map_or((HASH_END, &[][..]), first_level);
    let descend = |high_below| {
        let below = midpoint128(low_below, high_below, levels)?;
        Some([&low.to_be_bytes()[..], &below].concat())
    };
    match high.checked_sub(low)? {
        0 => descend(Some(high_below)),
        1 if high < HASH_END && high_below.iter().any(|&byte| byte != 0) => {
            Some(high.to_be_bytes().to_vec())
        }
        1 => descend(None),
        distance => Some((low + distance / 2).to_be_bytes().to_vec()),
    }
}
