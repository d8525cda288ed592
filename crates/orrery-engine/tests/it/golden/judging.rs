//! Comparing rows and plans with what a script says.

use orrery_model::json;
use orrery_model::value::Value;

use super::script::{Case, Order};

const SYSTEM: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// An item without what the server adds.
pub fn without_system(mut value: Value<'static>) -> Value<'static> {
    if let Some(members) = value.as_object_mut() {
        for name in SYSTEM {
            members.remove(name);
        }
    }
    value
}

/// A text that two values share exactly when a client cannot tell them apart: members sorted,
/// numbers as doubles.
fn comparable(value: &Value<'_>) -> String {
    match value {
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(comparable).collect();
            format!("[{}]", elements.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", comparable(value)))
                .collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        Value::Number(number) => format!("{:?}", number.as_f64() + 0.0),
        other => json::to_string(other),
    }
}

fn row(text: &str) -> Result<String, String> {
    let value = json::parse_str(text).map_err(|_| format!("no JSON: {text}"))?;
    Ok(comparable(&without_system(value.into_owned())))
}

/// Whether the answer is the script's.
pub fn judge(case: &Case, answer: Result<&Vec<String>, &String>) -> Result<(), String> {
    let found = match (case.order, answer) {
        (Order::Error, Ok(rows)) => return Err(format!("{} rows, no error", rows.len())),
        (Order::Error, Err(error)) => {
            let missing = case.rows.iter().find(|text| !error.contains(*text));
            return missing.map_or(Ok(()), |text| Err(format!("`{text}` is not in {error}")));
        }
        (_, Err(error)) => return Err(error.clone()),
        (_, Ok(rows)) => rows,
    };
    let mut found = found
        .iter()
        .map(|text| row(text))
        .collect::<Result<Vec<_>, _>>()?;
    let mut wanted = case
        .rows
        .iter()
        .map(|text| row(text))
        .collect::<Result<Vec<_>, _>>()?;
    if let Order::Some(count) = case.order {
        let rows = found.len();
        let is_subset = found.iter().all(|row| {
            let place = wanted.iter().position(|wanted| wanted == row);
            place.map(|place| wanted.swap_remove(place)).is_some()
        });
        return if rows == count && is_subset {
            Ok(())
        } else {
            Err(format!("{rows} rows: {found:?}"))
        };
    }
    if case.order == Order::Any {
        found.sort();
        wanted.sort();
    }
    if found == wanted {
        return Ok(());
    }
    Err(format!(
        "\n  found  {}\n  wanted {}",
        found.join(" "),
        wanted.join(" ")
    ))
}

/// Whether the plan has the members that the script names.
pub fn judge_plan(wanted: &str, plan: &str) -> Result<(), String> {
    let plan = json::parse_str(plan).map_err(|_| "the plan is no JSON".to_owned())?;
    let wanted = json::parse_str(wanted).map_err(|_| "the script's plan is no JSON".to_owned())?;
    let info = plan.member("queryInfo");
    for (name, value) in wanted
        .as_object()
        .into_iter()
        .flat_map(orrery_model::value::Object::iter)
    {
        let found = info.member(name);
        if comparable(found) != comparable(value) {
            return Err(format!("the plan's {name} is {}", json::to_string(found)));
        }
    }
    Ok(())
}
