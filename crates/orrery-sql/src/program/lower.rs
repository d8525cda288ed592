//! From the syntax tree to nodes.

mod expression;
mod ranking;
mod select;

use super::node::{Aggregate, Node, Select, SortKey};
use super::{Program, reads};
use crate::analysis;
use crate::ast::{Count, CountValue, Expr, Query};
use crate::environment::{Environment, Parameters};
use crate::errors::SqlError;
use crate::eval::{Run, Settings};
use crate::filter;
use crate::pipeline::accumulator::size;
use orrery_model::value::Value;
use std::cell::Cell;

/// How deep expressions and subqueries may nest.
const MAX_DEPTH: u32 = 400;
/// Bytes that folded constants, and as many that copies of parameters may take.
const FOLD_BYTES: usize = 16 << 20;
/// Steps that folding constants may take.
const FOLD_STEPS: u64 = 1_000_000;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The binding of that number, counted from the outermost; 0 is the item.
    Level(u32),
    /// A source that is gone once its rows are grouped.
    Gone,
}

#[derive(Debug, Clone)]
struct Bound {
    name: Option<String>,
    place: Place,
}

/// While the projection of a grouped SELECT is lowered: what its rows saw.
struct GroupScope {
    keys: Vec<Expr>,
    shapes: analysis::Shapes,
    aggregates: Vec<Aggregate>,
    row_scope: Vec<Bound>,
    row_depth: u32,
    /// Level of the binding that holds keys and results.
    level: u32,
}

struct Lowerer<'q> {
    parameters: &'q Parameters,
    environment: &'q Environment,
    run: Run<'q>,
    scope: Vec<Bound>,
    /// Number of bindings at this place.
    depth: u32,
    group: Option<GroupScope>,
    nesting: u32,
    /// Inside the expression of a computed property.
    in_computed: bool,
    /// Bytes of parameters' values in the program.
    copied: Cell<usize>,
}

type Lowered<T> = Result<T, SqlError>;

/// Lowers a whole query.
pub(super) fn compile(
    query: &Query,
    parameters: &Parameters,
    environment: &Environment,
) -> Lowered<Program> {
    let settings = Settings::of(environment);
    let mut lowerer = Lowerer::new(parameters, environment, &settings);
    let mut item_filter = Vec::new();
    let (select, order, ranking) = lowerer.top(query, &mut item_filter)?;
    let top = query
        .select
        .top
        .as_ref()
        .map(|count| lowerer.count(count, "TOP"))
        .transpose()?;
    let offset = query
        .page
        .as_ref()
        .map(|page| lowerer.count(&page.offset, "OFFSET"))
        .transpose()?;
    let limit = query
        .page
        .as_ref()
        .map(|page| lowerer.count(&page.limit, "LIMIT"))
        .transpose()?;
    let distinct_source = select
        .grouping
        .as_ref()
        .is_some_and(|grouping| grouping.keys.is_empty())
        && matches!(select.sources.as_slice(), [super::node::Source::Rows(inner)] if inner.distinct);
    let needed = reads::needed(&select, &item_filter, &order, ranking.as_ref());
    let filter = if ranking.is_some() {
        filter::IndexFilter::All
    } else {
        filter::build::build(&select, &item_filter)
    };
    let order_paths = reads::order_paths(&order, lowerer.depth);
    drop(lowerer);
    let order_paths = if ranking.is_some() || select.grouping.is_some() {
        None
    } else {
        order_paths
    };
    let item_filter_reads = item_filter
        .iter()
        .map(|node| reads::count_item_reads(node, 1))
        .sum();
    let finders = reads::finders(&needed, &item_filter);
    Ok(Program {
        has_from: query.from.is_some(),
        item_filter,
        item_filter_reads,
        row_reads: reads::count_row_reads(&select, &order),
        reads_system: reads::reads_system(&needed),
        finders,
        needed,
        filter,
        order_paths,
        distinct_source,
        top,
        offset: offset.unwrap_or(0),
        limit,
        select,
        order,
        ranking,
        settings,
    })
}

/// The value of an expression without names.
pub(super) fn constant(
    expr: &Expr,
    parameters: &Parameters,
    environment: &Environment,
) -> Option<Value<'static>> {
    let settings = Settings::of(environment);
    match Lowerer::new(parameters, environment, &settings).expression(expr) {
        Ok(Node::Constant(value)) => Some(value),
        _ => None,
    }
}

impl<'q> Lowerer<'q> {
    fn new(
        parameters: &'q Parameters,
        environment: &'q Environment,
        settings: &'q Settings,
    ) -> Self {
        Self {
            parameters,
            environment,
            run: Run::new(settings, FOLD_STEPS, FOLD_BYTES),
            scope: Vec::new(),
            depth: 1,
            group: None,
            nesting: 0,
            copied: Cell::new(0),
            in_computed: false,
        }
    }
}

impl Lowerer<'_> {
    fn outwards(&self, level: u32) -> u32 {
        self.depth.saturating_sub(1).saturating_sub(level)
    }

    fn slot(&self, level: u32) -> Node {
        Node::Slot(self.outwards(level))
    }

    fn find(&self, name: &str) -> Option<Place> {
        self.scope
            .iter()
            .rev()
            .find(|bound| bound.name.as_deref() == Some(name))
            .map(|bound| bound.place)
    }

    /// Adds a binding and names it.
    fn bind(&mut self, name: Option<String>) {
        self.scope.push(Bound {
            name,
            place: Place::Level(self.depth),
        });
        self.depth += 1;
    }

    /// A copy of a parameter's value.
    fn parameter(&self, name: &str) -> Lowered<Value<'static>> {
        let Some(value) = self.parameters.get(name) else {
            return Err(SqlError::plain(format!(
                "The query references the parameter '{name}', which the request does not give."
            )));
        };
        let copied = self.copied.get().saturating_add(size(value));
        self.copied.set(copied);
        if copied > FOLD_BYTES {
            return Err(SqlError::plain(
                crate::pipeline::ExecutionError::TooMuchMemory.to_string(),
            ));
        }
        Ok(value.clone())
    }

    /// The operand of TOP, OFFSET or LIMIT.
    fn count(&self, count: &Count, clause: &str) -> Lowered<u64> {
        let value = match &count.value {
            CountValue::Number(number) => Value::Number(*number),
            CountValue::Parameter(name) => self.parameter(name)?,
        };
        let whole = value.as_i64().and_then(|value| u64::try_from(value).ok());
        whole
            // The planner's own texts ask for up to 32 bits (twice a TOP, OFFSET and LIMIT added).
            .filter(|value| u32::try_from(*value).is_ok())
            .ok_or_else(|| {
                let (code, message) = match clause {
                    "TOP" => (
                        "SC2060",
                        "The count value provided for a TOP clause must be an integer.",
                    ),
                    "OFFSET" => (
                        "SC2062",
                        "The OFFSET count value exceeds the maximum allowed value.",
                    ),
                    _ => (
                        "SC2061",
                        "The LIMIT count value exceeds the maximum allowed value.",
                    ),
                };
                SqlError::new(code, message, count.span)
            })
    }

    /// Guards against nesting that would exhaust the stack here or in evaluation.
    fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        if self.nesting == MAX_DEPTH {
            return Err(SqlError::plain("The query is nested too deeply."));
        }
        self.nesting += 1;
        let result = work(self);
        self.nesting -= 1;
        result
    }
}

/// What a whole query lowers to.
type Top = (
    Select,
    Vec<SortKey>,
    Option<crate::pipeline::ranking::Ranking>,
);
