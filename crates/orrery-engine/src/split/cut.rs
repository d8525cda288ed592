//! Where key space is cut: at the middle of its hashes, at given places, or where half of the
//! bytes lie on each side.

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::partition_key::PartitionKeyDefinition;
use orrery_storage::{Scan, Store};

use crate::error::Error;
use crate::layout::{family, keys};
use crate::partition::Partition;

/// Key entries that one step of a measurement reads.
const PAGE: usize = 4_096;

/// Where a split cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// At the middle of the hashes, again and again until there are as many ranges as wanted.
    Hash,
    /// Between two logical partitions, with about half of the bytes on each side.
    Size,
    /// At this position.
    At(EffectivePartitionKey),
}

/// Cuts a range into `count` ranges by halving the widest, the first of equals first. Fewer where
/// there is no middle left.
pub fn by_hash(definition: &PartitionKeyDefinition, range: &EpkRange, count: u32) -> Vec<EpkRange> {
    let mut ranges = vec![range.clone()];
    while ranges.len() < count as usize {
        let middles = ranges.iter().enumerate().filter_map(|(at, range)| {
            let middle = range.midpoint(definition)?;
            Some((at, width(range), middle))
        });
        let widest = middles.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let Some((at, _, middle)) = widest else {
            break;
        };
        let upper = EpkRange::new(middle.clone(), ranges[at].max.clone());
        ranges[at].max = middle;
        ranges.insert(at + 1, upper);
    }
    ranges
}

/// How much of the key space a range is, to compare ranges of one container by.
pub fn width(range: &EpkRange) -> u128 {
    position(&range.max).saturating_sub(position(&range.min))
}

fn position(epk: &EffectivePartitionKey) -> u128 {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(epk.as_bytes()) {
        *to = *from;
    }
    // Hashes of version 2 end at 40; what lies above is the end of the key space.
    u128::from_be_bytes(bytes).min(1 << 126)
}

/// A walk over the logical partitions of a partition, a page at a time, to the middle of its
/// bytes.
#[derive(Debug)]
pub struct Measurement {
    half: u64,
    /// Bytes of the logical partitions that are passed.
    before: u64,
    /// The logical partition under way, and its bytes so far.
    current: Option<(Vec<u8>, u64)>,
    resume: Option<Vec<u8>>,
}

/// What a step of a measurement found.
pub enum Measured {
    /// The middle is further on.
    GoesOn,
    /// Cut here.
    At(EffectivePartitionKey),
    /// There is only one logical partition, or none.
    Indivisible,
}

impl Measurement {
    /// Before the first logical partition.
    pub fn new(partition: &Partition) -> Self {
        Self {
            half: partition.statistics().total_bytes() / 2,
            before: 0,
            current: None,
            resume: None,
        }
    }

    /// Goes on for a page.
    pub fn step(&mut self, store: &dyn Store, partition: &Partition) -> Result<Measured, Error> {
        const WHAT: Error = Error::Damaged("key entry");
        let mut scan = Scan::prefix([family::KEY]).max_rows(PAGE);
        scan.resume.clone_from(&self.resume);
        let page = store.scan(partition.part(), &scan)?;
        for row in &page.rows {
            let (epk, _) = keys::parts_of_key(&row.key).ok_or(WHAT)?;
            let size = u64::from_be_bytes(row.value.as_ref().try_into().map_err(|_| WHAT)?);
            match &mut self.current {
                Some((current, bytes)) if current == epk => *bytes += size,
                _ => {
                    if let Some(cut) = self.pass(epk, partition.range()) {
                        return Ok(Measured::At(cut));
                    }
                    self.current = Some((epk.to_vec(), size));
                }
            }
        }
        self.resume = page.resume.map(|key| key.to_vec());
        if self.resume.is_some() {
            return Ok(Measured::GoesOn);
        }
        // The last logical partition reaches over the middle: it goes alone to the right.
        let last = self.current.take().filter(|_| self.before > 0);
        Ok(
            match last.and_then(|(epk, _)| inside(&epk, partition.range())) {
                Some(cut) => Measured::At(cut),
                None => Measured::Indivisible,
            },
        )
    }

    /// The next logical partition begins: whether to cut before it, or before the one that it
    /// follows, whichever leaves the halves more alike.
    fn pass(&mut self, next: &[u8], range: &EpkRange) -> Option<EffectivePartitionKey> {
        let (current, bytes) = self.current.take()?;
        let after = self.before + bytes;
        if after < self.half {
            self.before = after;
            return None;
        }
        let before_is_closer =
            self.before > 0 && self.half.abs_diff(self.before) < self.half.abs_diff(after);
        let cut = if before_is_closer { &current } else { next };
        inside(cut, range)
    }
}

fn inside(epk: &[u8], range: &EpkRange) -> Option<EffectivePartitionKey> {
    let cut = EffectivePartitionKey::from_bytes(epk.to_vec());
    (range.min < cut && cut < range.max).then_some(cut)
}
