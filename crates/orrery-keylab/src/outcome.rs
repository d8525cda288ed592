//! Outcome: demand, throttling and need of one layout at one horizon.

use serde::Serialize;

use crate::evidence::Interval;
use crate::layout::{HeadValues, Keys, Layout, PrefixReads};
use crate::placement::{EvenRanges, PartitionRule, SPACE, by_byte_median, even_cuts};
use crate::throttle::throttled_share;

/// Volume and throughput at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// Stored gigabytes.
    pub gb: f64,
    /// Provisioned request units a second; found when absent.
    pub ru: Option<f64>,
    /// Factor on all rates.
    pub rates: f64,
    /// Partitions of a container that is known.
    pub partitions: Option<u32>,
}

/// What happens to a key at one horizon.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Physical partitions.
    pub partitions: usize,
    /// Provisioned request units a second.
    pub provisioned: f64,
    /// Request units a second that the workload uses.
    pub total: f64,
    /// Request units a second to provision so that the fullest partition has enough.
    pub needed: f64,
    /// What the workload would use if every request visited one partition.
    pub ideal: f64,
    /// Share of the demand that is refused.
    pub throttled: f64,
    /// Gigabytes of the largest key value.
    pub largest_gb: Interval,
    /// Request units a second of the hottest value on one partition.
    pub hottest: f64,
    /// Its name, as JSON.
    pub hottest_name: String,
    /// Queries a second that visit every partition.
    pub fan_out: f64,
    /// Mean charge of one visit to one partition.
    #[serde(skip)]
    pub visit_charge: f64,
    /// Request units a second by partition, in order of position.
    pub demands: Vec<f64>,
    /// Gigabytes by partition, where the layout knows them.
    pub stored_gb: Vec<f64>,
}

impl Outcome {
    /// Request units a second that each partition may use.
    pub fn budget(&self) -> f64 {
        self.provisioned / self.partitions.max(1) as f64
    }

    /// How much more the fullest partition is asked than the mean.
    pub fn max_over_mean(&self) -> f64 {
        let mean = self.total / self.partitions.max(1) as f64;
        if mean > 0.0 {
            self.needed / self.total
        } else {
            1.0
        }
    }

    /// Alignment: what routing costs, as a factor of the score.
    pub fn alignment(&self) -> f64 {
        if self.total > 0.0 {
            self.ideal / self.total
        } else {
            1.0
        }
    }

    /// Evenness: what skew costs, as a factor of the score.
    pub fn evenness(&self) -> f64 {
        if self.needed > 0.0 {
            self.total / self.needed
        } else {
            1.0
        }
    }

    /// The score at this horizon.
    pub fn score(&self) -> f64 {
        100.0 * self.alignment() * self.evenness()
    }
}

/// Times to follow throughput that moves the number of partitions that moves throughput.
const ROUNDS: usize = 24;
/// A found throughput refuses no more than this share of the demand.
const QUIET: f64 = 0.001;

/// Computes the outcome; finds the throughput when the volume does not give it.
pub fn evaluate(layout: &Layout, volume: &Volume, rule: &PartitionRule) -> Outcome {
    if let Some(ru) = volume.ru {
        return at_throughput(layout, volume, ru, rule);
    }
    let limits = &rule.limits;
    let step = limits.manual_rate_step.max(1) as f64;
    let least = limits.min_manual_rate as f64;
    let round = |ru: f64| ((ru / step).ceil() * step).clamp(least, limits.max_rate as f64);
    let mut ru = round(layout.ideal * volume.rates);
    let mut outcome = at_throughput(layout, volume, ru, rule);
    for _ in 0..ROUNDS {
        let next = round(outcome.needed);
        if next <= ru {
            break;
        }
        ru = next;
        outcome = at_throughput(layout, volume, ru, rule);
    }
    // Enough on average is not enough in every second.
    for _ in 0..ROUNDS {
        let next = round(ru * 1.05);
        if outcome.throttled <= QUIET || next <= ru {
            break;
        }
        ru = next;
        outcome = at_throughput(layout, volume, ru, rule);
    }
    outcome
}

fn at_throughput(layout: &Layout, volume: &Volume, ru: f64, rule: &PartitionRule) -> Outcome {
    let mut placed = match &layout.keys {
        Keys::Flat {
            positions,
            demand,
            hottest,
        } => {
            let count = volume
                .partitions
                .unwrap_or_else(|| rule.even(ru, volume.gb));
            let mut demands = vec![0.0; count as usize];
            let ranges = EvenRanges::new(count);
            for (position, ru) in positions.iter().zip(demand) {
                demands[ranges.owner(*position)] += ru;
            }
            Placed {
                demands,
                hottest: hottest.clone(),
                stored: Vec::new(),
            }
        }
        Keys::Hierarchy {
            heads,
            bytes,
            demand,
            values,
            ..
        } => {
            let (filled, bounds, _) = hierarchical_bounds(heads, bytes, volume, ru, rule);
            let mut placed = hierarchy(heads, &bounds, demand, bytes, &layout.prefixes, values);
            placed.stored = bounds
                .windows(2)
                .map(|part| filled[part[1]] - filled[part[0]])
                .collect();
            placed
        }
    };
    let count = placed.demands.len();
    let (further, scattered) = layout.further(count as f64);
    let everywhere = scattered / count as f64 + layout.fan_out_ru;
    for demand in &mut placed.demands {
        *demand = (*demand + everywhere) * volume.rates;
    }
    let total: f64 = placed.demands.iter().sum();
    let visits = layout.requests + further + layout.fan_out * (count as f64 - 1.0);
    let charge = if visits > 0.0 {
        total / (visits * volume.rates.max(f64::MIN_POSITIVE))
    } else {
        0.0
    };
    let highest = placed.demands.iter().copied().fold(0.0, f64::max);
    Outcome {
        partitions: count,
        provisioned: ru,
        total,
        needed: highest * count as f64,
        ideal: layout.ideal * volume.rates,
        throttled: throttled_share(&placed.demands, ru / count as f64, charge),
        largest_gb: layout.largest.scaled(volume.gb),
        hottest: placed.hottest.0 * volume.rates,
        hottest_name: placed.hottest.1,
        fan_out: layout.fan_out * volume.rates,
        visit_charge: charge,
        demands: placed.demands,
        stored_gb: placed.stored,
    }
}

