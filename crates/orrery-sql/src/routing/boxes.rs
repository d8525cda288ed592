//! WHERE as a union of boxes over the paths of the partition key.

use super::constant::Fold;
use super::interval::{Interval, order};
use crate::ast::{BinaryOp, Expr, ExprKind, Input, Query, Step};
use crate::signatures::BuiltIn;
use orrery_model::partition_key::{KeyComponent, PartitionKeyDefinition};
use orrery_model::value::Value;
use std::cmp::Ordering;

/// More boxes than this are as good as none: every range is searched.
const MAX_BOXES: usize = 10_000;

/// One interval for each path of the definition; `None` where nothing is known.
type OneBox = Vec<Option<Interval>>;

/// What an expression demands of the key in order to be true.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Boxes {
    /// Anything may make it true.
    All,
    /// Only a key in one of these; none at all when the list is empty.
    Some(Vec<OneBox>),
}

pub(super) fn of_query(
    query: &Query,
    fold: Fold<'_>,
    definition: &PartitionKeyDefinition,
) -> Boxes {
    let Some(filter) = &query.filter else {
        return Boxes::All;
    };
    let mut paths = Vec::new();
    for path in definition.item_paths() {
        let Some(names) = path.properties() else {
            return Boxes::All;
        };
        paths.push(names);
    }
    let Some((root, prefix)) = root(query) else {
        // No item at all: only constants can be told.
        return Reader {
            root: None,
            prefix: &[],
            paths: &[],
            fold,
        }
        .boxes(filter);
    };
    Reader {
        root: Some(root),
        prefix,
        paths: &paths,
        fold,
    }
    .boxes(filter)
}

/// The alias of the container, with the path at which it starts.
fn root(query: &Query) -> Option<(&str, &[Step])> {
    let first = query.from.as_ref()?.sources.first()?;
    match &first.input {
        Input::Path { steps, .. } if !first.iterate => {
            Some((crate::analysis::source_name(first)?, steps))
        }
        _ => None,
    }
}

struct Reader<'a> {
    root: Option<&'a str>,
    prefix: &'a [Step],
    paths: &'a [Vec<&'a str>],
    fold: Fold<'a>,
}

