//! From the lowered WHERE to an [`IndexFilter`].

use super::{IndexFilter, IndexStep, IndexTest, Near, TextScan};
use crate::ast::SubqueryKind;
use crate::eval::like::LikePattern;
use crate::eval::operators::is_scalar;
use crate::program::node::{Comparison, LikeSide, Members, Node, Prefix, Select};
use crate::program::reads::{Origin, origin_of, path_of};
use crate::signatures::BuiltIn;
use orrery_model::value::{Number, Value};
use std::ops::Bound;

/// The filter of a query: conditions on the item, then those that follow the sources.
pub(crate) fn build(select: &Select, item_filter: &[Node]) -> IndexFilter {
    let mut origins = vec![Some(Vec::new())];
    let mut branches: Vec<IndexFilter> = item_filter
        .iter()
        .map(|node| condition(node, &mut origins))
        .collect();
    branches.push(rows(select, &mut origins));
    IndexFilter::and(branches)
}

/// What the existence of a row says.
fn rows(select: &Select, origins: &mut Vec<Origin>) -> IndexFilter {
    let outer = origins.len();
    for source in &select.sources {
        let origin = origin_of(source, origins);
        origins.push(origin);
    }
    let branches = select
        .filter
        .iter()
        .map(|node| condition(node, origins))
        .collect();
    origins.truncate(outer);
    // Without keys a grouped subquery has a row whatever the filter says.
    if select
        .grouping
        .as_ref()
        .is_some_and(|grouping| grouping.keys.is_empty())
        && outer > 1
    {
        return IndexFilter::All;
    }
    IndexFilter::and(branches)
}

pub(super) fn condition(node: &Node, origins: &mut Vec<Origin>) -> IndexFilter {
    match node {
        Node::Constant(Value::Bool(true)) => IndexFilter::All,
        Node::Constant(_) => IndexFilter::Nothing,
        Node::And(operands) => IndexFilter::and(
            operands
                .iter()
                .map(|operand| condition(operand, origins))
                .collect(),
        ),
        Node::Or(operands) => IndexFilter::or(
            operands
                .iter()
                .map(|operand| condition(operand, origins))
                .collect(),
        ),
        Node::Slot(_) | Node::Path(..) => at(node, origins, IndexTest::Equal(Value::Bool(true))),
        Node::Prefix(Prefix::Not, operand) => match &**operand {
            Node::Slot(_) | Node::Path(..) => {
                at(operand, origins, IndexTest::Equal(Value::Bool(false)))
            }
            Node::In(value, _) | Node::Like(value, _) => at(value, origins, IndexTest::Defined),
            Node::Between(parts) => at(&parts.0, origins, IndexTest::Defined),
            _ => IndexFilter::All,
        },
        Node::Compare(comparison, sides) => match (sides.0.constant(), sides.1.constant()) {
            (None, Some(constant)) => compared(*comparison, &sides.0, constant, origins),
            (Some(constant), None) => compared(comparison.flipped(), &sides.1, constant, origins),
            _ => IndexFilter::All,
        },
        Node::Between(parts) => match (parts.1.constant(), parts.2.constant()) {
            (Some(low), Some(high)) => IndexFilter::and(vec![
                compared(Comparison::GreaterOrEqual, &parts.0, low, origins),
                compared(Comparison::LessOrEqual, &parts.0, high, origins),
            ]),
            _ => IndexFilter::All,
        },
        Node::In(value, Members::Sorted(constants)) => {
            if constants.is_empty() {
                return IndexFilter::Nothing;
            }
            at(value, origins, IndexTest::one_of(constants.clone()))
        }
        Node::In(value, Members::List(_)) => at(value, origins, IndexTest::Defined),
        Node::Like(value, side) => match side {
            LikeSide::Fixed(pattern) => at(value, origins, like(pattern)),
            LikeSide::Computed(..) => at(value, origins, IndexTest::Scan(TextScan::AnyString)),
        },
        Node::Call(function, _, arguments) => call(*function, arguments, origins),
        Node::Subquery(SubqueryKind::Exists, select) => rows(select, origins),
        _ => IndexFilter::All,
    }
}

fn at(node: &Node, origins: &[Origin], test: IndexTest) -> IndexFilter {
    match path_of(node, origins) {
        Some(path) if !path.is_empty() => IndexFilter::Path(path, test),
        _ => IndexFilter::All,
    }
}

fn compared(
    comparison: Comparison,
    node: &Node,
    constant: &Value<'static>,
    origins: &[Origin],
) -> IndexFilter {
    if let Node::Call(BuiltIn::StDistance, _, shapes) = node
        && let Some(distance) = constant.as_f64().filter(|number| !number.is_nan())
    {
        return match comparison {
            Comparison::Less if distance <= 0.0 => IndexFilter::Nothing,
            Comparison::LessOrEqual | Comparison::Equal if distance < 0.0 => IndexFilter::Nothing,
            Comparison::Less | Comparison::LessOrEqual | Comparison::Equal => {
                near(shapes, distance, origins)
            }
            _ => IndexFilter::All,
        };
    }
    let value = constant.clone();
    match (constant, comparison) {
        (Value::Undefined, _) => IndexFilter::Nothing,
        (Value::Number(Number::Double(number)), _) if number.is_nan() => IndexFilter::Nothing,
        (_, Comparison::NotEqual) => at(node, origins, IndexTest::Defined),
        (Value::Array(_) | Value::Object(_), Comparison::Equal) => {
            at(node, origins, IndexTest::Defined)
        }
        (Value::Array(_) | Value::Object(_), _) => IndexFilter::Nothing,
        (_, Comparison::Equal)
        | (Value::Null, Comparison::LessOrEqual | Comparison::GreaterOrEqual) => {
            at(node, origins, IndexTest::Equal(value))
        }
        (Value::Null, _) => IndexFilter::Nothing,
        (_, Comparison::Less) => at(
            node,
            origins,
            IndexTest::Range(Bound::Unbounded, Bound::Excluded(value)),
        ),
        (_, Comparison::LessOrEqual) => at(
            node,
            origins,
            IndexTest::Range(Bound::Unbounded, Bound::Included(value)),
        ),
        (_, Comparison::Greater) => at(
            node,
            origins,
            IndexTest::Range(Bound::Excluded(value), Bound::Unbounded),
        ),
        (_, Comparison::GreaterOrEqual) => at(
            node,
            origins,
            IndexTest::Range(Bound::Included(value), Bound::Unbounded),
        ),
    }
}

