//! Rules on the text of the repository that no compiler checks.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::{paths, process};

/// A file of code over this length wants a seam, or a line `//! Long because …`.
const LONGEST: usize = 600;

/// Words that name unfinished work, or a place that only one machine has. Written in parts, so that
/// this file does not contain them.
const FORBIDDEN: [[&str; 2]; 7] = [
    ["TO", "DO"],
    ["FIX", "ME"],
    ["X", "XX:"],
    ["/wo", "rk/"],
    ["/ro", "ot/"],
    ["/ho", "me/"],
    ["#[ign", "ore"],
];

/// Time and chance that a core crate must be handed instead of taking them.
const AMBIENT: [&str; 4] = [
    "SystemTime::now",
    "Instant::now",
    "getrandom::",
    "RandomState::new",
];

/// The sources whose answers depend on nothing but their input, seed and clock.
const DETERMINISTIC: [&str; 4] = [
    "crates/orrery-keylab/src",
    "crates/orrery-model/src",
    "crates/orrery-sql/src",
    "crates/orrery-engine/src",
];

/// Module names that say nothing.
const EMPTY_NAMES: [&str; 5] = ["utils", "util", "common", "helpers", "misc"];

/// Checks every file that git tracks.
pub fn check() -> Result<()> {
    let root = paths::repository();
    let listed = process::output(
        std::process::Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root),
    )?;
    let mut problems = Vec::new();
    for name in listed.lines() {
        let path = root.join(name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        problems.extend(words(name, &text));
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("rs") => problems.extend(code(name, &text)),
            Some("md") => problems.extend(links(&path, name, &text)),
            _ => {}
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    for problem in &problems {
        println!("{problem}");
    }
    bail!("{} places are untidy", problems.len())
}

fn words(name: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for parts in FORBIDDEN {
            let word = parts.concat();
            if contains_word(line, &word) {
                problems.push(format!("{name}:{}: `{word}`", number + 1));
            }
        }
        let is_prose = Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "md");
        if line.ends_with([' ', '\t']) && !is_prose {
            problems.push(format!(
                "{name}:{}: space at the end of the line",
                number + 1
            ));
        }
    }
    problems
}

/// Whether the word stands in the line as itself and not as the start of a longer name.
fn contains_word(line: &str, word: &str) -> bool {
    let is_name = |next: char| next == '_' || next.is_alphanumeric();
    line.split(word).skip(1).any(|rest| {
        let ends_in_name = word.ends_with(is_name);
        !(ends_in_name && rest.starts_with(is_name))
    })
}

fn code(name: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST && !text.contains("//! Long because") {
        problems.push(format!("{name}: {lines} lines; look for a seam"));
    }
    let speaks_for_itself = name.ends_with("build.rs") || name.ends_with("/tests.rs");
    if !text.trim_start().starts_with("//!") && !speaks_for_itself {
        problems.push(format!("{name}: does not begin with its purpose (`//!`)"));
    }
    if DETERMINISTIC.iter().any(|folder| name.starts_with(folder)) {
        for (number, line) in text.lines().enumerate() {
            if AMBIENT.iter().any(|word| line.contains(word)) {
                problems.push(format!(
                    "{name}:{}: time and chance are handed in",
                    number + 1
                ));
            }
        }
    }
    let stem = Path::new(name)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    if EMPTY_NAMES.contains(&stem.as_str()) {
        problems.push(format!("{name}: the name says nothing"));
    }
    if stem == "mod" && !name.contains("tests/") {
        problems.push(format!("{name}: a module's file stands beside its folder"));
    }
    problems
}

/// Links of a document to files must lead to files.
fn links(path: &Path, name: &str, text: &str) -> Vec<String> {
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    let mut problems = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for rest in line.split("](").skip(1) {
            let Some((target, _)) = rest.split_once(')') else {
                continue;
            };
            let target = target.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            if !folder.join(target).exists() {
                problems.push(format!("{name}:{}: no file {target}", number + 1));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_words_are_found_with_their_line() {
        let text = format!("fine\nleft: {}{}\n", "TO", "DO");
        assert_eq!(words("a.rs", &text).len(), 1);
        assert!(words("a.rs", "fine\n").is_empty());
        assert!(words("a.rs", &format!("{}{}_LIST\n", "TO", "DO")).is_empty());
    }

    #[test]
    fn long_and_purposeless_files_are_found() {
        let long = format!("//! Purpose.\n{}", "x\n".repeat(LONGEST));
        assert_eq!(code("src/a.rs", &long).len(), 1);
        assert_eq!(code("src/utils.rs", "fn a() {}\n").len(), 2);
    }
}