/// Bytes before each key, the keys at which partitions begin, and with how many even ranges the
/// container began.
fn hierarchical_bounds(
    heads: &[(u128, usize)],
    bytes: &[f64],
    volume: &Volume,
    ru: f64,
    rule: &PartitionRule,
) -> (Vec<f64>, Vec<usize>, u32) {
    let mut filled = Vec::with_capacity(bytes.len() + 1);
    let mut sum = 0.0;
    filled.push(sum);
    for share in bytes {
        sum += share * volume.gb;
        filled.push(sum);
    }
    // Known containers keep their even ranges; others split where bytes are.
    let (initial, least, most) = match volume.partitions {
        Some(count) => (count, count, f64::INFINITY),
        None => (rule.initial(ru), rule.least(ru), rule.partition_gb()),
    };
    let bounds = by_byte_median(heads, &filled, initial, least, most);
    (filled, bounds, initial)
}

/// Where the partitions of an outcome begin, the first one aside: positions of the first level,
/// and of the others where a first-level value is cut.
pub fn boundaries(
    layout: &Layout,
    volume: &Volume,
    outcome: &Outcome,
    rule: &PartitionRule,
) -> Vec<Vec<u8>> {
    let even = |part: usize, of: usize| {
        let position = SPACE / of as u128 * part as u128;
        position.to_be_bytes().to_vec()
    };
    let Keys::Hierarchy {
        heads,
        bytes,
        below,
        ..
    } = &layout.keys
    else {
        return (1..outcome.partitions)
            .map(|part| even(part, outcome.partitions))
            .collect();
    };
    let (_, bounds, initial) = hierarchical_bounds(heads, bytes, volume, outcome.provisioned, rule);
    let levels = if below.iter().any(|below| below[1] > 0) {
        2
    } else {
        1
    };
    let initial_cuts = even_cuts(heads, bytes.len(), initial);
    // The even ranges of the beginning are all there still, in order, with cuts in between.
    let mut part = 1;
    let mut positions = Vec::with_capacity(bounds.len());
    for &bound in &bounds[1..bounds.len() - 1] {
        if initial_cuts.get(part) == Some(&bound) && part < initial as usize {
            positions.push(even(part, initial as usize));
            part += 1;
            continue;
        }
        let head = heads
            .partition_point(|head| head.1 <= bound)
            .saturating_sub(1);
        let mut position = heads[head].0.to_be_bytes().to_vec();
        // A cut in front of a whole first-level value lies before everything that begins with it, so
        // that reads of the value have nothing to visit on the other side.
        if heads[head].1 < bound {
            for level in &below[bound % below.len()][..levels] {
                position.extend_from_slice(&level.to_be_bytes());
            }
        }
        positions.push(position);
    }
    positions
}

struct Placed {
    demands: Vec<f64>,
    hottest: (f64, String),
    stored: Vec<f64>,
}

/// Adds up the keys of a hierarchy by partition; a first-level value that lies on several is as
/// hot as its hottest part.
fn hierarchy(
    heads: &[(u128, usize)],
    bounds: &[usize],
    demand: &[f64],
    bytes: &[f64],
    prefixes: &[PrefixReads],
    values: &HeadValues,
) -> Placed {
    let count = bounds.len().saturating_sub(1);
    let mut demands = vec![0.0; count];
    let mut hottest = (0.0, None);
    let mut part = 0;
    for (head, &(_, start)) in heads.iter().enumerate() {
        let end = heads.get(head + 1).map_or(demand.len(), |next| next.1);
        // The first partition that ends behind the head's first key.
        while part + 1 < count && bounds[part + 1] <= start {
            part += 1;
        }
        let mut last = part;
        while last + 1 < count && bounds[last + 1] < end {
            last += 1;
        }
        let visits = (last - part + 1) as f64;
        let total_bytes: f64 = bytes[start..end].iter().sum();
        for at in part..=last {
            let (from, to) = (bounds[at].max(start), bounds[at + 1].min(end));
            if from >= to {
                continue;
            }
            let mut here: f64 = demand[from..to].iter().sum();
            for reads in prefixes {
                let share = if total_bytes > 0.0 {
                    bytes[from..to].iter().sum::<f64>() / total_bytes
                } else {
                    (to - from) as f64 / (end - start) as f64
                };
                here += reads.rates[head]
                    * if visits > 1.0 {
                        reads.visit + reads.loads * share
                    } else {
                        reads.charge
                    };
            }
            demands[at] += here;
            if here > hottest.0 {
                hottest = (here, Some(head));
            }
        }
    }
    Placed {
        demands,
        hottest: (
            hottest.0,
            hottest.1.map_or_else(String::new, |head| values.name(head)),
        ),
        stored: Vec::new(),
    }
}
