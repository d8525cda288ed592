//! The query plan that SDKs ask for (protocol: sections 8.2 to 8.7): what the client must do over
//! several ranges, the text that it sends to each of them, and which ranges these are.

mod counts;
mod features;
mod hybrid;
mod json;
mod projection;
mod rewrite;

pub use counts::{Counts, counts};
pub use features::Features;
pub use hybrid::HybridInfo;
pub use projection::item_name;

use crate::analysis::{QueryLimits, aggregate_calls, analyze, contains_aggregate};
use crate::analysis::{is_aggregate_call, scores};
use crate::ast::{ExprKind, Input, OrderBy, Projection, Query, Select};
use crate::environment::{DistanceFunction, Environment, Parameters};
use crate::errors::{SqlError, SqlErrors};
use crate::printer::Printer;
use crate::routing::{Fold, KeySpan, PlanRange, epk_ranges, key_spans};
use crate::signatures::BuiltIn;
use orrery_model::partition_key::PartitionKeyDefinition;

/// What a plan depends on besides the query.
#[derive(Clone, Copy)]
pub struct PlanContext<'a> {
    /// The partition key of the container; `None` plans for every range.
    pub definition: Option<&'a PartitionKeyDefinition>,
    /// The parameters of the request.
    pub parameters: &'a Parameters,
    /// The policies of the container.
    pub environment: &'a Environment,
    /// What the client can do; `None` takes every plan.
    pub features: Option<Features>,
    /// Limits of the account.
    pub limits: QueryLimits,
    /// Computes constant expressions of WHERE.
    pub fold: Fold<'a>,
}

/// DISTINCT as the client must apply it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistinctType {
    /// No DISTINCT.
    None,
    /// Equal rows follow each other.
    Ordered,
    /// Equal rows may be anywhere.
    Unordered,
}

/// What the client does with the rows of the ranges.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryInfo {
    /// DISTINCT.
    pub distinct: DistinctType,
    /// TOP.
    pub top: Option<u64>,
    /// OFFSET.
    pub offset: Option<u64>,
    /// LIMIT.
    pub limit: Option<u64>,
    /// For each sort key: its text, and whether it descends.
    pub order_by: Vec<(String, bool)>,
    /// The texts of the group keys.
    pub group_by_expressions: Vec<String>,
    /// The names of the members of a row, with the aggregate that a member is.
    pub group_by_aliases: Vec<(String, Option<BuiltIn>)>,
    /// The aggregates of `SELECT VALUE`.
    pub aggregates: Vec<BuiltIn>,
    /// The text for each range; empty: the query as it is.
    pub rewritten: String,
    /// SELECT VALUE.
    pub has_select_value: bool,
    /// For a count of distinct rows: the name of the count in the row, empty with VALUE.
    pub distinct_count_alias: Option<String>,
    /// Rows of a range come in no order although there is an ORDER BY.
    pub non_streaming: bool,
}

/// The body of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanInfo {
    /// Any query but ORDER BY RANK.
    Query(Box<QueryInfo>),
    /// ORDER BY RANK.
    Hybrid(Box<HybridInfo>),
}

/// A query plan.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPlan {
    /// What to do.
    pub info: PlanInfo,
    /// The ranges to ask, in terms of key values.
    pub spans: Vec<KeySpan>,
    /// The ranges to ask, sorted and disjoint.
    pub ranges: Vec<PlanRange>,
}

impl QueryPlan {
    /// True for aggregates in a projection list.
    pub fn names_aggregates(&self) -> bool {
        match &self.info {
            PlanInfo::Hybrid(_) => false,
            PlanInfo::Query(info) => {
                let mut kinds = info.group_by_aliases.iter().map(|(_, kind)| kind);
                info.group_by_expressions.is_empty() && kinds.any(Option::is_some)
            }
        }
    }

    /// True when a gateway may run the query over all its ranges itself: rows need no merging
    /// beyond being put one after the other (protocol: section 8.1).
    pub fn is_plain(&self) -> bool {
        match &self.info {
            PlanInfo::Hybrid(_) => false,
            PlanInfo::Query(info) => {
                info.distinct == DistinctType::None
                    && info.top.is_none()
                    && info.offset.is_none()
                    && info.limit.is_none()
                    && info.order_by.is_empty()
                    && info.group_by_expressions.is_empty()
                    && info.group_by_aliases.is_empty()
                    && info.aggregates.is_empty()
                    && info.distinct_count_alias.is_none()
            }
        }
    }
}

