//! Moments of the proleptic Gregorian calendar, years 1 to 9999.

use std::fmt::Write as _;

pub(crate) const SECOND: i64 = 10_000_000;
pub(crate) const MILLISECOND: i64 = 10_000;
const MICROSECOND: i64 = 10;
const DAY: i64 = 86_400 * SECOND;
/// 0001-01-01T00:00:00Z.
const FIRST: i64 = -62_135_596_800 * SECOND;
/// The first moment of year 10000.
const END: i64 = 253_402_300_800 * SECOND;

/// Ticks since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) i64);

/// A part of date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl Part {
    /// The part of any of its names.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        const NAMES: [(Part, &[&str]); 9] = [
            (Part::Year, &["year", "yyyy", "yy"]),
            (Part::Month, &["month", "mm", "m"]),
            (Part::Day, &["day", "dd", "d"]),
            (Part::Hour, &["hour", "hh"]),
            (Part::Minute, &["minute", "mi", "n"]),
            (Part::Second, &["second", "ss", "s"]),
            (Part::Millisecond, &["millisecond", "ms"]),
            (Part::Microsecond, &["microsecond", "mcs"]),
            (Part::Nanosecond, &["nanosecond", "ns"]),
        ];
        NAMES
            .iter()
            .find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
            .map(|(part, _)| *part)
    }

    /// Ticks of a part of fixed length; nanoseconds are hundredths of a tick.
    fn ticks(self) -> Option<i64> {
        Some(match self {
            Self::Year | Self::Month | Self::Nanosecond => return None,
            Self::Day => DAY,
            Self::Hour => 3_600 * SECOND,
            Self::Minute => 60 * SECOND,
            Self::Second => SECOND,
            Self::Millisecond => MILLISECOND,
            Self::Microsecond => MICROSECOND,
        })
    }
}

/// Days since 1970 of a date (Howard Hinnant's algorithm).
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

impl Moment {
    /// A moment within the years 1 to 9999.
    pub(crate) fn in_range(ticks: i64) -> Option<Self> {
        (FIRST..END).contains(&ticks).then_some(Self(ticks))
    }

    /// Year, month, day, hour, minute, second, ticks of the second.
    pub(crate) fn from_parts(
        [year, month, day, hour, minute, second, fraction]: [i64; 7],
    ) -> Option<Self> {
        let valid = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..SECOND).contains(&fraction);
        let seconds = (hour.wrapping_mul(60).wrapping_add(minute))
            .wrapping_mul(60)
            .wrapping_add(second);
        valid.then(|| Self(days_of(year, month, day) * DAY + seconds * SECOND + fraction))
    }

    /// The parts that [`Moment::from_parts`] takes.
    pub(crate) fn parts(self) -> [i64; 7] {
        let (year, month, day) = date_of(self.0.div_euclid(DAY));
        let of_day = self.0.rem_euclid(DAY);
        let seconds = of_day / SECOND;
        [
            year,
            month,
            day,
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60,
            of_day % SECOND,
        ]
    }

    pub(crate) fn part(self, part: Part) -> i64 {
        let [year, month, day, hour, minute, second, fraction] = self.parts();
        match part {
            Part::Year => year,
            Part::Month => month,
            Part::Day => day,
            Part::Hour => hour,
            Part::Minute => minute,
            Part::Second => second,
            Part::Millisecond => fraction / MILLISECOND,
            Part::Microsecond => fraction / MICROSECOND,
            Part::Nanosecond => fraction * 100,
        }
    }

    /// Months since year 0.
    fn months(self) -> i64 {
        let [year, month, ..] = self.parts();
        year * 12 + month - 1
    }

    /// How many boundaries of the part lie before the moment, from a fixed origin.
    pub(crate) fn boundaries(self, part: Part) -> i64 {
        match (part, part.ticks()) {
            (_, Some(ticks)) => self.0.div_euclid(ticks),
            (Part::Year, None) => self.part(Part::Year),
            (Part::Month, None) => self.months(),
            // The span of a difference fits only as hundreds of ticks of a few centuries.
            _ => self.0.saturating_mul(100),
        }
    }

    /// Plus so many parts; a day beyond the end of the month becomes its last one.
    pub(crate) fn add(self, part: Part, count: i64) -> Option<Self> {
        match (part, part.ticks()) {
            (_, Some(ticks)) => Self::in_range(self.0.checked_add(count.checked_mul(ticks)?)?),
            (Part::Year, None) => self.add_months(count.checked_mul(12)?),
            (Part::Month, None) => self.add_months(count),
            _ => Self::in_range(self.0.checked_add(count / 100)?),
        }
    }

    fn add_months(self, count: i64) -> Option<Self> {
        let [_, _, day, rest @ ..] = self.parts();
        let months = self.months().checked_add(count)?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        if !(1..=9999).contains(&year) {
            return None;
        }
        Self::from_parts([
            year,
            month,
            day.min(days_in(year, month)),
            rest[0],
            rest[1],
            rest[2],
            rest[3],
        ])
    }

    /// The last multiple of `size` parts, counted from `start`, that is not after the moment.
    pub(crate) fn bin(self, part: Part, size: i64, start: Self) -> Option<Self> {
        let ticks = match (part, part.ticks()) {
            (_, Some(ticks)) => size.checked_mul(ticks)?,
            (Part::Nanosecond, None) => (size / 100).max(1),
            (Part::Year, None) => return self.bin_months(size.checked_mul(12)?, start),
            (_, None) => return self.bin_months(size, start),
        };
        let since = self.0.checked_sub(start.0)?.div_euclid(ticks);
        Self::in_range(start.0.checked_add(since.checked_mul(ticks)?)?)
    }

    fn bin_months(self, size: i64, start: Self) -> Option<Self> {
        let bins = (self.months() - start.months()).div_euclid(size);
        let found = start.add_months(bins.checked_mul(size)?)?;
        // Inside the month of a boundary the days decide.
        if found > self {
            start.add_months((bins - 1).checked_mul(size)?)
        } else {
            Some(found)
        }
    }

    /// `YYYY-MM-DDThh:mm:ss.fffffffZ`
    pub(crate) fn to_text(self) -> String {
        let [year, month, day, hour, minute, second, fraction] = self.parts();
        let mut text = String::with_capacity(28);
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z"
        );
        text
    }
}

