//! Candidates: keys to compare, natural and made.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::expected::ExpectedRow;
use super::pattern::{ScalarValue, unknown_field};
use super::{FieldSpec, Scenario, amount};
use crate::error::KeylabError;

/// A key to compare.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CandidateSpec {
    /// How the table calls it; derived from the key unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is made of.
    pub key: KeySpec,
    /// Fields that have other values when this key is used.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, FieldSpec>,
    /// What the application does otherwise when this key is used, by pattern.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub adapt: BTreeMap<String, Adaptation>,
    /// Partitions at a horizon, where the container is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partitions: BTreeMap<String, u32>,
    /// The horizons at which it is of interest; all unless given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_at: Vec<String>,
    /// What `--check` compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<ExpectedRow>,
}

/// What a key is made of.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum KeySpec {
    /// One member: `/customerId`.
    Path(String),
    /// Several members in a hierarchy: `[/tenantId, /policyId]`.
    Hierarchy(Vec<String>),
    /// Several members in one string.
    Concat {
        /// The parts.
        concat: Concat,
    },
    /// A member with a label behind it.
    Suffix {
        /// How.
        suffix: Suffix,
    },
    /// Several full copies of what belongs to one value.
    Copies {
        /// How.
        copies: Copies,
    },
}

/// Members joined to one string.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Concat {
    /// The parts, in order.
    #[serde(deserialize_with = "members")]
    pub of: Vec<String>,
    /// What stands between them.
    #[serde(default = "underscore")]
    pub separator: String,
}

/// A member may be written as the path that it is in a key.
fn bare(path: &str) -> String {
    path.strip_prefix('/').unwrap_or(path).to_owned()
}

fn member<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(bare(&String::deserialize(from)?))
}

fn optional_member<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(|path| bare(&path)))
}

fn members<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let paths = Vec::<String>::deserialize(from)?;
    Ok(paths.iter().map(|path| bare(path)).collect())
}

fn underscore() -> String {
    "_".to_owned()
}

fn dot() -> String {
    ".".to_owned()
}

fn tilde() -> String {
    "~".to_owned()
}

/// A member with one of several labels behind it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Suffix {
    /// The member.
    #[serde(deserialize_with = "member")]
    pub of: String,
    /// How many labels.
    pub buckets: u64,
    /// The member from whose hash the label is computed; drawn at random when absent.
    #[serde(
        default,
        deserialize_with = "optional_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub hash: Option<String>,
    /// The values that get labels; all unless given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<ScalarValue>,
    /// How labels are chosen.
    #[serde(default)]
    pub labels: LabelRule,
    /// The first label.
    #[serde(default)]
    pub start: u64,
    /// What stands between value and label.
    #[serde(default = "dot")]
    pub separator: String,
}

/// Copies of what belongs to one value, each under a key of its own.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Copies {
    /// The member.
    #[serde(deserialize_with = "member")]
    pub of: String,
    /// The value that is copied.
    pub value: ScalarValue,
    /// How many copies; a read takes any one, a write goes to all.
    pub count: u64,
    /// How labels are chosen.
    #[serde(default)]
    pub labels: LabelRule,
    /// The first label.
    #[serde(default)]
    pub start: u64,
    /// What stands between value and label.
    #[serde(default = "tilde")]
    pub separator: String,
}

/// How the labels of suffixes and copies are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LabelRule {
    /// Counted up.
    #[default]
    Counted,
    /// For each bucket the smallest number whose hash falls into the bucket's part of the space.
    HashAware,
}

/// How a pattern changes when a certain key is used.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Adaptation {
    /// Another rate; 0 drops the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Another charge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<f64>,
    /// Another part of the charge that is paid once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<f64>,
    /// At most so many visits: a page is full before the last value is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<f64>,
    /// Another condition.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

impl KeySpec {
    /// The fields that it is made of, in order; without the one that only gives the label.
    pub fn fields(&self) -> Vec<&str> {
        let bare = |path: &'_ String| -> usize { usize::from(path.starts_with('/')) };
        match self {
            Self::Path(path) => vec![&path[bare(path)..]],
            Self::Hierarchy(paths) => paths.iter().map(|path| &path[bare(path)..]).collect(),
            Self::Concat { concat } => concat.of.iter().map(String::as_str).collect(),
            Self::Suffix { suffix } => vec![&suffix.of],
            Self::Copies { copies } => vec![&copies.of],
        }
    }

