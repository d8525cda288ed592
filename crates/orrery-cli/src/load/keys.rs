//! Which keys a load asks for: uniform, Zipf or one hot key, from a seeded generator, so that a
//! run can be repeated.

use clap::ValueEnum;

/// The distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// Every key alike.
    Uniform,
    /// Few keys get most requests (exponent --zipf, scattered over the key space).
    Zipf,
    /// One key gets the --hot share of the requests, the others are alike.
    Hot,
}

/// A small, fast, seeded generator (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal series.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number in [0, 1).
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number in [0, bound); 0 for an empty interval.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

fn mix(seed: u64) -> u64 {
    let mut bits = seed;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Draws keys from [0, count).
#[derive(Debug, Clone)]
pub struct Keys {
    count: u64,
    draw: Draw,
}

#[derive(Debug, Clone)]
enum Draw {
    Uniform,
    Hot { share: f64 },
    Zipf(Zipf),
}

/// The constants of Gray et al., "Quickly generating billion-record synthetic databases".
#[derive(Debug, Clone)]
struct Zipf {
    zeta: f64,
    alpha: f64,
    eta: f64,
    second: f64,
}

impl Keys {
    /// Keys of a distribution; `zipf` is its exponent in (0, 1), `hot` the hot key's share.
    pub fn new(distribution: Distribution, count: u64, zipf: f64, hot: f64) -> Self {
        let count = count.max(1);
        let draw = match distribution {
            Distribution::Uniform => Draw::Uniform,
            Distribution::Hot => Draw::Hot {
                share: hot.clamp(0.0, 1.0),
            },
            Distribution::Zipf => Draw::Zipf(Zipf::new(count, zipf)),
        };
        Self { count, draw }
    }

    /// The next key.
    pub fn next(&self, random: &mut Random) -> u64 {
        match &self.draw {
            Draw::Uniform => random.below(self.count),
            Draw::Hot { share } if random.fraction() < *share => 0,
            Draw::Hot { .. } => random.below(self.count),
            // Ranks are scattered so that neighbours in rank are none in the key space.
            Draw::Zipf(zipf) => mix(zipf.rank(self.count, random)) % self.count,
        }
    }
}

impl Zipf {
    fn new(count: u64, theta: f64) -> Self {
        let theta = theta.clamp(0.01, 0.9999);
        let zeta = zeta(count, theta);
        let alpha = 1.0 / (1.0 - theta);
        let eta =
            (1.0 - (2.0 / count as f64).powf(1.0 - theta)) / (1.0 - zeta_of_two(theta) / zeta);
        Self {
            zeta,
            alpha,
            eta,
            second: 0.5_f64.powf(theta),
        }
    }

    fn rank(&self, count: u64, random: &mut Random) -> u64 {
        let fraction = random.fraction();
        let scaled = fraction * self.zeta;
        if count == 1 || scaled < 1.0 {
            return 0;
        }
        if count == 2 || scaled < 1.0 + self.second {
            return 1;
        }
        let rank = count as f64 * (self.eta * fraction - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(count - 1)
    }
}

fn zeta_of_two(theta: f64) -> f64 {
    1.0 + 0.5_f64.powf(theta)
}

/// The generalised harmonic number; beyond the first million terms by its integral.
fn zeta(count: u64, theta: f64) -> f64 {
    let exact = count.min(1_000_000);
    let sum: f64 = (1..=exact)
        .map(|term| 1.0 / (term as f64).powf(theta))
        .sum();
    let power = 1.0 - theta;
    sum + ((count as f64).powf(power) - (exact as f64).powf(power)) / power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top_share(keys: &Keys) -> f64 {
        let mut random = Random::new(7);
        let mut counts = vec![0_u64; 1000];
        for _ in 0..100_000 {
            counts[keys.next(&mut random) as usize] += 1;
        }
        *counts.iter().max().unwrap() as f64 / 100_000.0
    }

    #[test]
    fn distributions_have_their_shape() {
        assert!(top_share(&Keys::new(Distribution::Uniform, 1000, 0.99, 0.9)) < 0.002);
        let zipf = top_share(&Keys::new(Distribution::Zipf, 1000, 0.99, 0.9));
        // 1 / zeta(1000, 0.99) is 0.129.
        assert!((0.11..0.15).contains(&zipf), "{zipf}");
        let hot = top_share(&Keys::new(Distribution::Hot, 1000, 0.99, 0.9));
        assert!((0.88..0.92).contains(&hot), "{hot}");
    }

    #[test]
    fn equal_seeds_give_equal_series_and_small_counts_work() {
        let series = |seed| {
            let mut random = Random::new(seed);
            let keys = Keys::new(Distribution::Zipf, 50, 0.8, 0.0);
            (0..20).map(|_| keys.next(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(series(1), series(1));
        assert_ne!(series(1), series(2));
        for count in [0, 1, 2, 3] {
            let keys = Keys::new(Distribution::Zipf, count, 0.99, 0.5);
            assert!(keys.next(&mut Random::new(3)) < count.max(1));
        }
    }
}
