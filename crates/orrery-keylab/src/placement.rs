//! Placement: from values to positions, and from positions to physical partitions (method:
//! section 6; request units: section 11).

use orrery_model::limits::Limits;
use orrery_model::partition_key::KeyComponent;
use orrery_model::throughput::Throughput;

/// One above the highest position: the top two bits of a hash are clear.
pub const SPACE: u128 = 1 << 126;
/// Bytes in the gigabyte of the service's limits.
pub const GIGABYTE: f64 = 1_073_741_824.0;
/// Most partitions that are computed with; beyond it nobody has a container.
pub const MAX_PARTITIONS: u32 = 65_536;

/// The hash of one level of a key, as a position below [`SPACE`].
pub type Hash<'a> = &'a (dyn Fn(&KeyComponent) -> u128 + Sync);

/// The hash of containers made today.
pub fn version2(component: &KeyComponent) -> u128 {
    component.raw_hash_v2() & (SPACE - 1)
}

/// The hash of containers made by old SDKs.
pub fn version1(component: &KeyComponent) -> u128 {
    u128::from(component.raw_hash_v1()) << (126 - 32)
}

/// Ranges that share the space evenly, as [`orrery_model::epk::EpkRange::split_evenly`] cuts it.
#[derive(Debug, Clone, Copy)]
pub struct EvenRanges {
    count: u32,
    width: u128,
}

impl EvenRanges {
    /// So many ranges.
    pub fn new(count: u32) -> Self {
        let count = count.max(1);
        Self {
            count,
            width: SPACE / u128::from(count),
        }
    }

    /// The range that owns a position.
    pub fn owner(self, position: u128) -> usize {
        /// Bits of a position that a guess leaves out, so that it is a multiplication.
        const COARSE: u32 = 126 - 64;
        let coarse = u64::try_from(position >> COARSE).unwrap_or(u64::MAX);
        // Never too high: ranges are rounded down, the last one has what that leaves over.
        let mut owner = ((u128::from(coarse) * u128::from(self.count)) >> 64) as u32;
        while owner + 1 < self.count && position >= self.width * u128::from(owner + 1) {
            owner += 1;
        }
        owner as usize
    }
}

/// How throughput becomes partitions.
#[derive(Debug, Clone)]
pub struct PartitionRule {
    /// The limits in force.
    pub limits: Limits,
    /// Whether throughput follows the load.
    pub autoscale: bool,
}

impl PartitionRule {
    /// Gigabytes that a physical partition holds.
    pub fn partition_gb(&self) -> f64 {
        self.limits.physical_partition_bytes as f64 / GIGABYTE
    }

    /// Gigabytes that a logical partition holds.
    pub fn value_gb(&self) -> f64 {
        self.limits.logical_partition_bytes as f64 / GIGABYTE
    }

    /// Request units a second that a physical partition can have.
    pub fn partition_rate(&self) -> f64 {
        self.limits.physical_partition_rate as f64
    }

    /// Partitions of a new container with this throughput.
    pub fn initial(&self, ru: f64) -> u32 {
        self.throughput(ru).initial_partitions(false, &self.limits)
    }

    /// Partitions that this throughput asks for at least.
    pub fn least(&self, ru: f64) -> u32 {
        self.throughput(ru).needed_partitions(&self.limits)
    }

    /// Partitions of a container with even splits: doubled while they are too full.
    pub fn even(&self, ru: f64, gb: f64) -> u32 {
        let mut count = self.initial(ru);
        while gb / f64::from(count) > self.partition_gb() && count < MAX_PARTITIONS {
            count = count.saturating_mul(2);
        }
        count.max(self.least(ru))
    }

    fn throughput(&self, ru: f64) -> Throughput {
        let rate = ru.ceil() as u64;
        if self.autoscale {
            Throughput::Autoscale {
                max: rate,
                increment_percent: 0,
            }
        } else {
            Throughput::Manual(rate)
        }
    }
}

/// Cuts keys that lie in order into partitions: even ranges of the first level's hash at first,
/// then every range that is too full at its byte median, until it is not or is one key.
///
/// `heads` are the positions of the first level with the index at which their keys begin; `filled`
/// has the bytes of all keys before an index, so that it has one entry more than there are keys.
/// Returns where the partitions begin and, last, the number of keys.
pub fn by_byte_median(
    heads: &[(u128, usize)],
    filled: &[f64],
    initial: u32,
    least: u32,
    most_bytes: f64,
) -> Vec<usize> {
    let keys = filled.len().saturating_sub(1);
    let cuts = even_cuts(heads, keys, initial);
    let mut parts = Vec::with_capacity(cuts.len() * 2);
    for range in cuts.windows(2) {
        split(filled, range[0], range[1], most_bytes, &mut parts);
    }
    // Throughput may ask for more partitions than bytes do: the fullest are cut further.
    while parts.len() < least as usize {
        let bytes = |&(from, to): &(usize, usize)| filled[to] - filled[from];
        let fullest = (0..parts.len())
            .filter(|&at| parts[at].1 - parts[at].0 > 1)
            .max_by(|&left, &right| bytes(&parts[left]).total_cmp(&bytes(&parts[right])));
        let Some(at) = fullest else { break };
        let (from, to) = parts[at];
        let middle = median(filled, from, to);
        parts[at] = (from, middle);
        parts.insert(at + 1, (middle, to));
    }
    let mut bounds: Vec<usize> = parts.iter().map(|part| part.0).collect();
    bounds.push(keys);
    bounds
}

