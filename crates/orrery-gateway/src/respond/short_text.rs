//! Header values that are short and made for each response.

use std::fmt::{self, Write as _};

use http::HeaderValue;

/// Numbers, session tokens and charges fit.
const ROOM: usize = 96;

/// A header value of a formatted text: composed on the stack, so that it costs one allocation of
/// its own size. `None` for a text that no header can carry.
pub(super) fn short_text(text: fmt::Arguments<'_>) -> Option<HeaderValue> {
    let mut composed = Composed {
        bytes: [0; ROOM],
        length: 0,
    };
    match composed.write_fmt(text) {
        Ok(()) => HeaderValue::from_bytes(&composed.bytes[..composed.length]).ok(),
        Err(fmt::Error) => HeaderValue::from_maybe_shared(text.to_string()).ok(),
    }
}

struct Composed {
    bytes: [u8; ROOM],
    length: usize,
}

impl fmt::Write for Composed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_become_values() {
        for length in [0, 1, ROOM - 1, ROOM, ROOM + 1, 1000] {
            let text = "x".repeat(length);
            let value = short_text(format_args!("{}{text}", 7)).expect("ASCII");
            assert_eq!(value.as_bytes(), format!("7{text}").as_bytes());
        }
        assert!(short_text(format_args!("a\nb")).is_none());
    }
}
