//! The rules of single clauses: counts, ORDER BY, and what subqueries must not have.

use super::aggregates::aggregate_calls;
use super::same::Shapes;
use crate::ast::{Count, CountValue, Expr, ExprKind, Input, Projection, Query};
use crate::errors::SqlError;
use crate::printer::Printer;
use crate::signatures::BuiltIn;
use orrery_model::value::{Number, Value};

/// Counts fit 32 bits at the planner; clients refuse those beyond 31 (query-language: 7.6).
const MAX_COUNT: i64 = u32::MAX as i64;

/// SC2060 to SC2062.
pub(super) fn check_counts(query: &Query, errors: &mut Vec<SqlError>) {
    if let Some(top) = &query.select.top
        && !fits(top)
    {
        let message = "The count value provided for a TOP clause must be an integer.";
        errors.push(SqlError::new("SC2060", message, top.span));
    }
    let Some(page) = &query.page else { return };
    if !fits(&page.offset) {
        let message = "The OFFSET count value exceeds the maximum allowed value.";
        errors.push(SqlError::new("SC2062", message, page.offset.span));
    }
    if !fits(&page.limit) {
        let message = "The LIMIT count value exceeds the maximum allowed value.";
        errors.push(SqlError::new("SC2061", message, page.limit.span));
    }
}

fn fits(count: &Count) -> bool {
    match count.value {
        CountValue::Number(Number::Int(value)) => (0..=MAX_COUNT).contains(&value),
        CountValue::Number(Number::Double(_)) => false,
        CountValue::Parameter(_) => true,
    }
}

/// SC2202 to SC2204 and SC2228, in the order of the service.
pub(super) fn check_subquery(query: &Query, errors: &mut Vec<SqlError>) {
    if let Some(order_by) = &query.order_by {
        errors.push(if order_by.rank {
            let message = "The ORDER BY RANK clause is not supported in subqueries.";
            SqlError::new("SC2228", message, order_by.span)
        } else {
            SqlError::new(
                "SC2202",
                "'ORDER BY' is not supported in subqueries.",
                order_by.span,
            )
        });
    }
    if let Some(span) = query.select.top_span {
        errors.push(SqlError::new(
            "SC2203",
            "'TOP' is not supported in subqueries.",
            span,
        ));
    }
    if let Some(page) = &query.page {
        let message = "'OFFSET LIMIT' clause is not supported in subqueries.";
        errors.push(SqlError::new("SC2204", message, page.span));
    }
}

/// What keeps a query from being sorted, once everything else is right.
pub(super) fn order_error(text: &str, query: &Query) -> Option<SqlError> {
    let order_by = query.order_by.as_ref()?;
    // One row needs no order: the planner keeps the clause and ignores it.
    let folded = query.group_by.is_empty() && aggregate_calls(query);
    if order_by.rank || folded {
        return None;
    }
    let groups = Shapes::of(&query.group_by);
    for key in &order_by.keys {
        if is_score(&key.expr) {
            if is_vector_distance(&key.expr) && key.descending.is_some() && !is_component(query) {
                let message = "Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported.";
                return Some(SqlError::plain(message));
            }
            continue;
        }
        if groups.find(&query.group_by, &key.expr).is_some() {
            continue;
        }
        if let Some(error) = path_error(query, &key.expr) {
            return Some(error);
        }
        if !query.group_by.is_empty() {
            let path = Printer::expr_text(text, &key.expr);
            let message = format!(
                "Property reference '{path}' is invalid in the ORDER BY clause because it is not contained in either an aggregate function or the GROUP BY clause."
            );
            return Some(SqlError::new("SC2103", message, key.expr.span));
        }
    }
    None
}

/// True for the text that a plan has for one component of a fusion: it says the direction
/// (protocol: section 8.7).
fn is_component(query: &Query) -> bool {
    match &query.select.projection {
        Projection::List(items) => items.iter().any(|item| {
            let alias = item.alias.as_ref();
            alias.is_some_and(|alias| {
                // The second is of the form without nesting.
                alias.name == "orderByItems" || alias.name == "componentScores"
            })
        }),
        Projection::Star(_) | Projection::Value(_) => false,
    }
}

pub(super) fn direction_error() -> SqlError {
    SqlError::plain(
        "Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.",
    )
}

fn called(expr: &Expr) -> Option<BuiltIn> {
    match &expr.kind {
        ExprKind::Call { name, .. } => BuiltIn::lookup(&name.name),
        _ => None,
    }
}

fn is_vector_distance(expr: &Expr) -> bool {
    called(expr) == Some(BuiltIn::VectorDistance)
}

/// Calls that ORDER BY takes in place of a path.
fn is_score(expr: &Expr) -> bool {
    matches!(
        called(expr),
        Some(BuiltIn::VectorDistance | BuiltIn::ComponentFullTextScore)
    )
}

fn path_error(query: &Query, expr: &Expr) -> Option<SqlError> {
    let unmapped = || {
        let message = "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.";
        SqlError::numbered(2206, message)
    };
    let mut root = expr;
    let alias = loop {
        match &root.kind {
            ExprKind::Name(name) => break name,
            ExprKind::Member(inner, _) => root = inner,
            ExprKind::Index(inner, index)
                if matches!(index.kind, ExprKind::Literal(Value::Number(Number::Int(_)))) =>
            {
                root = inner;
            }
            _ => return Some(unmapped()),
        }
    };
    let sources = query
        .from
        .as_ref()
        .map_or(&[][..], |from| from.sources.as_slice());
    let place = sources
        .iter()
        .position(|source| super::binding::source_name(source) == Some(alias));
    match place.map(|place| (place, &sources[place])) {
        Some((0, source)) if !source.iterate => None,
        Some((_, source)) if matches!(source.input, Input::Subquery(_)) => Some(unmapped()),
        Some(_) => Some(SqlError::plain(
            "Order-by over correlated collections is not supported.",
        )),
        None => Some(unmapped()),
    }
}