/// The keys at which even ranges of the first level's hash begin and, last, the number of keys.
pub fn even_cuts(heads: &[(u128, usize)], keys: usize, count: u32) -> Vec<usize> {
    let mut cuts = vec![0];
    let mut head = 0;
    let ranges = EvenRanges::new(count);
    for part in 1..count as usize {
        while head < heads.len() && ranges.owner(heads[head].0) < part {
            head += 1;
        }
        cuts.push(heads.get(head).map_or(keys, |&(_, start)| start));
    }
    cuts.push(keys);
    cuts
}

fn split(filled: &[f64], from: usize, to: usize, most: f64, parts: &mut Vec<(usize, usize)>) {
    if filled[to] - filled[from] <= most || to - from < 2 || parts.len() >= MAX_PARTITIONS as usize
    {
        parts.push((from, to));
        return;
    }
    let middle = median(filled, from, to);
    split(filled, from, middle, most, parts);
    split(filled, middle, to, most, parts);
}

/// The index between `from` and `to`, neither of them, that halves the bytes best.
fn median(filled: &[f64], from: usize, to: usize) -> usize {
    let half = f64::midpoint(filled[from], filled[to]);
    let at = from + filled[from..to].partition_point(|&bytes| bytes < half);
    let at = at.clamp(from + 1, to - 1);
    let off = |at: usize| (filled[at] - half).abs();
    if at > from + 1 && off(at - 1) < off(at) {
        at - 1
    } else {
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orrery_model::epk::EpkRange;
    use orrery_model::partition_key::{PartitionKey, PartitionKeyDefinition};

    fn rule() -> PartitionRule {
        PartitionRule {
            limits: Limits::default(),
            autoscale: false,
        }
    }

    #[test]
    fn partitions_follow_throughput_and_volume() {
        // The scenarios of the method, section 15.
        let even = |ru, gb| rule().even(ru, gb);
        assert_eq!([even(30_000.0, 500.0), even(30_000.0, 1_500.0)], [10, 40]);
        assert_eq!([even(40_000.0, 720.0), even(40_000.0, 1_440.0)], [28, 56]);
        assert_eq!([even(50_000.0, 400.0), even(50_000.0, 800.0)], [9, 18]);
        assert_eq!([even(1_000.0, 0.05), even(100_000.0, 5.6)], [1, 17]);
    }

    #[test]
    fn owners_are_those_of_the_even_cuts() {
        let definition = PartitionKeyDefinition::hash("/k").expect("definition");
        for count in [1, 2, 3, 5, 7, 28, 40] {
            let ranges = EpkRange::split_evenly(&definition, count);
            for number in 0..200 {
                let component = KeyComponent::String(format!("CUST{number:07}"));
                let position = definition.effective(&PartitionKey(vec![component.clone()]));
                let place = ranges.iter().position(|range| range.contains(&position));
                let owner = EvenRanges::new(count).owner(version2(&component));
                assert_eq!(place, Some(owner));
            }
        }
    }

    #[test]
    fn owners_are_exact_at_every_cut() {
        for count in [1, 3, 7, 40, 997, 65_536] {
            let (ranges, width) = (EvenRanges::new(count), SPACE / u128::from(count));
            for part in 0..count as usize {
                let begin = width * part as u128;
                assert_eq!(ranges.owner(begin), part);
                assert_eq!(ranges.owner(begin + width - 1), part);
            }
            assert_eq!(ranges.owner(SPACE - 1), count as usize - 1);
        }
    }

    #[test]
    fn medians_cut_until_nothing_is_too_full() {
        // One head of 600 in equal steps and five small ones.
        let mut filled = vec![0.0];
        let mut heads = Vec::new();
        for head in 0..6_u32 {
            heads.push((SPACE / 6 * u128::from(head) + 1, filled.len() - 1));
            let (keys, bytes) = if head == 2 { (1_000, 0.6) } else { (10, 1.0) };
            for _ in 0..keys {
                filled.push(filled[filled.len() - 1] + bytes);
            }
        }
        let bounds = by_byte_median(&heads, &filled, 6, 1, 50.0);
        assert_eq!(bounds.len() - 1, 5 + 16);
        for range in bounds.windows(2) {
            assert!(filled[range[1]] - filled[range[0]] <= 50.0);
        }
    }

    #[test]
    fn a_single_key_cannot_be_cut() {
        let bounds = by_byte_median(&[(0, 0), (5, 1)], &[0.0, 120.0, 125.0], 1, 1, 50.0);
        assert_eq!(bounds, [0, 1, 2]);
    }
}
