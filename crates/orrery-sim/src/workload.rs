//! Which logical partitions are written and read: the shapes that hurt in production.

use crate::ambient::Random;

/// Logical partitions of a run.
const KEYS: u64 = 40;
/// Ids within a logical partition.
const IDS: u64 = 25;
/// Virtual seconds of a day in [`Shape::Today`]: several pass in a run.
const DAY: u64 = 60;

/// How accesses spread over keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// All alike.
    Uniform,
    /// The k-th key about 1/k times as often as the first.
    Zipf,
    /// One tenant has most of the items.
    GiantTenant,
    /// The date is the key: everything goes to today.
    Today,
    /// One key is read and changed by everybody, and has few items.
    Celebrity,
    /// Uniform, in bursts with rests between them.
    Bursts,
}

/// All shapes.
pub const SHAPES: [Shape; 6] = [
    Shape::Uniform,
    Shape::Zipf,
    Shape::GiantTenant,
    Shape::Today,
    Shape::Celebrity,
    Shape::Bursts,
];

impl Shape {
    /// A partition key value and an id.
    pub fn address(self, random: &Random, second: u64) -> (String, String) {
        let (key, ids) = match self {
            Self::Uniform | Self::Bursts => (format!("k{}", random.below(KEYS)), IDS),
            Self::Zipf => {
                // The square of a uniform number, upside down: few keys take most.
                let at = random.below(KEYS) * random.below(KEYS) / KEYS;
                (format!("k{at}"), IDS)
            }
            Self::GiantTenant if random.below(10) < 8 => ("giant".to_owned(), IDS * 12),
            Self::GiantTenant => (format!("k{}", random.below(KEYS)), IDS),
            Self::Today => (format!("day{}", second / DAY), IDS * 2),
            Self::Celebrity if random.below(10) < 8 => ("celebrity".to_owned(), 3),
            Self::Celebrity => (format!("k{}", random.below(KEYS)), IDS),
        };
        (key, format!("i{}", random.below(ids)))
    }

    /// How far time moves before the next step, in microseconds.
    pub fn pause_us(self, random: &Random) -> u64 {
        match self {
            Self::Bursts if random.one_in(200) => random.below(3_000_000),
            Self::Bursts => random.below(500),
            _ => random.below(20_000),
        }
    }
}