/// Plans a query that was parsed from `text`.
pub fn plan(text: &str, query: &Query, context: &PlanContext<'_>) -> Result<QueryPlan, SqlErrors> {
    analyze(text, query, &context.limits)?;
    let counts = counts(query, context.parameters).map_err(|errors| errors.locate(text))?;
    check_compositions(query, context.features)?;
    let spans = key_spans(query, context.fold, context.definition);
    let ranges = epk_ranges(&spans, context.definition);
    let planner = Planner {
        text,
        query,
        counts,
        context,
        pinned: is_pinned(&spans, context.definition),
    };
    let info = match &query.order_by {
        Some(order_by) if order_by.rank => PlanInfo::Hybrid(Box::new(
            planner.hybrid(&scores(order_by, Some(context.parameters))?),
        )),
        _ => PlanInfo::Query(Box::new(planner.info())),
    };
    if let Some(features) = context.features {
        features.check(&info)?;
    }
    Ok(QueryPlan {
        info,
        spans,
        ranges,
    })
}

/// True when one logical partition, or none, answers the query.
fn is_pinned(spans: &[KeySpan], definition: Option<&PartitionKeyDefinition>) -> bool {
    match (spans, definition) {
        ([KeySpan::Nothing], _) => true,
        ([KeySpan::Between { min, max, .. }], Some(definition)) => {
            min == max && definition.is_full(min)
        }
        _ => false,
    }
}

/// What the planner refuses although a single range could compute it.
fn check_compositions(query: &Query, features: Option<Features>) -> Result<(), SqlErrors> {
    if !aggregate_calls(query) {
        return Ok(());
    }
    let whole = match &query.select.projection {
        Projection::Star(_) => true,
        Projection::Value(expr) => is_aggregate_call(expr).is_some() || !contains_aggregate(expr),
        Projection::List(items) => items
            .iter()
            .all(|item| is_aggregate_call(&item.expr).is_some() || !contains_aggregate(&item.expr)),
    };
    let value = matches!(query.select.projection, Projection::Value(_)) && whole;
    if !value && features.is_some_and(|features| !features.has(Features::NON_VALUE_AGGREGATE)) {
        let message = "Cross partition query only supports 'VALUE <AggreateFunc>' for aggregates.";
        return Err(SqlError::plain(message).into());
    }
    if !whole {
        let message = "Compositions of aggregates and other expressions are not allowed.";
        return Err(SqlError::plain(message).into());
    }
    Ok(())
}

struct Planner<'a> {
    text: &'a str,
    query: &'a Query,
    counts: Counts,
    context: &'a PlanContext<'a>,
    pinned: bool,
}

