//! The syntax tree of a query, as the parser makes it: names unresolved, positions kept.
//!
//! Positions are byte offsets into the query text; errors translate them to the character offsets
//! that the service reports.

use orrery_model::value::Value;

/// A half-open range of byte offsets into the query text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A name with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// The name, case kept.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// One SELECT, at the top or as a subquery.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// SELECT.
    pub select: Select,
    /// FROM with its JOINs; absent for `SELECT 1`.
    pub from: Option<From>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY; empty when absent.
    pub group_by: Vec<Expr>,
    /// ORDER BY; `None` when absent.
    pub order_by: Option<OrderBy>,
    /// OFFSET LIMIT.
    pub page: Option<OffsetLimit>,
    /// The whole query.
    pub span: Span,
}

/// The SELECT clause.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// SELECT DISTINCT.
    pub distinct: bool,
    /// TOP.
    pub top: Option<Count>,
    /// `TOP n` with its keyword, for errors.
    pub top_span: Option<Span>,
    /// What is selected.
    pub projection: Projection,
    /// SELECT up to the end of the projection.
    pub span: Span,
}

/// The operand of TOP, OFFSET or LIMIT.
#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    /// A literal or a parameter.
    pub value: CountValue,
    /// Where it stands.
    pub span: Span,
}

/// A literal number or the name of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum CountValue {
    /// A number token; the analysis refuses fractions.
    Number(orrery_model::value::Number),
    /// A parameter, its name with the `@`.
    Parameter(String),
}

/// What SELECT returns.
#[derive(Debug, Clone, PartialEq)]
pub enum Projection {
    /// `*`
    Star(Span),
    /// `VALUE e`
    Value(Expr),
    /// `e [AS a], …`
    List(Vec<SelectItem>),
}

/// An expression of a projection list.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectItem {
    /// The expression.
    pub expr: Expr,
    /// `AS name`.
    pub alias: Option<Ident>,
}

/// FROM: the first source, then the JOINs, left to right.
#[derive(Debug, Clone, PartialEq)]
pub struct From {
    /// At least one.
    pub sources: Vec<Source>,
    /// FROM up to the last source.
    pub span: Span,
}

/// One source: `a IN input`, `input`, `input AS a`.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Where its values come from.
    pub input: Input,
    /// The explicit name.
    pub alias: Option<Ident>,
    /// True for `a IN input`: one row per array element.
    pub iterate: bool,
    /// The source.
    pub span: Span,
}

/// Where the values of a source come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// `root.step.step`: the container, or an earlier alias.
    Path {
        /// First name.
        root: Ident,
        /// Steps after it.
        steps: Vec<Step>,
    },
    /// `(SELECT …)`
    Subquery(Box<Query>),
}

/// A step of a FROM path.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `.name` or `["name"]`
    Member(String),
    /// `[3]`
    Index(u64),
}

/// ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderBy {
    /// `ORDER BY RANK`: exactly one key.
    pub rank: bool,
    /// The keys.
    pub keys: Vec<OrderKey>,
    /// The clause.
    pub span: Span,
}

/// One sort key.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderKey {
    /// The expression.
    pub expr: Expr,
    /// `Some(true)` DESC, `Some(false)` ASC written out, `None` absent (ascending).
    pub descending: Option<bool>,
}

/// OFFSET o LIMIT l.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetLimit {
    /// OFFSET.
    pub offset: Count,
    /// LIMIT.
    pub limit: Count,
    /// The clause.
    pub span: Span,
}

/// An expression with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
    /// Levels of the tree under it, itself included.
    pub height: u32,
}

/// The forms of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A constant: null, Boolean, number, string, or `undefined`.
    Literal(Value<'static>),
    /// `@name`, with the `@`.
    Parameter(String),
    /// A bare name: an alias.
    Name(String),
    /// `e.name` or `e["name"]`
    Member(Box<Expr>, String),
    /// `e[i]` with anything but a string literal inside.
    Index(Box<Expr>, Box<Expr>),
    /// A prefix operator.
    Unary(UnaryOp, Box<Expr>),
    /// An infix operator, AND, OR and `??` included.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `e [NOT] BETWEEN low AND high`
    Between {
        /** NOT written. */
        negated: bool,
        /** Tested. */
        value: Box<Expr>,
        /** Inclusive. */
        low: Box<Expr>,
        /** Inclusive. */
        high: Box<Expr>,
    },
    /// `e [NOT] IN (…)`
    In {
        /** NOT written. */
        negated: bool,
        /** Tested. */
        value: Box<Expr>,
        /** At least one. */
        list: Vec<Expr>,
    },
    /// `e [NOT] LIKE p [ESCAPE 'c']`
    Like {
        /** NOT written. */
        negated: bool,
        /** Tested. */
        value: Box<Expr>,
        /** Pattern. */
        pattern: Box<Expr>,
        /** One character. */
        escape: Option<String>,
    },
    /// `[…]`
    Array(Vec<Expr>),
    /// `{name: e, …}`
    Object(Vec<(String, Expr)>),
    /// A built-in function or aggregate; the name as written.
    Call {
        /** As written. */
        name: Ident,
        /** Arguments. */
        args: Vec<Expr>,
    },
    /// `udf.name(…)`
    Udf {
        /** Case-sensitive. */
        name: Ident,
        /** Arguments. */
        args: Vec<Expr>,
    },
    /// `(SELECT …)`, `EXISTS(…)`, `ARRAY(…)`, `ALL(…)`, `FIRST(…)`, `LAST(…)`
    Subquery(SubqueryKind, Box<Query>),
    /// `(LET x = e IN f)`
    Let {
        /** Bound name. */
        name: Ident,
        /** Its value. */
        value: Box<Expr>,
        /** Where it is visible. */
        body: Box<Expr>,
    },
}

/// How the rows of a subquery become a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubqueryKind {
    /// `(SELECT …)`: the first row.
    Scalar,
    /// `EXISTS(…)`
    Exists,
    /// `ARRAY(…)`
    Array,
    /// `ALL(…)`
    All,
    /// `FIRST(…)`
    First,
    /// `LAST(…)`
    Last,
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// NOT
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    BitNot,
}

/// Infix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum BinaryOp {
    Or,
    And,
    Coalesce,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    Concat,
    BitOr,
    BitXor,
    BitAnd,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
}
