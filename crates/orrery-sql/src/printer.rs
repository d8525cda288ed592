//! A tree as the text that the service's planner writes (protocol: section 8.4): a line for each
//! clause, every operator in parentheses, strings in double quotes, names as they were written.

use crate::ast::{
    BinaryOp, Count, CountValue, Expr, ExprKind, From, Ident, Input, OffsetLimit, OrderBy,
    Projection, Query, Select, Source, Span, Step, SubqueryKind, UnaryOp,
};
use crate::errors::write_string;
use crate::lexer::{Symbol, TokenKind, tokens};
use orrery_model::value::{Number, Value};
use std::fmt::Write as _;

/// Prints parts of a query. It needs the query's own text, because the tree does not tell
/// `c.name` from `c["name"]` and the service does.
pub struct Printer<'a> {
    text: &'a str,
    out: String,
    indent: usize,
}

impl<'a> Printer<'a> {
    /// A printer of trees that were parsed from `text`.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            out: String::new(),
            indent: 0,
        }
    }

    /// The normalised text of a whole query.
    pub fn query_text(text: &str, query: &Query) -> String {
        let mut printer = Printer::new(text);
        printer.query(query);
        printer.out
    }

    /// The normalised text of an expression.
    pub fn expr_text(text: &str, expr: &Expr) -> String {
        let mut printer = Printer::new(text);
        printer.expr(expr);
        printer.out
    }

    /// `FROM …` with its JOINs, a line for each.
    pub fn from_text(text: &str, from: &From) -> String {
        let mut printer = Printer::new(text);
        printer.from(from);
        printer.out
    }

    /// The operand of TOP, OFFSET or LIMIT.
    pub fn count_text(count: &Count) -> String {
        match &count.value {
            CountValue::Number(number) => number_text(*number),
            CountValue::Parameter(name) => name.clone(),
        }
    }

    fn query(&mut self, query: &Query) {
        self.select(&query.select);
        if let Some(from) = &query.from {
            self.line();
            self.from(from);
        }
        if let Some(filter) = &query.filter {
            self.line();
            self.out.push_str("WHERE ");
            self.expr(filter);
        }
        if !query.group_by.is_empty() {
            self.line();
            self.out.push_str("GROUP BY ");
            self.list(&query.group_by);
        }
        if let Some(order_by) = &query.order_by {
            self.line();
            self.order_by(order_by);
        }
        if let Some(page) = &query.page {
            self.line();
            self.page(page);
        }
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("    ", self.indent));
    }

    fn select(&mut self, select: &Select) {
        self.out.push_str("SELECT ");
        if select.distinct {
            self.out.push_str("DISTINCT ");
        }
        if let Some(top) = &select.top {
            let _ = write!(self.out, "TOP {} ", Self::count_text(top));
        }
        match &select.projection {
            Projection::Star(_) => self.out.push('*'),
            Projection::Value(expr) => {
                self.out.push_str("VALUE ");
                self.expr(expr);
            }
            Projection::List(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.separate(place);
                    self.expr(&item.expr);
                    if let Some(alias) = &item.alias {
                        self.out.push_str(" AS ");
                        self.alias(alias);
                    }
                }
            }
        }
    }

    /// A name, or the string that an alias may be.
    fn alias(&mut self, alias: &Ident) {
        let quoted = self
            .text
            .as_bytes()
            .get(alias.span.start as usize)
            .is_some_and(|first| matches!(first, b'"' | b'\''));
        if quoted {
            write_string(&mut self.out, &alias.name);
        } else {
            self.out.push_str(&alias.name);
        }
    }

    fn separate(&mut self, place: usize) {
        if place > 0 {
            self.out.push_str(", ");
        }
    }

    fn from(&mut self, from: &From) {
        for (place, source) in from.sources.iter().enumerate() {
            if place > 0 {
                self.line();
            }
            self.out
                .push_str(if place == 0 { "FROM " } else { "JOIN " });
            self.source(source);
        }
    }

    fn source(&mut self, source: &Source) {
        let alias = source.alias.as_ref().map(|alias| alias.name.as_str());
        if let (true, Some(alias)) = (source.iterate, alias) {
            let _ = write!(self.out, "{alias} IN ");
        }
        match &source.input {
            Input::Path { root, steps } => {
                self.out.push_str(&root.name);
                self.steps(root.span, source.span, steps);
            }
            Input::Subquery(query) => self.block(query),
        }
        if let (false, Some(alias)) = (source.iterate, alias) {
            let _ = write!(self.out, " AS {alias}");
        }
    }

    /// The steps of a FROM path, each in the form that the text uses.
    fn steps(&mut self, root: Span, source: Span, steps: &[Step]) {
        let written = self
            .text
            .get(root.end as usize..source.end as usize)
            .unwrap_or_default();
        let starts = tokens(written)
            .into_iter()
            .filter_map(|token| match token.kind {
                TokenKind::Symbol(symbol @ (Symbol::Dot | Symbol::OpenBracket)) => Some(symbol),
                _ => None,
            });
        for (step, start) in steps.iter().zip(starts) {
            match step {
                Step::Index(index) => {
                    let _ = write!(self.out, "[{index}]");
                }
                Step::Member(name) if start == Symbol::Dot => {
                    let _ = write!(self.out, ".{name}");
                }
                Step::Member(name) => {
                    self.out.push('[');
                    write_string(&mut self.out, name);
                    self.out.push(']');
                }
            }
        }
    }

    /// A subquery in parentheses, on lines of its own.
    fn block(&mut self, query: &Query) {
        self.out.push('(');
        self.indent += 1;
        self.line();
        self.query(query);
        self.indent -= 1;
        self.line();
        self.out.push(')');
    }

    fn order_by(&mut self, order_by: &OrderBy) {
        self.out.push_str("ORDER BY ");
        if order_by.rank {
            self.out.push_str("RANK ");
        }
        for (place, key) in order_by.keys.iter().enumerate() {
            self.separate(place);
            self.expr(&key.expr);
            match key.descending {
                Some(true) => self.out.push_str(" DESC"),
                Some(false) => self.out.push_str(" ASC"),
                None => {}
            }
        }
    }

    fn page(&mut self, page: &OffsetLimit) {
        let (offset, limit) = (
            Self::count_text(&page.offset),
            Self::count_text(&page.limit),
        );
        let _ = write!(self.out, "OFFSET {offset} LIMIT {limit}");
    }

    fn list(&mut self, list: &[Expr]) {
        for (place, expr) in list.iter().enumerate() {
            self.separate(place);
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(value) => self.literal(value),
            ExprKind::Parameter(name) | ExprKind::Name(name) => self.out.push_str(name),
            ExprKind::Member(inner, name) => {
                self.expr(inner);
                self.member(expr.span, name);
            }
            ExprKind::Index(inner, index) => {
                self.expr(inner);
                self.out.push('[');
                self.expr(index);
                self.out.push(']');
            }
            ExprKind::Unary(op, inner) => self.unary(*op, inner),
            ExprKind::Binary(op, left, right) => {
                self.out.push('(');
                self.expr(left);
                let _ = write!(self.out, " {} ", symbol(*op));
                self.expr(right);
                self.out.push(')');
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.out.push('(');
                self.expr(condition);
                self.out.push_str(" ? ");
                self.expr(yes);
                self.out.push_str(" : ");
                self.expr(no);
                self.out.push(')');
            }
            ExprKind::Between { .. } | ExprKind::In { .. } | ExprKind::Like { .. } => {
                self.out.push('(');
                self.test(&expr.kind);
                self.out.push(')');
            }
            ExprKind::Array(items) => {
                self.out.push('[');
                self.list(items);
                self.out.push(']');
            }
            ExprKind::Object(members) => self.object(members),
            ExprKind::Call { name, args } => self.call("", &name.name, args),
            ExprKind::Udf { name, args } => self.call("udf.", &name.name, args),
            ExprKind::Subquery(kind, query) => {
                self.out.push_str(word(*kind));
                self.block(query);
            }
            ExprKind::Let { name, value, body } => {
                let _ = write!(self.out, "(LET {} = ", name.name);
                self.expr(value);
                self.out.push_str(" IN ");
                self.expr(body);
                self.out.push(')');
            }
        }
    }

    fn literal(&mut self, value: &Value<'_>) {
        match value {
            Value::Undefined => self.out.push_str("undefined"),
            Value::Null => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => self.out.push_str(&number_text(*number)),
            Value::String(text) => write_string(&mut self.out, text),
            // No literal of the grammar is an array or object; they are constructors.
            Value::Array(_) | Value::Object(_) => {}
        }
    }

    /// `.name` or `["name"]`, whichever the text has at the end of `span`.
    fn member(&mut self, span: Span, name: &str) {
        let last = (span.end as usize)
            .checked_sub(1)
            .and_then(|place| self.text.as_bytes().get(place));
        if last == Some(&b']') {
            self.out.push('[');
            write_string(&mut self.out, name);
            self.out.push(']');
        } else {
            let _ = write!(self.out, ".{name}");
        }
    }

    fn unary(&mut self, op: UnaryOp, inner: &Expr) {
        let sign = match op {
            UnaryOp::Not => "NOT",
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
        };
        // A number beyond all doubles prints as the name that stands for it.
        let number =
            matches!(inner.kind, ExprKind::Literal(Value::Number(number)) if number.is_finite());
        if number && op == UnaryOp::Minus {
            self.out.push('-');
            self.expr(inner);
        } else {
            let _ = write!(self.out, "({sign} ");
            self.expr(inner);
            self.out.push(')');
        }
    }

    fn test(&mut self, kind: &ExprKind) {
        let not = |negated: &bool| if *negated { " NOT" } else { "" };
        match kind {
            ExprKind::Between {
                negated,
                value,
                low,
                high,
            } => {
                self.expr(value);
                let _ = write!(self.out, "{} BETWEEN ", not(negated));
                self.expr(low);
                self.out.push_str(" AND ");
                self.expr(high);
            }
            ExprKind::In {
                negated,
                value,
                list,
            } => {
                self.expr(value);
                let _ = write!(self.out, "{} IN (", not(negated));
                self.list(list);
                self.out.push(')');
            }
            ExprKind::Like {
                negated,
                value,
                pattern,
                escape,
            } => {
                self.expr(value);
                let _ = write!(self.out, "{} LIKE ", not(negated));
                self.expr(pattern);
                if let Some(escape) = escape {
                    self.out.push_str(" ESCAPE ");
                    write_string(&mut self.out, escape);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, members: &[(String, Expr)]) {
        self.out.push('{');
        for (place, (name, value)) in members.iter().enumerate() {
            self.separate(place);
            write_string(&mut self.out, name);
            self.out.push_str(": ");
            self.expr(value);
        }
        self.out.push('}');
    }

    fn call(&mut self, prefix: &str, name: &str, args: &[Expr]) {
        let _ = write!(self.out, "{prefix}{name}(");
        self.list(args);
        self.out.push(')');
    }
}

fn word(kind: SubqueryKind) -> &'static str {
    match kind {
        SubqueryKind::Scalar => "",
        SubqueryKind::Exists => "EXISTS",
        SubqueryKind::Array => "ARRAY",
        SubqueryKind::All => "ALL",
        SubqueryKind::First => "FIRST",
        SubqueryKind::Last => "LAST",
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "OR",
        BinaryOp::And => "AND",
        BinaryOp::Coalesce => "??",
        BinaryOp::Equal => "=",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::Greater => ">",
        BinaryOp::LessOrEqual => "<=",
        BinaryOp::GreaterOrEqual => ">=",
        BinaryOp::Concat => "||",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::BitAnd => "&",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::ShiftRightZero => ">>>",
    }
}

/// A number as the planner prints it: 17 significant digits, trailing zeros dropped, an exponent
/// where C's `%.17g` has one.
pub fn number_text(number: Number) -> String {
    let value = match number {
        Number::Int(integer) => return integer.to_string(),
        Number::Double(value) => value,
    };
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        // No literal is negative.
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{value:.16e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..17).contains(&exponent) {
        let decimals = usize::try_from(16 - exponent).unwrap_or(0);
        return trim_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!(
        "{}e{sign}{:02}",
        trim_zeros(digits),
        exponent.unsigned_abs()
    )
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse;

    fn normalised(text: &str) -> String {
        Printer::query_text(text, &parse(text).expect(text))
    }

    #[test]
    fn clauses_stand_on_lines() {
        assert_eq!(
            normalised(
                "select distinct top 3 c.a as x, c['b'] from Root c join t in c.tags[0]['x y'].z \
                 where not c.a and c.b>=-1.5 order by c.a asc, c.b offset 0 limit @n"
            ),
            "SELECT DISTINCT TOP 3 c.a AS x, c[\"b\"]\nFROM Root AS c\n\
             JOIN t IN c.tags[0][\"x y\"].z\nWHERE ((NOT c.a) AND (c.b >= -1.5))\n\
             ORDER BY c.a ASC, c.b\nOFFSET 0 LIMIT @n"
        );
    }

    #[test]
    fn subqueries_are_indented() {
        assert_eq!(
            normalised(
                "SELECT VALUE EXISTS(SELECT VALUE 1) FROM c JOIN (SELECT VALUE s FROM s IN c.s GROUP BY s) s"
            ),
            "SELECT VALUE EXISTS(\n    SELECT VALUE 1\n)\nFROM c\nJOIN (\n    SELECT VALUE s\n    FROM s IN c.s\n    GROUP BY s\n) AS s"
        );
    }

    #[test]
    fn numbers_have_seventeen_digits() {
        let print = |value| number_text(Number::Double(value));
        assert_eq!(print(-0.005_676_387_343_555_689), "-0.0056763873435556889");
        assert_eq!(print(0.1), "0.10000000000000001");
        assert_eq!(print(3.0), "3");
        assert_eq!(print(1e300), "1.0000000000000001e+300");
        assert_eq!(print(1.5e-7), "1.4999999999999999e-07");
        assert_eq!(number_text(Number::Int(i64::MIN)), "-9223372036854775808");
    }

    #[test]
    fn printing_is_stable() {
        for text in [
            "SELECT VALUE 1 ? 2 : 3 ?? 4",
            "SELECT VALUE c.a LIKE 'x!%' ESCAPE '!' FROM c",
            "SELECT {a: 1, 'b c': [undefined, null, true]} FROM c",
            "SELECT udf.f(1, -2, - - 3, ~c.x) FROM c WHERE (LET x = 1 IN x) IN (1, 2)",
            "SELECT * FROM c WHERE c.x NOT BETWEEN 1 AND 2",
        ] {
            let once = normalised(text);
            assert_eq!(normalised(&once), once);
        }
    }
}
