//! The rows of a query as members with names, and how the planner writes them.

use super::Planner;
use crate::analysis::is_aggregate_call;
use crate::ast::{Expr, ExprKind, Projection, SelectItem};
use crate::errors::write_string;
use crate::printer::Printer;
use crate::signatures::BuiltIn;
use orrery_model::value::Value;

/// The name of a member of the row: its alias, or the last step of its path. Members without one
/// are called `$1`, `$2` and so on (query-language: section 7.1).
pub fn item_name(item: &SelectItem) -> Option<String> {
    if let Some(alias) = &item.alias {
        return Some(alias.name.clone());
    }
    match &item.expr.kind {
        ExprKind::Name(name) | ExprKind::Member(_, name) if is_path(&item.expr) => {
            Some(name.clone())
        }
        _ => None,
    }
}

fn is_path(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Name(_) => true,
        ExprKind::Member(inner, _) => is_path(inner),
        ExprKind::Index(inner, index) => {
            is_path(inner) && matches!(index.kind, ExprKind::Literal(Value::Number(_)))
        }
        _ => false,
    }
}

/// The names of all members, the unnamed ones counted.
pub(super) fn item_names(items: &[SelectItem]) -> Vec<String> {
    let mut unnamed = 0;
    let name = |item| {
        item_name(item).unwrap_or_else(|| {
            unnamed += 1;
            format!("${unnamed}")
        })
    };
    items.iter().map(name).collect()
}

/// The name of an aggregate in a plan (protocol: section 8.3).
pub(super) fn aggregate_type(aggregate: BuiltIn) -> &'static str {
    match aggregate {
        BuiltIn::Average => "Average",
        BuiltIn::Count => "Count",
        BuiltIn::CountIf => "CountIf",
        BuiltIn::MakeList => "MakeList",
        BuiltIn::MakeSet => "MakeSet",
        BuiltIn::Max => "Max",
        BuiltIn::Min => "Min",
        _ => "Sum",
    }
}

impl Planner<'_> {
    pub(super) fn aliases(&self) -> Vec<(String, Option<BuiltIn>)> {
        let Projection::List(items) = &self.query.select.projection else {
            return Vec::new();
        };
        let aggregates = items.iter().map(|item| is_aggregate_call(&item.expr));
        item_names(items).into_iter().zip(aggregates).collect()
    }

    /// The row as one expression; aggregates as the partial results that clients merge.
    pub(super) fn payload(&self) -> String {
        match &self.query.select.projection {
            Projection::Star(_) => self.root().to_owned(),
            Projection::Value(expr) => match self.partial(expr) {
                Some(partial) => format!("[{partial}]"),
                None => Printer::expr_text(self.text, expr),
            },
            Projection::List(items) => {
                let mut out = String::from("{");
                for (name, item) in item_names(items).iter().zip(items) {
                    if out.len() > 1 {
                        out.push_str(", ");
                    }
                    write_string(&mut out, name);
                    out.push_str(": ");
                    let value = self.partial(&item.expr);
                    out.push_str(
                        &value.unwrap_or_else(|| Printer::expr_text(self.text, &item.expr)),
                    );
                }
                out.push('}');
                out
            }
        }
    }

    /// The partial result of an aggregate (protocol: section 8.4).
    fn partial(&self, expr: &Expr) -> Option<String> {
        let aggregate = is_aggregate_call(expr)?;
        let ExprKind::Call { args, .. } = &expr.kind else {
            return None;
        };
        let call = Printer::expr_text(self.text, expr);
        let argument = args
            .first()
            .map(|argument| Printer::expr_text(self.text, argument))
            .unwrap_or_default();
        Some(match aggregate {
            BuiltIn::Average => {
                format!("{{\"item\": {{\"sum\": SUM({argument}), \"count\": COUNT({argument})}}}}")
            }
            BuiltIn::Min | BuiltIn::Max => {
                let name = if aggregate == BuiltIn::Min {
                    "min"
                } else {
                    "max"
                };
                format!(
                    "{{\"item\": {call}, \"item2\": {{\"{name}\": {call}, \"count\": COUNT({argument})}}}}"
                )
            }
            _ => format!("{{\"item\": {call}}}"),
        })
    }
}
