//! The SDKs' 128-bit distinct hash: it recognises equal values in DISTINCT and GROUP BY, orders
//! arrays among themselves and objects among themselves, and stands for them in continuation
//! tokens. Equal values hash alike: member order and the sign of zero do not count.

use crate::murmur::murmur3_x64_128;
use crate::value::{Number, Object, Value};

/// A 128-bit seed or hash; the low half is the first of the two Murmur halves.
type Hash = u128;

const ROOT: Hash = join(0xbfc2359eafc0e2b7, 0x8846e00284c4cf1f);
const NULL: Hash = join(0x1380f68bb3b0cfe4, 0x156c918bf564ee48);
const FALSE: Hash = join(0xc1be517fe893b40c, 0xe9fc8a4c531cd0dd);
const TRUE: Hash = join(0xf86d4abf9a412e74, 0x788488365c8a985d);
const STRING: Hash = join(0x61f53f0a44204cfb, 0x09481be8ef4b56dd);
const ARRAY: Hash = join(0xfa573b014c4dc18e, 0xa014512c858eb115);
const OBJECT: Hash = join(0x77b285ac511aef30, 0x3dcf187245822449);
const ARRAY_INDEX: Hash = join(0xfe057204216db999, 0x5b1cc3178bd9c593);
const PROPERTY_NAME: Hash = join(0xc915dde058492a8a, 0x7c8be2eba72e4634);
const NUMBER: Hash = join(0x2400e8b894ce9c2a, 0x790be1eabd7b9481);

const fn join(low: u64, high: u64) -> Hash {
    ((high as u128) << 64) | low as u128
}

/// The distinct hash of a value. `Undefined` hashes to the root seed, members and elements that
/// are `Undefined` do not count.
pub fn hash(value: &Value<'_>) -> u128 {
    seeded(value, ROOT)
}

/// The hash as bytes whose order is the order of arrays and of objects: least significant first.
pub fn order_key(value: &Value<'_>) -> [u8; 16] {
    hash(value).to_le_bytes()
}

fn seeded(value: &Value<'_>, seed: Hash) -> Hash {
    match value {
        Value::Undefined => seed,
        Value::Null => mix(NULL, seed),
        Value::Bool(false) => mix(FALSE, seed),
        Value::Bool(true) => mix(TRUE, seed),
        Value::Number(number) => mix_bytes(&number_bytes(*number), mix(NUMBER, seed)),
        Value::String(text) => mix_bytes(text.as_bytes(), mix(STRING, seed)),
        Value::Array(elements) => {
            let start = mix(ARRAY, seed);
            elements
                .iter()
                .enumerate()
                .fold(start, |hash, (index, element)| {
                    if element.is_undefined() {
                        return hash;
                    }
                    mix(
                        seeded(element, ARRAY_INDEX.wrapping_add(index as u128)),
                        hash,
                    )
                })
        }
        Value::Object(object) => hash_object(object, mix(OBJECT, seed)),
    }
}

fn hash_object(object: &Object<'_>, start: Hash) -> Hash {
    let name_seed = mix(STRING, PROPERTY_NAME);
    let mut members = 0;
    for (name, value) in object.iter().filter(|(_, value)| !value.is_undefined()) {
        members ^= seeded(value, mix_bytes(name.as_bytes(), name_seed));
    }
    if members == 0 {
        start
    } else {
        mix(members, start)
    }
}

fn mix(hash: Hash, seed: Hash) -> Hash {
    mix_bytes(&hash.to_le_bytes(), seed)
}

fn mix_bytes(bytes: &[u8], seed: Hash) -> Hash {
    let (low, high) = murmur3_x64_128(bytes, (seed as u64, (seed >> 64) as u64));
    join(low, high)
}

/// The SDKs hash a number as a double with up to ten more mantissa bits for integers that need
/// them: ten bytes, without padding.
fn number_bytes(number: Number) -> [u8; 10] {
    let (double, extra) = match number.canonical() {
        Number::Int(value) => extended_double(value),
        Number::Double(value) => (value, 0),
    };
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&double.to_bits().to_le_bytes());
    bytes[8..10].copy_from_slice(&extra.to_le_bytes());
    bytes
}

fn extended_double(value: i64) -> (f64, u16) {
    let magnitude = value.unsigned_abs();
    let top = 63_u32.saturating_sub(magnitude.leading_zeros());
    if value == i64::MIN || top <= 52 || top - magnitude.trailing_zeros() <= 52 {
        return (value as f64, 0);
    }
    // 62 bits below the leading one: 52 for the double, ten more for the extra field.
    let mantissa = (magnitude << (62 - top)) & 0x3fff_ffff_ffff_ffff;
    let extra = ((mantissa & 0x3ff) << 6) as u16;
    let sign = u64::from(value < 0) << 63;
    let exponent = (u64::from(top) + 1023) << 52;
    (f64::from_bits(sign | exponent | (mantissa >> 10)), extra)
}
