//! What a case expects, compared as the README of the cases says.

use serde_json::Value;

/// System properties, ignored in rows that hold whole items.
const SYSTEM: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// The expected rows or error of a case.
pub struct Expectation<'c> {
    expected: &'c Value,
    ordered: bool,
    tolerance: f64,
    arrays_unordered: bool,
    strip: bool,
    /// Items came without `id`, so that rows may hold one of ours.
    strip_id: bool,
    inputs: Vec<Value>,
}

impl<'c> Expectation<'c> {
    pub fn of(case: &'c Value) -> Self {
        let query = case["query"].as_str().unwrap_or_default();
        let strip = case["ignoreSystemProperties"] == Value::Bool(true) || query.contains('*');
        let documents = case["documents"].as_array().cloned().unwrap_or_default();
        let tolerance = case["compare"]["numbers"]
            .as_str()
            .and_then(|text| text.strip_prefix("relative-")?.parse().ok());
        Self {
            expected: &case["expected"],
            ordered: case["order"].as_str() != Some("unordered"),
            tolerance: tolerance.unwrap_or(0.0),
            arrays_unordered: case["compare"]["arrays"] == "unordered",
            strip,
            strip_id: strip && documents.iter().any(|item| item.get("id").is_none()),
            inputs: documents,
        }
    }

    /// Compares an error.
    pub fn error(&self, message: &str) -> Result<(), String> {
        let Some(error) = self.expected.get("error") else {
            return Err(format!("refused: {message}"));
        };
        let quoted = |text: &str| {
            serde_json::to_string(text)
                .unwrap_or_default()
                .trim_matches('"')
                .to_owned()
        };
        for member in ["message", "code"] {
            if let Some(text) = error[member].as_str()
                && !message.contains(&quoted(text))
            {
                return Err(format!("{member} {text} is not in {message}"));
            }
        }
        Ok(())
    }

    /// Compares rows.
    pub fn rows(&self, rows: &[Value]) -> Result<(), String> {
        let rows: Vec<Value> = rows.iter().map(|row| self.stripped(row)).collect();
        let rows = rows.as_slice();
        let expected = self.expected;
        if let Some(results) = expected["results"].as_array() {
            return self.lists(rows, results, self.ordered);
        }
        if let Some(ids) = expected["ids"].as_array() {
            let found: Vec<Value> = rows.iter().map(|row| row["id"].clone()).collect();
            return self.lists(&found, ids, true);
        }
        if let Some(lists) = expected["anyOf"].as_array() {
            let any = lists
                .iter()
                .filter_map(Value::as_array)
                .any(|list| self.lists(rows, list, true).is_ok());
            return if any {
                Ok(())
            } else {
                Err(differs(&Value::Array(lists.clone()), rows))
            };
        }
        if let Some(groups) = expected["orderedGroups"].as_array() {
            return self.groups(rows, groups);
        }
        if let Some(count) = expected["subsetCount"].as_u64() {
            let known = rows
                .iter()
                .all(|row| self.inputs.iter().any(|item| contains(item, row)));
            let distinct = rows
                .iter()
                .enumerate()
                .all(|(place, row)| !rows[..place].contains(row));
            let good = rows.len() as u64 == count && known && distinct;
            return if good {
                Ok(())
            } else {
                Err(format!(
                    "{} rows, distinct {distinct}, known {known}",
                    rows.len()
                ))
            };
        }
        if let Some(count) = expected["count"].as_u64() {
            let every = expected.get("everyResult");
            let good = rows.len() as u64 == count
                && every.is_none_or(|every| rows.iter().all(|row| self.same(row, every)));
            return if good {
                Ok(())
            } else {
                Err(differs(expected, rows))
            };
        }
        Err(format!("rows instead of {expected}"))
    }

    fn groups(&self, rows: &[Value], groups: &[Value]) -> Result<(), String> {
        let mut rest = rows;
        for group in groups.iter().filter_map(Value::as_array) {
            let (head, tail) = rest.split_at(group.len().min(rest.len()));
            self.lists(head, group, false)?;
            rest = tail;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(format!("{} rows too many", rest.len()))
        }
    }

    fn lists(&self, rows: &[Value], expected: &[Value], ordered: bool) -> Result<(), String> {
        let good = rows.len() == expected.len()
            && if ordered {
                rows.iter()
                    .zip(expected)
                    .all(|(row, expected)| self.same(row, &self.stripped(expected)))
            } else {
                self.multiset(rows, expected)
            };
        if good {
            Ok(())
        } else {
            Err(differs(&Value::Array(expected.to_vec()), rows))
        }
    }

    fn multiset(&self, rows: &[Value], expected: &[Value]) -> bool {
        let mut open: Vec<&Value> = rows.iter().collect();
        expected.iter().all(|expected| {
            let expected = self.stripped(expected);
            let found = open.iter().position(|row| self.same(row, &expected));
            found.map(|place| open.swap_remove(place)).is_some()
        })
    }

    fn stripped(&self, row: &Value) -> Value {
        let mut row = row.clone();
        if let (true, Some(members)) = (self.strip, row.as_object_mut()) {
            members.retain(|name, _| {
                !SYSTEM.contains(&name.as_str()) && (!self.strip_id || name != "id")
            });
        }
        row
    }

    fn same(&self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                let (left, right) = (
                    left.as_f64().unwrap_or(f64::NAN),
                    right.as_f64().unwrap_or(f64::NAN),
                );
                left == right || (left - right).abs() <= self.tolerance * right.abs()
            }
            (Value::Array(left), Value::Array(right)) if self.arrays_unordered => {
                left.len() == right.len() && self.multiset(left, right)
            }
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right)
                        .all(|(left, right)| self.same(left, right))
            }
            (Value::Object(left), Value::Object(right)) => {
                left.len() == right.len()
                    && left.iter().all(|(name, member)| {
                        right
                            .get(name)
                            .is_some_and(|other| self.same(member, other))
                    })
            }
            _ => left == right,
        }
    }
}

fn contains(item: &Value, row: &Value) -> bool {
    match (item, row) {
        (Value::Object(item), Value::Object(row)) => row
            .iter()
            .all(|(name, member)| item.get(name) == Some(member)),
        _ => item == row,
    }
}

fn differs(expected: &Value, rows: &[Value]) -> String {
    let cut = |text: String| text.chars().take(600).collect::<String>();
    format!(
        "expected {}, got {}",
        cut(expected.to_string()),
        cut(Value::Array(rows.to_vec()).to_string())
    )
}
