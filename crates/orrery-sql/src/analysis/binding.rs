//! Names and functions: every name must be an alias in scope, every function must exist.

use super::aggregates::{check_projection, contains_aggregate, contains_subquery};
use super::{clauses, rank};
use crate::ast::{Expr, ExprKind, Ident, Input, Projection, Query, Source, Span, Step};
use crate::errors::SqlError;
use crate::signatures::BuiltIn;
use crate::visit;
use orrery_model::value::{Number, Value};

/// The name that a source binds: its alias, or the last step of its path.
pub(crate) fn source_name(source: &Source) -> Option<&str> {
    if let Some(alias) = &source.alias {
        return Some(&alias.name);
    }
    match &source.input {
        Input::Subquery(_) => None,
        Input::Path { root, steps } => match steps.last() {
            None => Some(&root.name),
            Some(Step::Member(name)) => Some(name),
            Some(Step::Index(_)) => None,
        },
    }
}

/// Where an expression stands, as far as it decides what it may call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// SELECT: aggregates may stand here.
    Select,
    /// The argument of a user-defined function in SELECT.
    UdfArgument,
    /// Anywhere else.
    Other,
}

/// Walks a query with the names in scope.
pub(super) struct Binder<'a> {
    text: &'a str,
    /// The names of each enclosing query and of each LET, innermost last.
    scopes: Vec<Vec<String>>,
    unresolved: Vec<String>,
    pub(super) errors: Vec<SqlError>,
    pub(super) udf_calls: usize,
    pub(super) joins: usize,
}

