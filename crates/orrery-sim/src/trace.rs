//! What happened, line by line, as a hash: two runs are equal if their hashes are.

use std::fmt;

/// FNV-1a over 128 bits.
const START: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;

/// See the module.
pub struct Trace {
    hash: u128,
    lines: u64,
    /// The lines themselves, where somebody wants them.
    kept: Option<Vec<String>>,
}

impl Trace {
    /// An empty trace; `keep` remembers the lines too.
    pub fn new(keep: bool) -> Self {
        Self {
            hash: START,
            lines: 0,
            kept: keep.then(Vec::new),
        }
    }

    /// Adds a line.
    pub fn line(&mut self, line: String) {
        for byte in line.bytes().chain([b'\n']) {
            self.hash = (self.hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
        self.lines += 1;
        if let Some(kept) = &mut self.kept {
            kept.push(line);
        }
    }

    /// How many lines there are.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The lines, where they were kept.
    pub fn kept(&self) -> &[String] {
        self.kept.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.hash)
    }
}
