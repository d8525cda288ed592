//! Dates as HTTP writes them (`Tue, 01 Jan 2030 00:00:00 GMT`).
//!
//! Signatures cover the date in lower case and some SDKs send it so; hence the
//! reader ignores case, which the usual crates do not.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// Reads an RFC 1123 date of the years 1970 to 9999.
pub fn parse(text: &str) -> Option<SystemTime> {
    parse_from(text, 1970)
}

/// Reads the start of a change feed: a date before 1970, such as .NET's least one, is its
/// beginning.
pub fn parse_start(text: &str) -> Option<SystemTime> {
    parse_from(text, 1)
}

fn parse_from(text: &str, first_year: u64) -> Option<SystemTime> {
    let mut bytes: [u8; 29] = text.trim().as_bytes().try_into().ok()?;
    bytes.make_ascii_lowercase();
    let separators = [
        (3, b','),
        (4, b' '),
        (7, b' '),
        (11, b' '),
        (16, b' '),
        (19, b':'),
        (22, b':'),
    ];
    if !separators.iter().all(|&(at, byte)| bytes[at] == byte) || &bytes[25..] != b" gmt" {
        return None;
    }
    let number = |from: usize, to: usize| {
        bytes[from..to].iter().try_fold(0u64, |value, byte| {
            byte.is_ascii_digit()
                .then(|| value * 10 + u64::from(byte - b'0'))
        })
    };
    let month = 1 + MONTHS.iter().position(|month| month[..] == bytes[8..11])? as u64;
    let (day, year) = (number(5, 7)?, number(12, 16)?);
    let (hour, minute, second) = (number(17, 19)?, number(20, 22)?, number(23, 25)?);
    let valid =
        (1..=31).contains(&day) && year >= first_year && hour < 24 && minute < 60 && second <= 60;
    if !valid {
        return None;
    }
    if year < 1970 {
        return Some(UNIX_EPOCH);
    }
    let seconds = days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Writes an RFC 1123 date.
pub fn format(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counting years from
/// March so that the leap day comes last.
fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).saturating_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_in_any_case() {
        for seconds in [
            0,
            86_399,
            951_782_400,
            1_709_164_800,
            4_102_444_800,
            253_402_300_799,
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            let text = format(time);
            assert_eq!(parse(&text), Some(time), "{text}");
            assert_eq!(parse(&text.to_lowercase()), Some(time), "{text}");
        }
    }

    #[test]
    fn a_feed_may_start_before_there_were_seconds() {
        let least = "Mon, 01 Jan 0001 00:00:00 GMT";
        assert_eq!(parse_start(least), Some(UNIX_EPOCH));
        assert_eq!(parse(least), None);
        assert_eq!(parse_start("Mon, 01 Jan 0000 00:00:00 GMT"), None);
        let later = "Tue, 01 Jan 2030 00:00:00 GMT";
        assert_eq!(parse_start(later), parse(later));
    }

    #[test]
    fn refuses_what_is_no_date() {
        for text in [
            "",
            "now",
            "Tue, 01 Jan 2030 00:00:00",
            "Tue, 41 Jan 2030 00:00:00 GMT",
            "Tue, 01 Foo 2030 00:00:00 GMT",
            "2030-01-01T00:00:00Z",
            "Tue, 01 Jan 1930 00:00:00 GMT",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
