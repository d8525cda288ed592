//! Cases of the family `parser`: what parses, how it binds, what is refused and why.

use orrery_sql::errors::{Code, SqlErrors};
use orrery_sql::parser::parse;
use orrery_sql::printer::Printer;
use serde_json::Value;

use super::Outcome;

/// Runs one case.
pub fn run(case: &Value) -> Outcome {
    let Some(text) = case["query"].as_str() else {
        return Outcome::Skip("no query".to_owned());
    };
    match check(case, text) {
        Ok(()) => Outcome::Pass,
        Err(reason) => Outcome::Fail(reason),
    }
}

fn check(case: &Value, text: &str) -> Result<(), String> {
    let parsed = parse(text).map(|query| Printer::query_text(text, &query));
    if let Some(expected) = case["parses"].as_bool()
        && parsed.is_ok() != expected
    {
        return Err(format!("parses: {parsed:?}"));
    }
    for member in ["sameAs", "normalized"] {
        let Some(other) = case[member].as_str() else {
            continue;
        };
        let other = parse(other).map(|query| Printer::query_text(other, &query));
        if directed(&parsed) != directed(&other) {
            return Err(format!("{member}: {parsed:?} against {other:?}"));
        }
    }
    let accepted = accept(case, text);
    match case["accepted"].as_bool() {
        Some(true) => accepted.map_err(|errors| format!("refused: {errors}")),
        Some(false) => match accepted {
            Ok(()) => Err("accepted".to_owned()),
            Err(errors) => compare_errors(&case["expectedErrors"], &errors),
        },
        None => Ok(()),
    }
}

/// The text, or nothing when it did not parse. A written ASC is no difference: the SDK's printer
/// adds it, the service keeps what it was given.
fn directed(text: &Result<String, SqlErrors>) -> Option<String> {
    text.as_ref().ok().map(|text| text.replace(" ASC", ""))
}

/// Whether the service takes the query: clients ask it for a plan.
fn accept(case: &Value, text: &str) -> Result<(), SqlErrors> {
    super::plan::make_plan(case, text).map(drop)
}

fn compare_errors(expected: &Value, errors: &SqlErrors) -> Result<(), String> {
    let Some(expected) = expected.as_array() else {
        return Ok(());
    };
    let found = errors.list();
    if expected.len() != found.len() {
        return Err(format!("{} errors: {errors}", found.len()));
    }
    for (expected, found) in expected.iter().zip(found) {
        compare_error(expected, found).map_err(|difference| format!("{difference}: {errors}"))?;
    }
    Ok(())
}

/// Compares an error with what a case expects of it.
pub fn compare_error(
    expected: &Value,
    found: &orrery_sql::errors::SqlError,
) -> Result<(), &'static str> {
    let code = match found.code {
        Code::Named(code) => Value::from(code),
        Code::Numbered(code) => Value::from(code),
        Code::Absent => Value::Null,
    };
    if expected["code"] != code {
        return Err("code");
    }
    if expected["message"] != found.message.as_str() {
        return Err("message");
    }
    let location = &expected["location"];
    let differs = |span: orrery_sql::ast::Span| {
        location["start"] != u64::from(span.start) || location["end"] != u64::from(span.end)
    };
    if location.is_object() && found.span.is_none_or(differs) {
        return Err("location");
    }
    Ok(())
}
