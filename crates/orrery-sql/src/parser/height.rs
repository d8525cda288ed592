//! Trees of bounded height from chains of any length.
//!
//! `a OR b OR c …` grows to the left. AND, OR and `||` are associative, undefined operands
//! included, so a chain of them that became high is rebuilt as a balanced tree.

use super::{High, MAX_HEIGHT, Node, Parsed, bounded};
use crate::ast::{BinaryOp, Expr, ExprKind, Query, Span};
use crate::visit;

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
    Expr {
        kind: ExprKind::Binary(op, left, right),
        span,
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

/// Rebuilds the chain of `op` at the top of `expr`.
fn balance(op: BinaryOp, expr: Box<Expr>) -> Node {
    let mut operands = Vec::new();
    let mut waiting = vec![expr];
    // The rightmost operand comes off first.
    while let Some(expr) = waiting.pop() {
        match expr.kind {
            ExprKind::Binary(inner, left, right) if inner == op => {
                waiting.push(left);
                waiting.push(right);
            }
            _ => operands.push(expr),
        }
    }
    let mut level: Vec<Node> = operands
        .into_iter()
        .rev()
        .map(|part| High {
            height: height(&part),
            part,
        })
        .collect();
    while level.len() > 1 {
        let mut next = Vec::with_capacity(level.len().div_ceil(2));
        let mut rest = level.into_iter();
        while let Some(left) = rest.next() {
            next.push(match rest.next() {
                Some(right) => High {
                    height: left.height.max(right.height) + 1,
                    part: Box::new(join(op, left.part, right.part)),
                },
                None => left,
            });
        }
        level = next;
    }
    // `expr` itself was an operand or a chain of them.
    level.pop().expect("a chain has operands")
}

/// The height of an expression; it is at most [`MAX_HEIGHT`], so recursion is safe.
fn height(expr: &Expr) -> u32 {
    let mut highest = visit::subquery(expr).map_or(0, query_height);
    visit::children(expr, &mut |child| highest = highest.max(height(child)));
    highest + 1
}

fn query_height(query: &Query) -> u32 {
    let mut highest = 0;
    visit::clauses(query, &mut |expr| highest = highest.max(height(expr)));
    visit::source_queries(query, &mut |inner| {
        highest = highest.max(query_height(inner) + 1);
    });
    highest + 1
}
