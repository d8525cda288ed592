//! Equality of expressions wherever they stand in the text.

use crate::ast::{Expr, ExprKind};
use crate::visit;
use orrery_model::value::Value;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// Finds expressions among many (GROUP BY may name as many keys as fit the text).
#[derive(Debug)]
pub(crate) struct Shapes {
    /// Hashed with the map's own state: nobody can write a text whose expressions all have one
    /// shape.
    places: HashMap<u64, Vec<usize>>,
}

impl Shapes {
    /// Knows these.
    pub(crate) fn of(list: &[Expr]) -> Self {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        let state = places.hasher().clone();
        for (place, expr) in list.iter().enumerate() {
            places.entry(shape(expr, &state)).or_default().push(place);
        }
        Self { places }
    }

    /// The first of `list`, which this was made of, that is the same.
    pub(crate) fn find(&self, list: &[Expr], expr: &Expr) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        let alike = self.places.get(&shape(expr, self.places.hasher()))?;
        alike
            .iter()
            .copied()
            .find(|place| list.get(*place).is_some_and(|known| same(known, expr)))
    }
}

/// Levels of a tree that tell shapes apart.
const SHAPE_DEPTH: u32 = 4;

/// A number that is equal for equal expressions.
fn shape(expr: &Expr, state: &RandomState) -> u64 {
    let mut hasher = state.build_hasher();
    hash_shape(expr, SHAPE_DEPTH, &mut hasher);
    hasher.finish()
}

fn hash_shape(expr: &Expr, depth: u32, hasher: &mut impl Hasher) {
    std::mem::discriminant(&expr.kind).hash(hasher);
    match &expr.kind {
        ExprKind::Literal(Value::String(text)) => text.hash(hasher),
        // Equal numbers of both forms are equal, and so are both zeros.
        ExprKind::Literal(Value::Number(number)) => (number.as_f64() + 0.0).to_bits().hash(hasher),
        ExprKind::Parameter(name) | ExprKind::Name(name) | ExprKind::Member(_, name) => {
            name.hash(hasher);
        }
        ExprKind::Call { name, args } => {
            name.name.to_ascii_lowercase().hash(hasher);
            args.len().hash(hasher);
        }
        _ => {}
    }
    if depth > 0 {
        let mut left = SHAPE_WIDTH;
        visit::children(expr, &mut |child| {
            if left > 0 {
                left -= 1;
                hash_shape(child, depth - 1, hasher);
            }
        });
    }
}

/// Operands of a level that tell shapes apart.
const SHAPE_WIDTH: u32 = 4;

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
