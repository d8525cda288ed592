//! Three-valued logic and other rules of operators.

use crate::run::rows;

fn value(expression: &str) -> Option<String> {
    rows(&format!("SELECT VALUE {expression}"), &[])
        .into_iter()
        .next()
}

#[test]
fn truth_tables() {
    let sides = ["true", "false", "undefined"];
    let and = [
        Some("true"),
        Some("false"),
        None,
        Some("false"),
        Some("false"),
        Some("false"),
        None,
        Some("false"),
        None,
    ];
    let or = [
        Some("true"),
        Some("true"),
        Some("true"),
        Some("true"),
        Some("false"),
        None,
        Some("true"),
        None,
        None,
    ];
    for (place, (left, right)) in sides
        .iter()
        .flat_map(|left| sides.map(|right| (left, right)))
        .enumerate()
    {
        assert_eq!(
            value(&format!("({left} AND {right})")).as_deref(),
            and[place],
            "{left} AND {right}"
        );
        assert_eq!(
            value(&format!("({left} OR {right})")).as_deref(),
            or[place],
            "{left} OR {right}"
        );
    }
    assert_eq!(value("(NOT undefined)"), None);
    assert_eq!(value("(NOT null)"), None);
    assert_eq!(value("(1 OR false)"), None);
}

#[test]
fn the_same_tables_hold_for_items() {
    let items = [r#"{"t":true,"f":false,"s":"x"}"#];
    let kept =
        |condition: &str| rows(&format!("SELECT VALUE 1 FROM c WHERE {condition}"), &items).len();
    assert_eq!(kept("c.t AND (c.f OR c.t)"), 1);
    assert_eq!(kept("c.u OR c.t"), 1);
    assert_eq!(kept("NOT (c.u AND c.f)"), 1);
    assert_eq!(kept("NOT (c.u AND c.t)"), 0);
    assert_eq!(kept("c.s OR false"), 0);
    assert_eq!(kept("c.s != null AND c.u ?? true"), 1);
    assert_eq!(kept("c.u != 5"), 0);
}

#[test]
fn numbers_print_shortest() {
    assert_eq!(value("1.0").as_deref(), Some("1"));
    assert_eq!(value("0.1 + 0.2").as_deref(), Some("0.30000000000000004"));
    assert_eq!(value("24.5 * 0.85").as_deref(), Some("20.825"));
    assert_eq!(
        value("9007199254740993").as_deref(),
        Some("9007199254740993")
    );
    assert_eq!(value("~130679749712577953").as_deref(), Some("-1022657953"));
    assert_eq!(value("(-100 >>> 1)").as_deref(), Some("2147483598"));
    assert_eq!(value("TOSTRING(Infinity)").as_deref(), Some("\"Infinity\""));
}

#[test]
fn deep_expressions_are_refused_or_computed() {
    let nested = |depth: usize| format!("{}c.a{}", "(1 + ".repeat(depth), ")".repeat(depth));
    let found = rows(
        &format!("SELECT VALUE {} FROM c", nested(100)),
        &[r#"{"a":1}"#],
    );
    assert_eq!(found, ["101"]);
    let parsed = orrery_sql::parser::parse(&format!("SELECT VALUE {} FROM c", nested(100_000)));
    assert!(parsed.is_err());
}

#[test]
fn thousands_of_branches() {
    let branches: Vec<String> = (0..5_000).map(|number| format!("c.a = {number}")).collect();
    let query = format!("SELECT VALUE c.a FROM c WHERE {}", branches.join(" OR "));
    assert_eq!(rows(&query, &[r#"{"a":4999}"#, r#"{"a":5000}"#]), ["4999"]);
    let members: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    let query = format!(
        "SELECT VALUE c.a FROM c WHERE c.a IN ({})",
        members.join(",")
    );
    assert_eq!(rows(&query, &[r#"{"a":9999}"#, r#"{"a":"1"}"#]), ["9999"]);
}
