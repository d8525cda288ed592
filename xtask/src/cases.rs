//! Runs folders of test cases: JSON Lines files, one case an object, that state what the service
//! answers (their format is described in the README beside them).
//!
//! A case names its family as the first part of its `id`; files without such ids are told apart by
//! the members that a case has. Each family has one module with `run(&case) -> Outcome`.

mod bar;
mod hash;
mod metrics;
mod parser;
mod plan;
mod read;
mod results;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use bar::Bar;

/// What became of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is the expected one.
    Pass,
    /// The answer differs; the text says how.
    Fail(String),
    /// The case asks for something that this runner does not check; the text says what.
    Skip(String),
}

impl Outcome {
    /// Compares an answer with the expected one; `what` names the thing compared.
    pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, actual: &T) -> Self {
        if expected == actual {
            Self::Pass
        } else {
            Self::Fail(format!("{what}: expected {expected:?}, got {actual:?}"))
        }
    }

    /// The first of the outcomes that is not a pass.
    pub fn all(outcomes: impl IntoIterator<Item = Self>) -> Self {
        outcomes
            .into_iter()
            .find(|outcome| *outcome != Self::Pass)
            .unwrap_or(Self::Pass)
    }
}

/// The families of cases that the runner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    PartitionKeyHash,
    DistinctHash,
    Parser,
    QueryPlan,
    QueryResults,
    IndexMetrics,
}

impl Family {
    /// The family of a case: by its id, else by its members.
    fn of(case: &Value) -> Option<Self> {
        let by_id = case["id"].as_str().and_then(|id| id.split('/').next());
        match by_id {
            Some("partition-key-hash") => return Some(Self::PartitionKeyHash),
            Some("distinct-hash") => return Some(Self::DistinctHash),
            Some("parser") => return Some(Self::Parser),
            Some("query-plan") => return Some(Self::QueryPlan),
            Some("query-results") => return Some(Self::QueryResults),
            Some("index-metrics") => return Some(Self::IndexMetrics),
            _ => {}
        }
        let expected = &case["expected"];
        let has = |member: &str| case.get(member).is_some();
        let expects = |member: &str| expected.get(member).is_some();
        if has("bytesHex") || expects("epk") || expects("rawHashV2") {
            Some(Self::PartitionKeyHash)
        } else if expects("orderKey") || expects("ascending") {
            Some(Self::DistinctHash)
        } else if expects("queryInfo") || expects("queryRanges") || expects("partitionKeyFilter") {
            Some(Self::QueryPlan)
        } else if has("documents") || has("dataset") {
            Some(Self::QueryResults)
        } else if has("expectedError") {
            Some(Self::QueryPlan)
        } else if has("parses") || has("accepted") {
            Some(Self::Parser)
        } else {
            None
        }
    }

    fn run(self, case: &Value) -> Outcome {
        match self {
            Self::PartitionKeyHash => hash::run_partition_key(case),
            Self::DistinctHash => hash::run_distinct(case),
            Self::Parser => parser::run(case),
            Self::QueryPlan => plan::run(case),
            Self::QueryResults => results::run(case),
            Self::IndexMetrics => metrics::run(case),
        }
    }
}

/// Counts of one file of cases, and its failures in order.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    skipped: BTreeMap<String, usize>,
    disputed: usize,
    failures: Vec<(String, String)>,
}

impl Tally {
    fn skipped_total(&self) -> usize {
        self.skipped.values().sum()
    }
}

/// Settings of `cargo xtask cases`.
pub struct Options {
    /// The file or folder to read.
    pub root: PathBuf,
    /// How many failures to print in full for each file.
    pub show: usize,
    /// Run only cases whose id contains this text.
    pub filter: Option<String>,
}

/// Runs all cases below `options.root`; fails when more of them fail than the bar allows.
pub fn run(options: &Options) -> Result<()> {
    if !options.root.exists() {
        println!(
            "{} is absent: its cases are skipped",
            options.root.display()
        );
        println!("0 passed, 0 failed, 0 skipped");
        return Ok(());
    }
    let bar = Bar::load(&crate::paths::repository().join("tests/cases/bar.txt"))?;
    let files = read::case_files(&options.root)?;
    if files.is_empty() {
        bail!("no .jsonl file below {}", options.root.display());
    }
    let previous_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let tallies = run_files(&files, options);
    std::panic::set_hook(previous_hook);
    report(&tallies?, &bar, options)
}

