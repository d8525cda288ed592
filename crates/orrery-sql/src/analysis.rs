//! Whether a query means something: names, functions, aggregates and the rules of the clauses.
//!
//! [`analyze`] refuses what the service refuses of every query, rewritten ones included, and lists
//! all mistakes together, in the order in which the service binds: sources, WHERE, GROUP BY,
//! SELECT, ORDER BY, then what a subquery must not have. What only its planner refuses is in
//! [`crate::plan`].

mod aggregates;
mod binding;
mod clauses;
mod rank;
mod same;

pub use aggregates::{aggregate_calls, contains_aggregate, is_aggregate_call};
pub(crate) use binding::source_name;
pub(crate) use rank::{Scores, scores};
pub(crate) use same::Shapes;
pub use same::same;

use crate::ast::Query;
use crate::errors::{SqlError, SqlErrors};
use binding::Binder;

/// Limits that the service raises on request (query-language: section 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    /// Calls of user-defined functions in a query.
    pub udf_calls: usize,
    /// JOINs in a query.
    pub joins: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            udf_calls: 10,
            joins: 10,
        }
    }
}

/// Checks a query; `text` is what it was parsed from.
pub fn analyze(text: &str, query: &Query, limits: &QueryLimits) -> Result<(), SqlErrors> {
    let mut binder = Binder::new(text);
    binder.top_query(query);
    let mut errors = binder.errors;
    if binder.udf_calls > limits.udf_calls {
        let message = format!(
            "The SQL query exceeded the maximum number of user-defined function calls. The allowed limit is {}.",
            limits.udf_calls
        );
        errors.push(SqlError::new("SC3005", message, query.span));
    }
    // A query with other mistakes and many joins is not told of the joins (recorded).
    if errors.is_empty() && binder.joins > limits.joins {
        let message = format!(
            "The SQL query exceeded the maximum number of joins. The allowed limit is {}.",
            limits.joins
        );
        errors.push(SqlError::plain(message));
    }
    if errors.is_empty() {
        errors.extend(clauses::order_error(text, query));
    }
    SqlErrors::check(errors).map_err(|errors| errors.locate(text))
}

#[cfg(test)]
mod tests;
