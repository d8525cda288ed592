//! The paths that a query asks an index about, for its metrics: predicates of every clause count,
//! not only those that narrow the items.

use super::build::condition;
use super::{IndexFilter, IndexStep, IndexTest};
use crate::ast::SubqueryKind;
use crate::program::Program;
use crate::program::node::{Node, Prefix, Projection, Select, Source};
use crate::program::reads::{Origin, each_child, origin_of, path_of};

/// A predicate over one path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathUse {
    /// The path.
    pub path: Vec<IndexStep>,
    /// What its value must satisfy.
    pub test: IndexTest,
    /// Whether every row must satisfy it: an operand of the outermost AND of WHERE.
    pub is_required: bool,
}

impl Program {
    /// The predicates of the query: first those of WHERE, then those of the other clauses.
    pub fn path_uses(&self) -> Vec<PathUse> {
        let mut uses = Uses::default();
        let mut origins = vec![Some(Vec::new())];
        for node in &self.item_filter {
            uses.required(node, &mut origins);
        }
        uses.select(&self.select, &mut origins, true);
        uses.list
    }
}

#[derive(Default)]
struct Uses {
    list: Vec<PathUse>,
}

impl Uses {
    /// Adds the tests of a filter; answers whether there were any.
    fn add(&mut self, filter: IndexFilter, is_required: bool) -> bool {
        let before = self.list.len();
        match filter {
            IndexFilter::All | IndexFilter::Nothing => {}
            IndexFilter::And(branches) => {
                for branch in branches {
                    self.add(branch, is_required);
                }
            }
            IndexFilter::Or(branches) => {
                for branch in branches {
                    self.add(branch, false);
                }
            }
            IndexFilter::Path(path, test) => self.list.push(PathUse {
                path,
                test,
                is_required,
            }),
        }
        self.list.len() > before
    }

    /// A condition that every row must satisfy.
    fn required(&mut self, node: &Node, origins: &mut Vec<Origin>) {
        match node {
            Node::And(operands) => operands
                .iter()
                .for_each(|operand| self.required(operand, origins)),
            _ => self.logical(node, origins, true),
        }
    }

    /// An expression whose value is asked for its truth.
    fn logical(&mut self, node: &Node, origins: &mut Vec<Origin>, is_required: bool) {
        match node {
            Node::And(operands) | Node::Or(operands) => operands
                .iter()
                .for_each(|operand| self.logical(operand, origins, false)),
            Node::Prefix(Prefix::Not, operand) => self.logical(operand, origins, false),
            Node::Subquery(SubqueryKind::Exists, select) => {
                self.select(select, origins, is_required);
            }
            _ => {
                let found = condition(node, origins);
                if !self.add(found, is_required) {
                    self.value(node, origins);
                }
            }
        }
    }

    /// Any other expression: it may have predicates inside.
    fn value(&mut self, node: &Node, origins: &mut Vec<Origin>) {
        match node {
            Node::Constant(_) | Node::Slot(_) | Node::Path(..) => {}
            Node::Subquery(_, select) => self.select(select, origins, false),
            Node::Let(parts) => {
                self.value(&parts.0, origins);
                let origin = path_of(&parts.0, origins);
                origins.push(origin);
                self.value(&parts.1, origins);
                origins.pop();
            }
            _ => {
                let is_predicate = matches!(
                    node,
                    Node::Compare(..)
                        | Node::Between(_)
                        | Node::In(..)
                        | Node::Like(..)
                        | Node::Call(..)
                );
                if is_predicate {
                    let found = condition(node, origins);
                    if self.add(found, false) {
                        return;
                    }
                }
                let mut children = Vec::new();
                each_child(node, &mut |child| children.push(child));
                for child in children {
                    self.value(child, origins);
                }
            }
        }
    }

    fn select(&mut self, select: &Select, origins: &mut Vec<Origin>, is_required: bool) {
        let outer = origins.len();
        for source in &select.sources {
            let origin = origin_of(source, origins);
            match source {
                Source::Value(node) | Source::Elements(node) => self.value(node, origins),
                Source::Rows(inner) | Source::RowElements(inner) => {
                    self.select(inner, origins, false);
                }
            }
            origins.push(origin);
        }
        for node in &select.filter {
            if is_required {
                self.required(node, origins);
            } else {
                self.logical(node, origins, false);
            }
        }
        if let Some(grouping) = &select.grouping {
            let arguments = grouping.aggregates.iter().map(|one| &one.argument);
            for node in grouping.keys.iter().chain(arguments) {
                self.value(node, origins);
            }
            origins.truncate(outer);
            origins.push(None);
        }
        match &select.projection {
            Projection::Value(node) => self.value(node, origins),
            Projection::List(members) => {
                for (_, node) in members {
                    self.value(node, origins);
                }
            }
        }
        origins.truncate(outer);
    }
}