/// A date, or date and time, as IS_DATETIME takes them.
pub(crate) fn parse(text: &str) -> Option<Moment> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    literal(&mut rest, b"-")?;
    let month = digits(&mut rest, 2)?;
    literal(&mut rest, b"-")?;
    let day = digits(&mut rest, 2)?;
    let mut time = [0; 4];
    if matches!(rest, [b'T' | b' ', ..]) {
        rest = &rest[1..];
        time[0] = digits(&mut rest, 2)?;
        literal(&mut rest, b":")?;
        time[1] = digits(&mut rest, 2)?;
        literal(&mut rest, b":")?;
        time[2] = digits(&mut rest, 2)?;
        if literal(&mut rest, b".").is_some() {
            let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=7).contains(&length) {
                return None;
            }
            time[3] = digits(&mut rest, length)? * 10_i64.pow(7 - length as u32);
        }
    }
    let _ = literal(&mut rest, b"Z");
    if !rest.is_empty() {
        return None;
    }
    Moment::from_parts([year, month, day, time[0], time[1], time[2], time[3]])
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (head, tail) = rest.split_at_checked(count)?;
    *rest = tail;
    head.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + i64::from(byte - b'0'))
    })
}

fn literal(rest: &mut &[u8], wanted: &[u8]) -> Option<()> {
    *rest = rest.strip_prefix(wanted)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        parse(text).expect("a moment")
    }

    #[test]
    fn texts_that_are_moments() {
        for text in [
            "2024-01-10",
            "2024-01-10Z",
            "2024-02-29 10:00:00",
            "1989-03-03T12:12:12.1234567Z",
            "0001-01-01",
        ] {
            assert!(parse(text).is_some(), "{text}");
        }
        for text in [
            "2023-02-29",
            "2024-01-10T10",
            "2024-01-10T10:00:00.",
            "2024/01/10",
            "2024-01-10T24:00:00",
            "24-1-1",
            "2024-01-10T10:00:00.12345678",
            "2024-01-10T10:00:00+02:00",
            "",
            "2024-01-1é",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn text_and_ticks_agree() {
        assert_eq!(at("2015-05-19T12:00:00.0000000").0, 14_320_368_000_000_000);
        for text in [
            "0001-01-01T00:00:00.0000000Z",
            "9999-12-31T23:59:59.9999999Z",
            "1969-12-31T23:59:59.9999999Z",
        ] {
            assert_eq!(at(text).to_text(), text);
        }
    }

    #[test]
    fn adding_months_clamps_days() {
        assert_eq!(at("2024-01-31").add(Part::Month, 1), Some(at("2024-02-29")));
        assert_eq!(at("2024-02-29").add(Part::Year, -1), Some(at("2023-02-28")));
        assert_eq!(at("9999-12-31").add(Part::Day, 1), None);
        assert_eq!(at("2024-01-01").add(Part::Hour, i64::MAX), None);
    }

    #[test]
    fn differences_count_boundaries() {
        let from = at("2020-01-01T01:00:00.1234527Z");
        let to = at("2020-01-01T01:59:59.1234567Z");
        assert_eq!(to.boundaries(Part::Hour) - from.boundaries(Part::Hour), 0);
        let past = at("2018-03-05T05:00:00");
        let future = at("2019-02-04T16:00:00");
        assert_eq!(
            past.boundaries(Part::Year) - future.boundaries(Part::Year),
            -1
        );
        assert_eq!(
            past.boundaries(Part::Month) - future.boundaries(Part::Month),
            -11
        );
        assert_eq!(
            past.boundaries(Part::Second) - future.boundaries(Part::Second),
            -29_070_000
        );
    }

    #[test]
    fn bins() {
        let moment = at("2021-01-08T18:35:00");
        assert_eq!(
            moment.bin(Part::Hour, 5, Moment(0)),
            Some(at("2021-01-08T15:00:00"))
        );
        assert_eq!(
            moment.bin(Part::Day, 7, at("1601-01-01")),
            Some(at("2021-01-04"))
        );
        assert_eq!(
            moment.bin(Part::Month, 1, Moment(0)),
            Some(at("2021-01-01"))
        );
        assert_eq!(moment.bin(Part::Year, 2, Moment(0)), Some(at("2020-01-01")));
        assert_eq!(
            at("2020-01-05").bin(Part::Month, 1, at("2019-01-10")),
            Some(at("2019-12-10"))
        );
    }
}
