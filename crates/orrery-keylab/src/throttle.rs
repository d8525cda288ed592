//! Fluid throttling and its tail (method: section 6).

/// The share of the demand that is refused when partitions demand `demands` against the same
/// budget: what exceeds it on average, and what exceeds it by chance within single seconds when
/// requests of `charge` arrive independently.
pub fn throttled_share(demands: &[f64], budget: f64, charge: f64) -> f64 {
    refused(
        demands.iter().map(|&demand| (demand, demand * charge)),
        budget,
    )
}

/// The same where the variance of each partition's demand from second to second is known: requests
/// of many sizes, or several at once, are less even than those of the mean size.
pub fn refused(parts: impl Iterator<Item = (f64, f64)>, budget: f64) -> f64 {
    let (mut total, mut missing) = (0.0, 0.0);
    for (demand, variance) in parts {
        total += demand;
        missing += excess(demand, variance, budget);
    }
    if total > 0.0 {
        (missing / total).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// The part of a partition's demand that its budget does not cover, in expectation over seconds.
fn excess(demand: f64, variance: f64, budget: f64) -> f64 {
    let fluid = (demand - budget).max(0.0);
    let sigma = variance.sqrt();
    if sigma <= 0.0 {
        return fluid;
    }
    // The expected excess of a normal variable: never less than the fluid one.
    let z = (budget - demand) / sigma;
    let expected = sigma * (density(z) - z * upper_tail(z));
    expected.clamp(fluid, demand.max(fluid))
}

fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The probability that a standard normal variable exceeds `z`.
fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    // Zelen and Severo, error below 7.5e-8.
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    density(z) * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_methods_own() {
        // Section 6: 400 suffixes on 20 partitions, 19,500 RU/s of 6.5 against 1,500 each.
        let demand = |labels: f64| 19_500.0 * labels / 400.0;
        let mut demands = vec![demand(28.0); 2];
        demands.extend(vec![demand(344.0 / 18.0); 18]);
        let share = throttled_share(&demands, 1_500.0, 6.5);
        assert!(share > 0.0 && share < 0.001, "{share}");
    }

    #[test]
    fn full_partitions_throttle_what_exceeds() {
        let share = throttled_share(&[2_000.0, 0.0], 1_000.0, 1.0);
        assert!((share - 0.5).abs() < 1e-6);
        assert_eq!(throttled_share(&[], 10.0, 1.0), 0.0);
        assert!(throttled_share(&[500.0; 4], 1_000.0, 5.0) < 1e-9);
    }
}
