//! Calendar arithmetic without time zones: days, hours, months and years as the strings that
//! people use in keys.

use crate::scenario::TimeUnit;

/// Days from 1970-01-01 to a date of the Gregorian calendar.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March put the leap day last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date so many days after 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// A moment of a calendar: how many units after 1970.
fn parse(text: &str, unit: TimeUnit) -> Option<i64> {
    let (date, hour) = match unit {
        TimeUnit::Hour => text.split_once('T')?,
        _ => (text, "0"),
    };
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let year = parts.next()??;
    match unit {
        TimeUnit::Year => Some(year),
        TimeUnit::Month => Some(year * 12 + parts.next()?? - 1),
        TimeUnit::Day | TimeUnit::Hour => {
            let (month, day) = (parts.next()??, parts.next()??);
            if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
                return None;
            }
            let days = days_from_civil(year, month, day);
            match unit {
                TimeUnit::Hour => Some(days * 24 + hour.parse::<i64>().ok()?),
                _ => Some(days),
            }
        }
    }
}

fn format(moment: i64, unit: TimeUnit) -> String {
    match unit {
        TimeUnit::Year => format!("{moment}"),
        TimeUnit::Month => format!("{}-{:02}", moment.div_euclid(12), moment.rem_euclid(12) + 1),
        TimeUnit::Day => {
            let (year, month, day) = civil_from_days(moment);
            format!("{year}-{month:02}-{day:02}")
        }
        TimeUnit::Hour => {
            let day = format(moment.div_euclid(24), TimeUnit::Day);
            format!("{day}T{:02}", moment.rem_euclid(24))
        }
    }
}

/// The last `count` values of a calendar, oldest first; `None` when `latest` is no such moment.
pub fn last(count: u64, latest: &str, unit: TimeUnit) -> Option<Vec<String>> {
    let end = parse(latest, unit)?;
    let count = i64::try_from(count).ok()?;
    let start = end.checked_sub(count)?;
    Some(
        (start + 1..=end)
            .map(|moment| format(moment, unit))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_go_both_ways() {
        for days in [-800_000, -1, 0, 59, 11_016, 20_748, 1_000_000] {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(civil_from_days(19_782), (2024, 2, 29));
    }

    #[test]
    fn calendars_count_back() {
        let last = |count, latest, unit| last(count, latest, unit).expect("calendar");
        assert_eq!(
            last(3, "2024-03-01", TimeUnit::Day),
            ["2024-02-28", "2024-02-29", "2024-03-01"]
        );
        assert_eq!(
            last(2, "2026-01-01T00", TimeUnit::Hour),
            ["2025-12-31T23", "2026-01-01T00"]
        );
        assert_eq!(last(2, "2026-01", TimeUnit::Month), ["2025-12", "2026-01"]);
        assert_eq!(last(2, "2026", TimeUnit::Year), ["2025", "2026"]);
        assert!(super::last(2, "yesterday", TimeUnit::Day).is_none());
    }
}
