//! The workload file of `analyze`: patterns, horizons, and what else the data cannot say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::KeylabError;
use crate::scenario::{Container, Horizon, KeySpec, PatternSpec, amount, read_yaml};

/// A workload file.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Workload {
    /// Whether the rates are those that `keylab init` guessed: reports then say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guessed_rates: bool,
    /// What is asked of the container.
    #[serde(default)]
    pub workload: Vec<PatternSpec>,
    /// Volumes and throughput, now and later.
    #[serde(default)]
    pub horizons: Vec<Horizon>,
    /// The container.
    #[serde(default)]
    pub container: Container,
    /// The member that says when an item arrived; `file order` when the data is in that order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<String>,
    /// Keys to look at beside those that are found.
    #[serde(default)]
    pub candidates: Vec<KeySpec>,
    /// Indexed terms of an item, for charges that the patterns do not give; counted from the data
    /// unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_terms: Option<usize>,
    /// Time to live in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<i64>,
}

/// The word for data that is in order of arrival.
pub const FILE_ORDER: &str = "file order";

impl Workload {
    /// Reads a workload; `origin` names it in errors.
    pub fn from_yaml(text: &str, origin: &str) -> Result<Self, KeylabError> {
        let workload: Self = read_yaml(text, origin)?;
        let at = |part: &str| format!("{origin}: {part}");
        for (place, horizon) in workload.horizons.iter().enumerate() {
            horizon.check(&at(&format!("horizons[{place}]")), &BTreeMap::new())?;
        }
        amount::check_apart(
            &at("horizons"),
            workload.horizons.iter().map(|each| &*each.name),
        )?;
        for (place, pattern) in workload.workload.iter().enumerate() {
            let at = at(&format!("workload[{place}]"));
            pattern.check_amounts(&at)?;
            pattern.check_shares(&at)?;
        }
        amount::check_apart(
            &at("workload"),
            workload.workload.iter().map(|each| &*each.name),
        )?;
        for (place, key) in workload.candidates.iter().enumerate() {
            key.check_form(&at(&format!("candidates[{place}]")))?;
        }
        if let Some(ttl) = workload.ttl
            && ttl != -1
            && !(1..=i64::from(i32::MAX)).contains(&ttl)
        {
            return Err(KeylabError::invalid(
                at("ttl"),
                format!(
                    "seconds, from 1 to {}, or -1 for items that live on unless they say otherwise",
                    i32::MAX
                ),
            ));
        }
        if !workload.workload.is_empty() && workload.horizons.is_empty() {
            return Err(KeylabError::invalid(
                at("horizons"),
                "name at least one, for example {name: now, gb: 100}",
            ));
        }
        Ok(workload)
    }

    /// The members that its conditions, changes and keys name: they are profiled however rare.
    pub fn named_fields(&self) -> Vec<String> {
        let mut named: Vec<String> = Vec::new();
        for pattern in &self.workload {
            named.extend(pattern.sets.iter().cloned());
            named.extend(pattern.at.keys().cloned());
            named.extend(pattern.atomic_over.iter().cloned());
            named.extend(pattern.filter.iter().flat_map(|text| members(text)));
        }
        for key in &self.candidates {
            named.extend(key.fields().into_iter().map(str::to_owned));
            if let KeySpec::Suffix { suffix } = key {
                named.extend(suffix.hash.clone());
            }
        }
        named.extend(
            self.arrival
                .iter()
                .filter(|name| *name != FILE_ORDER)
                .cloned(),
        );
        named.sort();
        named.dedup();
        named
    }
}

/// Everything in a condition that may be a path: `c.address.city` is `address/city`.
fn members(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    for word in text.split(|letter: char| !is_name(letter) && letter != '.') {
        if let Some((_, path)) = word.split_once('.')
            && !path.is_empty()
        {
            found.push(path.replace('.', "/"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_conditions_are_found() {
        assert_eq!(
            members("c.customerId = @c AND NOT IS_DEFINED(c.address.city)"),
            ["customerId", "address/city"]
        );
    }

    #[test]
    fn unknown_members_are_told_with_their_line() {
        let error = Workload::from_yaml("workload: []\nhorizon: []\n", "w.yaml")
            .expect_err("unknown member")
            .to_string();
        assert!(
            error.contains("w.yaml") && error.contains("line 2") && error.contains("horizon"),
            "{error}"
        );
    }
}
