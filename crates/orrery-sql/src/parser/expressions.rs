//! Expressions, loosest operator first (query-language: section 3).

use super::height::binary;
use super::{High, Node, Parsed, Parser, is_name, node};
use crate::ast::{BinaryOp, Expr, ExprKind, Ident, Span, SubqueryKind, UnaryOp};
use crate::lexer::{Symbol, TokenKind, Word, unescape};
use orrery_model::value::{Number, Value};

/// How tightly an infix operator binds, from `=` to `*`; AND and OR are looser and not here.
fn infix(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    let TokenKind::Symbol(symbol) = kind else {
        return None;
    };
    Some(match symbol {
        Symbol::Equal => (BinaryOp::Equal, COMPARISON),
        Symbol::NotEqual => (BinaryOp::NotEqual, COMPARISON),
        Symbol::Less => (BinaryOp::Less, COMPARISON),
        Symbol::Greater => (BinaryOp::Greater, COMPARISON),
        Symbol::LessOrEqual => (BinaryOp::LessOrEqual, COMPARISON),
        Symbol::GreaterOrEqual => (BinaryOp::GreaterOrEqual, COMPARISON),
        Symbol::ShiftLeft => (BinaryOp::ShiftLeft, COMPARISON),
        Symbol::ShiftRight => (BinaryOp::ShiftRight, COMPARISON),
        Symbol::ShiftRightZero => (BinaryOp::ShiftRightZero, COMPARISON),
        Symbol::DoubleBar => (BinaryOp::Concat, 2),
        Symbol::Bar => (BinaryOp::BitOr, 3),
        Symbol::Caret => (BinaryOp::BitXor, 3),
        Symbol::Ampersand => (BinaryOp::BitAnd, 3),
        Symbol::Plus => (BinaryOp::Add, 3),
        Symbol::Minus => (BinaryOp::Subtract, 3),
        Symbol::Star => (BinaryOp::Multiply, 4),
        Symbol::Slash => (BinaryOp::Divide, 4),
        Symbol::Percent => (BinaryOp::Modulo, 4),
        _ => return None,
    })
}

const COMPARISON: u8 = 1;

