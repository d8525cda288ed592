//! A query made ready to run: names resolved to slots, parameters put in, constants folded.
//!
//! Start with [`Program::compile`]; [`crate::pipeline::Pipeline`] runs it over items.

use crate::ast::Query;
use crate::environment::{Environment, Parameters};
use crate::errors::{SqlError, SqlErrors};
use crate::filter::{IndexFilter, IndexStep};

/// A compiled query.
#[derive(Debug, Clone)]
pub struct Program {
    has_from: bool,
    top: Option<u64>,
    offset: u64,
    limit: Option<u64>,
    filter: IndexFilter,
    order_paths: Option<Vec<(Vec<IndexStep>, bool)>>,
}

impl Program {
    /// Lowers an analysed query. Errors name what only the request can tell (a missing parameter,
    /// a TOP that is no integer) and whatever a query that skipped the analysis gets wrong.
    pub fn compile(query: &Query, parameters: &Parameters, environment: &Environment) -> Result<Self, SqlErrors> {
        let _ = (query, parameters, environment);
        Err(SqlErrors::from(SqlError::plain("The query cannot be compiled yet.")))
    }

    /// What WHERE says about paths of the item.
    pub fn filter(&self) -> &IndexFilter {
        &self.filter
    }

    /// The sort keys as paths of the item, `true` for descending; `None` without ORDER BY or when
    /// a key is no plain path.
    pub fn order_keys(&self) -> Option<&[(Vec<IndexStep>, bool)]> {
        self.order_paths.as_deref()
    }

    /// True when rows must be sorted, by an index or by the pipeline.
    pub fn is_ordered(&self) -> bool {
        false
    }

    /// True for ORDER BY RANK: every item of the range must be pushed, for the statistics.
    pub fn is_ranking(&self) -> bool {
        false
    }

    /// True when rows are groups: nothing comes out before the last item is in.
    pub fn is_grouped(&self) -> bool {
        false
    }

    /// True for SELECT DISTINCT.
    pub fn is_distinct(&self) -> bool {
        false
    }

    /// True when the query reads items; `SELECT 1` does not, and yields its row in
    /// [`crate::pipeline::Pipeline::finish`].
    pub fn reads_items(&self) -> bool {
        self.has_from
    }

    /// TOP.
    pub fn top(&self) -> Option<u64> {
        self.top
    }

    /// OFFSET; 0 when absent.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// LIMIT.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The most rows the query may return, TOP and LIMIT together.
    pub fn row_limit(&self) -> Option<u64> {
        match (self.top, self.limit) {
            (Some(top), Some(limit)) => Some(top.min(limit)),
            (top, limit) => top.or(limit),
        }
    }
}
