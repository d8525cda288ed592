//! A query log that any application can write: one JSON object a line (docs/keylab.md).

use serde::Deserialize;
use serde_json::Value as Json;

use super::diagnostics::time_us;
use super::trace::deed;
use super::{Deed, Event, Traffic};

/// One line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The text; requests without one need `op`.
    query: Option<String>,
    /// `read`, `create`, `replace`, `patch`, `delete`, `batch`; `query` unless given.
    op: Option<String>,
    /// Parameters, read by people only.
    #[serde(default, rename = "params")]
    _params: Json,
    /// How many such requests.
    count: Option<u64>,
    /// ISO 8601 in UTC, or seconds since 1970.
    time: Option<Json>,
    /// Request charge.
    #[serde(default)]
    ru: f64,
    /// Items returned.
    #[serde(default)]
    items: u64,
    /// Key values that it was sent to.
    key: Option<Vec<Json>>,
}

/// Takes a line; the error says what is wrong with it.
pub fn line(text: &[u8], traffic: &mut Traffic) -> Result<(), String> {
    let line: Line = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let time = match &line.time {
        None => None,
        Some(Json::String(text)) => {
            Some(time_us(text).ok_or_else(|| format!("'{text}' is no time in UTC"))?)
        }
        Some(Json::Number(seconds)) => seconds.as_f64().map(|seconds| (seconds * 1e6) as u64),
        Some(other) => return Err(format!("{other} is no time")),
    };
    let word = line.op.as_deref().unwrap_or("query");
    let mut letters = word.chars();
    let name: String = letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect();
    let deed = deed(&name, 0).ok_or_else(|| format!("'{word}' is no operation"))?;
    if deed == Deed::Query && line.query.is_none() {
        return Err("neither a query nor another operation".to_owned());
    }
    let value = |value: &Json| value.as_str().map(str::to_owned);
    traffic.add(&Event {
        time_us: time,
        text: line.query.as_deref(),
        items: line.items,
        key: line.key.as_ref().map(|key| key.iter().map(value).collect()),
        operations: 1,
        count: line.count.unwrap_or(1),
        ..Event::new(deed, line.ru)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_patterns_with_their_counts() {
        let mut traffic = Traffic::new();
        for text in [
            r#"{"query": "SELECT * FROM c WHERE c.k = 'a'", "count": 30, "ru": 3}"#,
            r#"{"query": "SELECT * FROM c WHERE c.k = 'b'", "count": 30, "ru": 5, "items": 4}"#,
            r#"{"op": "create", "count": 120, "ru": 7}"#,
        ] {
            line(text.as_bytes(), &mut traffic).expect("a line");
        }
        let workload = traffic
            .workload(Some(60.0), 1.0)
            .expect("workload")
            .workload;
        assert_eq!(workload[0].name, "create");
        assert_eq!([workload[0].rate, workload[1].rate], [2.0, 1.0]);
        let query = &workload[1];
        assert_eq!(
            query.filter.as_deref(),
            Some("SELECT * FROM c WHERE c.k = @value1")
        );
        assert_eq!((query.charge, query.returns), (Some(4.0), 2));
        for (text, words) in [
            (r#"{"op": "juggle"}"#, "juggle"),
            (r#"{"ru": 3}"#, "neither"),
            (r#"{"query": "SELECT 1", "when": 3}"#, "when"),
            (r#"{"query": "SELECT 1", "time": "noon"}"#, "noon"),
            (r#"{"query": "SELECT FROM WHERE"}"#, "SELECT FROM WHERE"),
            (r#"{"op": "create", "ru": -3}"#, "-3 is no request charge"),
        ] {
            let error = line(text.as_bytes(), &mut traffic).expect_err("broken");
            assert!(error.contains(words), "{error}");
        }
        assert!(Traffic::new().workload(None, 1.0).is_err());
    }
}
