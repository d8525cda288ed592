//! DATETIMEFORMAT: the specifiers of .NET custom formats that depend on no culture.

use super::moment::Moment;
use std::fmt::Write as _;

/// Writes the moment. Characters that are no specifier stand for themselves, as does any
/// character after a backslash.
pub(super) fn format(moment: Moment, pattern: &str) -> String {
    let [year, month, day, hour, minute, second, fraction] = moment.parts();
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        if letter == '\\' {
            let mut letters = rest.chars();
            letters.next();
            if let Some(literal) = letters.next() {
                out.push(literal);
            }
            rest = letters.as_str();
            continue;
        }
        let after = rest.trim_start_matches(letter);
        let count = (rest.len() - after.len()) / letter.len_utf8();
        let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
        match letter {
            'y' if count <= 2 => number(&mut out, year % 100, count),
            'y' => number(&mut out, year, count),
            'M' if count <= 2 => number(&mut out, month, count),
            'd' if count <= 2 => number(&mut out, day, count),
            'H' => number(&mut out, hour, count.min(2)),
            'h' => number(&mut out, twelve, count.min(2)),
            'm' => number(&mut out, minute, count.min(2)),
            's' => number(&mut out, second, count.min(2)),
            'f' | 'F' if count <= 7 => {
                let digits = format!("{fraction:07}");
                let kept = digits.get(..count).unwrap_or_default();
                out.push_str(if letter == 'F' {
                    kept.trim_end_matches('0')
                } else {
                    kept
                });
            }
            't' => out.push_str(
                ["AM", "PM"][usize::from(hour >= 12)]
                    .get(..count.min(2))
                    .unwrap_or_default(),
            ),
            other => out.extend(std::iter::repeat_n(other, count)),
        }
        rest = after;
    }
    out
}

fn number(out: &mut String, value: i64, width: usize) {
    // Writing to a `String` cannot fail; a silly width is cut.
    let _ = write!(out, "{value:0width$}", width = width.min(16));
}

#[cfg(test)]
mod tests {
    use super::super::moment::parse;
    use super::format;

    #[test]
    fn documented_formats() {
        let moment = parse("2024-10-10 14:40:20").expect("a moment");
        assert_eq!(format(moment, "yyyyMMdd"), "20241010");
        assert_eq!(
            format(moment, "yyyy-MM-dd [HH:mm:ss]"),
            "2024-10-10 [14:40:20]"
        );
        assert_eq!(
            format(moment, "To\\da\\y i\\s: yyyy-MM-ddTHH:mm:ss.fff"),
            "Today is: 2024-10-10T14:40:20.000"
        );
        assert_eq!(format(moment, "ss.FFF"), "20.");
        assert_eq!(format(moment, "é\\"), "é");
    }
}
