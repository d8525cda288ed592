//! Evaluation of expressions over borrowed values.
//!
//! Bindings are frames on the stack, linked outwards; the outermost one is the item, which is
//! read lazily from its text. Nothing is cloned unless an operator makes a new value. Mistakes of
//! type give `undefined`, never an error, so evaluation has no error path; only the step budget
//! can stop it, and whoever drives rows asks for it ([`Run::exhausted`]).

pub(crate) mod item;
pub(crate) mod like;
pub(crate) mod operators;
pub(crate) mod output;
pub(crate) mod rows;
mod settings;
mod val;

use crate::ast::SubqueryKind;
use crate::functions::Arguments;
use crate::program::node::{LikeSide, Members, Node, Step};
use item::ItemText;
use like::LikePattern;
use operators as op;
use orrery_model::value::Value;
pub(crate) use settings::{Run, Settings};
use std::ops::ControlFlow;
pub(crate) use val::Val;

/// What a name stands for.
#[derive(Clone, Copy)]
pub(crate) enum Binding<'e> {
    /// A value.
    Value(&'e Value<'e>),
    /// The item, unread.
    Item(&'e ItemText<'e>),
}

/// A binding and those outside it.
pub(crate) struct Frame<'e> {
    pub(crate) binding: Binding<'e>,
    pub(crate) parent: Option<&'e Frame<'e>>,
}

impl<'e> Frame<'e> {
    /// The outermost frame.
    pub(crate) fn outermost(binding: Binding<'e>) -> Self {
        Self {
            binding,
            parent: None,
        }
    }

    /// A frame inside this one.
    pub(crate) fn with<'x>(&'x self, value: &'x Value<'x>) -> Frame<'x> {
        Frame {
            binding: Binding::Value(value),
            parent: Some(self),
        }
    }

    pub(crate) fn lookup(&'e self, outwards: u32) -> Option<Binding<'e>> {
        let mut frame = self;
        for _ in 0..outwards {
            frame = frame.parent?;
        }
        Some(frame.binding)
    }
}

/// The value of an expression.
pub(crate) fn eval<'e>(node: &'e Node, frame: &'e Frame<'e>, run: &Run<'_>) -> Val<'e> {
    match node {
        Node::Constant(value) => Val::Ref(value),
        Node::Slot(outwards) => match frame.lookup(*outwards) {
            Some(Binding::Value(value)) => Val::Ref(value),
            Some(Binding::Item(item)) => Val::Own(item.whole()),
            None => Val::UNDEFINED,
        },
        Node::Path(outwards, steps) => match frame.lookup(*outwards) {
            Some(Binding::Value(value)) => walk(Val::Ref(value), steps),
            Some(Binding::Item(item)) => item.path(steps),
            None => Val::UNDEFINED,
        },
        Node::Into(base, step) => eval(base, frame, run).step(step),
        Node::Index(sides) => {
            let base = eval(&sides.0, frame, run);
            match &*eval(&sides.1, frame, run) {
                Value::String(name) => base.step(&Step::Member(name.clone().into_owned())),
                Value::Number(number) => match op::exact_index(*number) {
                    Some(index) => base.step(&Step::Element(index)),
                    None => Val::UNDEFINED,
                },
                _ => Val::UNDEFINED,
            }
        }
        Node::Prefix(prefix, operand) => Val::Own(op::prefix(*prefix, &eval(operand, frame, run))),
        Node::And(_)
        | Node::Or(_)
        | Node::Compare(..)
        | Node::Between(_)
        | Node::In(..)
        | Node::Like(..) => Val::Own(logic(node, frame, run).map_or(Value::Undefined, Value::Bool)),
        Node::Coalesce(sides) => match eval(&sides.0, frame, run) {
            value if value.is_undefined() => eval(&sides.1, frame, run),
            value => value,
        },
        Node::Conditional(parts) => {
            let chosen = if logic(&parts.0, frame, run) == Some(true) {
                &parts.1
            } else {
                &parts.2
            };
            eval(chosen, frame, run)
        }
        Node::Arithmetic(operator, sides) => {
            let left = eval(&sides.0, frame, run);
            let right = eval(&sides.1, frame, run);
            Val::Own(op::arithmetic(*operator, &left, &right, run))
        }
        Node::Array(elements) => {
            let values = elements
                .iter()
                .map(|element| eval(element, frame, run).into_value());
            Val::Own(Value::Array(
                values
                    .filter(|value| !matches!(value, Value::Undefined))
                    .collect(),
            ))
        }
        Node::Object(members) => Val::Own(object(members, frame, run)),
        Node::Call(_, function, nodes) => {
            run.spend(1);
            function(&Arguments { nodes, frame, run })
        }
        Node::Vector(function, sides) => {
            let left = eval(&sides.0, frame, run);
            let right = eval(&sides.1, frame, run);
            Val::Own(crate::functions::vector::distance(
                *function, &left, &right, run,
            ))
        }
        Node::Subquery(kind, select) => Val::Own(subquery(*kind, select, frame, run)),
        Node::Let(parts) => {
            let value = eval(&parts.0, frame, run);
            let inner = frame.with(&value);
            Val::Own(eval(&parts.1, &inner, run).into_owned())
        }
    }
}

