//! Cases of the family `query-plan`: plans, ranges, the partition keys of a filter, and refusals.

use orrery_model::container::GeospatialType;
use orrery_model::partition_key::{KeyComponent, PartitionKey};
use orrery_model::partition_key::{PartitionKeyDefinition, PartitionKeyKind};
use orrery_sql::analysis::QueryLimits;
use orrery_sql::environment::{DistanceFunction, Environment, Parameters, VectorPath};
use orrery_sql::errors::SqlErrors;
use orrery_sql::parser::parse;
use orrery_sql::plan::{Features, PlanContext, PlanInfo, QueryPlan, plan};
use orrery_sql::routing::{KeyFilter, KeySpan, constant, key_filter};
use serde_json::{Map, Value, json};

use super::Outcome;
use super::parser::compare_error;

/// Runs one case.
pub fn run(case: &Value) -> Outcome {
    let Some(text) = case["query"].as_str() else {
        return Outcome::Skip("no query".to_owned());
    };
    let expected = &case["expected"];
    if expected.get("optimisticDirectExecution").is_some() || expected.get("passThrough").is_some()
    {
        return Outcome::Skip("the client alone decides this".to_owned());
    }
    if is_superseded(case) {
        return Outcome::Skip("an older engine's answer; newer cases say otherwise".to_owned());
    }
    let checked = if let Some(filter) = expected.get("partitionKeyFilter") {
        check_filter(case, text, filter)
    } else {
        check_plan(case, text)
    };
    match checked {
        Ok(()) => Outcome::Pass,
        Err(reason) => Outcome::Fail(reason),
    }
}

/// Answers of the older engine that a newer baseline contradicts for the same query, or for the
/// same query with one argument more.
fn is_superseded(case: &Value) -> bool {
    let text = case["query"].as_str().unwrap_or_default();
    let message = case["expectedError"]["message"]
        .as_str()
        .unwrap_or_default();
    case["authority"] == "service-engine-old"
        && (message.ends_with("requires 2 argument(s).")
            || (message.starts_with("Unsupported ORDER BY")
                && case["expectedError"]["code"].is_null())
            || text.contains("ST_DISTANCE(r.a.b.c,"))
}

