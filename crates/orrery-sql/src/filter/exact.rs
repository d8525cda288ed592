//! What an index alone answers: filters that its entries satisfy exactly when the item does, and
//! aggregates over what entries say.

use super::IndexStep;
use crate::eval::operators::is_scalar;
use crate::pipeline::accumulator::AggregateKind;
use crate::program::Program;
use crate::program::node::{Aggregate, Comparison, Members, Node, Step};
use crate::signatures::BuiltIn;
use orrery_model::index::STRING_LIMIT;
use orrery_model::value::Value;

/// An aggregate that entries answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexAggregate {
    /// How many items there are.
    Items,
    /// How many of them have the path.
    Defined(Vec<IndexStep>),
    /// The least value of a path.
    Least(Vec<IndexStep>),
    /// The greatest value of a path.
    Greatest(Vec<IndexStep>),
}

/// Groups of whole items whose keys and aggregates are about paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexGrouping {
    /// The paths of GROUP BY; at least one.
    pub keys: Vec<Vec<IndexStep>>,
    /// The aggregates.
    pub aggregates: Vec<IndexAggregate>,
}

impl Program {
    /// What GROUP BY asks for, where entries of an index could answer it.
    pub fn index_grouping(&self) -> Option<IndexGrouping> {
        let grouping = self.select.grouping.as_ref()?;
        let is_plain = self.reads_items()
            && !self.is_ranking()
            && !grouping.keys.is_empty()
            && self.select.sources.is_empty()
            && self.select.filter.is_empty()
            && self.item_filter.is_empty();
        if !is_plain {
            return None;
        }
        Some(IndexGrouping {
            keys: grouping.keys.iter().map(item_path).collect::<Option<_>>()?,
            aggregates: grouping
                .aggregates
                .iter()
                .map(index_aggregate)
                .collect::<Option<_>>()?,
        })
    }

    /// The aggregates, where rows are one group of whole items and entries answer all of them.
    pub fn index_aggregates(&self) -> Option<Vec<IndexAggregate>> {
        let grouping = self.select.grouping.as_ref()?;
        let is_plain = self.reads_items()
            && !self.is_ranking()
            && grouping.keys.is_empty()
            && self.select.sources.is_empty()
            && self.select.filter.is_empty();
        let aggregates = || grouping.aggregates.iter().map(index_aggregate);
        is_plain.then(|| aggregates().collect())?
    }

    /// Whether the entries that satisfy [`Program::filter`] are those of the items that WHERE
    /// accepts, none more and none less, as far as the paths are indexed.
    pub fn has_exact_filter(&self) -> bool {
        self.select.filter.is_empty() && self.item_filter.iter().all(is_exact)
    }
}

fn index_aggregate(aggregate: &Aggregate) -> Option<IndexAggregate> {
    let argument = &aggregate.argument;
    Some(match aggregate.kind {
        AggregateKind::Count => match argument.constant() {
            Some(value) if !value.is_undefined() => IndexAggregate::Items,
            Some(_) => return None,
            None => IndexAggregate::Defined(item_path(argument)?),
        },
        AggregateKind::Min => IndexAggregate::Least(item_path(argument)?),
        AggregateKind::Max => IndexAggregate::Greatest(item_path(argument)?),
        _ => return None,
    })
}

/// A path of members below the item: an element's position is not in its entry.
fn item_path(node: &Node) -> Option<Vec<IndexStep>> {
    let Node::Path(0, steps) = node else {
        return None;
    };
    let member = |step: &Step| match step {
        Step::Member(name) => Some(IndexStep::Member(name.clone())),
        Step::Element(_) => None,
    };
    steps.iter().map(member).collect()
}

/// Whether entries keep all of a constant.
fn is_whole(value: &Value<'_>) -> bool {
    is_scalar(value)
        && !value.is_undefined()
        && value.as_str().is_none_or(|text| text.len() < STRING_LIMIT)
}

fn is_exact(node: &Node) -> bool {
    let is_path = |node: &Node| item_path(node).is_some();
    let is_constant = |node: &Node| node.constant().is_some_and(is_whole);
    match node {
        Node::Constant(_) => true,
        Node::And(operands) | Node::Or(operands) => operands.iter().all(is_exact),
        Node::Path(..) => is_path(node),
        Node::Compare(Comparison::NotEqual, _) => false,
        Node::Compare(_, sides) => {
            (is_path(&sides.0) && is_constant(&sides.1))
                || (is_constant(&sides.0) && is_path(&sides.1))
        }
        Node::Between(parts) => is_path(&parts.0) && is_constant(&parts.1) && is_constant(&parts.2),
        Node::In(value, Members::Sorted(constants)) => {
            is_path(value) && constants.iter().all(is_whole)
        }
        Node::Call(function, _, arguments) => match function {
            BuiltIn::IsDefined | BuiltIn::IsNull | BuiltIn::IsBool => is_path(&arguments[0]),
            BuiltIn::ArrayContains => {
                arguments.len() == 2 && is_path(&arguments[0]) && is_constant(&arguments[1])
            }
            BuiltIn::StartsWith => {
                let is_text = |node: &Node| matches!(node.constant(), Some(Value::String(_)));
                arguments.len() == 2
                    && is_path(&arguments[0])
                    && is_constant(&arguments[1])
                    && is_text(&arguments[1])
            }
            _ => false,
        },
        _ => false,
    }
}
