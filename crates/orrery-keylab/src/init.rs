//! A workload file to fill in, written from a profile.

use std::fmt::Write as _;

use crate::placement::GIGABYTE;
use crate::profile::Profile;
use crate::report::text::{amount, percent};
use crate::traffic::Observed;
use crate::workload::Workload;

/// Members that are proposed for conditions.
const PROPOSED: usize = 3;
/// Members that are described.
const DESCRIBED: usize = 40;

/// The file's text: comments, and patterns on the members that look like keys.
pub fn workload(profile: &Profile) -> String {
    let items = profile.items.max(1) as f64;
    let gb = profile.bytes as f64 / GIGABYTE;
    let mut text = String::from(
        "# What is asked of the container. Fill in the rates; delete what does not happen.\n# Every member is explained in docs/keylab-scenarios.md.\n#\n# The data:\n",
    );
    for path in profile.paths.iter().take(DESCRIBED) {
        let stats = &path.stats;
        if stats.scalars() == 0 {
            continue;
        }
        let kind = if stats.strings >= stats.numbers {
            "text"
        } else {
            "number"
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "#   {:<24} {kind}, about {} values, the largest {} of the items{}",
            path.name,
            amount(stats.distinct.estimate().round()),
            percent(stats.frequent.largest_by_items().0),
            missing(stats.present(), profile.items)
        );
    }
    let proposed: Vec<&str> = proposals(profile, items);
    text.push_str("\nworkload:\n");
    if profile.paths.iter().any(|path| path.name == "id") {
        let known = proposed.first().map_or_else(String::new, |name| {
            format!(" AND {} = @{}", member(name), parameter(name))
        });
        let _ = writeln!(
            text,
            "  # One item, by what the caller knows.\n  - name: read one\n    op: point\n    where: c.id = @id{known}\n    rate: 100 # a second"
        );
    }
    for name in &proposed {
        let _ = writeln!(
            text,
            "  - name: by {name}\n    op: query\n    where: {} = @{}\n    rate: 50\n    returns: 10 # items of a page",
            member(name),
            parameter(name)
        );
    }
    text.push_str("  - name: create\n    op: create\n    rate: 20\n  # - name: change\n  #   op: replace\n  #   rate: 5\n  #   sets: [status] # members that change can be no keys\n");
    let _ = write!(
        text,
        "\nhorizons:\n  - {{name: now, gb: {:.3}}} # without ru the throughput is found; with it, it is judged\n  - {{name: 3y, gb: {:.3}, rates: 10}}\n\n# The member that tells when an item arrived, or `file order`: worst windows are judged by it.\n# arrival: createdAt\n\n# container: {{autoscale: true, strongReads: false, unique: [[email]]}}\n# candidates: [/customerId, [/tenantId, /id]]\n",
        gb.max(0.001),
        (gb * 10.0).max(0.01)
    );
    text
}

/// The file's text for recorded requests: the patterns as they came, to be put right by hand.
pub fn recorded(workload: &Workload, observed: &Observed) -> Result<String, serde_json::Error> {
    let mut text = String::from(
        "# What was asked of the container, from recorded requests: rates a second, and charges as they\n# were measured. Every member is explained in docs/keylab-scenarios.md.\n",
    );
    let mut fact = |what: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# {what}: {value}");
    };
    if let Some(container) = &observed.container {
        fact("Container", container.clone());
    }
    if !observed.key_paths.is_empty() {
        fact(
            "Partition key today",
            format!("/{}", observed.key_paths.join(", /")),
        );
    }
    if let Some(partitions) = observed.partitions {
        fact("Physical partitions today", partitions.to_string());
    }
    text.push_str("workload:\n");
    for pattern in &workload.workload {
        let _ = writeln!(text, "  - {}", serde_json::to_string(pattern)?);
    }
    text.push_str("horizons:\n");
    for horizon in &workload.horizons {
        let _ = writeln!(
            text,
            "  - {} # put the gigabytes right",
            serde_json::to_string(horizon)?
        );
    }
    let container = serde_json::to_string(&workload.container)?;
    let _ = writeln!(text, "container: {container}");
    Ok(text)
}

fn missing(present: u64, items: u64) -> String {
    if present >= items {
        String::new()
    } else {
        format!(
            ", missing in {}",
            percent((items - present) as f64 / items as f64)
        )
    }
}

/// The members with most values that are not unique: what queries are likely to name.
fn proposals(profile: &Profile, items: f64) -> Vec<&str> {
    let mut found: Vec<(f64, &str)> = profile
        .paths
        .iter()
        .filter(|path| {
            let stats = &path.stats;
            let distinct = stats.distinct.estimate();
            stats.arrays + stats.objects == 0
                && stats.fractions == 0
                && stats.scalars() as f64 >= 0.9 * items
                && distinct > 2.0
                && distinct < 0.9 * items
        })
        .map(|path| {
            // Names that end as identifiers do come first.
            let is_id = path.name.ends_with("Id")
                || path.name.ends_with("_id")
                || path.name.ends_with("num");
            let weight = if is_id { 1e12 } else { 0.0 };
            (weight + path.stats.distinct.estimate(), path.name.as_str())
        })
        .collect();
    found.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    found
        .into_iter()
        .take(PROPOSED)
        .map(|(_, name)| name)
        .collect()
}

/// A path as the query language writes it.
fn member(path: &str) -> String {
    let mut text = String::from("c");
    for name in path.split('/') {
        let is_plain = !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && !name.starts_with(|letter: char| letter.is_ascii_digit());
        if is_plain {
            text.push('.');
            text.push_str(name);
        } else {
            let _ = write!(
                text,
                "[\"{}\"]",
                name.replace('\\', "\\\\").replace('"', "\\\"")
            );
        }
    }
    text
}

fn parameter(path: &str) -> String {
    path.chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect()
}
