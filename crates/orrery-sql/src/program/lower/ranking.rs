//! ORDER BY RANK.

use super::{Lowered, Lowerer};
use crate::ast::{Expr, ExprKind};
use crate::errors::SqlError;
use crate::functions::fulltext::Phrase;
use crate::pipeline::ranking::{Component, Ranking};
use crate::program::node::Node;
use crate::signatures::BuiltIn;
use orrery_model::value::Value;

impl Lowerer<'_> {
    /// The ranking of a call; `None` for a lone VECTORDISTANCE, which sorts like any key.
    pub(super) fn ranking(&mut self, expr: &Expr) -> Lowered<Option<Ranking>> {
        let refused = || {
            SqlError::new(
                "SC2221",
                "The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore function call.",
                expr.span,
            )
        };
        let ExprKind::Call { name, args } = &expr.kind else {
            return Err(refused());
        };
        match BuiltIn::lookup(&name.name) {
            Some(BuiltIn::VectorDistance) => Ok(None),
            Some(BuiltIn::FullTextScore) => {
                let components = vec![self.component(expr)?.ok_or_else(refused)?];
                Ok(Some(Ranking {
                    components,
                    weights: vec![1.0],
                }))
            }
            Some(BuiltIn::Rrf) => {
                let mut components = Vec::new();
                let mut weights = Vec::new();
                for (place, arg) in args.iter().enumerate() {
                    match self.component(arg)? {
                        Some(component) => components.push(component),
                        None if place + 1 == args.len() => weights = self.weights(arg)?,
                        None => return Err(refused()),
                    }
                }
                if components.len() < 2 {
                    return Err(refused());
                }
                if weights.is_empty() {
                    weights = vec![1.0; components.len()];
                }
                if weights.len() != components.len() {
                    return Err(bad_weights(expr));
                }
                Ok(Some(Ranking {
                    components,
                    weights,
                }))
            }
            _ => Err(refused()),
        }
    }

    fn component(&mut self, expr: &Expr) -> Lowered<Option<Component>> {
        let ExprKind::Call { name, args } = &expr.kind else {
            return Ok(None);
        };
        match BuiltIn::lookup(&name.name) {
            Some(BuiltIn::VectorDistance) => match self.expression(expr)? {
                Node::Vector(function, sides) => Ok(Some(Component::Vector {
                    ascending: function.ascending(),
                    node: Node::Vector(function, sides),
                })),
                node => Ok(Some(Component::Vector {
                    ascending: false,
                    node,
                })),
            },
            Some(BuiltIn::FullTextScore) if !args.is_empty() => {
                let text = self.expression(&args[0])?;
                let mut phrases = Vec::new();
                for arg in &args[1..] {
                    match self.expression(arg)?.constant() {
                        // The form of an old preview.
                        Some(Value::Array(terms)) => {
                            phrases.extend(terms.iter().filter_map(Phrase::of));
                        }
                        Some(term) => phrases.extend(Phrase::of(term)),
                        None => {}
                    }
                }
                Ok(Some(Component::FullText { text, phrases }))
            }
            _ => Ok(None),
        }
    }

    fn weights(&mut self, expr: &Expr) -> Lowered<Vec<f64>> {
        let node = self.expression(expr)?;
        let list = node.constant().and_then(Value::as_array);
        let numbers =
            list.and_then(|list| list.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
        numbers
            .filter(|numbers| !numbers.is_empty())
            .ok_or_else(|| bad_weights(expr))
    }
}

fn bad_weights(expr: &Expr) -> SqlError {
    SqlError::new(
        "SC2229",
        "The last parameter of the RRF function is an optional array of weights.",
        expr.span,
    )
}
