//! Header values that are short and made for each response: numbers, session tokens, charges.

use bytes::Bytes;
use http::HeaderValue;
use orrery_model::charge::Charge;

/// Three numbers of 20 digits and what stands between them.
const ROOM: usize = 64;

/// A text in the making, on the stack: as a header value it costs one allocation of its own
/// size. What finds no room is left out.
pub(super) struct ShortText {
    bytes: [u8; ROOM],
    length: usize,
}

impl ShortText {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            bytes: [0; ROOM],
            length: 0,
        }
    }

    /// Adds visible ASCII.
    pub fn text(mut self, text: &str) -> Self {
        let end = self.length + text.len();
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(text.as_bytes());
            self.length = end;
        }
        self
    }

    /// Adds a number.
    pub fn number(self, mut number: u64) -> Self {
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.text(std::str::from_utf8(&digits[start..]).unwrap_or_default())
    }

    /// Adds a charge, with at most two decimals.
    pub fn charge(self, charge: Charge) -> Self {
        let Some(hundredths) = charge.hundredths() else {
            return self.text(&charge.to_string());
        };
        let (tenths, rest) = (hundredths / 10 % 10, hundredths % 10);
        let whole = self.number(hundredths / 100);
        match (tenths, rest) {
            (0, 0) => whole,
            (tenths, 0) => whole.text(".").number(tenths),
            (tenths, rest) => whole.text(".").number(tenths).number(rest),
        }
    }

    /// How long it is so far.
    pub fn len(&self) -> usize {
        self.length
    }

    /// As bytes that can be shared.
    pub fn bytes(&self) -> Bytes {
        Bytes::copy_from_slice(&self.bytes[..self.length])
    }

    /// As a header value.
    pub fn value(&self) -> HeaderValue {
        HeaderValue::from_bytes(&self.bytes[..self.length]).unwrap_or(HeaderValue::from_static(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_whole() {
        for number in [0, 7, 10, 4_096, u64::MAX] {
            let value = ShortText::new().number(number).value();
            assert_eq!(value.as_bytes(), number.to_string().as_bytes());
        }
        let token = ShortText::new().number(12).text(":-1#").number(345).value();
        assert_eq!(token.as_bytes(), b"12:-1#345");
    }

    #[test]
    fn charges_look_as_elsewhere() {
        for charge in [
            0.0, 1.0, 1.04, 2.5, 2.83, 10.1, 1234.567, 0.005, 1e300, -1.0,
        ] {
            let charge = Charge(charge);
            let value = ShortText::new().charge(charge).value();
            let expected = charge.to_string();
            if expected.len() <= ROOM {
                assert_eq!(value.as_bytes(), expected.as_bytes());
            } else {
                assert_eq!(value.as_bytes(), b"");
            }
        }
    }
}
