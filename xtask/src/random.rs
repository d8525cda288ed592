//! Small reproducible random numbers (SplitMix64), so that a printed seed repeats a run.

/// A generator; equal seeds give equal sequences.
pub struct Random(u64);

impl Random {
    /// A generator for one seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator for a part of a run, independent of its siblings.
    pub fn part(seed: u64, part: u64) -> Self {
        let mut random = Self(seed ^ part.wrapping_mul(0xA24B_AED4_963E_E407));
        random.next();
        random
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
