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
use crate::pipeline::accumulator::size;
use crate::program::node::{LikeSide, Members, Node, Step};
use item::ItemText;
use like::LikePattern;
use operators as op;
use orrery_model::value::Value;
pub(crate) use settings::{Compiled, Run, Settings, Shortage};
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
            Some(Binding::Value(value)) => {
                if let Value::Object(object) = value {
                    run.spend(object.len() as u64 / 64);
                }
                walk(Val::Ref(value), steps)
            }
            Some(Binding::Item(item)) => item.path(steps),
            None => Val::UNDEFINED,
        },
        Node::Into(base, step) => eval(base, frame, run).step(step),
        Node::Index(sides) => {
            let mark = run.held();
            let base = eval(&sides.0, frame, run);
            run.hold_value(&base);
            let value = match &*eval(&sides.1, frame, run) {
                Value::String(name) => base.step(&Step::Member(name.clone().into_owned())),
                Value::Number(number) => match op::exact_index(*number) {
                    Some(index) => base.step(&Step::Element(index)),
                    None => Val::UNDEFINED,
                },
                _ => Val::UNDEFINED,
            };
            run.let_go(mark);
            value
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
            let (left, right) = pair(sides, frame, run);
            Val::Own(op::arithmetic(*operator, &left, &right, run))
        }
        Node::Array(elements) => Val::Own(array(elements, frame, run)),
        Node::Object(members) => Val::Own(object(members, frame, run)),
        Node::Call(_, function, nodes) => {
            run.spend(1);
            if run.exhausted() {
                return Val::UNDEFINED;
            }
            let mark = run.held();
            let value = function(&Arguments { nodes, frame, run });
            run.let_go(mark);
            value
        }
        Node::Vector(function, sides) => {
            let (left, right) = pair(sides, frame, run);
            Val::Own(crate::functions::vector::distance(
                *function, &left, &right, run,
            ))
        }
        Node::Subquery(kind, select) => Val::Own(subquery(*kind, select, frame, run)),
        Node::Let(parts) => {
            let mark = run.held();
            let value = eval(&parts.0, frame, run);
            run.hold_value(&value);
            let inner = frame.with(&value);
            let body = eval(&parts.1, &inner, run);
            run.spend_on(&body);
            run.let_go(mark);
            Val::Own(body.into_owned())
        }
    }
}

/// Both operands; the left one waits for the right one.
fn pair<'e>(sides: &'e (Node, Node), frame: &'e Frame<'e>, run: &Run<'_>) -> (Val<'e>, Val<'e>) {
    run.spend(1);
    let left = eval(&sides.0, frame, run);
    let mark = run.held();
    run.hold_value(&left);
    let right = eval(&sides.1, frame, run);
    run.let_go(mark);
    (left, right)
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
            let (left, right) = pair(sides, frame, run);
            if matches!(*left, Value::Array(_) | Value::Object(_)) {
                run.spend_on(&left);
            }
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

/// Elements and members are copied, and wait for those after them.
fn array<'e>(elements: &'e [Node], frame: &'e Frame<'e>, run: &Run<'_>) -> Value<'e> {
    run.spend(elements.len() as u64);
    let mark = run.held();
    let mut values = Vec::with_capacity(elements.len());
    for element in elements {
        let value = eval(element, frame, run).into_value();
        if run.exhausted() {
            break;
        }
        if !matches!(value, Value::Undefined) {
            run.hold(size(&value));
            values.push(value);
        }
    }
    run.let_go(mark);
    Value::Array(values)
}

fn object<'e>(members: &'e [(String, Node)], frame: &'e Frame<'e>, run: &Run<'_>) -> Value<'e> {
    run.spend(members.len() as u64);
    let mark = run.held();
    let mut values = Vec::with_capacity(members.len());
    for (name, node) in members {
        let value = eval(node, frame, run).into_value();
        if run.exhausted() {
            break;
        }
        if !matches!(value, Value::Undefined) {
            run.hold(size(&value) + name.len());
            values.push((std::borrow::Cow::Borrowed(name.as_str()), value));
        }
    }
    run.let_go(mark);
    Value::Object(orrery_model::value::Object::from_members(values))
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
            run.spend(nodes.len() as u64);
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
    let mut bytes_of_list = 0;
    // A subquery whose row is undefined has no row: `select_values` left it out already.
    let _ = rows::select_values(select, frame, run, &mut |value| {
        any = true;
        match kind {
            SubqueryKind::Exists => return ControlFlow::Break(()),
            SubqueryKind::Scalar | SubqueryKind::First => {
                found = value.into_owned();
                return ControlFlow::Break(());
            }
            SubqueryKind::Last => {
                run.spend_on(&value);
                found = value.into_owned();
            }
            SubqueryKind::Array => {
                run.spend_on(&value);
                let bytes = size(&value);
                bytes_of_list += bytes;
                run.gather(bytes);
                list.push(value.into_owned());
            }
            SubqueryKind::All => {
                holds = matches!(&*value, Value::Bool(true));
                if !holds {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    });
    run.forget(bytes_of_list);
    match kind {
        SubqueryKind::Exists => Value::Bool(any),
        SubqueryKind::All => Value::Bool(holds),
        SubqueryKind::Array => Value::Array(list),
        SubqueryKind::Scalar | SubqueryKind::First | SubqueryKind::Last => found,
    }
}
