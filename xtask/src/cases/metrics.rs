//! Cases of the family `index-metrics`: the indexes that a query uses, and query advice.

use orrery_model::container::ContainerSpec;
use orrery_model::index::IndexTree;
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_sql::advice::advice;
use orrery_sql::environment::{Environment, Parameters};
use orrery_sql::index_metrics::{IndexMetrics, Offered};
use orrery_sql::parser::parse;
use orrery_sql::program::Program;
use serde_json::Value;

use super::Outcome;

/// Runs one case, over a container with the default policy unless the case has its own.
pub fn run(case: &Value) -> Outcome {
    let Some(text) = case["query"].as_str() else {
        return Outcome::Skip("no query".to_owned());
    };
    match check(case, text) {
        Ok(outcome) => outcome,
        Err(why) => Outcome::Fail(why),
    }
}

fn check(case: &Value, text: &str) -> Result<Outcome, String> {
    let query = parse(text).map_err(|errors| errors.to_string())?;
    let expected = &case["expected"];
    if let Some(ids) = expected["adviceIds"].as_array() {
        let ids: Vec<&str> = ids.iter().filter_map(Value::as_str).collect();
        return Ok(Outcome::equal("advice", &ids, &advice(&query)));
    }
    let program = Program::compile(&query, &Parameters::default(), &Environment::default())
        .map_err(|errors| errors.to_string())?;
    let policy = case.get("indexingPolicy").cloned().unwrap_or_default();
    let spec = serde_json::json!({
        "id": "c", "partitionKey": {"paths": ["/pk"]}, "indexingPolicy": policy,
    });
    let spec = json::parse_str(&spec.to_string())
        .map_err(|error| error.to_string())?
        .into_owned();
    let spec = ContainerSpec::parse(&spec, &Limits::default())
        .map_err(|error| format!("the policy: {error}"))?;
    let tree = IndexTree::new(&spec.indexing_policy);
    let offered = Offered {
        includes: &|path| tree.includes(path),
        composites: tree.composites().iter().collect(),
        shapes: &|path| tree.shapes(path).map(|shapes| shapes.path().to_string()),
    };
    let found = IndexMetrics::new(&program, &offered).to_json_v2();
    let found: Value = serde_json::from_str(&found).map_err(|error| error.to_string())?;
    Ok(Outcome::equal("index metrics", expected, &found))
}
