//! The parts of a tree, one level at a time, for whoever walks it.

use crate::ast::{Expr, ExprKind, Input, Projection, Query};

/// Calls `each` with the expressions directly inside `expr`; a subquery is not entered.
pub fn children<'a>(expr: &'a Expr, each: &mut impl FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Name(_)
        | ExprKind::Subquery(..) => {}
        ExprKind::Member(inner, _) | ExprKind::Unary(_, inner) => each(inner),
        ExprKind::Index(left, right) | ExprKind::Binary(_, left, right) => {
            each(left);
            each(right);
        }
        ExprKind::Conditional(first, second, third) => {
            each(first);
            each(second);
            each(third);
        }
        ExprKind::Between {
            value, low, high, ..
        } => {
            each(value);
            each(low);
            each(high);
        }
        ExprKind::In { value, list, .. } => {
            each(value);
            list.iter().for_each(each);
        }
        ExprKind::Like { value, pattern, .. } => {
            each(value);
            each(pattern);
        }
        ExprKind::Array(items) => items.iter().for_each(each),
        ExprKind::Object(members) => members.iter().for_each(|(_, member)| each(member)),
        ExprKind::Call { args, .. } | ExprKind::Udf { args, .. } => args.iter().for_each(each),
        ExprKind::Let { value, body, .. } => {
            each(value);
            each(body);
        }
    }
}

/// The subquery that `expr` itself is.
pub fn subquery(expr: &Expr) -> Option<&Query> {
    match &expr.kind {
        ExprKind::Subquery(_, query) => Some(query),
        _ => None,
    }
}

/// Calls `each` with the expressions of a query's own clauses, in the order of the text.
pub fn clauses<'a>(query: &'a Query, each: &mut impl FnMut(&'a Expr)) {
    match &query.select.projection {
        Projection::Star(_) => {}
        Projection::Value(expr) => each(expr),
        Projection::List(items) => items.iter().for_each(|item| each(&item.expr)),
    }
    query.filter.iter().for_each(&mut *each);
    query.group_by.iter().for_each(&mut *each);
    query
        .order_by
        .iter()
        .flat_map(|order_by| &order_by.keys)
        .for_each(|key| each(&key.expr));
}

/// Calls `each` with the subqueries that are sources of a query.
pub fn source_queries<'a>(query: &'a Query, each: &mut impl FnMut(&'a Query)) {
    for source in query.from.iter().flat_map(|from| &from.sources) {
        if let Input::Subquery(inner) = &source.input {
            each(inner);
        }
    }
}
