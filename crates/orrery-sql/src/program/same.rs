//! Questions about the syntax tree that ignore positions.

use crate::ast::{Expr, ExprKind, From, Input, Projection, Query};
use crate::signatures::BuiltIn;

/// Whether two expressions are the same text up to white space.
pub(super) fn same(left: &Expr, right: &Expr) -> bool {
    use ExprKind as K;
    let all = |left: &[Expr], right: &[Expr]| {
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| same(left, right))
    };
    match (&left.kind, &right.kind) {
        (K::Literal(left), K::Literal(right)) => left == right,
        (K::Parameter(left), K::Parameter(right)) | (K::Name(left), K::Name(right)) => {
            left == right
        }
        (K::Member(left, name), K::Member(right, other)) => name == other && same(left, right),
        (K::Index(left, index), K::Index(right, other)) => same(left, right) && same(index, other),
        (K::Unary(operator, left), K::Unary(other, right)) => {
            operator == other && same(left, right)
        }
        (K::Binary(operator, a, b), K::Binary(other, c, d)) => {
            operator == other && same(a, c) && same(b, d)
        }
        (K::Conditional(a, b, c), K::Conditional(d, e, f)) => {
            same(a, d) && same(b, e) && same(c, f)
        }
        (
            K::Between {
                negated,
                value,
                low,
                high,
            },
            K::Between {
                negated: other,
                value: value2,
                low: low2,
                high: high2,
            },
        ) => negated == other && same(value, value2) && same(low, low2) && same(high, high2),
        (
            K::In {
                negated,
                value,
                list,
            },
            K::In {
                negated: other,
                value: value2,
                list: list2,
            },
        ) => negated == other && same(value, value2) && all(list, list2),
        (
            K::Like {
                negated,
                value,
                pattern,
                escape,
            },
            K::Like {
                negated: other,
                value: value2,
                pattern: pattern2,
                escape: escape2,
            },
        ) => {
            negated == other && escape == escape2 && same(value, value2) && same(pattern, pattern2)
        }
        (K::Array(left), K::Array(right)) => all(left, right),
        (K::Object(left), K::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|((name, left), (other, right))| name == other && same(left, right))
        }
        (
            K::Call { name, args },
            K::Call {
                name: other,
                args: args2,
            },
        ) => name.name.eq_ignore_ascii_case(&other.name) && all(args, args2),
        (
            K::Udf { name, args },
            K::Udf {
                name: other,
                args: args2,
            },
        ) => name.name == other.name && all(args, args2),
        _ => false,
    }
}

/// Whether the expression holds an aggregate that belongs to this SELECT.
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    let is_aggregate = matches!(&expr.kind, ExprKind::Call { name, .. }
        if BuiltIn::lookup(&name.name).is_some_and(BuiltIn::is_aggregate));
    is_aggregate || children(expr).into_iter().any(has_aggregate)
}

/// The direct operands; subqueries are closed.
fn children(expr: &Expr) -> Vec<&Expr> {
    use ExprKind as K;
    match &expr.kind {
        K::Literal(_) | K::Parameter(_) | K::Name(_) | K::Subquery(..) => Vec::new(),
        K::Member(base, _) | K::Unary(_, base) => vec![base],
        K::Index(a, b) | K::Binary(_, a, b) => vec![a, b],
        K::Conditional(a, b, c) => vec![a, b, c],
        K::Between {
            value, low, high, ..
        } => vec![value, low, high],
        K::In { value, list, .. } => std::iter::once(&**value).chain(list).collect(),
        K::Like { value, pattern, .. } => vec![value, pattern],
        K::Array(list) | K::Call { args: list, .. } | K::Udf { args: list, .. } => {
            list.iter().collect()
        }
        K::Object(members) => members.iter().map(|(_, expr)| expr).collect(),
        K::Let { value, body, .. } => vec![value, body],
    }
}

/// Visits every name that stands for a binding, in subqueries too; `false` from the visitor
/// stops. Answers whether all were visited.
pub(super) fn all_names(expr: &Expr, visit: &mut dyn FnMut(&str) -> bool) -> bool {
    match &expr.kind {
        ExprKind::Name(name) => visit(name),
        ExprKind::Subquery(_, query) => all_query_names(query, visit),
        _ => children(expr)
            .into_iter()
            .all(|child| all_names(child, visit)),
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