impl<'a> Binder<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            scopes: Vec::new(),
            unresolved: Vec::new(),
            errors: Vec::new(),
            udf_calls: 0,
            joins: 0,
        }
    }

    pub(super) fn top_query(&mut self, query: &Query) {
        self.query(query, false);
    }

    fn query(&mut self, query: &Query, inner: bool) {
        self.scopes.push(Vec::new());
        let ranked = query
            .order_by
            .as_ref()
            .filter(|order_by| order_by.rank && !inner);
        if ranked.is_some() {
            rank::check_joins(query, &mut self.errors);
        }
        for (place, source) in query.from.iter().flat_map(|from| &from.sources).enumerate() {
            if ranked.is_some() {
                rank::check_source(source, &mut self.errors);
            }
            self.joins += usize::from(place > 0);
            self.source(source, place == 0);
        }
        for expr in query.filter.iter().chain(&query.group_by) {
            self.expr(expr, Place::Other);
        }
        self.projection(query);
        match (&query.order_by, ranked) {
            (_, Some(order_by)) => match rank::scores(order_by, None) {
                Ok(scores) => scores
                    .components
                    .into_iter()
                    .for_each(|score| self.score(score)),
                Err(error) => self.errors.push(error),
            },
            // Refused as a whole below.
            (Some(order_by), None) if order_by.rank => {}
            (Some(order_by), None) => {
                order_by
                    .keys
                    .iter()
                    .for_each(|key| self.expr(&key.expr, Place::Other));
            }
            (None, None) => {}
        }
        if inner {
            clauses::check_subquery(query, &mut self.errors);
        } else {
            clauses::check_counts(query, &mut self.errors);
        }
        self.scopes.pop();
    }

    fn projection(&mut self, query: &Query) {
        match &query.select.projection {
            Projection::Star(span) => self.star(query, *span),
            Projection::Value(expr) => self.expr(expr, Place::Select),
            Projection::List(items) => {
                for item in items {
                    self.expr(&item.expr, Place::Select);
                }
            }
        }
        let own = self.scopes.last().map(Vec::as_slice).unwrap_or_default();
        let own = |name: &str| own.iter().any(|known| known == name);
        check_projection(self.text, query, &own, &mut self.errors);
    }

    /// `SELECT *` needs exactly one source (query-language: section 7.1).
    fn star(&mut self, query: &Query, span: Span) {
        match query.from.as_ref().map_or(0, |from| from.sources.len()) {
            1 => {}
            0 => self.errors.push(SqlError::new(
                "SC2001",
                "Identifier '*' could not be resolved.",
                span,
            )),
            _ => self.errors.push(SqlError::plain(
                "'SELECT *' is only valid with a single input set.",
            )),
        }
    }

    fn source(&mut self, source: &Source, first: bool) {
        match &source.input {
            Input::Subquery(query) => self.query(query, true),
            Input::Path { root, .. } => self.source_root(root, first),
        }
        let Some(name) = source_name(source) else {
            return;
        };
        let Some(own) = self.scopes.last_mut() else {
            return;
        };
        if own.iter().any(|known| known == name) {
            let message =
                format!("The input alias '{name}' is specified more than once in the FROM clause.");
            self.errors.push(SqlError::plain(message));
        } else {
            own.push(name.to_owned());
        }
    }

    /// The first name of a source: an alias to the left or outside, or the container, whose name
    /// in a query is arbitrary, where nothing else can be meant.
    fn source_root(&mut self, root: &Ident, first: bool) {
        let container = first && self.scopes.iter().all(Vec::is_empty);
        if !container && !self.knows(&root.name) {
            self.unresolved(&root.name, root.span);
        }
    }

    fn knows(&self, name: &str) -> bool {
        self.scopes.iter().flatten().any(|known| known == name)
    }

    /// SC2001, once for each name.
    fn unresolved(&mut self, name: &str, span: Span) {
        if !self.unresolved.iter().any(|known| known == name) {
            self.unresolved.push(name.to_owned());
            let message = format!("Identifier '{name}' could not be resolved.");
            self.errors.push(SqlError::new("SC2001", message, span));
        }
    }

    fn expr(&mut self, expr: &Expr, place: Place) {
        match &expr.kind {
            // Documentation samples use the two as constants (query-language: section 1).
            ExprKind::Name(name)
                if !self.knows(name) && !matches!(name.as_str(), "NaN" | "Infinity") =>
            {
                self.unresolved(name, expr.span);
            }
            ExprKind::Index(inner, index) => {
                self.expr(inner, place);
                if !matches!(index.kind, ExprKind::Literal(_) | ExprKind::Parameter(_)) {
                    let message = "The specified query includes 'member indexer' which is currently not supported.";
                    self.errors
                        .push(SqlError::new("SC2990", message, expr.span));
                }
            }
            ExprKind::Call { name, args } => self.call(expr, name, args, place),
            ExprKind::Udf { args, .. } => {
                self.udf_calls += 1;
                let place = if place == Place::Other {
                    place
                } else {
                    Place::UdfArgument
                };
                for argument in args {
                    self.expr(argument, place);
                }
            }
            ExprKind::Subquery(_, query) => self.query(query, true),
            ExprKind::Let { name, value, body } => {
                self.expr(value, place);
                self.scopes.push(vec![name.name.clone()]);
                self.expr(body, place);
                self.scopes.pop();
            }
            _ => visit::children(expr, &mut |child| self.expr(child, place)),
        }
    }

    fn call(&mut self, call: &Expr, name: &Ident, args: &[Expr], place: Place) {
        let built_in = BuiltIn::lookup(&name.name);
        let aggregate = built_in.is_some_and(BuiltIn::is_aggregate);
        // An aggregate inside an aggregate is SC2101 alone.
        let inside = if aggregate { Place::Select } else { place };
        for argument in args {
            self.expr(argument, inside);
        }
        let Some(built_in) = built_in.filter(|built_in| *built_in != BuiltIn::Rrf) else {
            let message = format!(
                "'{}' is not a recognized built-in function name.",
                name.name
            );
            self.errors
                .push(SqlError::new("SC2005", message, name.span));
            return;
        };
        if let Some(message) = built_in.argument_error(args.len()) {
            self.errors
                .push(SqlError::new("SC2050", message, call.span));
        } else if built_in == BuiltIn::FullTextScore {
            let message = "The FullTextScore function is only allowed in the ORDER BY RANK clause.";
            self.errors
                .push(SqlError::new("SC2240", message, call.span));
        } else if built_in == BuiltIn::VectorDistance {
            self.vector_options(call, args);
        } else if aggregate {
            self.aggregate(call, args, place);
        }
    }

    fn aggregate(&mut self, call: &Expr, args: &[Expr], place: Place) {
        if args
            .iter()
            .any(|argument| contains_aggregate(argument) || contains_subquery(argument))
        {
            let message = "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
            self.errors
                .push(SqlError::new("SC2101", message, call.span));
        }
        match place {
            Place::Select => {}
            // The service's wording of these two is not known.
            Place::UdfArgument => {
                let message = "An aggregate function is not allowed in the arguments of a user-defined function.";
                self.errors.push(SqlError::plain(message));
            }
            Place::Other => {
                let message = "An aggregate function is only allowed in the SELECT clause.";
                self.errors.push(SqlError::plain(message));
            }
        }
    }

    /// A component of ORDER BY RANK.
    fn score(&mut self, score: &Expr) {
        let ExprKind::Call { name, args } = &score.kind else {
            return;
        };
        for argument in args {
            self.expr(argument, Place::Other);
        }
        let Some(built_in) = BuiltIn::lookup(&name.name) else {
            return;
        };
        if let Some(message) = built_in.argument_error(args.len()) {
            self.errors
                .push(SqlError::new("SC2050", message, score.span));
        } else if built_in == BuiltIn::VectorDistance {
            self.vector_options(score, args);
        }
    }

    /// SC2213: the option that the service checks before it runs a query.
    fn vector_options(&mut self, call: &Expr, args: &[Expr]) {
        let Some(ExprKind::Object(members)) = args.get(3).map(|options| &options.kind) else {
            return;
        };
        let name = "searchListSizeMultiplier";
        for (_, value) in members.iter().filter(|(known, _)| known == name) {
            let ExprKind::Literal(Value::Number(number)) = &value.kind else {
                continue;
            };
            let number: Number = *number;
            if !(1.0..=100.0).contains(&number.as_f64()) {
                let shown = crate::printer::number_text(number);
                let message = format!(
                    "The '{name}' value {shown} specified in the VectorDistance function is outside the supported range. The value must be between 1 and 100."
                );
                self.errors
                    .push(SqlError::new("SC2213", message, call.span));
            }
        }
    }
}
