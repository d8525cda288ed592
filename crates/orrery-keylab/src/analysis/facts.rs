//! What a sample tells of a key beside placement: validity and stability (method: sections 5
//! and 8).

use orrery_model::partition_key::KeyComponent;
use rustc_hash::FxHashMap;

use crate::evidence::clopper_pearson;
use crate::gate::Finding;
use crate::gates::KeyFacts;
use crate::layout::{Groups, Sampled};
use crate::profile::Profile;
use crate::report::text::{key_text, percent};
use crate::scenario::KeySpec;
use crate::table::Column;
use crate::workload::Workload;

/// Longest value of version-1 containers that is hashed in full, in bytes.
const VERSION1_BYTES: usize = 101;
/// Longest value, in bytes.
const KEY_BYTES: usize = 2_048;
/// Share of texts from which on a member holds what its pattern says.
const MOSTLY: f64 = 0.5;

/// The facts of a key.
pub(super) fn of(
    profile: &Profile,
    workload: &Workload,
    sampled: &Sampled<'_>,
    groups: &Groups,
) -> KeyFacts {
    let mut facts = KeyFacts {
        fields: sampled
            .columns
            .iter()
            .map(|column| column.name.split('@').next().unwrap_or_default().to_owned())
            .collect(),
        unique: workload.container.unique.clone(),
        ..KeyFacts::default()
    };
    if let KeySpec::Suffix { suffix } = sampled.key {
        facts.fields.extend(suffix.hash.clone());
    }
    for column in sampled.columns {
        let name = column.name.split('@').next().unwrap_or_default();
        let validity = column.validity.get_or_init(|| of_column(column));
        facts.validity.extend(validity.iter().cloned());
        if let Some(path) = profile.paths.iter().find(|path| path.name == name) {
            let stats = &path.stats;
            let (limit, what) = if workload.container.version1 {
                (VERSION1_BYTES, "version-1 containers hash only 101")
            } else {
                (KEY_BYTES, "the service takes 2,048")
            };
            if stats.longest > limit {
                let reason = format!("the longest {name} has {} bytes: {what}", stats.longest);
                facts
                    .validity
                    .push((Finding::Fail, stats.longest as f64, reason));
            }
            if stats.unsafe_integers > 0 {
                let share = stats.unsafe_integers as f64 / profile.items as f64;
                let reason = format!(
                    "{} of the items have a {name} above 2^53, which loses digits as a number: store it as a string",
                    percent(share)
                );
                facts.validity.push((Finding::Warn, share, reason));
            }
            if stats.fractions > 0 {
                let share = stats.fractions as f64 / profile.items as f64;
                let reason = format!(
                    "{name} has fractions in {} of the items: store it as a string",
                    percent(share)
                );
                facts.validity.push((Finding::Warn, share, reason));
            }
        }
    }
    facts.changes = changes(sampled, groups);
    facts
}

fn of_column(column: &Column) -> Vec<(Finding, f64, String)> {
    let mut findings = Vec::new();
    let name = &column.name;
    let rows = column.codes.len().max(1) as f64;
    let mut counts = vec![0_u32; column.values.len()];
    for code in &column.codes {
        counts[*code as usize] += 1;
    }
    let share_of = |wanted: KeyComponent| {
        let items: u32 = column
            .values
            .iter()
            .zip(&counts)
            .filter(|(value, _)| **value == wanted)
            .map(|(_, count)| *count)
            .sum();
        f64::from(items) / rows
    };
    for (value, what) in [
        (KeyComponent::Undefined, "lack"),
        (KeyComponent::Null, "have null in"),
    ] {
        let share = share_of(value);
        if share > 0.0 {
            let reason = format!(
                "{} of the items {what} {name}: they all share one value",
                percent(share)
            );
            findings.push((Finding::Warn, share, reason));
        }
    }
    let used = || {
        column
            .values
            .iter()
            .zip(&counts)
            .filter(|(_, count)| **count > 0)
            .map(|(value, _)| value)
    };
    let mut texts: Vec<&str> = used()
        .filter_map(|value| match value {
            KeyComponent::String(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.sort_unstable();
    let others =
        used().filter(|value| matches!(value, KeyComponent::Number(_) | KeyComponent::Bool(_)));
    let mut has_others = false;
    for value in others {
        has_others = true;
        let text = key_text(value);
        if texts.binary_search(&text.as_str()).is_ok() {
            let reason = format!(
                "{name} has {text} as a text and as a {}: one entity is split over two logical partitions",
                if matches!(value, KeyComponent::Bool(_)) {
                    "boolean"
                } else {
                    "number"
                }
            );
            findings.push((Finding::Fail, 1.0, reason));
            return findings;
        }
    }
    if has_others && !texts.is_empty() {
        let reason = format!(
            "{name} has texts in some items and numbers or booleans in others: make sure that no entity has both"
        );
        findings.push((Finding::Warn, 1.0, reason));
    }
    if let Some((one, other)) = variants(&texts) {
        let reason = format!(
            "{name} has {one:?} and {other:?}, which are different values: write them alike"
        );
        findings.push((Finding::Warn, 1.0, reason));
    }
    let mails = texts.iter().filter(|text| looks_like_mail(text)).count();
    if !texts.is_empty() && mails as f64 / texts.len() as f64 > MOSTLY {
        let reason =
            format!("{name} holds mail addresses: keys stand in logs and cannot be changed");
        findings.push((Finding::Warn, 1.0, reason));
    }
    findings
}

/// Two texts that differ in case, blanks around them, or leading zeros only.
fn variants<'a>(texts: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let mut known: FxHashMap<String, &str> = FxHashMap::default();
    for text in texts {
        let folded = text.trim().to_lowercase();
        let plain = folded.trim_start_matches('0');
        let plain = if plain.is_empty() { "0" } else { plain };
        if let Some(other) = known.insert(plain.to_owned(), text) {
            return Some((other, text));
        }
    }
    None
}

fn looks_like_mail(text: &str) -> bool {
    text.split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !text.contains(' '))
}

/// The share of the items whose key differs between versions of them.
fn changes(sampled: &Sampled<'_>, groups: &Groups) -> Option<crate::evidence::Interval> {
    if !sampled.table.has_versions {
        return None;
    }
    let id = sampled.table.column("id")?;
    let mut first: Vec<Option<(u32, bool)>> = vec![None; id.values.len()];
    let (mut versioned, mut changed) = (0_u64, 0_u64);
    let mut is_versioned = vec![false; id.values.len()];
    for (row, &group) in groups.of_row.iter().enumerate() {
        let item = id.codes[row] as usize;
        if id.values[item] == KeyComponent::Undefined {
            continue;
        }
        match &mut first[item] {
            None => first[item] = Some((group, false)),
            Some((known, has_changed)) => {
                if !is_versioned[item] {
                    is_versioned[item] = true;
                    versioned += 1;
                }
                if *known != group && !*has_changed {
                    *has_changed = true;
                    changed += 1;
                }
            }
        }
    }
    (versioned > 0).then(|| clopper_pearson(changed, versioned, sampled.delta))
}
