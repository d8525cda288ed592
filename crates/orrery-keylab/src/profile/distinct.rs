//! Counting distinct values in little memory: HyperLogLog (Flajolet et al. 2007; the corrections of
//! Heule et al. 2013 are replaced by Ertl's estimator, which needs no tables).

/// Bits of the hash that choose a register: a standard error of 0.8 %.
const BITS: u32 = 14;
const REGISTERS: usize = 1 << BITS;
/// Bits that are left for the rank.
const RANK_BITS: u32 = 64 - BITS;

/// A sketch of distinct values.
#[derive(Debug, Clone, Default)]
pub struct Distinct {
    /// Absent until the first value.
    registers: Option<Box<[u8; REGISTERS]>>,
}

impl Distinct {
    /// Adds a well-mixed hash.
    pub fn add(&mut self, hash: u64) {
        let registers = self
            .registers
            .get_or_insert_with(|| Box::new([0; REGISTERS]));
        let register = &mut registers[(hash >> RANK_BITS) as usize];
        let rank = ((hash << BITS).leading_zeros().min(RANK_BITS) + 1) as u8;
        if rank > *register {
            *register = rank;
        }
    }

    /// Adds what another sketch has seen; exact.
    pub fn merge(&mut self, other: &Self) {
        let Some(other) = &other.registers else {
            return;
        };
        match &mut self.registers {
            None => self.registers = Some(other.clone()),
            Some(registers) => {
                for (register, other) in registers.iter_mut().zip(other.iter()) {
                    *register = (*register).max(*other);
                }
            }
        }
    }

    /// About how many.
    pub fn estimate(&self) -> f64 {
        let Some(registers) = &self.registers else {
            return 0.0;
        };
        let mut counts = [0_u32; RANK_BITS as usize + 2];
        for register in registers.iter() {
            counts[usize::from(*register)] += 1;
        }
        let m = REGISTERS as f64;
        let last = RANK_BITS as usize + 1;
        let mut z = m * tau(1.0 - f64::from(counts[last]) / m);
        for count in counts[1..last].iter().rev() {
            z = 0.5 * (z + f64::from(*count));
        }
        z += m * sigma(f64::from(counts[0]) / m);
        m * m / (2.0 * std::f64::consts::LN_2 * z)
    }
}

/// Ertl's sigma: the part of the registers that are empty.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    for _ in 0..64 {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            break;
        }
    }
    z
}

/// Ertl's tau: the part of the registers that are full.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    for _ in 0..64 {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z == before {
            break;
        }
    }
    z / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_format::mix;

    #[test]
    fn estimates_are_within_three_standard_errors() {
        for count in [0_u64, 1, 20, 5_000, 100_000, 1_000_000] {
            let mut sketch = Distinct::default();
            for number in 0..count {
                sketch.add(mix(number));
                sketch.add(mix(number));
            }
            let off = (sketch.estimate() - count as f64).abs();
            assert!(
                off <= 0.5 + 0.0245 * count as f64,
                "{count}: {}",
                sketch.estimate()
            );
        }
    }

    #[test]
    fn unions_are_exact() {
        let (mut left, mut right, mut both) = Default::default();
        for number in 0..30_000_u64 {
            let side: &mut Distinct = if number % 3 == 0 {
                &mut left
            } else {
                &mut right
            };
            side.add(mix(number));
            Distinct::add(&mut both, mix(number));
        }
        left.merge(&right);
        assert_eq!(left.estimate(), both.estimate());
    }
}
