//! Constant folding: what needs no item is computed once.

use super::node::{Arithmetic, Comparison, LikeSide, Members, Node, Prefix, Step};
use crate::eval::operators::MAX_TEXT;
use crate::eval::{Binding, Frame, Run, Val, eval};
use crate::functions::is_pure;
use crate::pipeline::accumulator::size;
use orrery_model::value::Value;

/// Results of no more bytes are not counted: their expressions take as many.
const SMALL: usize = 128;

/// Replaces an expression over constants by its value.
pub(super) fn fold(node: Node, run: &Run<'_>) -> Node {
    if !is_constant(&node) {
        return node;
    }
    let nothing = Value::Undefined;
    let frame = Frame::outermost(Binding::Value(&nothing));
    let value = eval(&node, &frame, run).into_owned();
    // Many results that are large where their expressions are small stay unmade, and whatever was
    // cut off by the budget is no result.
    let bytes = size(&value);
    if bytes > SMALL {
        run.gather(bytes);
    }
    if run.exhausted() || bytes > 4 * MAX_TEXT {
        node
    } else {
        Node::Constant(value)
    }
}

/// True for an expression whose operands are constants and whose operator is a function of them.
fn is_constant(node: &Node) -> bool {
    let constant = |node: &Node| matches!(node, Node::Constant(_));
    match node {
        // Already a value, or bound to a row.
        Node::Constant(_) | Node::Slot(_) | Node::Path(..) | Node::Subquery(..) | Node::Let(_) => {
            false
        }
        Node::Into(base, _) => constant(base),
        Node::Index(sides)
        | Node::Coalesce(sides)
        | Node::Compare(_, sides)
        | Node::Arithmetic(_, sides) => constant(&sides.0) && constant(&sides.1),
        Node::Vector(_, sides) => constant(&sides.0) && constant(&sides.1),
        Node::Prefix(_, operand) => constant(operand),
        Node::And(operands) | Node::Or(operands) | Node::Array(operands) => {
            operands.iter().all(constant)
        }
        Node::Conditional(parts) | Node::Between(parts) => {
            constant(&parts.0) && constant(&parts.1) && constant(&parts.2)
        }
        Node::In(value, members) => {
            constant(value)
                && match members {
                    Members::Sorted(_) => true,
                    Members::List(list) => list.iter().all(constant),
                }
        }
        Node::Like(value, side) => {
            constant(value)
                && match side {
                    LikeSide::Fixed(_) => true,
                    LikeSide::Computed(pattern, _) => constant(pattern),
                }
        }
        Node::Object(members) => members.iter().all(|(_, node)| constant(node)),
        Node::Call(function, _, arguments) => is_pure(*function) && arguments.iter().all(constant),
    }
}

/// A step into an expression, merged into its path.
pub(super) fn step(base: Node, step: Step) -> Node {
    match base {
        Node::Slot(outwards) => Node::Path(outwards, vec![step]),
        Node::Path(outwards, mut steps) => {
            steps.push(step);
            Node::Path(outwards, steps)
        }
        Node::Constant(value) => Node::Constant(Val::Own(value).step(&step).into_owned()),
        other => Node::Into(Box::new(other), step),
    }
}

/// AND over operands; nested ANDs become one, constants decide or vanish.
pub(super) fn and(operands: Vec<Node>) -> Node {
    junction(operands, true)
}

/// OR over operands.
pub(super) fn or(operands: Vec<Node>) -> Node {
    junction(operands, false)
}

/// `neutral` is true for AND, false for OR; its opposite decides the whole.
fn junction(operands: Vec<Node>, neutral: bool) -> Node {
    let mut flat = Vec::with_capacity(operands.len());
    for operand in operands {
        match (operand, neutral) {
            (Node::And(inner), true) | (Node::Or(inner), false) => flat.extend(inner),
            (other, _) => flat.push(other),
        }
    }
    let is = |node: &Node, wanted: bool| matches!(node, Node::Constant(Value::Bool(known)) if *known == wanted);
    if flat.iter().any(|node| is(node, !neutral)) {
        return Node::Constant(Value::Bool(!neutral));
    }
    flat.retain(|node| !is(node, neutral));
    if flat.is_empty() {
        return Node::Constant(Value::Bool(neutral));
    }
    // One operand stays wrapped: only the wrapping makes non-Booleans unknown.
    if neutral {
        Node::And(flat)
    } else {
        Node::Or(flat)
    }
}

/// The lowered form of an infix operator that is neither logic nor `??`.
pub(super) enum Infix {
    Compare(Comparison),
    Compute(Arithmetic),
}

/// Splits the operators of the tree.
pub(super) fn infix(operator: crate::ast::BinaryOp) -> Option<Infix> {
    use crate::ast::BinaryOp as Op;
    Some(match operator {
        Op::Or | Op::And | Op::Coalesce => return None,
        Op::Equal => Infix::Compare(Comparison::Equal),
        Op::NotEqual => Infix::Compare(Comparison::NotEqual),
        Op::Less => Infix::Compare(Comparison::Less),
        Op::Greater => Infix::Compare(Comparison::Greater),
        Op::LessOrEqual => Infix::Compare(Comparison::LessOrEqual),
        Op::GreaterOrEqual => Infix::Compare(Comparison::GreaterOrEqual),
        Op::Concat => Infix::Compute(Arithmetic::Concat),
        Op::BitOr => Infix::Compute(Arithmetic::BitOr),
        Op::BitXor => Infix::Compute(Arithmetic::BitXor),
        Op::BitAnd => Infix::Compute(Arithmetic::BitAnd),
        Op::Add => Infix::Compute(Arithmetic::Add),
        Op::Subtract => Infix::Compute(Arithmetic::Subtract),
        Op::Multiply => Infix::Compute(Arithmetic::Multiply),
        Op::Divide => Infix::Compute(Arithmetic::Divide),
        Op::Modulo => Infix::Compute(Arithmetic::Modulo),
        Op::ShiftLeft => Infix::Compute(Arithmetic::ShiftLeft),
        Op::ShiftRight => Infix::Compute(Arithmetic::ShiftRight),
        Op::ShiftRightZero => Infix::Compute(Arithmetic::ShiftRightZero),
    })
}

/// The lowered form of a prefix operator.
pub(super) fn prefix(operator: crate::ast::UnaryOp) -> Prefix {
    use crate::ast::UnaryOp as Op;
    match operator {
        Op::Not => Prefix::Not,
        Op::Minus => Prefix::Minus,
        Op::Plus => Prefix::Plus,
        Op::BitNot => Prefix::BitNot,
    }
}
