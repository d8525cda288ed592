//! A latency histogram with logarithmic buckets: constant memory, relative error under 0.8 %.

/// Sub-buckets in every power of two, as a power of two.
const PRECISION: u32 = 7;
const SUB: usize = 1 << PRECISION;
/// 2^42 ns is over an hour; longer ones count as that.
const LARGEST: u64 = 1 << 42;
const BUCKETS: usize = (42 - PRECISION as usize + 1) * SUB + 1;

/// Counts of latencies in nanoseconds.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            total: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Histogram {
    /// Counts one latency.
    pub fn record(&mut self, nanoseconds: u64) {
        self.counts[bucket(nanoseconds)] += 1;
        self.total += 1;
        self.sum += u128::from(nanoseconds);
        self.min = self.min.min(nanoseconds);
        self.max = self.max.max(nanoseconds);
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many were counted.
    pub fn len(&self) -> u64 {
        self.total
    }

    /// The mean, zero of nothing.
    pub fn mean(&self) -> u64 {
        if self.total == 0 {
            0
        } else {
            (self.sum / u128::from(self.total)) as u64
        }
    }

    /// The latency that a share of the counts does not exceed: `quantile(0.99)`.
    pub fn quantile(&self, share: f64) -> u64 {
        if self.total == 0 {
            return 0;
        }
        let rank = ((share * self.total as f64).ceil() as u64).clamp(1, self.total);
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper(at).clamp(self.min, self.max);
            }
        }
        self.max
    }
}

/// Values under 2·SUB have a bucket each; beyond, the top PRECISION + 1 bits choose.
fn bucket(value: u64) -> usize {
    let value = value.min(LARGEST);
    if value < SUB as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - PRECISION;
    (shift as usize) * SUB + (value >> shift) as usize
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    if bucket < 2 * SUB {
        return bucket as u64;
    }
    let shift = bucket / SUB - 1;
    let top = (bucket % SUB + SUB) as u64;
    ((top + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_within_the_error() {
        let mut value = 1_u64;
        while value < LARGEST {
            for near in [value - 1, value, value + 1] {
                let high = upper(bucket(near));
                assert!(
                    high >= near && (high - near) as f64 <= near as f64 / 127.0,
                    "{near} {high}"
                );
            }
            value = value * 17 / 16 + 1;
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_of_a_known_series() {
        let mut histogram = Histogram::default();
        let mut other = Histogram::default();
        for value in 1..=1000_u64 {
            if value % 2 == 0 {
                &mut histogram
            } else {
                &mut other
            }
            .record(value * 1000);
        }
        histogram.merge(&other);
        assert_eq!((histogram.len(), histogram.mean()), (1000, 500_500));
        for (share, wanted) in [(0.5, 500_000_f64), (0.99, 990_000.0), (1.0, 1_000_000.0)] {
            let got = histogram.quantile(share) as f64;
            assert!((got - wanted).abs() <= wanted / 100.0, "{share}: {got}");
        }
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }
}
