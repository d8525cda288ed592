//! The YAML form of a scenario: value generators with their shares, the workload, the horizons,
//! the candidates to compare, and the rows that are expected of them.
//!
//! The form is documented in `docs/keylab-scenarios.md` and published as a JSON schema beside it.

pub(crate) mod amount;
mod candidate;
mod expected;
mod field;
mod horizon;
mod pattern;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::KeylabError;

pub use candidate::{Adaptation, CandidateSpec, Concat, Copies, KeySpec, LabelRule, Suffix};
pub use expected::{ExpectedHorizon, ExpectedRow};
pub use field::{FieldSpec, Group, Heavy, ShareLaw, TimeUnit, ValueList};
pub use horizon::{Container, Horizon};
pub use pattern::{Operation, ParameterValue, PatternSpec, Placement, ScalarValue};

/// A scenario file.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Scenario {
    /// Short name, for the table's heading.
    pub name: String,
    /// What it is about, for readers.
    #[serde(default)]
    pub description: String,
    /// The container: throughput policy, consistency, what must be unique or atomic.
    #[serde(default)]
    pub container: Container,
    /// Average item size in bytes of user JSON, for charges that the patterns do not give.
    #[serde(default = "default_item_bytes")]
    pub item_bytes: usize,
    /// Indexed terms of an item, for charges that the patterns do not give.
    #[serde(default = "default_terms")]
    pub indexed_terms: usize,
    /// The members of an item and how their values are shared.
    pub fields: BTreeMap<String, FieldSpec>,
    /// What is asked of the container.
    pub workload: Vec<PatternSpec>,
    /// Volumes and throughput, now and later.
    pub horizons: Vec<Horizon>,
    /// The keys to compare.
    pub candidates: Vec<CandidateSpec>,
}

fn default_item_bytes() -> usize {
    1024
}

fn default_terms() -> usize {
    10
}

impl Scenario {
    /// Reads a scenario; `origin` names it in errors.
    pub fn from_yaml(text: &str, origin: &str) -> Result<Self, KeylabError> {
        let scenario: Self = read_yaml(text, origin)?;
        scenario.check().map_err(|error| match error {
            KeylabError::Invalid { at, message } => KeylabError::Invalid {
                at: format!("{origin}: {at}"),
                message,
            },
            other => other,
        })?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), KeylabError> {
        if self.horizons.is_empty() {
            return Err(KeylabError::invalid(
                "horizons",
                "name at least one, for example {name: now, gb: 100, ru: 10000}",
            ));
        }
        if self.candidates.is_empty() {
            return Err(KeylabError::invalid(
                "candidates",
                "name at least one key to compare, for example {key: /customerId}",
            ));
        }
        amount::check_apart("horizons", self.horizons.iter().map(|each| &*each.name))?;
        amount::check_apart("workload", self.workload.iter().map(|each| &*each.name))?;
        for (name, field) in &self.fields {
            field.check(&format!("fields.{name}"))?;
        }
        for (at, horizon) in self.horizons.iter().enumerate() {
            horizon.check(&format!("horizons[{at}]"), &self.fields)?;
        }
        for (at, pattern) in self.workload.iter().enumerate() {
            pattern.check(&format!("workload[{at}]"), &self.fields)?;
        }
        for (at, candidate) in self.candidates.iter().enumerate() {
            candidate.check(&format!("candidates[{at}]"), self)?;
        }
        Ok(())
    }
}

/// Reads any of the laboratory's YAML forms; unknown members are errors.
pub fn read_yaml<T: serde::de::DeserializeOwned>(
    text: &str,
    origin: &str,
) -> Result<T, KeylabError> {
    serde_saphyr::from_str(text).map_err(|error| KeylabError::Yaml {
        origin: origin.to_owned(),
        message: plain_words(&error.to_string()),
    })
}

/// The parser's message without what only its callers understand.
fn plain_words(message: &str) -> String {
    /// What the parser says, and what people are to read.
    const WORDS: [(&str, &str); 15] = [
        (", set DuplicateKeyPolicy in Options if acceptable", ""),
        ("duplicate mapping key:", "written twice:"),
        ("non-finite float ", ""),
        ("rejected by the configured policy", "is not a number"),
        ("invalid floating point", "not a number"),
        ("invalid u64", "not a whole number from 0 on"),
        ("invalid boolean", "neither true nor false"),
        (
            "expected sequence start",
            "a list was expected, as in [a, b]",
        ),
        (
            "expected mapping start",
            "members were expected, as in {name: value}",
        ),
        (
            "multiple YAML documents detected; use from_str_multiple or from_str_multiple_with_options",
            "a second document begins: a file holds one",
        ),
        (
            "recursive references require weak recursion types",
            "an alias stands within what it stands for",
        ),
        (
            "data did not match any variant of untagged enum KeySpec",
            "a key is a path (/customerId), a list of two or three paths, or one of {concat: {of}}, {suffix: {of, buckets}}, {copies: {of, value, count}}",
        ),
        (
            "data did not match any variant of untagged enum ValueList",
            "values are a list, or names with their shares: {New: 0.1, Done: 0.9}",
        ),
        (
            "data did not match any variant of untagged enum Placement",
            "write one value, or values with their shares: {New: 0.1, Done: 0.9}",
        ),
        (
            "data did not match any variant of untagged enum",
            "neither a text, a number, true, false nor null:",
        ),
    ];
    let message = message.strip_prefix("error: ").unwrap_or(message);
    WORDS
        .iter()
        .fold(message.to_owned(), |message, (theirs, ours)| {
            message.replace(theirs, ours)
        })
}
