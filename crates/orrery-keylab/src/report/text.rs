//! Numbers and values as people read them.

use orrery_model::json;
use orrery_model::partition_key::KeyComponent;

/// A key value as JSON; undefined by that word.
pub fn key_text(component: &KeyComponent) -> String {
    match component {
        KeyComponent::Undefined => "undefined".to_owned(),
        other => json::to_string(&other.to_value()),
    }
}

/// A whole number with thousands separators, or a small one with two digits behind the point.
pub fn amount(value: f64) -> String {
    if !value.is_finite() {
        return "unlimited".to_owned();
    }
    if value.abs() < 10.0 && value.fract() != 0.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < -0.5 {
        text.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Gigabytes: whole ones from 10 on, tenths below, `<0.1` for what rounds to less.
pub fn gigabytes(value: f64) -> String {
    if value >= 9.95 {
        amount(value)
    } else if value >= 0.1 {
        format!("{value:.1}")
    } else if value >= 0.005 {
        "<0.1".to_owned()
    } else {
        "0.0".to_owned()
    }
}

/// A share as percent with one digit.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        "<0.1 %".to_owned()
    } else {
        format!("{:.1} %", share * 100.0)
    }
}

/// The beginning of a text that is longer than so many letters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most.saturating_sub(1)) {
        Some((end, letter)) if end + letter.len_utf8() < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [amount(1_234_567.4), amount(2.7549), amount(7.0)],
            ["1,234,567", "2.75", "7"]
        );
        assert_eq!(
            [
                gigabytes(440.2),
                gigabytes(0.68),
                gigabytes(0.06),
                gigabytes(0.001)
            ],
            ["440", "0.7", "<0.1", "0.0"]
        );
        assert_eq!([percent(0.123), percent(0.00001)], ["12.3 %", "<0.1 %"]);
    }
}
