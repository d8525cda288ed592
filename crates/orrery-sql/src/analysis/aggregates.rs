//! Which expressions fold rows, and what may stand beside them (query-language: section 7.4).

use super::same::Shapes;
use crate::ast::{Expr, ExprKind, Projection, Query};
use crate::errors::SqlError;
use crate::printer::Printer;
use crate::signatures::BuiltIn;
use crate::visit;

/// The aggregate that `expr` itself calls.
pub fn is_aggregate_call(expr: &Expr) -> Option<BuiltIn> {
    match &expr.kind {
        ExprKind::Call { name, .. } => {
            BuiltIn::lookup(&name.name).filter(|built_in| built_in.is_aggregate())
        }
        _ => None,
    }
}

/// True when an aggregate of the expression's own query is in it.
pub fn contains_aggregate(expr: &Expr) -> bool {
    if is_aggregate_call(expr).is_some() {
        return true;
    }
    let mut found = false;
    visit::children(expr, &mut |child| {
        found = found || contains_aggregate(child);
    });
    found
}

/// True when SELECT of the query calls aggregates.
pub fn aggregate_calls(query: &Query) -> bool {
    match &query.select.projection {
        Projection::Star(_) => false,
        Projection::Value(expr) => contains_aggregate(expr),
        Projection::List(items) => items.iter().any(|item| contains_aggregate(&item.expr)),
    }
}

/// True when the expression is or has a subquery.
pub(super) fn contains_subquery(expr: &Expr) -> bool {
    let mut found = visit::subquery(expr).is_some();
    visit::children(expr, &mut |child| {
        found = found || contains_subquery(child);
    });
    found
}

/// SC2041 and SC2102: what SELECT names beside aggregates and group keys. `own` tells the names
/// that the query itself binds: those of outer queries are constants here.
pub(super) fn check_projection(
    text: &str,
    query: &Query,
    own: &dyn Fn(&str) -> bool,
    errors: &mut Vec<SqlError>,
) {
    let grouped = !query.group_by.is_empty();
    if !grouped && !aggregate_calls(query) {
        return;
    }
    let keys = Keys {
        list: &query.group_by,
        shapes: Shapes::of(&query.group_by),
    };
    let mut check = |expr: &Expr| loose_references(text, &keys, own, expr, errors);
    match &query.select.projection {
        Projection::Star(span) => errors.push(SqlError::new(
            "SC2041",
            "'SELECT *' is not allowed with GROUP BY.",
            *span,
        )),
        Projection::Value(expr) => check(expr),
        Projection::List(items) => items.iter().for_each(|item| check(&item.expr)),
    }
}

/// The keys of GROUP BY.
struct Keys<'q> {
    list: &'q [Expr],
    shapes: Shapes,
}

impl Keys<'_> {
    fn has(&self, expr: &Expr) -> bool {
        self.shapes.find(self.list, expr).is_some()
    }

    /// Whether the expression lies below a key.
    fn has_prefix(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Member(inner, _) | ExprKind::Index(inner, _) => {
                self.has(inner) || self.has_prefix(inner)
            }
            _ => false,
        }
    }
}

fn loose_references(
    text: &str,
    keys: &Keys<'_>,
    own: &dyn Fn(&str) -> bool,
    expr: &Expr,
    errors: &mut Vec<SqlError>,
) {
    if is_aggregate_call(expr).is_some() || keys.has(expr) {
        return;
    }
    if let Some(root) = reference_root(expr) {
        if own(root) && !keys.has_prefix(expr) {
            let path = Printer::expr_text(text, expr);
            let message = format!(
                "Property reference '{path}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause."
            );
            errors.push(SqlError::new("SC2102", message, expr.span));
        }
        return;
    }
    visit::children(expr, &mut |child| {
        loose_references(text, keys, own, child, errors);
    });
}

/// The alias at the start of a path.
fn reference_root(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Member(inner, _) | ExprKind::Index(inner, _) => reference_root(inner),
        _ => None,
    }
}
