//! The lowered form of expressions and of SELECTs.
//!
//! Names are gone: a binding is found by counting frames outwards ([`Node::Slot`]). The outermost
//! frame always holds the item.

use crate::ast::SubqueryKind;
use crate::environment::DistanceFunction;
use crate::eval::like::LikePattern;
use crate::functions::Function;
use crate::pipeline::accumulator::AggregateKind;
use crate::signatures::BuiltIn;
use orrery_model::value::Value;

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A member of an object.
    Member(String),
    /// An element of an array.
    Element(u64),
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison with its operands exchanged.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }
}

/// Operators on two numbers, and `||`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
    Concat,
}

/// Operators on one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    Not,
    Minus,
    Plus,
    BitNot,
}

/// The right side of IN.
#[derive(Debug, Clone)]
pub(crate) enum Members {
    /// Scalar constants in total order, for binary search.
    Sorted(Vec<Value<'static>>),
    /// Anything else.
    List(Vec<Node>),
}

/// The right side of LIKE.
#[derive(Debug, Clone)]
pub(crate) enum LikeSide {
    /// A constant pattern.
    Fixed(LikePattern),
    /// A pattern known only at run time, with its escape character.
    Computed(Box<Node>, Option<char>),
}

/// An expression.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Constant(Value<'static>),
    /// The binding so many frames outwards.
    Slot(u32),
    /// A path below a binding; at least one step.
    Path(u32, Vec<Step>),
    /// A step into a computed value.
    Into(Box<Node>, Step),
    /// `a[b]` with a computed index.
    Index(Box<(Node, Node)>),
    Prefix(Prefix, Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Coalesce(Box<(Node, Node)>),
    Conditional(Box<(Node, Node, Node)>),
    Compare(Comparison, Box<(Node, Node)>),
    Arithmetic(Arithmetic, Box<(Node, Node)>),
    Between(Box<(Node, Node, Node)>),
    In(Box<Node>, Members),
    Like(Box<Node>, LikeSide),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
    Call(BuiltIn, Function, Vec<Node>),
    /// VECTORDISTANCE with its function decided.
    Vector(DistanceFunction, Box<(Node, Node)>),
    Subquery(SubqueryKind, Box<Select>),
    /// The value of the first is the innermost binding of the second.
    Let(Box<(Node, Node)>),
}

impl Node {
    pub(crate) const UNDEFINED: Self = Self::Constant(Value::Undefined);

    /// The constant, if it is one.
    pub(crate) fn constant(&self) -> Option<&Value<'static>> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }
}

/// One FROM source; each adds exactly one binding.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The value itself; no row when undefined.
    Value(Node),
    /// One row per array element.
    Elements(Node),
    /// One row per row of the subquery.
    Rows(Box<Select>),
    /// One row per element of each row of the subquery.
    RowElements(Box<Select>),
}

/// What a row becomes.
#[derive(Debug, Clone)]
pub(crate) enum Projection {
    /// SELECT VALUE: no row when undefined. `SELECT *` is the slot of its source.
    Value(Node),
    /// A list: undefined members vanish.
    List(Vec<(String, Node)>),
}

/// An aggregate with its argument, in the scope of the rows.
#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) argument: Node,
}

/// GROUP BY and aggregates. The projection sees one binding beyond the outer ones: an array of
/// the keys, then the results of the aggregates.
#[derive(Debug, Clone)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Node>,
    pub(crate) aggregates: Vec<Aggregate>,
}

/// A sort key.
#[derive(Debug, Clone)]
pub(crate) struct SortKey {
    pub(crate) node: Node,
    pub(crate) descending: bool,
    /// Ranking keeps rows without a score at the end, whatever the direction.
    pub(crate) undefined_last: bool,
}

/// One SELECT.
#[derive(Debug, Clone)]
pub(crate) struct Select {
    pub(crate) sources: Vec<Source>,
    /// The operands of the outermost AND: all must be true.
    pub(crate) filter: Vec<Node>,
    pub(crate) grouping: Option<Grouping>,
    pub(crate) distinct: bool,
    pub(crate) projection: Projection,
}
