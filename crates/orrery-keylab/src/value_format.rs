//! Strings made from a number, as `CUST{:07d}`.

use std::fmt::Write as _;

/// A format with at most one place for the number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueFormat {
    before: String,
    number: Option<NumberStyle>,
    after: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberStyle {
    Decimal(usize),
    Hexadecimal(usize),
    /// 32 hexadecimal digits that look random.
    Mixed,
}

/// A bijection that scatters consecutive numbers (the finaliser of SplitMix64).
pub fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl ValueFormat {
    /// Reads a format; the error says what is understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("'{text}' is no format: write text with {{}}, {{:07d}}, {{:032x}} or {{hex32}}")
        };
        let Some((before, rest)) = text.split_once('{') else {
            return Ok(Self {
                before: text.to_owned(),
                number: None,
                after: String::new(),
            });
        };
        let (style, after) = rest.split_once('}').ok_or_else(wrong)?;
        if after.contains('{') {
            return Err(wrong());
        }
        let number = match style {
            "" => NumberStyle::Decimal(0),
            "hex32" => NumberStyle::Mixed,
            _ => {
                let style = style.strip_prefix(':').ok_or_else(wrong)?;
                let width = |digits: &str| {
                    digits
                        .parse::<usize>()
                        .ok()
                        .filter(|&width| width <= 64)
                        .ok_or_else(wrong)
                };
                match (style.strip_suffix('d'), style.strip_suffix('x')) {
                    (Some(digits), _) => NumberStyle::Decimal(width(digits)?),
                    (_, Some(digits)) => NumberStyle::Hexadecimal(width(digits)?),
                    _ => return Err(wrong()),
                }
            }
        };
        Ok(Self {
            before: before.to_owned(),
            number: Some(number),
            after: after.to_owned(),
        })
    }

    /// The value of a number.
    pub fn value(&self, number: u64) -> String {
        let mut text = String::with_capacity(self.before.len() + self.after.len() + 16);
        text.push_str(&self.before);
        // Writing to a string cannot fail.
        let _ = match self.number {
            None => Ok(()),
            Some(NumberStyle::Decimal(width)) => write!(text, "{number:0width$}"),
            Some(NumberStyle::Hexadecimal(width)) => write!(text, "{number:0width$x}"),
            Some(NumberStyle::Mixed) => {
                write!(text, "{:016x}{:016x}", mix(number), mix(!number))
            }
        };
        text.push_str(&self.after);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_pad_and_mix() {
        let value = |format: &str, number| ValueFormat::parse(format).map(|f| f.value(number));
        assert_eq!(value("CUST{:07d}", 42), Ok("CUST0000042".to_owned()));
        assert_eq!(value("a{}z", 7), Ok("a7z".to_owned()));
        assert_eq!(value("{:04x}", 255), Ok("00ff".to_owned()));
        assert_eq!(value("plain", 1), Ok("plain".to_owned()));
        let ids = [0, 1].map(|number| value("{hex32}", number).expect("format"));
        assert!(ids[0] != ids[1] && ids.iter().all(|id| id.len() == 32));
        assert!(value("{:7}", 1).is_err() && value("{", 1).is_err() && value("{}{}", 1).is_err());
    }
}
