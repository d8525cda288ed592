//! How sure a number is: intervals from samples (method: sections 2 and 3).

use serde::Serialize;

/// An estimate with what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Best guess.
    pub estimate: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// A number that is known.
    pub fn exact(value: f64) -> Self {
        Self {
            low: value,
            estimate: value,
            high: value,
        }
    }

    /// Times a known factor.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            estimate: self.estimate * factor,
            high: self.high * factor,
        }
    }

    /// Whether the bounds are the estimate.
    pub fn is_tight(self) -> bool {
        self.low == self.high
    }
}

/// The interval of a share of which `hits` were seen among `trials`, at confidence 1 - `delta`
/// (Clopper and Pearson).
pub fn clopper_pearson(hits: u64, trials: u64, delta: f64) -> Interval {
    if trials == 0 {
        return Interval {
            low: 0.0,
            estimate: 0.0,
            high: 1.0,
        };
    }
    let (hits_f, trials_f) = (hits as f64, trials as f64);
    let low = if hits == 0 {
        0.0
    } else {
        beta_quantile(delta / 2.0, hits_f, trials_f - hits_f + 1.0)
    };
    let high = if hits >= trials {
        1.0
    } else {
        beta_quantile(1.0 - delta / 2.0, hits_f + 1.0, trials_f - hits_f)
    };
    Interval {
        low,
        estimate: hits_f / trials_f,
        high,
    }
}

/// The quantile of a beta distribution, by bisection of its distribution function.
fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if incomplete_beta(middle, a, b) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    const TINY: f64 = 1e-300;
    let mut fraction = 1.0;
    let mut c = 1.0;
    let mut d = 0.0;
    for step in 0..400 {
        let m = f64::from(step / 2);
        let numerator = if step == 0 {
            1.0
        } else if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 + numerator * d;
        d = 1.0 / if d.abs() < TINY { TINY } else { d };
        c = 1.0 + numerator / c;
        if c.abs() < TINY {
            c = TINY;
        }
        let factor = c * d;
        fraction *= factor;
        if (1.0 - factor).abs() < 1e-12 && step > 0 {
            break;
        }
    }
    front * (fraction - 1.0)
}

/// The logarithm of the gamma function (Lanczos).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let mut denominator = x;
    let temporary = x + 5.5 - (x + 0.5) * (x + 5.5).ln();
    let mut series = 1.000_000_000_190_015;
    for coefficient in COEFFICIENTS {
        denominator += 1.0;
        series += coefficient / denominator;
    }
    (2.506_628_274_631_000_5 * series / x).ln() - temporary
}

/// How many items a sample needs, to have seen with confidence 1 - `delta` every value that holds
/// this share.
pub fn items_to_exclude(share: f64, delta: f64) -> f64 {
    if share <= 0.0 {
        f64::INFINITY
    } else {
        ((1.0 / delta).ln() / share).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clopper_pearson_is_that_of_the_tables() {
        let interval = clopper_pearson(0, 100, 0.05);
        assert!(interval.low == 0.0 && (interval.high - 0.03622).abs() < 1e-4);
        let interval = clopper_pearson(10, 100, 0.05);
        assert!((interval.low - 0.04900).abs() < 1e-4);
        assert!((interval.high - 0.17622).abs() < 1e-4);
        let interval = clopper_pearson(100, 100, 0.05);
        assert!((interval.low - 0.96378).abs() < 1e-4 && interval.high == 1.0);
    }

    #[test]
    fn samples_that_exclude_a_big_value() {
        // The method's own figures, section 3.
        assert_eq!(items_to_exclude(20.0 / 1_500.0, 0.01), 346.0);
        assert_eq!(items_to_exclude(20.0 / 100_000.0, 0.01), 23_026.0);
    }
}
