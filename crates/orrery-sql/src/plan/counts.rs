//! TOP, OFFSET and LIMIT with the parameters put in.

use crate::ast::{Count, CountValue, Query};
use crate::environment::Parameters;
use crate::errors::{SqlError, SqlErrors};
use orrery_model::value::Number;

/// The counts of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// TOP.
    pub top: Option<u64>,
    /// OFFSET.
    pub offset: Option<u64>,
    /// LIMIT.
    pub limit: Option<u64>,
}

/// Reads the counts of an analysed query. A parameter must be there and hold a whole number that
/// is not negative (query-language: section 7.6).
pub fn counts(query: &Query, parameters: &Parameters) -> Result<Counts, SqlErrors> {
    let mut errors = Vec::new();
    let mut read = |count: &Count, code, message| {
        let found = value(count, parameters);
        if found.is_none() {
            errors.push(SqlError::new(code, message, count.span));
        }
        found
    };
    let top = query.select.top.as_ref().and_then(|top| {
        read(
            top,
            "SC2060",
            "The count value provided for a TOP clause must be an integer.",
        )
    });
    let (mut offset, mut limit) = (None, None);
    if let Some(page) = &query.page {
        offset = read(
            &page.offset,
            "SC2062",
            "The OFFSET count value exceeds the maximum allowed value.",
        );
        limit = read(
            &page.limit,
            "SC2061",
            "The LIMIT count value exceeds the maximum allowed value.",
        );
    }
    SqlErrors::check(errors)?;
    Ok(Counts { top, offset, limit })
}

fn value(count: &Count, parameters: &Parameters) -> Option<u64> {
    let number = match &count.value {
        CountValue::Number(number) => *number,
        CountValue::Parameter(name) => parameters.get(name)?.as_number()?,
    };
    let whole = match number {
        Number::Int(value) => u64::try_from(value).ok()?,
        Number::Double(value) if value >= 0.0 && value.fract() == 0.0 => value as u64,
        Number::Double(_) => return None,
    };
    u32::try_from(whole).ok().map(u64::from)
}
