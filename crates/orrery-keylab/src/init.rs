//! A workload file to fill in, written from a profile.

use std::fmt::Write as _;

use crate::placement::{GIGABYTE, version2};
use crate::profile::Profile;
use crate::report::text::{amount, percent};
use crate::roles::Roles;
use crate::table::Table;
use crate::traffic::Observed;
use crate::workload::Workload;

/// Members that are described.
const DESCRIBED: usize = 40;

/// The file's text: comments, and the patterns of an ordinary application over members that look
/// like identifiers and owners. Its rates are guesses and marked as such.
pub fn workload(profile: &Profile) -> String {
    let gb = profile.bytes as f64 / GIGABYTE;
    let roles = Roles::of(&Table::of(profile, &[], version2));
    let mut text = String::from(
        "# What is asked of the container. Fill in the rates; delete what does not happen.\n# Every member is explained in docs/keylab-scenarios.md.\n#\n# The data:\n",
    );
    describe(profile, &roles, &mut text);
    text.push_str(
        "\n# The patterns and rates below are guessed from the names and values of the data.\n# Put yours in their place (a rate is requests a second) and delete this line: reports then stop saying so.\nguessedRates: true\n\nworkload:\n",
    );
    patterns(&roles, &mut text);
    let _ = write!(
        text,
        "\nhorizons:\n  - {{name: now, gb: {:.3}}} # without ru the throughput is found; with it, it is judged\n  - {{name: 10x, gb: {:.3}, rates: 10}}\n\n# The member that tells when an item arrived, or `file order`: worst windows are judged by it.\n",
        gb.max(0.001),
        (gb * 10.0).max(0.01)
    );
    let _ = match (&roles.arrival, &roles.time) {
        (Some(name), _) => writeln!(text, "arrival: {}", quoted(name)),
        (None, Some(name)) => writeln!(text, "# arrival: {}", quoted(name)),
        (None, None) => writeln!(text, "# arrival: file order"),
    };
    let unique = roles.identity.as_deref().unwrap_or("email");
    let owner = roles.owners.first().map_or("customerId", String::as_str);
    let _ = writeln!(
        text,
        "\n# container: {{autoscale: true, strongReads: false, unique: [[{}]]}}\n# candidates: [{}, [{}, /id]]",
        quoted(unique),
        quoted(&format!("/{owner}")),
        quoted(&format!("/{owner}")),
    );
    text
}

/// A comment line for each path, with what it seems to be for.
fn describe(profile: &Profile, roles: &Roles, text: &mut String) {
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
        let name = &path.name;
        let role = if roles.identity.as_ref() == Some(name) {
            "; tells the items apart"
        } else if roles.owners.contains(name) {
            "; says whose the item is"
        } else if roles.arrival.as_ref() == Some(name) {
            "; says when it came"
        } else {
            ""
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "#   {name:<24} {kind}, about {} values, the largest {} of the items{}{role}",
            amount(stats.distinct.estimate().round()),
            percent(stats.frequent.largest_by_items().0),
            missing(stats.present(), profile.items)
        );
    }
}

/// The patterns of an ordinary application: most reads open one item, some list what belongs to an
/// owner, few search.
fn patterns(roles: &Roles, text: &mut String) {
    let mut pattern =
        |comment: &str, name: &str, op: &str, filter: Option<String>, rate: f64, rest: &str| {
            let filter = filter.map_or_else(String::new, |filter| {
                // A colon or a number sign behind a blank means something else in YAML.
                let is_plain = !filter.contains(": ") && !filter.contains(" #");
                let filter = if is_plain { filter } else { json_text(&filter) };
                format!("    where: {filter}\n")
            });
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "  # {comment}\n  - name: {}\n    op: {op}\n{filter}    rate: {rate}\n{rest}",
                quoted(name)
            );
        };
    let equals = |name: &String| format!("{} = @{}", member(name), parameter(name));
    let owner = roles.owners.first();
    if let Some(identity) = &roles.identity {
        let open = match owner {
            Some(_) => "Open one item, whose owner is known as well.",
            None => "Open one item.",
        };
        let known = owner.map_or_else(String::new, |owner| format!(" AND {}", equals(owner)));
        pattern(
            open,
            "read one",
            "point",
            Some(equals(identity) + &known),
            200.0,
            "",
        );
        if owner.is_some() {
            pattern(
                "Find one item by nothing else, as from a link or a message of another system.",
                &format!("find by {identity}"),
                "query",
                Some(equals(identity)),
                2.0,
                "    returns: 1\n",
            );
        }
    }
    for (owner, rate) in roles.owners.iter().zip([100.0, 10.0]) {
        pattern(
            "A page of what belongs to one of them.",
            &format!("list by {owner}"),
            "query",
            Some(equals(owner)),
            rate,
            "    returns: 10 # items of a page\n",
        );
    }
    if let Some(state) = &roles.state {
        pattern(
            "Work in the background: everything in one state.",
            &format!("by {state}"),
            "query",
            Some(equals(state)),
            0.1,
            "    returns: 100\n",
        );
    }
    pattern("New items.", "create", "create", None, 50.0, "");
    if let Some(state) = &roles.state {
        pattern(
            "Members that change can be no keys.",
            &format!("change {state}"),
            "replace",
            None,
            20.0,
            &format!("    sets: [{}]\n", quoted(state)),
        );
    } else {
        text.push_str("  # - name: change\n  #   op: replace\n  #   rate: 5\n  #   sets: [status] # members that change can be no keys\n");
    }
}

/// A name as YAML takes it whatever is in it.
fn quoted(name: &str) -> String {
    let is_plain = name
        .chars()
        .all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '/' | ' '))
        && name.starts_with(|letter: char| letter.is_alphabetic() || matches!(letter, '_' | '/'))
        && !name.ends_with(' ');
    if is_plain {
        name.to_owned()
    } else {
        json_text(name)
    }
}

/// A text in quotation marks, as JSON and YAML both read it.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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