fn run_files(files: &[PathBuf], options: &Options) -> Result<BTreeMap<String, Tally>> {
    let mut tallies = BTreeMap::new();
    let mut datasets = read::Datasets::default();
    for file in files {
        let (name, tally) = run_file(file, options, &mut datasets)
            .with_context(|| format!("{}", file.display()))?;
        let known: &mut Tally = tallies.entry(name).or_default();
        known.passed += tally.passed;
        known.disputed += tally.disputed;
        known.failures.extend(tally.failures);
        for (reason, count) in tally.skipped {
            *known.skipped.entry(reason).or_default() += count;
        }
    }
    Ok(tallies)
}

fn run_file(
    file: &Path,
    options: &Options,
    datasets: &mut read::Datasets,
) -> Result<(String, Tally)> {
    let mut tally = Tally::default();
    let mut name = file
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    for (number, line) in std::fs::read_to_string(file)?.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let mut case: Value =
            serde_json::from_str(line).with_context(|| format!("line {}", number + 1))?;
        let id = case["id"].as_str().unwrap_or_default().to_owned();
        if let Some((family_and_file, _)) = id.rsplit_once('/') {
            family_and_file.clone_into(&mut name);
        }
        if options
            .filter
            .as_ref()
            .is_some_and(|text| !id.contains(text.as_str()))
        {
            continue;
        }
        datasets.fill(file, &mut case)?;
        match run_case(&case) {
            Outcome::Pass => tally.passed += 1,
            Outcome::Skip(reason) => *tally.skipped.entry(reason).or_default() += 1,
            Outcome::Fail(_) if case.get("disputed").is_some() => tally.disputed += 1,
            Outcome::Fail(why) => {
                let query = case["query"].as_str().unwrap_or_default();
                tally.failures.push((id, format!("{why}\n      {query}")));
            }
        }
    }
    Ok((name, tally))
}

fn run_case(case: &Value) -> Outcome {
    let Some(family) = Family::of(case) else {
        return Outcome::Fail("no family of cases has this shape".to_owned());
    };
    catch_unwind(AssertUnwindSafe(|| family.run(case))).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Outcome::Fail(format!("panicked: {text}"))
    })
}

fn report(tallies: &BTreeMap<String, Tally>, bar: &Bar, options: &Options) -> Result<()> {
    println!(
        "{:<44} {:>6} {:>6} {:>6} {:>6}",
        "file", "passed", "failed", "skip", "bar"
    );
    let (mut passed, mut failed, mut skipped, mut over) = (0, 0, 0, Vec::new());
    for (name, tally) in tallies {
        let allowed = bar.allowed_failures(name);
        println!(
            "{name:<44} {:>6} {:>6} {:>6} {:>6}",
            tally.passed,
            tally.failures.len(),
            tally.skipped_total(),
            allowed
        );
        passed += tally.passed;
        failed += tally.failures.len();
        skipped += tally.skipped_total() + tally.disputed;
        if tally.failures.len() > allowed {
            over.push(name.as_str());
        }
    }
    for (name, tally) in tallies {
        for (reason, count) in &tally.skipped {
            println!("skipped {count} of {name}: {reason}");
        }
        if tally.disputed > 0 {
            println!("disputed {} of {name}", tally.disputed);
        }
        for (id, why) in tally.failures.iter().take(options.show) {
            println!("FAIL {id}\n      {why}");
        }
    }
    let excused = if over.is_empty() { failed } else { 0 };
    if excused > 0 {
        println!("{excused} failures are within the bar of tests/cases/bar.txt");
    }
    println!(
        "{passed} passed, {} failed, {skipped} skipped",
        failed - excused
    );
    if over.is_empty() {
        Ok(())
    } else {
        bail!("more failures than the bar allows in: {}", over.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn families_are_told_by_id_and_by_shape() {
        let by_id = json!({"id": "parser/x/1", "expected": {"epk": "05"}});
        assert_eq!(Family::of(&by_id), Some(Family::Parser));
        let by_shape = json!({"id": "mine", "expected": {"epk": "05"}});
        assert_eq!(Family::of(&by_shape), Some(Family::PartitionKeyHash));
        assert_eq!(Family::of(&json!({"id": "mine"})), None);
    }

    #[test]
    fn a_case_of_unknown_shape_fails() {
        assert!(matches!(run_case(&json!({"a": 1})), Outcome::Fail(_)));
    }
}
