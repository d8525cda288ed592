//! The type of a column and the JSON text of a cell.

use std::fmt;

/// Integers beyond this are not all doubles (2^53).
const MAX_EXACT: u64 = 1 << 53;

/// What the cells of a column become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// JSON strings.
    String,
    /// JSON numbers.
    Number,
    /// JSON booleans.
    Boolean,
    /// The cell is JSON text itself.
    Json,
}

impl std::str::FromStr for ColumnType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "string" => Ok(Self::String),
            "number" => Ok(Self::Number),
            "boolean" | "bool" => Ok(Self::Boolean),
            "json" => Ok(Self::Json),
            other => Err(format!(
                "`{other}` is no type; there are string, number, boolean, json"
            )),
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Json => "json",
        })
    }
}

/// The narrowest type that holds all cells.
pub fn infer<'a>(cells: impl Iterator<Item = &'a str>) -> ColumnType {
    let (mut any, mut numbers, mut booleans) = (false, true, true);
    for text in cells {
        any = true;
        numbers = numbers && is_plain_number(text);
        booleans = booleans && matches!(text, "true" | "false");
        if !numbers && !booleans {
            break;
        }
    }
    match (any, numbers, booleans) {
        (true, true, _) => ColumnType::Number,
        (true, _, true) => ColumnType::Boolean,
        _ => ColumnType::String,
    }
}

/// The only text that keeps cells from being all numbers, where most of them are.
pub fn odd_one<'a>(cells: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (mut odd, mut odd_ones, mut numbers) = (None, 0_usize, 0_usize);
    for text in cells {
        if is_plain_number(text) {
            numbers += 1;
        } else if odd.is_none_or(|odd| odd == text) {
            odd = Some(text);
            odd_ones += 1;
        } else {
            return None;
        }
    }
    odd.filter(|_| numbers > odd_ones)
}

/// Writes a cell as its column's type; false (and nothing written) when it does not fit.
pub fn write(kind: ColumnType, text: &str, body: &mut Vec<u8>) -> bool {
    match kind {
        ColumnType::String => serde_json::to_writer(body, text).is_ok(),
        ColumnType::Boolean if matches!(text, "true" | "false") => {
            body.extend_from_slice(text.as_bytes());
            true
        }
        ColumnType::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "1" => write(kind, "true", body),
            "false" | "f" | "no" | "0" => write(kind, "false", body),
            _ => false,
        },
        ColumnType::Number if is_plain_number(text) => {
            body.extend_from_slice(text.as_bytes());
            true
        }
        ColumnType::Number => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => serde_json::to_writer(body, &number).is_ok(),
            _ => false,
        },
        ColumnType::Json if orrery_model::json::parse(text.as_bytes()).is_ok() => {
            body.extend_from_slice(text.as_bytes());
            true
        }
        ColumnType::Json => false,
    }
}

/// Whether a text is a number as JSON writes it and no digit of an integer would be lost.
fn is_plain_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        ),
        None => (unsigned, None),
    };
    let (integer, fraction) = match mantissa.split_once('.') {
        Some((integer, fraction)) => (integer, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = digits(integer)
        && (integer.len() == 1 || !integer.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits);
    let exact = exponent.is_some()
        || integer
            .parse::<u64>()
            .is_ok_and(|number| number <= MAX_EXACT);
    plain && exact && text.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_survives_as_a_double_is_a_number() {
        for text in ["0", "-1", "1.50", "9007199254740992", "1e5", "2.5E-3"] {
            assert!(is_plain_number(text), "{text}");
        }
        for text in [
            "",
            "-",
            "01",
            "+1",
            ".5",
            "5.",
            "1e",
            "9007199254740993",
            "1e999",
            "NaN",
            "0x10",
            "1_000",
        ] {
            assert!(!is_plain_number(text), "{text}");
        }
    }

    #[test]
    fn told_types_read_what_people_write() {
        let mut body = Vec::new();
        assert!(write(ColumnType::Number, ".5", &mut body));
        assert!(write(ColumnType::Boolean, "Yes", &mut body));
        assert!(write(ColumnType::Json, "[1]", &mut body));
        assert_eq!(body, b"0.5true[1]");
        assert!(!write(ColumnType::Number, "inf", &mut body));
        assert!(!write(ColumnType::Json, "[1", &mut body));
        assert!(!write(ColumnType::Boolean, "maybe", &mut body));
        assert_eq!(body, b"0.5true[1]");
    }

    #[test]
    fn a_column_without_cells_is_a_string() {
        assert_eq!(infer(std::iter::empty()), ColumnType::String);
        assert_eq!(infer(["1", "x"].into_iter()), ColumnType::String);
        assert_eq!(infer(["true", "false"].into_iter()), ColumnType::Boolean);
    }
}
