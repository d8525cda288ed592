//! Equality of expressions wherever they stand in the text.

use crate::ast::{Expr, ExprKind};
use crate::visit;

/// True when two expressions are written with the same words; `c.a` equals `c["a"]`.
///
/// Subqueries never equal anything: nothing asks.
pub fn same(left: &Expr, right: &Expr) -> bool {
    if !same_head(&left.kind, &right.kind) {
        return false;
    }
    let mut lefts = Vec::new();
    visit::children(left, &mut |child| lefts.push(child));
    let mut rights = Vec::new();
    visit::children(right, &mut |child| rights.push(child));
    lefts.len() == rights.len()
        && lefts
            .into_iter()
            .zip(rights)
            .all(|(left, right)| same(left, right))
}

/// Compares everything but the children.
fn same_head(left: &ExprKind, right: &ExprKind) -> bool {
    match (left, right) {
        (ExprKind::Literal(left), ExprKind::Literal(right)) => left == right,
        (ExprKind::Parameter(left), ExprKind::Parameter(right))
        | (ExprKind::Name(left), ExprKind::Name(right))
        | (ExprKind::Member(_, left), ExprKind::Member(_, right)) => left == right,
        (ExprKind::Unary(left, _), ExprKind::Unary(right, _)) => left == right,
        (ExprKind::Binary(left, ..), ExprKind::Binary(right, ..)) => left == right,
        (ExprKind::Between { negated: left, .. }, ExprKind::Between { negated: right, .. })
        | (ExprKind::In { negated: left, .. }, ExprKind::In { negated: right, .. }) => {
            left == right
        }
        (
            ExprKind::Like {
                negated: left,
                escape: left_escape,
                ..
            },
            ExprKind::Like {
                negated: right,
                escape: right_escape,
                ..
            },
        ) => left == right && left_escape == right_escape,
        (ExprKind::Object(left), ExprKind::Object(right)) => left
            .iter()
            .map(|(name, _)| name)
            .eq(right.iter().map(|(name, _)| name)),
        (ExprKind::Call { name: left, .. }, ExprKind::Call { name: right, .. }) => {
            left.name.eq_ignore_ascii_case(&right.name)
        }
        (ExprKind::Udf { name: left, .. }, ExprKind::Udf { name: right, .. })
        | (ExprKind::Let { name: left, .. }, ExprKind::Let { name: right, .. }) => {
            left.name == right.name
        }
        (ExprKind::Array(_), ExprKind::Array(_))
        | (ExprKind::Index(..), ExprKind::Index(..))
        | (ExprKind::Conditional(..), ExprKind::Conditional(..)) => true,
        _ => false,
    }
}
