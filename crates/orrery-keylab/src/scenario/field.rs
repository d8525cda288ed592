//! Fields: the members of an item, and how many items have each value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::amount;
use super::pattern::ScalarValue;
use crate::error::KeylabError;

/// How one member of the items gets its values. Exactly one of `values`, `format`, `groups`,
/// `time` says what they are.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FieldSpec {
    /// A closed set, each with its share: `{New: 0.1, Done: 0.9}`; or a list of equal shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ValueList>,
    /// Strings made from a number: `CUST{:07d}`, `{:032x}`, or `{hex32}` for random-looking ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// How many different values exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How many of them to place; the others share their fate. All, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<u64>,
    /// The first number of a format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// How items are shared among the values; evenly unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<ShareLaw>,
    /// Single values with shares of their own; the rest follow `shares`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heavy: Vec<Heavy>,
    /// Several formats side by side, each with its share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// A calendar: the values are the last `count` days, hours, months or years.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeUnit>,
    /// The newest value of a calendar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
    /// Whether every item has another value.
    #[serde(default)]
    pub unique: bool,
    /// Share of items that lack the member.
    #[serde(default)]
    pub missing: f64,
    /// Share of items in which it is null.
    #[serde(default)]
    pub nulls: f64,
    /// Share of items whose value changes during their life, from history.
    #[serde(default)]
    pub changes: f64,
}

/// A closed set of values.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ValueList {
    /// Each with its share; what they leave over is shared in the same proportion.
    Shares(BTreeMap<String, f64>),
    /// Ranked: the first gets rank 1 of the share law.
    Ranked(Vec<ScalarValue>),
}

/// How items are shared among values.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShareLaw {
    /// Equal shares.
    #[default]
    Even,
    /// Rank to the power of minus the exponent.
    Zipf(f64),
}

/// A value with a share of its own.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Heavy {
    /// The value.
    pub value: ScalarValue,
    /// Its share of the items.
    pub share: f64,
    /// Its share of the requests; that of the items unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<f64>,
}

/// Values of one format among others.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// As [`FieldSpec::format`].
    pub format: String,
    /// How many values.
    pub count: u64,
    /// Weight of the whole group against the other groups.
    pub share: f64,
    /// First number.
    #[serde(default)]
    pub start: u64,
}

/// The step of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// `2026-10-22T13`
    Hour,
    /// `2026-10-22`
    Day,
    /// `2026-10`
    Month,
    /// `2026`
    Year,
}

impl FieldSpec {
    pub(super) fn check(&self, at: &str) -> Result<(), KeylabError> {
        let kinds = [
            self.values.is_some(),
            self.format.is_some(),
            !self.groups.is_empty(),
            self.time.is_some(),
        ];
        if kinds.iter().filter(|&&given| given).count() != 1 {
            return Err(KeylabError::invalid(
                at,
                "say what the values are with exactly one of values, format, groups, time",
            ));
        }
        if self.values.is_none() && self.groups.is_empty() && self.count.is_none_or(|n| n == 0) {
            return Err(KeylabError::invalid(
                at,
                "count must say how many values exist",
            ));
        }
        if self.time.is_some() && self.latest.is_none() {
            return Err(KeylabError::invalid(
                at,
                "a calendar needs its latest value",
            ));
        }
        let given = self.heavy.iter().map(|heavy| heavy.share).sum::<f64>();
        let shares = [
            self.missing,
            self.nulls,
            self.changes,
            given,
            self.missing + self.nulls,
        ];
        let heavy = self
            .heavy
            .iter()
            .flat_map(|heavy| [heavy.share, heavy.traffic.unwrap_or(0.0)]);
        if shares
            .into_iter()
            .chain(heavy)
            .any(|share| !(0.0..=1.0).contains(&share))
        {
            return Err(KeylabError::invalid(at, "shares lie between 0 and 1"));
        }
        self.check_values(at)?;
        self.check_count(at, self.count.unwrap_or(1))
    }

    /// Refuses a number of values that is none, or of which too many would be placed.
    pub(super) fn check_count(&self, at: &str, count: u64) -> Result<(), KeylabError> {
        if count == 0 {
            return Err(KeylabError::invalid(at, "count: at least 1"));
        }
        let placed = match self.time {
            // Days and hours are placed one by one.
            Some(_) => count,
            None => self.placed.unwrap_or(count),
        };
        if placed > MAX_PLACED {
            return Err(KeylabError::invalid(
                at,
                format!(
                    "{placed} values are more than {MAX_PLACED}: say how many to place, for example placed: 200000"
                ),
            ));
        }
        Ok(())
    }

    fn check_values(&self, at: &str) -> Result<(), KeylabError> {
        match &self.values {
            Some(ValueList::Shares(shares)) => {
                if shares.is_empty() {
                    return Err(KeylabError::invalid(at, "values: name at least one"));
                }
                if let Some((value, _)) = shares.iter().find(|(_, share)| **share == 0.0) {
                    return Err(KeylabError::invalid(
                        at,
                        format!("values: the share of {value} is 0; leave out what does not occur"),
                    ));
                }
                let shares = shares.iter().map(|(value, share)| (&**value, *share));
                amount::check_shares(&format!("{at}.values"), shares)?;
            }
            Some(ValueList::Ranked(list)) if list.is_empty() => {
                return Err(KeylabError::invalid(at, "values: name at least one"));
            }
            _ => {}
        }
        if !self.groups.is_empty() {
            let weights = self
                .groups
                .iter()
                .map(|group| (&*group.format, group.share));
            amount::check_weights(&format!("{at}.groups"), weights)?;
        }
        if let Some(group) = self
            .groups
            .iter()
            .find(|group| !(1..=MAX_PLACED).contains(&group.count))
        {
            return Err(KeylabError::invalid(
                at,
                format!("groups: {}: count: from 1 to {MAX_PLACED}", group.format),
            ));
        }
        if let Some(ShareLaw::Zipf(exponent)) = self.shares
            && !(0.0..=100.0).contains(&exponent)
        {
            return Err(KeylabError::invalid(
                at,
                "shares: the exponent of zipf lies between 0 and 100",
            ));
        }
        if self.placed == Some(0) {
            return Err(KeylabError::invalid(at, "placed: at least 1"));
        }
        Ok(())
    }
}

/// Most values of one field that are placed.
const MAX_PLACED: u64 = 5_000_000;