fn like(pattern: &LikePattern) -> IndexTest {
    if pattern.is_literal() {
        return IndexTest::Equal(Value::from(pattern.prefix()));
    }
    if let Some(text) = pattern.contained() {
        return IndexTest::Scan(TextScan::Contains {
            text,
            ignore_case: false,
        });
    }
    let prefix = pattern.prefix();
    if pattern.is_prefix() || !prefix.is_empty() {
        return IndexTest::StartsWith(prefix);
    }
    IndexTest::Scan(TextScan::AnyString)
}

fn call(function: BuiltIn, arguments: &[Node], origins: &[Origin]) -> IndexFilter {
    let value = &arguments[0];
    match function {
        BuiltIn::IsDefined
        | BuiltIn::IsArray
        | BuiltIn::IsNumber
        | BuiltIn::IsObject
        | BuiltIn::IsPrimitive => at(value, origins, IndexTest::Defined),
        BuiltIn::IsInteger | BuiltIn::IsFiniteNumber => at(value, origins, IndexTest::Defined),
        BuiltIn::IsNull => at(value, origins, IndexTest::Equal(Value::Null)),
        BuiltIn::IsBool => at(
            value,
            origins,
            IndexTest::one_of(vec![Value::Bool(false), Value::Bool(true)]),
        ),
        BuiltIn::IsString | BuiltIn::RegexMatch | BuiltIn::IsDateTime => {
            at(value, origins, IndexTest::Scan(TextScan::AnyString))
        }
        BuiltIn::Contains | BuiltIn::StartsWith | BuiltIn::EndsWith | BuiltIn::StringEquals => {
            match text_test(function, arguments) {
                Some(test) => at(value, origins, test),
                None => at(value, origins, IndexTest::Scan(TextScan::AnyString)),
            }
        }
        BuiltIn::StWithin | BuiltIn::StIntersects => near(arguments, 0.0, origins),
        BuiltIn::ArrayContains => match (value, &arguments[1]) {
            (list, Node::Constant(sought)) if is_scalar(sought) => element(list, sought, origins),
            // LINQ's `list.Contains(x)`.
            (Node::Constant(Value::Array(list)), sought) if list.iter().all(is_scalar) => {
                if list.is_empty() {
                    IndexFilter::Nothing
                } else {
                    at(sought, origins, IndexTest::one_of(list.clone()))
                }
            }
            _ => IndexFilter::All,
        },
        BuiltIn::ArrayContainsAny => IndexFilter::or(
            arguments[1..]
                .iter()
                .map(|sought| sought_element(value, sought, origins))
                .collect(),
        ),
        BuiltIn::ArrayContainsAll => IndexFilter::and(
            arguments[1..]
                .iter()
                .map(|sought| sought_element(value, sought, origins))
                .collect(),
        ),
        _ => IndexFilter::All,
    }
}

/// One of two shapes is of the item, and at most so far from the other.
fn near(shapes: &[Node], distance: f64, origins: &[Origin]) -> IndexFilter {
    let (own, other) = match (shapes[0].constant(), shapes[1].constant()) {
        (None, Some(other)) => (&shapes[0], other),
        (Some(other), None) => (&shapes[1], other),
        _ => return IndexFilter::All,
    };
    let near = Near {
        shape: other.clone(),
        distance,
    };
    at(own, origins, IndexTest::Near(Box::new(near)))
}

fn sought_element(list: &Node, sought: &Node, origins: &[Origin]) -> IndexFilter {
    match sought.constant() {
        Some(sought) if is_scalar(sought) => element(list, sought, origins),
        Some(Value::Undefined) => IndexFilter::Nothing,
        _ => IndexFilter::All,
    }
}

fn element(list: &Node, sought: &Value<'static>, origins: &[Origin]) -> IndexFilter {
    match path_of(list, origins) {
        Some(mut path) if !path.is_empty() => {
            path.push(IndexStep::AnyElement);
            IndexFilter::Path(path, IndexTest::Equal(sought.clone()))
        }
        _ => IndexFilter::All,
    }
}

/// The test of a string function with a constant to look for.
fn text_test(function: BuiltIn, arguments: &[Node]) -> Option<IndexTest> {
    let text = arguments[1].constant()?.as_str()?.to_owned();
    let ignore_case = match arguments.get(2) {
        None => false,
        Some(flag) => matches!(flag.constant()?, Value::Bool(true)),
    };
    Some(match (function, ignore_case) {
        (BuiltIn::StartsWith, false) => IndexTest::StartsWith(text),
        (BuiltIn::StartsWith, true) => IndexTest::Scan(TextScan::StartsWith { text }),
        (BuiltIn::StringEquals, false) => IndexTest::Equal(Value::from(text)),
        (BuiltIn::StringEquals, true) => IndexTest::Scan(TextScan::Equals { text }),
        (BuiltIn::EndsWith, _) => IndexTest::Scan(TextScan::EndsWith { text, ignore_case }),
        _ => IndexTest::Scan(TextScan::Contains { text, ignore_case }),
    })
}
