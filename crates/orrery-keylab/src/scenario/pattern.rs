//! Patterns: the kinds of request that make the workload.

use std::collections::BTreeMap;

use orrery_model::partition_key::KeyComponent;
use serde::{Deserialize, Serialize};

use super::{FieldSpec, amount};
use crate::error::KeylabError;

/// One kind of request with its rate.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PatternSpec {
    /// What people call it.
    pub name: String,
    /// What it does.
    pub op: Operation,
    /// Requests a second, on average.
    pub rate: f64,
    /// How much more there are in the worst minute than on average.
    #[serde(default = "one")]
    pub peak: f64,
    /// What the caller knows, as a condition or a whole query: `c.customerId = @c`. A point
    /// operation needs the id and the key in it.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Values of parameters whose number or value matters: `{"@list": [1, 2, 3]}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, ParameterValue>,
    /// Measured charge of one request that visits one partition; the model's unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<f64>,
    /// The part of a query's charge that is paid once however many partitions it visits: for the
    /// items it loads. The charge less one visit, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<f64>,
    /// Items that a query returns, for the model's charge.
    #[serde(default = "one_item")]
    pub returns: u64,
    /// Fields that a replace or patch changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<String>,
    /// Which values the requests concern, where it is not the share of the items: `latest`, one
    /// value, or values with shares.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, Placement>,
    /// Operations that must succeed together; the fields that tell the group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub atomic_over: Vec<String>,
    /// Operations in one batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
}

fn one() -> f64 {
    1.0
}

fn one_item() -> u64 {
    1
}

/// What a pattern does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Reads one item by id and partition key.
    Point,
    /// Runs a query.
    Query,
    /// Creates an item.
    Create,
    /// Replaces an item.
    Replace,
    /// Changes members of an item.
    Patch,
    /// Deletes an item.
    Delete,
    /// A transactional batch.
    Batch,
}

impl Operation {
    /// Whether it changes items: then the item is at hand and the key is known.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Point | Self::Query)
    }
}

/// The value of a parameter.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// Several.
    List(Vec<ScalarValue>),
    /// One.
    Single(ScalarValue),
}

/// Which values of a field the requests of a pattern concern.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Placement {
    /// Several values with their shares.
    Shares(BTreeMap<String, f64>),
    /// One value; the word `latest` is the newest value of a calendar, `stored` the share of the
    /// items.
    One(ScalarValue),
}

/// A JSON scalar.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ScalarValue {
    /// true or false.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// null
    Null,
}

impl ScalarValue {
    /// As the component of a partition key.
    pub fn component(&self) -> KeyComponent {
        match self {
            Self::Bool(value) => KeyComponent::Bool(*value),
            Self::Number(value) => KeyComponent::number(*value),
            Self::Text(value) => KeyComponent::String(value.clone()),
            Self::Null => KeyComponent::Null,
        }
    }
}

impl PatternSpec {
    /// Refuses rates, charges, shares and batches that cannot be.
    pub(crate) fn check_amounts(&self, at: &str) -> Result<(), KeylabError> {
        /// Operations of the largest transaction that the service takes.
        const MOST_OPERATIONS: u64 = 100;
        let at = self.place(at);
        amount::check(&at, "rate", self.rate)?;
        amount::check(&at, "peak", self.peak)?;
        amount::check(&at, "charge", self.charge.unwrap_or(0.0))?;
        amount::check(&at, "loads", self.loads.unwrap_or(0.0))?;
        if self
            .batch
            .is_some_and(|batch| !(1..=MOST_OPERATIONS).contains(&batch))
        {
            return Err(KeylabError::invalid(
                at,
                format!("batch: from 1 to {MOST_OPERATIONS} operations"),
            ));
        }
        for (field, placement) in &self.at {
            if let Placement::Shares(shares) = placement {
                let weights = shares.iter().map(|(value, share)| (&**value, *share));
                amount::check_weights(&format!("{at}: at.{field}"), weights)?;
            }
        }
        Ok(())
    }

    /// Refuses shares of `at` that are more than everything; what they leave over belongs to the
    /// values as they are stored.
    pub(crate) fn check_shares(&self, at: &str) -> Result<(), KeylabError> {
        for (field, placement) in &self.at {
            if let Placement::Shares(shares) = placement {
                let shares = shares.iter().map(|(value, share)| (&**value, *share));
                amount::check_shares(&format!("{}: at.{field}", self.place(at)), shares)?;
            }
        }
        Ok(())
    }

    /// Its place in the file, with its name.
    pub(crate) fn place(&self, at: &str) -> String {
        format!("{at} ('{}')", self.name)
    }

    pub(super) fn check(
        &self,
        at: &str,
        fields: &BTreeMap<String, FieldSpec>,
    ) -> Result<(), KeylabError> {
        self.check_amounts(at)?;
        let named = self.at.keys().chain(&self.sets).chain(&self.atomic_over);
        for field in named {
            if !fields.contains_key(field) {
                return Err(KeylabError::invalid(
                    self.place(at),
                    unknown_field(field, fields),
                ));
            }
        }
        Ok(())
    }
}

/// The message for a name that is no field.
pub(super) fn unknown_field(name: &str, fields: &BTreeMap<String, FieldSpec>) -> String {
    if fields.is_empty() {
        return format!(
            "'{name}': values are counted in the data; only scenarios say how many there are"
        );
    }
    let known: Vec<&str> = fields.keys().map(String::as_str).collect();
    format!("'{name}' is no field; the fields are {}", known.join(", "))
}