    /// Refuses keys that no container can have.
    pub(crate) fn check_form(&self, at: &str) -> Result<(), KeylabError> {
        let invalid = |message: String| Err(KeylabError::invalid(at, message));
        match self {
            Self::Hierarchy(paths) if !(2..=3).contains(&paths.len()) => {
                let count = paths.len();
                return invalid(format!(
                    "a hierarchical key has two or three levels, not {count}"
                ));
            }
            Self::Concat { concat } if concat.of.is_empty() => {
                return invalid("concat: of: name the members to join".to_owned());
            }
            Self::Suffix { suffix } if !(1..=MAX_BUCKETS).contains(&suffix.buckets) => {
                return invalid(format!("buckets: from 1 to {MAX_BUCKETS}"));
            }
            Self::Copies { copies } if !(1..=MAX_BUCKETS).contains(&copies.count) => {
                return invalid(format!("count: from 1 to {MAX_BUCKETS}"));
            }
            _ => {}
        }
        let fields = self.fields();
        if fields.iter().any(|field| field.is_empty()) {
            return invalid("a path names a member: /customerId".to_owned());
        }
        let mut apart = fields.clone();
        apart.sort_unstable();
        apart.dedup();
        if apart.len() < fields.len() {
            return invalid(format!("{} names a member twice", self.title()));
        }
        Ok(())
    }

    /// The name in tables.
    pub fn title(&self) -> String {
        let aware = |labels: LabelRule| match labels {
            LabelRule::Counted => "",
            LabelRule::HashAware => ", hash-aware labels",
        };
        match self {
            Self::Path(path) => format!("/{}", path.trim_start_matches('/')),
            Self::Hierarchy(_) => format!("[/{}]", self.fields().join(",/")),
            Self::Concat { concat } => concat.of.join(&concat.separator),
            Self::Suffix { suffix } => {
                let by = suffix.hash.as_ref().map_or_else(
                    || format!("random{}", suffix.buckets),
                    |hash| format!("hash({hash})%{}", suffix.buckets),
                );
                format!(
                    "{}{}{by}{}",
                    suffix.of,
                    suffix.separator,
                    aware(suffix.labels)
                )
            }
            Self::Copies { copies } => format!(
                "{} copies by {}{}",
                copies.count,
                copies.of,
                aware(copies.labels)
            ),
        }
    }
}

impl CandidateSpec {
    /// A candidate without expectations.
    pub fn of(key: KeySpec) -> Self {
        Self {
            name: None,
            key,
            fields: BTreeMap::new(),
            adapt: BTreeMap::new(),
            partitions: BTreeMap::new(),
            only_at: Vec::new(),
            expect: None,
        }
    }

    /// The name in tables.
    pub fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.key.title())
    }

    pub(super) fn check(&self, at: &str, scenario: &Scenario) -> Result<(), KeylabError> {
        self.key.check_form(at)?;
        let mut named = self.key.fields();
        if let KeySpec::Suffix { suffix } = &self.key {
            named.extend(suffix.hash.as_deref());
        }
        for field in named {
            if !scenario.fields.contains_key(field) {
                return Err(KeylabError::invalid(
                    at,
                    unknown_field(field, &scenario.fields),
                ));
            }
        }
        for (name, field) in &self.fields {
            field.check(&format!("{at}.fields.{name}"))?;
        }
        for name in self.adapt.keys() {
            if !scenario
                .workload
                .iter()
                .any(|pattern| pattern.name == *name)
            {
                return Err(KeylabError::invalid(
                    at,
                    format!("adapt: no pattern is called '{name}'"),
                ));
            }
        }
        for (name, adapted) in &self.adapt {
            let at = format!("{at}.adapt.{name}");
            let given = |amount: Option<f64>| amount.unwrap_or(0.0);
            amount::check(&at, "rate", given(adapted.rate))?;
            amount::check(&at, "charge", given(adapted.charge))?;
            amount::check(&at, "loads", given(adapted.loads))?;
            amount::check(&at, "visits", given(adapted.visits))?;
        }
        for (horizon, partitions) in &self.partitions {
            amount::check_partitions(&format!("{at}.partitions.{horizon}"), *partitions)?;
        }
        let expected = self.expect.iter().flat_map(|row| row.horizons.keys());
        let horizons = self.partitions.keys().chain(&self.only_at).chain(expected);
        for name in horizons {
            if !scenario
                .horizons
                .iter()
                .any(|horizon| horizon.name == *name)
            {
                return Err(KeylabError::invalid(
                    at,
                    format!("no horizon is called '{name}'"),
                ));
            }
        }
        Ok(())
    }
}

/// Most labels of a suffix.
const MAX_BUCKETS: u64 = 100_000;
