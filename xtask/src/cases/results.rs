//! Cases of the family `results`: rows that queries give over the items of a case, run through
//! the pipeline in process: in one range as one page, page by page, and over several ranges.

mod compare;
mod execute;

use serde_json::Value;

use super::Outcome;
use compare::Expectation;
use execute::{Container, Refusal};

/// Runs one case.
pub fn run(case: &Value) -> Outcome {
    let Some(query) = case["query"].as_str() else {
        return Outcome::Skip("no query".to_owned());
    };
    if case.get("userDefinedFunctions").is_some() {
        return Outcome::Skip("user-defined functions are not supported yet".to_owned());
    }
    let container = Container::of(case);
    let expectation = Expectation::of(case);
    // One page; pages of three rows; over three ranges.
    for (name, ranges, page) in [
        ("one page", 1, usize::MAX),
        ("pages", 1, 3),
        ("ranges", 3, usize::MAX),
    ] {
        let outcome = match container.run(query, ranges, page) {
            Ok(rows) => expectation.rows(&rows),
            Err(Refusal::NotDistributed) => continue,
            Err(Refusal::Failed(message)) => expectation.error(&message),
        };
        if let Err(why) = outcome {
            return Outcome::Fail(format!("{name}: {why}"));
        }
    }
    Outcome::Pass
}