impl Planner<'_> {
    fn info(&self) -> QueryInfo {
        let query = self.query;
        let mut info = QueryInfo {
            distinct: DistinctType::None,
            top: self.counts.top,
            offset: self.counts.offset,
            limit: self.counts.limit,
            order_by: Vec::new(),
            group_by_expressions: Vec::new(),
            group_by_aliases: Vec::new(),
            aggregates: Vec::new(),
            rewritten: String::new(),
            has_select_value: matches!(query.select.projection, Projection::Value(_)),
            distinct_count_alias: None,
            non_streaming: false,
        };
        if query.from.is_none() {
            info.top = None;
        }
        if let Some(alias) = distinct_count(query) {
            self.distinct_count(&mut info, alias);
        } else if !query.group_by.is_empty() {
            self.grouped(&mut info);
        } else if aggregate_calls(query) {
            self.aggregated(&mut info);
        } else {
            self.plain(&mut info);
        }
        info
    }

    /// Neither aggregates nor groups.
    fn plain(&self, info: &mut QueryInfo) {
        let query = self.query;
        let ordered = query.order_by.is_some();
        if query.select.distinct {
            info.distinct = if ordered {
                DistinctType::Ordered
            } else {
                DistinctType::Unordered
            };
        }
        if let Some(order_by) = &query.order_by {
            self.sort_keys(order_by, info);
            info.rewritten = self.ordered_text(info);
        } else if query.select.distinct {
            if info.top.is_some() || info.offset.is_some() {
                info.rewritten = self.text_without_counts();
            }
        } else if self.pinned {
            // One partition applies them by itself.
            info.offset = None;
            info.limit = None;
        } else if info.offset.is_some() {
            info.rewritten = self.text_with_page(info);
        }
    }

    fn sort_keys(&self, order_by: &OrderBy, info: &mut QueryInfo) {
        for key in &order_by.keys {
            let descending = key.descending.unwrap_or(false) || self.scores_descend(&key.expr);
            info.non_streaming |= is_vector_distance(&key.expr);
            info.order_by
                .push((Printer::expr_text(self.text, &key.expr), descending));
        }
    }

    fn aggregated(&self, info: &mut QueryInfo) {
        match &self.query.select.projection {
            Projection::Value(expr) => info.aggregates.extend(is_aggregate_call(expr)),
            _ => info.group_by_aliases = self.aliases(),
        }
        info.rewritten = self.aggregated_text();
    }

    fn grouped(&self, info: &mut QueryInfo) {
        info.group_by_expressions = self
            .query
            .group_by
            .iter()
            .map(|key| Printer::expr_text(self.text, key))
            .collect();
        match &self.query.select.projection {
            Projection::Value(expr) => info.aggregates.extend(is_aggregate_call(expr)),
            _ => info.group_by_aliases = self.aliases(),
        }
        if self.query.select.distinct {
            info.distinct = DistinctType::Unordered;
        }
        if let Some(order_by) = &self.query.order_by {
            self.sort_keys(order_by, info);
        }
        info.rewritten = self.grouped_text(info);
    }

    /// The client counts the distinct rows of the inner query.
    fn distinct_count(&self, info: &mut QueryInfo, alias: String) {
        info.distinct = DistinctType::Unordered;
        info.distinct_count_alias = Some(alias);
        if let Some(inner) = inner_query(self.query) {
            info.rewritten = Printer::query_text(self.text, inner);
        }
    }

    /// True when the most similar vectors have the greatest distance values.
    fn scores_descend(&self, expr: &crate::ast::Expr) -> bool {
        is_vector_distance(expr) && !self.distance_function(expr).ascending()
    }

    /// The function that a call of VectorDistance means: its option, else the policy of its path.
    fn distance_function(&self, call: &crate::ast::Expr) -> DistanceFunction {
        let ExprKind::Call { args, .. } = &call.kind else {
            return DistanceFunction::default();
        };
        let option = args.get(3).and_then(|options| match &options.kind {
            ExprKind::Object(members) => members
                .iter()
                .find(|(name, _)| name == "distanceFunction")
                .and_then(|(_, value)| (self.context.fold)(value))
                .and_then(|value| DistanceFunction::from_name(value.as_str()?)),
            _ => None,
        });
        let policy = || {
            let paths: Vec<_> = args.iter().take(2).filter_map(member_names).collect();
            let vectors = &self.context.environment.vectors;
            vectors
                .iter()
                .find(|vector| paths.contains(&vector.path))
                .map(|vector| vector.distance)
        };
        option.or_else(policy).unwrap_or_default()
    }
}

/// The names of a path below an alias.
fn member_names(expr: &crate::ast::Expr) -> Option<Vec<String>> {
    match &expr.kind {
        ExprKind::Name(_) => Some(Vec::new()),
        ExprKind::Member(inner, name) => {
            let mut names = member_names(inner)?;
            names.push(name.clone());
            Some(names)
        }
        _ => None,
    }
}

fn is_vector_distance(expr: &crate::ast::Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { name, .. } if BuiltIn::lookup(&name.name) == Some(BuiltIn::VectorDistance))
}

/// The subquery of `SELECT … FROM (SELECT DISTINCT …)`.
fn inner_query(query: &Query) -> Option<&Query> {
    match query.from.as_ref()?.sources.as_slice() {
        [source] if !source.iterate => match &source.input {
            Input::Subquery(inner) => Some(inner),
            Input::Path { .. } => None,
        },
        _ => None,
    }
}

/// The name of the count of `SELECT COUNT(1) FROM (SELECT DISTINCT …)`, empty with VALUE.
fn distinct_count(query: &Query) -> Option<String> {
    let Query {
        select:
            Select {
                distinct: false,
                projection,
                ..
            },
        filter: None,
        order_by: None,
        ..
    } = query
    else {
        return None;
    };
    if !query.group_by.is_empty() || !inner_query(query)?.select.distinct {
        return None;
    }
    let (expr, alias) = match projection {
        Projection::Value(expr) => (expr, String::new()),
        Projection::List(items) => match items.as_slice() {
            [item] => (
                &item.expr,
                item_name(item).unwrap_or_else(|| "$1".to_owned()),
            ),
            _ => return None,
        },
        Projection::Star(_) => return None,
    };
    let counted = match &expr.kind {
        ExprKind::Call { args, .. } if is_aggregate_call(expr) == Some(BuiltIn::Count) => {
            args.first()?
        }
        _ => return None,
    };
    // The count of a member would not be the count of rows.
    matches!(counted.kind, ExprKind::Literal(_) | ExprKind::Name(_)).then_some(alias)
}

#[cfg(test)]
mod tests;