/// A left operand that was read already, or none.
type First = Option<Node>;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Node> {
        self.nested(|parser| parser.conditional(None))
    }

    fn conditional(&mut self, first: First) -> Parsed<Node> {
        let condition = self.coalesce(first)?;
        if !self.take_symbol(Symbol::Question) {
            return Ok(condition);
        }
        let yes = self.expression()?;
        self.expect_symbol(Symbol::Colon)?;
        let no = self.expression()?;
        let span = Span {
            start: condition.part.span.start,
            end: no.part.span.end,
        };
        let height = condition.height.max(yes.height).max(no.height) + 1;
        let kind = ExprKind::Conditional(condition.part, yes.part, no.part);
        node(kind, span, height)
    }

    fn coalesce(&mut self, first: First) -> Parsed<Node> {
        let left = self.logic(first)?;
        if !self.take_symbol(Symbol::DoubleQuestion) {
            return Ok(left);
        }
        let right = self.nested(|parser| parser.coalesce(None))?;
        binary(BinaryOp::Coalesce, left, right)
    }

    /// A bare BETWEEN, or ANDs and ORs: BETWEEN cannot be an operand of them.
    fn logic(&mut self, first: First) -> Parsed<Node> {
        let operand = self.comparison(first)?;
        let negated = self.negates(Word::Between);
        if negated || self.at_word(Word::Between) {
            return self.between(operand, negated);
        }
        let mut left = self.and(operand)?;
        while self.take_word(Word::Or) {
            let operand = self.comparison(None)?;
            let right = self.and(operand)?;
            left = binary(BinaryOp::Or, left, right)?;
        }
        Ok(left)
    }

    fn and(&mut self, operand: Node) -> Parsed<Node> {
        let mut left = self.test(operand)?;
        while self.take_word(Word::And) {
            let operand = self.comparison(None)?;
            let right = self.test(operand)?;
            left = binary(BinaryOp::And, left, right)?;
        }
        Ok(left)
    }

    /// True at `NOT` followed by `word`.
    fn negates(&self, word: Word) -> bool {
        self.at_word(Word::Not) && self.ahead(1).kind == TokenKind::Word(word)
    }

    fn between(&mut self, value: Node, negated: bool) -> Parsed<Node> {
        self.take_word(Word::Not);
        self.expect_word(Word::Between)?;
        let low = self.comparison(None)?;
        self.expect_word(Word::And)?;
        let high = self.comparison(None)?;
        let span = Span {
            start: value.part.span.start,
            end: high.part.span.end,
        };
        let height = value.height.max(low.height).max(high.height) + 1;
        let kind = ExprKind::Between {
            negated,
            value: value.part,
            low: low.part,
            high: high.part,
        };
        node(kind, span, height)
    }

    /// `[NOT] IN` or `[NOT] LIKE` after an operand, or the operand alone.
    fn test(&mut self, value: Node) -> Parsed<Node> {
        let negated = self.negates(Word::In) || self.negates(Word::Like);
        if negated {
            self.advance();
        }
        if self.take_word(Word::In) {
            self.list_test(value, negated)
        } else if self.take_word(Word::Like) {
            self.like(value, negated)
        } else {
            Ok(value)
        }
    }

    fn list_test(&mut self, value: Node, negated: bool) -> Parsed<Node> {
        self.expect_symbol(Symbol::OpenParenthesis)?;
        let list = self.expressions()?;
        self.expect_symbol(Symbol::CloseParenthesis)?;
        let span = self.span_from(value.part.span.start);
        let height = value.height.max(list.height) + 1;
        node(
            ExprKind::In {
                negated,
                value: value.part,
                list: list.part,
            },
            span,
            height,
        )
    }

    fn like(&mut self, value: Node, negated: bool) -> Parsed<Node> {
        let pattern = self.comparison(None)?;
        let mut escape = None;
        if self.take_word(Word::Escape) {
            let token = self.token();
            if token.kind != TokenKind::String {
                return self.fail();
            }
            self.advance();
            escape = Some(unescape(self.slice(token.span)));
        }
        let span = self.span_from(value.part.span.start);
        let height = value.height.max(pattern.height) + 1;
        let kind = ExprKind::Like {
            negated,
            value: value.part,
            pattern: pattern.part,
            escape,
        };
        node(kind, span, height)
    }

    /// The operators from comparison down.
    fn comparison(&mut self, first: First) -> Parsed<Node> {
        let operand = match first {
            Some(first) => first,
            None => self.unary()?,
        };
        self.infix_chain(operand, COMPARISON)
    }

    /// Operators that bind at least as tightly as `least`, all left-associative.
    fn infix_chain(&mut self, mut left: Node, least: u8) -> Parsed<Node> {
        while let Some((op, level)) = infix(self.token().kind) {
            if level < least {
                break;
            }
            self.advance();
            let operand = self.unary()?;
            // At most four levels deep: one for each level of binding.
            let right = self.infix_chain(operand, level + 1)?;
            left = binary(op, left, right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Node> {
        let token = self.token();
        let op = match token.kind {
            TokenKind::Word(Word::Not) => UnaryOp::Not,
            TokenKind::Symbol(Symbol::Minus) => UnaryOp::Minus,
            TokenKind::Symbol(Symbol::Plus) => UnaryOp::Plus,
            TokenKind::Symbol(Symbol::Tilde) => UnaryOp::BitNot,
            _ => {
                let primary = self.primary()?;
                return self.postfix(primary);
            }
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        let span = Span {
            start: token.span.start,
            end: operand.part.span.end,
        };
        let height = operand.height + 1;
        node(ExprKind::Unary(op, operand.part), span, height)
    }

    /// `.name` and `[index]` after a primary expression.
    fn postfix(&mut self, mut inner: Node) -> Parsed<Node> {
        loop {
            let start = inner.part.span.start;
            if self.take_symbol(Symbol::Dot) {
                let name = self.name()?.name;
                let kind = ExprKind::Member(inner.part, name);
                inner = node(kind, self.span_from(start), inner.height + 1)?;
            } else if self.take_symbol(Symbol::OpenBracket) {
                let index = self.expression()?;
                self.expect_symbol(Symbol::CloseBracket)?;
                let height = inner.height.max(index.height) + 1;
                let kind = match index.part.kind {
                    ExprKind::Literal(Value::String(name)) => {
                        ExprKind::Member(inner.part, name.into_owned())
                    }
                    kind => {
                        let (span, height) = (index.part.span, index.part.height);
                        ExprKind::Index(inner.part, Box::new(Expr { kind, span, height }))
                    }
                };
                inner = node(kind, self.span_from(start), height)?;
            } else {
                return Ok(inner);
            }
        }
    }

    pub(super) fn primary(&mut self) -> Parsed<Node> {
        let token = self.token();
        let text = self.slice(token.span);
        let literal = match token.kind {
            TokenKind::Number => Value::Number(number(text)),
            TokenKind::String => Value::String(unescape(text).into()),
            TokenKind::Word(Word::True) => Value::Bool(true),
            TokenKind::Word(Word::False) => Value::Bool(false),
            TokenKind::Word(Word::Null) => Value::Null,
            TokenKind::Word(Word::Undefined) => Value::Undefined,
            TokenKind::Parameter => {
                self.advance();
                return Ok(leaf(ExprKind::Parameter(text.to_owned()), token.span));
            }
            TokenKind::Word(Word::Exists) => return self.keyword_subquery(SubqueryKind::Exists),
            TokenKind::Word(Word::Array) => return self.keyword_subquery(SubqueryKind::Array),
            TokenKind::Word(Word::Udf) => return self.udf(),
            TokenKind::Word(Word::Left | Word::Right) => return self.call(),
            TokenKind::Symbol(Symbol::OpenParenthesis) => return self.parentheses(),
            TokenKind::Symbol(Symbol::OpenBracket) => return self.array(),
            TokenKind::Symbol(Symbol::OpenBrace) => return self.object(),
            _ if is_name(token) => return self.name_or_call(),
            _ => return self.fail(),
        };
        self.advance();
        Ok(leaf(ExprKind::Literal(literal), token.span))
    }

    /// One or more opening parentheses. Those that only wrap a left operand are closed in a loop,
    /// so that `((((a) OR b) OR c) …` does not nest.
    fn parentheses(&mut self) -> Parsed<Node> {
        if let Some(inner) = self.parenthesised_query()? {
            return Ok(inner);
        }
        let mut open = 0u32;
        let mut inner = loop {
            // A query's parenthesis belongs to the operand inside.
            if !self.at_symbol(Symbol::OpenParenthesis) || self.starts_query(1) {
                break self.expression()?;
            }
            self.advance();
            open += 1;
        };
        loop {
            self.expect_symbol(Symbol::CloseParenthesis)?;
            open -= 1;
            if open == 0 {
                return Ok(inner);
            }
            let operand = self.postfix(inner)?;
            inner = self.nested(|parser| parser.conditional(Some(operand)))?;
        }
    }

    /// True when SELECT or LET follows `ahead` tokens from here.
    fn starts_query(&self, ahead: usize) -> bool {
        match self.ahead(ahead).kind {
            TokenKind::Word(Word::Select) => true,
            TokenKind::Word(Word::Let) => {
                is_name(self.ahead(ahead + 1))
                    && self.ahead(ahead + 2).kind == TokenKind::Symbol(Symbol::Equal)
            }
            _ => false,
        }
    }

    /// `(SELECT …)` or `(LET …)`; `None` at any other parenthesis.
    fn parenthesised_query(&mut self) -> Parsed<Option<Node>> {
        if !self.starts_query(1) {
            return Ok(None);
        }
        let start = self.advance().span.start;
        let mut inner = if self.at_word(Word::Let) {
            self.nested(Self::binding)?
        } else {
            self.subquery(SubqueryKind::Scalar)?
        };
        self.expect_symbol(Symbol::CloseParenthesis)?;
        let span = self.span_from(start);
        inner.part.span = span;
        Ok(Some(inner))
    }

    /// `LET x = e IN f`
    fn binding(&mut self) -> Parsed<Node> {
        let start = self.expect_word(Word::Let)?.span.start;
        let name = self.name()?;
        self.expect_symbol(Symbol::Equal)?;
        let value = self.comparison(None)?;
        self.expect_word(Word::In)?;
        let body = self.comparison(None)?;
        let height = value.height.max(body.height) + 1;
        let kind = ExprKind::Let {
            name,
            value: value.part,
            body: body.part,
        };
        node(kind, self.span_from(start), height)
    }

    fn subquery(&mut self, kind: SubqueryKind) -> Parsed<Node> {
        let query = self.query()?;
        let span = query.part.span;
        node(ExprKind::Subquery(kind, query.part), span, query.height + 1)
    }

    /// A word and a query in parentheses.
    fn keyword_subquery(&mut self, kind: SubqueryKind) -> Parsed<Node> {
        let start = self.advance().span.start;
        self.expect_symbol(Symbol::OpenParenthesis)?;
        let mut inner = self.subquery(kind)?;
        self.expect_symbol(Symbol::CloseParenthesis)?;
        let span = self.span_from(start);
        inner.part.span = span;
        Ok(inner)
    }

    fn name_or_call(&mut self) -> Parsed<Node> {
        let token = self.token();
        let text = self.slice(token.span);
        if self.ahead(1).kind != TokenKind::Symbol(Symbol::OpenParenthesis) {
            self.advance();
            return Ok(leaf(ExprKind::Name(text.to_owned()), token.span));
        }
        if self.ahead(2).kind == TokenKind::Word(Word::Select) {
            let kinds = [
                ("ALL", SubqueryKind::All),
                ("FIRST", SubqueryKind::First),
                ("LAST", SubqueryKind::Last),
            ];
            if let Some((_, kind)) = kinds
                .iter()
                .find(|(word, _)| word.eq_ignore_ascii_case(text))
            {
                return self.keyword_subquery(*kind);
            }
        }
        self.call()
    }

    fn call(&mut self) -> Parsed<Node> {
        let span = self.advance().span;
        let name = Ident {
            name: self.slice(span).to_owned(),
            span,
        };
        let args = self.arguments()?;
        node(
            ExprKind::Call {
                name,
                args: args.part,
            },
            self.span_from(span.start),
            args.height + 1,
        )
    }

    fn udf(&mut self) -> Parsed<Node> {
        let start = self.advance().span.start;
        self.expect_symbol(Symbol::Dot)?;
        let name = self.name()?;
        let args = self.arguments()?;
        node(
            ExprKind::Udf {
                name,
                args: args.part,
            },
            self.span_from(start),
            args.height + 1,
        )
    }

    fn arguments(&mut self) -> Parsed<High<Vec<Expr>>> {
        self.expect_symbol(Symbol::OpenParenthesis)?;
        if self.take_symbol(Symbol::CloseParenthesis) {
            return Ok(High {
                part: Vec::new(),
                height: 0,
            });
        }
        let list = self.expressions()?;
        self.expect_symbol(Symbol::CloseParenthesis)?;
        Ok(list)
    }

    fn array(&mut self) -> Parsed<Node> {
        let start = self.advance().span.start;
        let mut items = High {
            part: Vec::new(),
            height: 0,
        };
        if !self.at_symbol(Symbol::CloseBracket) {
            items = self.expressions()?;
        }
        self.expect_symbol(Symbol::CloseBracket)?;
        node(
            ExprKind::Array(items.part),
            self.span_from(start),
            items.height + 1,
        )
    }

    fn object(&mut self) -> Parsed<Node> {
        let start = self.advance().span.start;
        let mut members = Vec::new();
        let mut height = 0;
        if !self.at_symbol(Symbol::CloseBrace) {
            loop {
                let name = self.member_name()?;
                self.expect_symbol(Symbol::Colon)?;
                let value = self.expression()?;
                height = height.max(value.height);
                members.push((name, *value.part));
                if !self.take_symbol(Symbol::Comma) {
                    break;
                }
            }
        }
        self.expect_symbol(Symbol::CloseBrace)?;
        node(ExprKind::Object(members), self.span_from(start), height + 1)
    }

    fn member_name(&mut self) -> Parsed<String> {
        let token = self.token();
        if token.kind == TokenKind::String {
            self.advance();
            return Ok(unescape(self.slice(token.span)));
        }
        self.name().map(|ident| ident.name)
    }
}

fn leaf(kind: ExprKind, span: Span) -> Node {
    High {
        part: Box::new(Expr {
            kind,
            span,
            height: 1,
        }),
        height: 1,
    }
}

/// The value of a number token: integers of 64 bits stay exact.
pub(super) fn number(text: &str) -> Number {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).map_or_else(
            |_| {
                Number::Double(digits.chars().fold(0.0, |sum, digit| {
                    sum * 16.0 + f64::from(digit.to_digit(16).unwrap_or(0))
                }))
            },
            Number::Int,
        );
    }
    match text.parse() {
        Ok(integer) => Number::Int(integer),
        Err(_) => Number::Double(text.parse().unwrap_or(f64::INFINITY)),
    }
}
