//! Bytes of key components: what is hashed, and the ordered form of version 1 (protocol: 6.2).

use super::KeyComponent;

/// Longest string, in UTF-8 bytes, that the version-1 form ends with a terminator.
const MAX_TERMINATED_BYTES: usize = 100;
/// UTF-16 units of a string that version 1 looks at. The .NET SDK cuts characters, the Rust SDK
/// bytes; the published vectors with Cyrillic text agree with .NET.
const V1_UNITS: usize = 100;

const NUMBER: u8 = 0x05;
const STRING: u8 = 0x08;

fn marker(component: &KeyComponent) -> u8 {
    match component {
        KeyComponent::Undefined => 0x00,
        KeyComponent::Null => 0x01,
        KeyComponent::Bool(false) => 0x02,
        KeyComponent::Bool(true) => 0x03,
        KeyComponent::MinNumber => 0x04,
        KeyComponent::Number(_) => NUMBER,
        KeyComponent::MaxNumber => 0x06,
        KeyComponent::MinString => 0x07,
        KeyComponent::String(_) => STRING,
        KeyComponent::MaxString => 0x09,
        KeyComponent::Infinity => 0xff,
    }
}

fn write_hashed(component: &KeyComponent, terminator: u8, out: &mut Vec<u8>) {
    out.push(marker(component));
    match component {
        KeyComponent::Number(value) => out.extend_from_slice(&value.to_le_bytes()),
        KeyComponent::String(text) => {
            out.extend_from_slice(text.as_bytes());
            out.push(terminator);
        }
        _ => {}
    }
}

/// Appends what version 2 hashes.
pub fn write_hashed_v2(component: &KeyComponent, out: &mut Vec<u8>) {
    write_hashed(component, 0xff, out);
}

/// Appends what version 1 hashes; strings must have been [`truncated_v1`].
pub fn write_hashed_v1(component: &KeyComponent, out: &mut Vec<u8>) {
    write_hashed(component, 0x00, out);
}

/// The component as version 1 sees it: strings end after 100 UTF-16 units.
pub fn truncated_v1(component: &KeyComponent) -> KeyComponent {
    let KeyComponent::String(text) = component else {
        return component.clone();
    };
    let mut units = 0;
    for (at, char) in text.char_indices() {
        let next = units + char.len_utf16();
        if next > V1_UNITS {
            let mut cut = text[..at].to_owned();
            if units < V1_UNITS {
                // Half a surrogate pair is left, which .NET writes as a replacement character.
                cut.push(char::REPLACEMENT_CHARACTER);
            }
            return KeyComponent::String(cut);
        }
        units = next;
    }
    component.clone()
}

/// Appends the ordered form of version 1, also the whole key of kind Range.
pub fn write_ordered(component: &KeyComponent, out: &mut Vec<u8>) {
    match component {
        KeyComponent::Number(value) => write_number(*value, out),
        KeyComponent::String(text) => {
            out.push(STRING);
            let bytes = text.as_bytes();
            // UTF-8 has no byte 0xFF, so adding one cannot overflow.
            let shifted = bytes
                .iter()
                .take(MAX_TERMINATED_BYTES + 1)
                .map(|byte| byte + 1);
            out.extend(shifted);
            if bytes.len() <= MAX_TERMINATED_BYTES {
                out.push(0x00);
            }
        }
        other => out.push(marker(other)),
    }
}

/// Appends a number in the ordered form: eight bits, then groups of seven with a continuation
/// bit, as many as have bits set.
pub fn write_number(value: f64, out: &mut Vec<u8>) {
    out.push(NUMBER);
    let mut rest = ordered_bits(value);
    out.push((rest >> 56) as u8);
    rest <<= 8;
    loop {
        let group = (rest >> 56) as u8 & 0xfe;
        rest <<= 7;
        if rest == 0 {
            out.push(group);
            return;
        }
        out.push(group | 1);
    }
}

/// Reads a number in the ordered form at the start of the bytes.
pub fn read_number(bytes: &[u8]) -> Option<f64> {
    let [NUMBER, top, groups @ ..] = bytes else {
        return None;
    };
    let mut bits = u64::from(*top) << 56;
    let mut shift = 49_u32;
    for &group in groups {
        let group_bits = u64::from(group >> 1);
        bits |= group_bits.checked_shl(shift).unwrap_or(0);
        if group & 1 == 0 {
            break;
        }
        // The eighth group has only its top bits inside the word.
        if shift == 0 {
            break;
        }
        shift = shift.saturating_sub(7);
    }
    Some(from_ordered_bits(bits))
}

fn ordered_bits(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits < 1 << 63 {
        bits ^ (1 << 63)
    } else {
        (!bits).wrapping_add(1)
    }
}

fn from_ordered_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >= 1 << 63 {
        bits ^ (1 << 63)
    } else {
        !bits.wrapping_sub(1)
    })
}
