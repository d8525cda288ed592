//! What deploys a key: templates for the container, and the code that computes a made key.

mod code;
mod template;

use serde::Serialize;

use crate::scenario::KeySpec;
use crate::simulate::Row;
use crate::table::TRUNCATIONS;
use crate::workload::Workload;

pub use code::{LANGUAGES, Language};

/// The member that holds a made key.
pub const MADE_MEMBER: &str = "partitionKey";

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A Bicep file.
    Bicep,
    /// An Azure Resource Manager template.
    Arm,
    /// A Terraform file.
    Terraform,
    /// Commands of the Azure CLI.
    Cli,
    /// Code of the application.
    Sdk,
}

/// A container with its key, ready to be written down.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The key as the report calls it.
    pub title: String,
    /// Paths of the partition key definition.
    pub paths: Vec<String>,
    /// `Hash` or `MultiHash`.
    pub kind: &'static str,
    /// Request units a second: the rate, or the most of an autoscale one.
    pub throughput: u64,
    /// Whether throughput follows the load.
    pub autoscale: bool,
    /// Seconds that items live.
    pub ttl: Option<i64>,
    /// Groups of paths that are unique within a key value.
    pub unique: Vec<Vec<String>>,
    /// How a made key is computed.
    pub made: Option<MadeKey>,
}

/// How the application computes a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeKey {
    /// The members that it is made of, in order.
    pub parts: Vec<Part>,
    /// What stands between them.
    pub separator: String,
    /// The label behind them.
    pub label: Option<Label>,
}

/// A member of an item as a part of a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// The member's path.
    pub path: String,
    /// Letters that are kept of a time.
    pub cut: Option<usize>,
}

/// A label behind a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Label {
    /// The member from whose hash it is computed; at random when absent.
    pub by: Option<String>,
    /// How many labels.
    pub buckets: u64,
    /// The first label.
    pub start: u64,
}

impl Plan {
    /// The plan for a row of a report.
    pub fn of(row: &Row, workload: &Workload) -> Self {
        let natural = |paths: Vec<&str>| paths.into_iter().map(|path| format!("/{path}")).collect();
        let fields = row.definition.fields();
        let made = made(&row.definition);
        let (paths, kind): (Vec<String>, _) = match (&row.definition, &made) {
            (KeySpec::Hierarchy(_), _) => (natural(fields), "MultiHash"),
            (_, Some(_)) => (vec![format!("/{MADE_MEMBER}")], "Hash"),
            (_, None) => (natural(fields), "Hash"),
        };
        let autoscale = workload.container.autoscale;
        let step = if autoscale { 1_000 } else { 100 };
        let provisioned = row
            .horizons
            .first()
            .map_or(400.0, |at| at.outcome.provisioned);
        let least = if autoscale { 1_000 } else { 400 };
        Self {
            title: row.key.clone(),
            paths,
            kind,
            throughput: (provisioned.ceil() as u64)
                .div_ceil(step)
                .saturating_mul(step)
                .max(least),
            autoscale,
            ttl: workload.ttl,
            unique: workload
                .container
                .unique
                .iter()
                .map(|group| group.iter().map(|field| format!("/{field}")).collect())
                .collect(),
            made,
        }
    }
}

fn made(key: &KeySpec) -> Option<MadeKey> {
    let part = |field: &str| match field.split_once('@') {
        Some((path, unit)) => Part {
            path: path.to_owned(),
            cut: TRUNCATIONS
                .iter()
                .find(|(known, _)| *known == unit)
                .map(|(_, length)| *length),
        },
        None => Part {
            path: field.to_owned(),
            cut: None,
        },
    };
    match key {
        KeySpec::Path(path) if !path.contains('@') => None,
        KeySpec::Hierarchy(_) => None,
        KeySpec::Path(path) => Some(MadeKey {
            parts: vec![part(path.trim_start_matches('/'))],
            separator: String::new(),
            label: None,
        }),
        KeySpec::Concat { concat } => Some(MadeKey {
            parts: concat.of.iter().map(|field| part(field)).collect(),
            separator: concat.separator.clone(),
            label: None,
        }),
        KeySpec::Suffix { suffix } => Some(MadeKey {
            parts: vec![part(&suffix.of)],
            separator: suffix.separator.clone(),
            label: Some(Label {
                by: suffix.hash.clone(),
                buckets: suffix.buckets,
                start: suffix.start,
            }),
        }),
        KeySpec::Copies { copies } => Some(MadeKey {
            parts: vec![part(&copies.of)],
            separator: copies.separator.clone(),
            label: Some(Label {
                by: None,
                buckets: copies.count,
                start: copies.start,
            }),
        }),
    }
}

impl MadeKey {
    /// The members that the code takes, in order, each once.
    pub fn arguments(&self) -> Vec<&str> {
        let mut arguments: Vec<&str> = self.parts.iter().map(|part| part.path.as_str()).collect();
        if let Some(by) = self.label.as_ref().and_then(|label| label.by.as_deref())
            && !arguments.contains(&by)
        {
            arguments.push(by);
        }
        arguments
    }

    /// The key for the values of [`Self::arguments`]: what the code in every language computes.
    /// `None` when a label is drawn at random.
    pub fn key(&self, values: &[&str]) -> Option<String> {
        let arguments = self.arguments();
        let value = |path: &str| {
            let at = arguments.iter().position(|known| *known == path)?;
            values.get(at).copied()
        };
        let mut texts = Vec::new();
        for part in &self.parts {
            let text = value(&part.path)?;
            texts.push(match part.cut {
                Some(cut) => text.chars().take(cut).collect(),
                None => text.to_owned(),
            });
        }
        let mut key = texts.join(&self.separator);
        if let Some(label) = &self.label {
            let by = value(label.by.as_deref()?)?;
            let number = label.start + u64::from(fnv1a(by.as_bytes())) % label.buckets.max(1);
            key.push_str(&self.separator);
            key.push_str(&number.to_string());
        }
        Some(key)
    }
}

/// The 32-bit hash of Fowler, Noll and Vo: four lines in any language.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// The plan written down.
pub fn render(plan: &Plan, target: Target) -> String {
    match target {
        Target::Bicep => template::bicep(plan),
        Target::Arm => template::arm(plan),
        Target::Terraform => template::terraform(plan),
        Target::Cli => template::cli(plan),
        Target::Sdk => code::all(plan),
    }
}

/// The code that computes a made key in one language.
pub fn key_code(made: &MadeKey, language: Language) -> String {
    code::function(made, language)
}