/// The value as three-valued logic: anything but a Boolean is unknown.
pub(crate) fn logic<'e>(node: &'e Node, frame: &'e Frame<'e>, run: &Run<'_>) -> Option<bool> {
    match node {
        Node::And(operands) => {
            let mut known = Some(true);
            for operand in operands {
                match logic(operand, frame, run) {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => known = None,
                }
            }
            known
        }
        Node::Or(operands) => {
            let mut known = Some(false);
            for operand in operands {
                match logic(operand, frame, run) {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => known = None,
                }
            }
            known
        }
        Node::Compare(comparison, sides) => {
            let left = eval(&sides.0, frame, run);
            let right = eval(&sides.1, frame, run);
            op::compare(*comparison, &left, &right)
        }
        Node::Between(parts) => {
            let value = eval(&parts.0, frame, run);
            op::between(
                &value,
                &eval(&parts.1, frame, run),
                &eval(&parts.2, frame, run),
            )
        }
        Node::In(value, members) => {
            let value = eval(value, frame, run);
            is_member(&value, members, frame, run)
        }
        Node::Like(value, side) => {
            let value = eval(value, frame, run);
            like(&value, side, frame, run)
        }
        Node::Prefix(crate::program::node::Prefix::Not, operand) => {
            logic(operand, frame, run).map(|known| !known)
        }
        other => match &*eval(other, frame, run) {
            Value::Bool(known) => Some(*known),
            _ => None,
        },
    }
}

fn walk<'e>(mut value: Val<'e>, steps: &[Step]) -> Val<'e> {
    for step in steps {
        value = value.step(step);
    }
    value
}

fn object<'e>(members: &'e [(String, Node)], frame: &'e Frame<'e>, run: &Run<'_>) -> Value<'e> {
    let mut object = orrery_model::value::Object::new();
    for (name, node) in members {
        let value = eval(node, frame, run).into_value();
        if !matches!(value, Value::Undefined) {
            object.insert(std::borrow::Cow::Borrowed(name.as_str()), value);
        }
    }
    Value::Object(object)
}

fn is_member<'e>(
    value: &Value<'_>,
    members: &'e Members,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
) -> Option<bool> {
    if matches!(value, Value::Undefined) {
        return None;
    }
    match members {
        Members::Sorted(constants) => Some(
            op::is_scalar(value)
                && constants
                    .binary_search_by(|constant| op::order(constant, value))
                    .is_ok(),
        ),
        Members::List(nodes) => {
            let mut known = Some(false);
            for node in nodes {
                match op::equal(value, &eval(node, frame, run)) {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => known = None,
                }
            }
            known
        }
    }
}

fn like<'e>(
    value: &Value<'_>,
    side: &'e LikeSide,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
) -> Option<bool> {
    let Value::String(text) = value else {
        return None;
    };
    match side {
        LikeSide::Fixed(pattern) => Some(pattern.matches(text, run)),
        LikeSide::Computed(node, escape) => match &*eval(node, frame, run) {
            Value::String(pattern) => Some(LikePattern::new(pattern, *escape).matches(text, run)),
            _ => None,
        },
    }
}

fn subquery<'e>(
    kind: SubqueryKind,
    select: &'e crate::program::node::Select,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
) -> Value<'static> {
    let mut found = Value::Undefined;
    let mut list = Vec::new();
    let mut holds = true;
    let mut any = false;
    // A subquery whose row is undefined has no row: `select_values` left it out already.
    let _ = rows::select_values(select, frame, run, &mut |value| {
        any = true;
        match kind {
            SubqueryKind::Exists => return ControlFlow::Break(()),
            SubqueryKind::Scalar | SubqueryKind::First => {
                found = value.into_owned();
                return ControlFlow::Break(());
            }
            SubqueryKind::Last => found = value.into_owned(),
            SubqueryKind::Array => list.push(value.into_owned()),
            SubqueryKind::All => {
                holds = matches!(&*value, Value::Bool(true));
                if !holds {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    });
    match kind {
        SubqueryKind::Exists => Value::Bool(any),
        SubqueryKind::All => Value::Bool(holds),
        SubqueryKind::Array => Value::Array(list),
        SubqueryKind::Scalar | SubqueryKind::First | SubqueryKind::Last => found,
    }
}