impl Reader<'_> {
    /// What must hold for `expr` to be true.
    fn boxes(&self, expr: &Expr) -> Boxes {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::And, left, right) => {
                and(self.boxes(left), self.boxes(right))
            }
            ExprKind::Binary(BinaryOp::Or, left, right) => or(self.boxes(left), self.boxes(right)),
            // Constants decide without a key.
            _ => match (self.fold)(expr) {
                Some(Value::Bool(true)) => Boxes::All,
                Some(_) => Boxes::Some(Vec::new()),
                None => self.test(expr),
            },
        }
    }

    /// What must hold for a condition that is neither AND nor OR nor constant.
    fn test(&self, expr: &Expr) -> Boxes {
        match &expr.kind {
            ExprKind::Binary(op, left, right) => self
                .comparison(*op, left, right)
                .or_else(|| self.comparison(mirrored(*op)?, right, left))
                .unwrap_or(Boxes::All),
            ExprKind::In {
                negated: false,
                value,
                list,
            } => self.list(value, list).unwrap_or(Boxes::All),
            ExprKind::Between {
                negated: false,
                value,
                low,
                high,
            } => {
                let half = |op, bound| self.comparison(op, value, bound).unwrap_or(Boxes::All);
                and(
                    half(BinaryOp::GreaterOrEqual, low),
                    half(BinaryOp::LessOrEqual, high),
                )
            }
            ExprKind::Member(..) => match self.key_path(expr) {
                Some(path) => self.values(path, [KeyComponent::Bool(true)]),
                None => Boxes::All,
            },
            ExprKind::Call { name, args } => BuiltIn::lookup(&name.name)
                .and_then(|built_in| self.call(built_in, args))
                .unwrap_or(Boxes::All),
            _ => Boxes::All,
        }
    }

    /// The place in the definition of the path that `expr` reads.
    fn key_path(&self, expr: &Expr) -> Option<usize> {
        let mut names = Vec::new();
        let mut inner = expr;
        let root = loop {
            match &inner.kind {
                ExprKind::Member(parent, name) => {
                    names.push(name.as_str());
                    inner = parent;
                }
                ExprKind::Name(name) => break name,
                _ => return None,
            }
        };
        if self.root != Some(root) {
            return None;
        }
        for step in self.prefix.iter().rev() {
            match step {
                Step::Member(name) => names.push(name),
                Step::Index(_) => return None,
            }
        }
        names.reverse();
        self.paths.iter().position(|path| *path == names)
    }

    fn one(&self, path: usize, interval: Interval) -> OneBox {
        let mut one = vec![None; self.paths.len()];
        one[path] = Some(interval);
        one
    }

    fn values(&self, path: usize, values: impl IntoIterator<Item = KeyComponent>) -> Boxes {
        let mut known: Vec<KeyComponent> = values.into_iter().collect();
        known.sort_by(order);
        known.dedup_by(|left, right| order(left, right) == Ordering::Equal);
        Boxes::Some(
            known
                .into_iter()
                .map(|value| self.one(path, Interval::of(value)))
                .collect(),
        )
    }

    fn comparison(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Boxes> {
        if let ExprKind::Call { name, args } = &left.kind
            && BuiltIn::lookup(&name.name) == Some(BuiltIn::Abs)
            && op == BinaryOp::Equal
        {
            return self.absolute(args, right);
        }
        let path = self.key_path(left)?;
        let value = KeyComponent::from(&(self.fold)(right)?);
        let interval = match op {
            BinaryOp::Equal => Interval::of(value),
            BinaryOp::Greater => Interval::half(value, false, true)?,
            BinaryOp::GreaterOrEqual => Interval::half(value, true, true)?,
            BinaryOp::Less => Interval::half(value, false, false)?,
            BinaryOp::LessOrEqual => Interval::half(value, true, false)?,
            _ => return None,
        };
        Some(Boxes::Some(vec![self.one(path, interval)]))
    }

    /// `ABS(key) = n`
    fn absolute(&self, args: &[Expr], right: &Expr) -> Option<Boxes> {
        let [argument] = args else { return None };
        let path = self.key_path(argument)?;
        let size = (self.fold)(right)?.as_f64()?;
        Some(if size >= 0.0 {
            self.values(path, [KeyComponent::from(-size), KeyComponent::from(size)])
        } else {
            Boxes::Some(Vec::new())
        })
    }

    fn list(&self, value: &Expr, list: &[Expr]) -> Option<Boxes> {
        let path = self.key_path(value)?;
        let values: Option<Vec<KeyComponent>> = list
            .iter()
            .map(|item| Some(KeyComponent::from(&(self.fold)(item)?)))
            .collect();
        Some(self.values(path, values?))
    }

    /// Functions that tell something of the key.
    fn call(&self, built_in: BuiltIn, args: &[Expr]) -> Option<Boxes> {
        match (built_in, args) {
            (BuiltIn::IsBool, [value]) => Some(self.values(
                self.key_path(value)?,
                [KeyComponent::Bool(false), KeyComponent::Bool(true)],
            )),
            (BuiltIn::IsNull, [value]) => {
                Some(self.values(self.key_path(value)?, [KeyComponent::Null]))
            }
            (BuiltIn::ArrayContains, [array, value]) => {
                let path = self.key_path(value)?;
                let array = (self.fold)(array)?;
                Some(self.values(path, array.as_array()?.iter().map(KeyComponent::from)))
            }
            (BuiltIn::StartsWith, [value, prefix]) => {
                let path = self.key_path(value)?;
                let prefix = (self.fold)(prefix)?;
                Some(Boxes::Some(vec![
                    self.one(path, Interval::prefixed(prefix.as_str()?)),
                ]))
            }
            (BuiltIn::StringEquals, [value, other]) => {
                let path = self.key_path(value)?;
                let other = (self.fold)(other)?;
                Some(self.values(path, [KeyComponent::from(other.as_str()?)]))
            }
            _ => None,
        }
    }
}

fn and(left: Boxes, right: Boxes) -> Boxes {
    let (left, right) = match (left, right) {
        (Boxes::All, other) | (other, Boxes::All) => return other,
        (Boxes::Some(left), Boxes::Some(right)) => (left, right),
    };
    if left.len().saturating_mul(right.len()) > MAX_BOXES {
        // Either side alone is true enough; the shorter one says more.
        return Boxes::Some(if left.len() <= right.len() {
            left
        } else {
            right
        });
    }
    let pairs = left
        .iter()
        .flat_map(|left| right.iter().map(move |right| (left, right)));
    Boxes::Some(without_repeats(
        pairs
            .filter_map(|(left, right)| intersect(left, right))
            .collect(),
    ))
}

fn or(left: Boxes, right: Boxes) -> Boxes {
    let (Boxes::Some(mut all), Boxes::Some(right)) = (left, right) else {
        return Boxes::All;
    };
    all.extend(right);
    // A union in which only some boxes know the first path narrows nothing (recorded).
    let known = all
        .iter()
        .filter(|one| one.first().is_some_and(Option::is_some))
        .count();
    if all.len() > MAX_BOXES || (known > 0 && known < all.len()) {
        return Boxes::All;
    }
    Boxes::Some(without_repeats(all))
}

fn intersect(left: &OneBox, right: &OneBox) -> Option<OneBox> {
    left.iter()
        .zip(right)
        .map(|pair| match pair {
            (Some(left), Some(right)) => left.intersect(right).map(Some),
            (Some(known), None) | (None, Some(known)) => Some(Some(known.clone())),
            (None, None) => Some(None),
        })
        .collect()
}

/// Drops equal boxes of short lists; long ones are sorted out by their effective keys later.
fn without_repeats(boxes: Vec<OneBox>) -> Vec<OneBox> {
    const SHORT: usize = 64;
    if boxes.len() > SHORT {
        return boxes;
    }
    let mut kept: Vec<OneBox> = Vec::with_capacity(boxes.len());
    for one in boxes {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

/// The operator with its operands exchanged.
fn mirrored(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Equal => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        _ => return None,
    })
}
