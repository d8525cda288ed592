//! A query made ready to run: names resolved to slots, parameters put in, constants folded.
//!
//! Start with [`Program::compile`]; [`crate::pipeline::Pipeline`] runs it over items.

mod fold;
mod lower;
mod names;
pub(crate) mod node;
pub(crate) mod reads;

use crate::ast::{Expr, Query};
use crate::environment::{Environment, Parameters};
use crate::errors::SqlErrors;
use crate::eval::Settings;
use crate::filter::{IndexFilter, IndexStep};
use crate::pipeline::ranking::Ranking;
use node::{Node, Select, SortKey};
use orrery_model::json::{MemberFinder, PathTree};
use orrery_model::value::Value;

/// A compiled query.
#[derive(Debug, Clone)]
pub struct Program {
    /// Conditions that read only the item, asked before any source is bound.
    pub(crate) item_filter: Vec<Node>,
    /// How often they read it.
    pub(crate) item_filter_reads: usize,
    /// How often rows read the item; large when a source may loop.
    pub(crate) row_reads: usize,
    pub(crate) reads_system: bool,
    pub(crate) select: Select,
    pub(crate) order: Vec<SortKey>,
    pub(crate) ranking: Option<Ranking>,
    /// `SELECT COUNT(1) FROM (SELECT DISTINCT …)`: the inner DISTINCT looks across items.
    pub(crate) distinct_source: bool,
    pub(crate) settings: Settings,
    pub(crate) needed: PathTree,
    /// For the members of `needed`, where these are few.
    pub(crate) finders: Vec<MemberFinder>,
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
    pub fn compile(
        query: &Query,
        parameters: &Parameters,
        environment: &Environment,
    ) -> Result<Self, SqlErrors> {
        lower::compile(query, parameters, environment).map_err(SqlErrors::from)
    }

    /// The members of the item that the query reads.
    pub fn needed(&self) -> &PathTree {
        &self.needed
    }

    /// True when it reads system properties: a name with an underscore, or the whole item.
    pub fn reads_system(&self) -> bool {
        self.reads_system
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
        !self.order.is_empty() || self.ranking.is_some()
    }

    /// True for ORDER BY RANK: every item of the range must be pushed, for the statistics.
    pub fn is_ranking(&self) -> bool {
        self.ranking.is_some()
    }

    /// True when rows are groups: nothing comes out before the last item is in.
    pub fn is_grouped(&self) -> bool {
        self.select.grouping.is_some()
    }

    /// True when an item may have several rows, or none although WHERE accepts it.
    pub fn joins(&self) -> bool {
        !self.select.sources.is_empty()
    }

    /// True for SELECT DISTINCT.
    pub fn is_distinct(&self) -> bool {
        self.select.distinct
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

/// The value of an expression that reads no item; `None` when it does, or when it is refused.
pub fn constant(
    expr: &Expr,
    parameters: &Parameters,
    environment: &Environment,
) -> Option<Value<'static>> {
    lower::constant(expr, parameters, environment)
}
