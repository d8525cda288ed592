//! The names that an expression uses.

use crate::ast::{Expr, ExprKind, From, Input, Projection, Query};
use crate::visit;

/// Visits every name that stands for a binding, in subqueries too; `false` from the visitor
/// stops. Answers whether all were visited.
pub(super) fn all_names(expr: &Expr, visit: &mut dyn FnMut(&str) -> bool) -> bool {
    match &expr.kind {
        ExprKind::Name(name) => visit(name),
        ExprKind::Subquery(_, query) => all_query_names(query, visit),
        _ => {
            let mut children = Vec::new();
            visit::children(expr, &mut |child| children.push(child));
            children.into_iter().all(|child| all_names(child, visit))
        }
    }
}

fn all_query_names(query: &Query, visit: &mut dyn FnMut(&str) -> bool) -> bool {
    let selected: Vec<&Expr> = match &query.select.projection {
        Projection::Star(_) => Vec::new(),
        Projection::Value(expr) => vec![expr],
        Projection::List(items) => items.iter().map(|item| &item.expr).collect(),
    };
    let clauses = selected
        .into_iter()
        .chain(&query.filter)
        .chain(&query.group_by);
    let sources = query.from.iter().flat_map(|From { sources, .. }| sources);
    clauses.into_iter().all(|expr| all_names(expr, visit))
        && sources.into_iter().all(|source| match &source.input {
            Input::Path { root, .. } => visit(&root.name),
            Input::Subquery(inner) => all_query_names(inner, visit),
        })
}
