//! A small deterministic generator of values, so that a failure names its seed.

use orrery_model::value::{Number, Object, Value};

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn pick<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.below(choices.len())]
    }

    /// Numbers around every edge: zero, 2^53, 2^63, tiny, huge, and random bits.
    pub fn number(&mut self) -> Number {
        let near = |centre: i64, random: u64| centre.saturating_add((random % 2049) as i64 - 1024);
        match self.below(8) {
            0 => Number::Int(near(0, self.next())),
            1 => Number::Int(near(1 << 53, self.next())),
            2 => Number::Int(near(-(1 << 53), self.next())),
            3 => Number::Int(near(i64::MAX - 1024, self.next())),
            4 => Number::Int(near(i64::MIN + 1024, self.next())),
            5 => Number::Int(self.next() as i64),
            6 => Number::from(near(0, self.next()) as f64 / 8.0),
            _ => loop {
                let value = f64::from_bits(self.next());
                if value.is_finite() {
                    return Number::from(value);
                }
            },
        }
    }

    pub fn string(&mut self) -> String {
        const ALPHABET: [&str; 12] = [
            "a", "b", "ab", "\0", "\u{1}", "\"", "\\", "é", "€", "😀", "\u{ffff}", "/",
        ];
        (0..self.below(12)).map(|_| *self.pick(&ALPHABET)).collect()
    }

    pub fn scalar(&mut self) -> Value<'static> {
        match self.below(6) {
            0 => Value::Null,
            1 => Value::Bool(self.next() & 1 == 0),
            2 | 3 => Value::Number(self.number()),
            _ => Value::from(self.string()),
        }
    }

    pub fn value(&mut self, depth: usize) -> Value<'static> {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0..6 => self.scalar(),
            6 => Value::Array((0..self.below(5)).map(|_| self.value(depth - 1)).collect()),
            _ => self.object(depth - 1),
        }
    }

    pub fn object(&mut self, depth: usize) -> Value<'static> {
        let members = (0..self.below(6)).map(|_| (self.string(), self.value(depth)));
        Value::Object(members.collect::<Object<'static>>())
    }
}