/// The definition of a case; `None` where the plan was made without one.
pub fn definition(case: &Value) -> Option<PartitionKeyDefinition> {
    let paths: Vec<&str> = case["partitionKeyPaths"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let kind = match case["partitionKeyKind"].as_str() {
        Some("MultiHash") => PartitionKeyKind::MultiHash,
        Some("Range") => PartitionKeyKind::Range,
        _ => PartitionKeyKind::Hash,
    };
    let version = case["partitionKeyVersion"].as_u64().unwrap_or(2);
    PartitionKeyDefinition::new(paths, kind, u8::try_from(version).ok()?).ok()
}

/// The parameters of a case.
pub fn parameters(case: &Value) -> Parameters {
    let list = case["parameters"].as_array().into_iter().flatten();
    let pair = |parameter: &Value| {
        let value = orrery_model::json::parse(parameter["value"].to_string().as_bytes())
            .ok()?
            .into_owned();
        Some((parameter["name"].as_str()?.to_owned(), value))
    };
    Parameters::new(list.filter_map(pair).collect())
}

fn environment(case: &Value) -> Environment {
    let vectors = case["vectorEmbeddingPolicy"]["vectorEmbeddings"]
        .as_array()
        .into_iter()
        .flatten();
    let vector = |embedding: &Value| {
        let names = embedding["path"]
            .as_str()?
            .split('/')
            .skip(1)
            .map(ToOwned::to_owned);
        let distance = DistanceFunction::from_name(embedding["distanceFunction"].as_str()?)?;
        Some(VectorPath {
            path: names.collect(),
            distance,
        })
    };
    let surface = if case["geospatialType"] == "Geometry" {
        GeospatialType::Geometry
    } else {
        GeospatialType::Geography
    };
    Environment {
        surface,
        vectors: vectors.filter_map(vector).collect(),
        ..Environment::default()
    }
}

/// Plans the query of a case as its source did.
pub fn make_plan(case: &Value, text: &str) -> Result<QueryPlan, SqlErrors> {
    let query = parse(text)?;
    let definition = definition(case);
    let parameters = parameters(case);
    let environment = environment(case);
    // The older engine knew neither aggregates in lists nor many user-defined functions.
    let old = case["authority"] == "service-engine-old";
    let features = "Aggregate, CompositeAggregate, Distinct, GroupBy, MultipleAggregates, MultipleOrderBy, OffsetAndLimit, OrderBy, Top";
    let limits = QueryLimits {
        udf_calls: if old {
            2
        } else {
            QueryLimits::default().udf_calls
        },
        ..QueryLimits::default()
    };
    let context = PlanContext {
        definition: definition.as_ref(),
        parameters: &parameters,
        environment: &environment,
        features: old.then(|| Features::parse(features)),
        limits,
        fold: &|expr| constant(expr, &parameters, &environment),
    };
    plan(text, &query, &context)
}

fn check_filter(case: &Value, text: &str, expected: &Value) -> Result<(), String> {
    let query = parse(text).map_err(|errors| errors.body())?;
    let definition = definition(case).ok_or("no definition")?;
    let parameters = parameters(case);
    let environment = environment(case);
    let filter = key_filter(
        &query,
        &|expr| constant(expr, &parameters, &environment),
        &definition,
    );
    let found = match &filter {
        KeyFilter::Unconstrained => json!({"type": "unconstrained"}),
        KeyFilter::Contradictory => json!({"type": "contradictory"}),
        KeyFilter::Keys(keys) => match keys.as_slice() {
            [key] => json!({"type": "equality", "values": filter_key(key)}),
            keys => {
                json!({"type": "inList", "values": keys.iter().map(filter_key).collect::<Vec<_>>()})
            }
        },
    };
    let same = if expected["type"] == "inList" {
        found["type"] == "inList" && as_set(&found["values"]) == as_set(&expected["values"])
    } else {
        numbers_as_doubles(&found) == numbers_as_doubles(expected)
    };
    if same {
        Ok(())
    } else {
        Err(format!("expected {expected}, got {found}"))
    }
}

/// A key as these cases write it: they have no word for undefined.
fn filter_key(key: &PartitionKey) -> Value {
    let components = key
        .components()
        .iter()
        .filter(|component| **component != KeyComponent::Undefined);
    components.map(component).collect()
}

fn component(component: &KeyComponent) -> Value {
    let text = orrery_model::json::to_string(&component.to_value());
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

fn as_set(list: &Value) -> Vec<String> {
    let mut texts: Vec<String> = list
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| numbers_as_doubles(item).to_string())
        .collect();
    texts.sort();
    texts
}

fn numbers_as_doubles(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(numbers_as_doubles).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), numbers_as_doubles(member)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn check_plan(case: &Value, text: &str) -> Result<(), String> {
    let planned = make_plan(case, text);
    if let Some(expected) = case
        .get("expectedError")
        .filter(|expected| expected.is_object())
    {
        return match planned {
            Ok(_) => Err("accepted".to_owned()),
            Err(errors) => compare_error(expected, &errors.list()[0])
                .map_err(|difference| format!("{difference}: {errors}")),
        };
    }
    let plan = planned.map_err(|errors| format!("refused: {errors}"))?;
    let expected = &case["expected"];
    check_info(expected, &plan)?;
    check_ranges(&expected["queryRanges"], &plan)
}

fn check_info(expected: &Value, plan: &QueryPlan) -> Result<(), String> {
    let read =
        |text: String| serde_json::from_str::<Value>(&text).map_err(|error| error.to_string());
    match &plan.info {
        PlanInfo::Query(info) => {
            let found = read(info.to_json())?;
            contains("queryInfo", &expected["queryInfo"], &found)?;
            contains(
                "rewrittenQuery",
                &expected["rewrittenQuery"],
                &found["rewrittenQuery"],
            )
        }
        PlanInfo::Hybrid(info) => contains(
            "hybridSearchQueryInfo",
            &expected["hybridSearchQueryInfo"],
            &read(info.to_json())?,
        ),
    }
}

/// Every member that a case names must be as it says; absent expectations are met by anything.
fn contains(place: &str, expected: &Value, found: &Value) -> Result<(), String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().try_for_each(|(name, member)| {
                contains(
                    &format!("{place}.{name}"),
                    member,
                    found.get(name).unwrap_or(&Value::Null),
                )
            })
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => expected
            .iter()
            .zip(found)
            .try_for_each(|(expected, found)| contains(place, expected, found)),
        (Value::Null, _) if !place.contains('.') => Ok(()),
        _ if numbers_as_doubles(expected) == numbers_as_doubles(found) => Ok(()),
        _ => Err(format!("{place}: expected {expected}, got {found}")),
    }
}

fn check_ranges(expected: &Value, plan: &QueryPlan) -> Result<(), String> {
    if expected.is_null() {
        return Ok(());
    }
    let found: Value = plan.spans.iter().map(span).collect();
    // The engine lists them in the order of some hash table; the gateway sorts what it sends.
    let same = as_set(expected) == as_set(&found);
    if same {
        Ok(())
    } else {
        Err(format!("queryRanges: expected {expected}, got {found}"))
    }
}

fn span(span: &KeySpan) -> Value {
    let bounds = |min: Value, max: Value, min_inclusive: bool, max_inclusive: bool| json!({"min": min, "max": max, "isMinInclusive": min_inclusive, "isMaxInclusive": max_inclusive});
    match span {
        KeySpan::Nothing => bounds(json!([]), json!([]), true, true),
        KeySpan::Everything => bounds(json!([]), json!("Infinity"), true, false),
        KeySpan::Between {
            min,
            max,
            min_inclusive,
            max_inclusive,
        } => {
            let key = |key: &PartitionKey| key.components().iter().map(component).collect();
            bounds(key(min), key(max), *min_inclusive, *max_inclusive)
        }
    }
}
