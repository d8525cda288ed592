//! Time and randomness of a simulation.

use std::sync::atomic::{AtomicU64, Ordering};

use orrery_engine::{Clock, Entropy};

/// A clock that stands until it is moved.
pub struct VirtualClock(AtomicU64);

impl VirtualClock {
    /// A clock at this second.
    pub fn at(second: u64) -> Self {
        Self(AtomicU64::new(second * 1_000_000))
    }

    /// Moves it on.
    pub fn advance_us(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// SplitMix64: equal seeds give equal sequences.
pub struct Random(AtomicU64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The next 64 bits.
    pub fn bits(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut bits = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&self, bound: u64) -> u64 {
        self.bits() % bound.max(1)
    }

    /// Whether one of `n` times it happens.
    pub fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }
}

impl Entropy for Random {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let bits = self.bits().to_le_bytes();
            for (to, from) in chunk.iter_mut().zip(bits) {
                *to = from;
            }
        }
    }
}
