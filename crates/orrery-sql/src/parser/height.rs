//! Trees of bounded height from chains of any length.
//!
//! `a OR b OR c …` grows to the left. AND, OR and `||` are associative, undefined operands
//! included, so a chain of them that became high is rebuilt as a balanced tree.

use super::{High, MAX_HEIGHT, Node, Parsed, bounded};
use crate::ast::{BinaryOp, Expr, ExprKind, Span};

/// Chains up to this height stay as they are written.
const KEPT: u32 = 64;

const _: () = assert!(KEPT < MAX_HEIGHT / 2);

/// `left op right`.
pub(super) fn binary(op: BinaryOp, left: Node, right: Node) -> Parsed<Node> {
    let height = left.height.max(right.height) + 1;
    let expr = Box::new(join(op, left.part, right.part));
    let associative = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Concat);
    if associative && height > KEPT && spine(op, &expr) > KEPT {
        return bounded(balance(op, expr));
    }
    bounded(High { part: expr, height })
}

fn join(op: BinaryOp, left: Box<Expr>, right: Box<Expr>) -> Expr {
    let span = Span {
        start: left.span.start,
        end: right.span.end,
    };
    let height = left.height.max(right.height) + 1;
    Expr {
        kind: ExprKind::Binary(op, left, right),
        span,
        height,
    }
}

/// How often `op` repeats down the left side.
fn spine(op: BinaryOp, mut expr: &Expr) -> u32 {
    let mut length = 0;
    while let ExprKind::Binary(inner, left, _) = &expr.kind {
        if *inner != op {
            break;
        }
        length += 1;
        expr = left;
    }
    length
}

/// Rebuilds the left side of the chain of `op` at the top of `expr`.
///
/// What hangs to the right was balanced before and stays: with neighbours joined only when they
/// are of a height, as digits carry in a binary counter, a chain of any length costs a small
/// multiple of its length, though it is rebuilt each time that [`KEPT`] operands were added.
fn balance(op: BinaryOp, expr: Box<Expr>) -> Node {
    let mut operands = Vec::new();
    let mut rest = expr;
    // The rightmost operand comes off first.
    loop {
        match rest.kind {
            ExprKind::Binary(inner, left, right) if inner == op => {
                operands.push(right);
                rest = left;
            }
            _ => break operands.push(rest),
        }
    }
    let mut joined: Vec<Box<Expr>> = Vec::new();
    for mut right in operands.into_iter().rev() {
        while let Some(left) = joined.pop_if(|left| left.height <= right.height) {
            right = Box::new(join(op, left, right));
        }
        joined.push(right);
    }
    // `expr` itself was an operand or a chain of them.
    let mut part = joined.pop().expect("a chain has operands");
    while let Some(left) = joined.pop() {
        part = Box::new(join(op, left, part));
    }
    High {
        height: part.height,
        part,
    }
}
