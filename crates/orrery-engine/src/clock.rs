//! Time and randomness, handed in: the same inputs, seed and clock give the same outputs.

/// The engine's only source of time.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01 UTC. May stand still or step; the engine never lets the
    /// time stamps of one partition go backwards.
    fn now_us(&self) -> u64;

    /// Milliseconds since 1970-01-01 UTC.
    fn now_ms(&self) -> u64 {
        self.now_us() / 1_000
    }

    /// Whole seconds since 1970-01-01 UTC, the unit of `_ts` and of time to live.
    fn now_seconds(&self) -> u64 {
        self.now_us() / 1_000_000
    }
}

/// The engine's only source of randomness.
pub trait Entropy: Send + Sync {
    /// Fills `bytes` with unpredictable (or, in tests, seeded) bytes.
    fn fill(&self, bytes: &mut [u8]);

    /// Eight random bytes as a number.
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}
