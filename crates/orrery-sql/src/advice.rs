//! Query advice: what a query had better do another way (`x-ms-cosmos-query-advice`, protocol:
//! section 3.3). Ids as the service's tests and SDKs record them.

use crate::ast::{Expr, ExprKind, Query};
use crate::signatures::BuiltIn;
use crate::visit;
use orrery_model::value::Value;

/// The ids of the rules that a query meets, each once: those of WHERE first.
pub fn advice(query: &Query) -> Vec<&'static str> {
    let mut found = Vec::new();
    of_query(query, &mut found);
    found
}

/// The header's JSON, before it is URL-encoded.
pub fn to_json(ids: &[&str]) -> String {
    let entries: Vec<String> = ids
        .iter()
        .map(|id| format!("{{\"Id\":\"{id}\",\"Params\":[]}}"))
        .collect();
    format!("[{}]", entries.join(","))
}

fn of_query(query: &Query, found: &mut Vec<&'static str>) {
    if let Some(filter) = &query.filter {
        of_expr(filter, found);
    }
    visit::source_queries(query, &mut |inner| of_query(inner, found));
    visit::clauses(query, &mut |expr| of_expr(expr, found));
}

fn of_expr(expr: &Expr, found: &mut Vec<&'static str>) {
    if let ExprKind::Call { name, args } = &expr.kind
        && let Some(id) = BuiltIn::lookup(&name.name).and_then(|function| of_call(function, args))
        && !found.contains(&id)
    {
        found.push(id);
    }
    if let Some(inner) = visit::subquery(expr) {
        of_query(inner, found);
    }
    visit::children(expr, &mut |child| of_expr(child, found));
}

fn of_call(function: BuiltIn, args: &[Expr]) -> Option<&'static str> {
    let flag = matches!(
        args.get(2).map(|flag| &flag.kind),
        Some(ExprKind::Literal(Value::Bool(true)))
    );
    Some(match function {
        BuiltIn::ArrayContains if flag => "QA1000",
        BuiltIn::Contains => "QA1002",
        BuiltIn::StartsWith | BuiltIn::StringEquals if flag => "QA1003",
        BuiltIn::EndsWith if flag => "QA1004",
        BuiltIn::GetCurrentDateTime => "QA1007",
        BuiltIn::GetCurrentTicks => "QA1008",
        BuiltIn::GetCurrentTimestamp => "QA1009",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<&'static str> {
        advice(&crate::parser::parse(text).expect("parses"))
    }

    #[test]
    fn costly_forms_are_told_once() {
        assert_eq!(
            ids(
                "SELECT CONTAINS(c.a, 'x') FROM c WHERE ARRAY_CONTAINS(c.t, {n: 1}, true) AND CONTAINS(c.b, 'y')"
            ),
            ["QA1000", "QA1002"]
        );
        assert_eq!(
            ids(
                "SELECT * FROM c WHERE STARTSWITH(c.a, 'x', true) OR EXISTS(SELECT VALUE t FROM t IN c.t WHERE ENDSWITH(t, 'y', true))"
            ),
            ["QA1003", "QA1004"]
        );
        assert!(
            ids("SELECT * FROM c WHERE STARTSWITH(c.a, 'x') AND ENDSWITH(c.a, 'y', false)")
                .is_empty()
        );
        assert_eq!(to_json(&["QA1002"]), r#"[{"Id":"QA1002","Params":[]}]"#);
    }
}
