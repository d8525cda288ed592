//! The clauses of a query.

use super::{High, Parsed, Parser, high, is_name};
use crate::ast::{
    Count, CountValue, Expr, From, Input, OffsetLimit, OrderBy, OrderKey, Projection, Query,
    Select, SelectItem, Source, Step,
};
use crate::lexer::{Symbol, TokenKind, Word, unescape};

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Parsed<High<Box<Query>>> {
        self.nested(Self::query_inside)
    }

    fn query_inside(&mut self) -> Parsed<High<Box<Query>>> {
        let start = self.token().span.start;
        let select = self.select()?;
        let mut height = select.height;
        let from = if self.at_word(Word::From) {
            Some(self.from()?)
        } else {
            None
        };
        height = height.max(from.as_ref().map_or(0, |from| from.height));
        let filter = if self.take_word(Word::Where) {
            Some(self.expression()?)
        } else {
            None
        };
        height = height.max(filter.as_ref().map_or(0, |filter| filter.height));
        let mut group_by = Vec::new();
        if self.take_word(Word::Group) {
            self.expect_word(Word::By)?;
            let keys = self.expressions()?;
            height = height.max(keys.height);
            group_by = keys.part;
        }
        let order_by = if self.at_word(Word::Order) {
            Some(self.order_by()?)
        } else {
            None
        };
        height = height.max(order_by.as_ref().map_or(0, |order_by| order_by.height));
        let page = if self.at_word(Word::Offset) {
            Some(self.page()?)
        } else {
            None
        };
        let query = Box::new(Query {
            select: select.part,
            from: from.map(|from| from.part),
            filter: filter.map(|filter| *filter.part),
            group_by,
            order_by: order_by.map(|order_by| order_by.part),
            page,
            span: self.span_from(start),
        });
        high(query, height + 1)
    }

    /// At least one expression, separated by commas.
    pub(super) fn expressions(&mut self) -> Parsed<High<Vec<Expr>>> {
        let mut list = Vec::new();
        let mut height = 0;
        loop {
            let expr = self.expression()?;
            height = height.max(expr.height);
            list.push(*expr.part);
            if !self.take_symbol(Symbol::Comma) {
                return Ok(High { part: list, height });
            }
        }
    }

    fn select(&mut self) -> Parsed<High<Select>> {
        let start = self.expect_word(Word::Select)?.span.start;
        let distinct = self.take_word(Word::Distinct);
        let mut top = None;
        let mut top_span = None;
        if self.at_word(Word::Top) {
            let keyword = self.advance().span;
            top = Some(self.count(false)?);
            top_span = Some(self.span_from(keyword.start));
        }
        let projection = self.projection()?;
        let select = Select {
            distinct,
            top,
            top_span,
            projection: projection.part,
            span: self.span_from(start),
        };
        Ok(High {
            part: select,
            height: projection.height,
        })
    }

    /// The operand of TOP (`whole` false: fractions are refused later) or of OFFSET and LIMIT.
    fn count(&mut self, whole: bool) -> Parsed<Count> {
        let token = self.token();
        let text = self.slice(token.span);
        let value = match token.kind {
            TokenKind::Parameter => CountValue::Parameter(text.to_owned()),
            TokenKind::Number if !whole || text.bytes().all(|byte| byte.is_ascii_digit()) => {
                CountValue::Number(super::expressions::number(text))
            }
            _ => return self.fail(),
        };
        self.advance();
        Ok(Count {
            value,
            span: token.span,
        })
    }

    fn projection(&mut self) -> Parsed<High<Projection>> {
        if self.at_symbol(Symbol::Star) {
            let span = self.advance().span;
            return Ok(High {
                part: Projection::Star(span),
                height: 1,
            });
        }
        if self.take_word(Word::Value) {
            let expr = self.expression()?;
            return Ok(High {
                part: Projection::Value(*expr.part),
                height: expr.height,
            });
        }
        let mut items = Vec::new();
        let mut height = 0;
        loop {
            let expr = self.expression()?;
            height = height.max(expr.height);
            let alias = self.select_alias()?;
            items.push(SelectItem {
                expr: *expr.part,
                alias,
            });
            if !self.take_symbol(Symbol::Comma) {
                return Ok(High {
                    part: Projection::List(items),
                    height,
                });
            }
        }
    }

    fn select_alias(&mut self) -> Parsed<Option<crate::ast::Ident>> {
        let written = self.take_word(Word::As);
        let token = self.token();
        // A string without AS is an error: `c.a LIKE 'x' '!'` misses its ESCAPE.
        if written && token.kind == TokenKind::String {
            self.advance();
            return Ok(Some(crate::ast::Ident {
                name: unescape(self.slice(token.span)),
                span: token.span,
            }));
        }
        if written || self.at_name() {
            self.name().map(Some)
        } else {
            Ok(None)
        }
    }

    fn from(&mut self) -> Parsed<High<From>> {
        let start = self.expect_word(Word::From)?.span.start;
        let mut sources = Vec::new();
        let mut height = 0;
        loop {
            let source = self.source()?;
            height = height.max(source.height);
            sources.push(source.part);
            if !self.take_word(Word::Join) {
                return high(
                    From {
                        sources,
                        span: self.span_from(start),
                    },
                    height + 1,
                );
            }
        }
    }

    fn source(&mut self) -> Parsed<High<Source>> {
        let start = self.token().span.start;
        if self.at_name() && self.ahead(1).kind == TokenKind::Word(Word::In) {
            let alias = self.name()?;
            self.advance();
            let input = self.input()?;
            let source = Source {
                input: input.part,
                alias: Some(alias),
                iterate: true,
                span: self.span_from(start),
            };
            return Ok(High {
                part: source,
                height: input.height,
            });
        }
        let input = self.input()?;
        let written = self.take_word(Word::As);
        let alias = if written || self.at_name() {
            Some(self.name()?)
        } else {
            None
        };
        let source = Source {
            input: input.part,
            alias,
            iterate: false,
            span: self.span_from(start),
        };
        Ok(High {
            part: source,
            height: input.height,
        })
    }

    fn input(&mut self) -> Parsed<High<Input>> {
        if self.at_symbol(Symbol::OpenParenthesis) {
            let start = self.advance().span.start;
            let mut query = self.query()?;
            self.expect_symbol(Symbol::CloseParenthesis)?;
            query.part.span = self.span_from(start);
            return Ok(High {
                part: Input::Subquery(query.part),
                height: query.height,
            });
        }
        if is_name(self.token()) && self.ahead(1).kind == TokenKind::Symbol(Symbol::OpenParenthesis)
        {
            return self.call_input();
        }
        let root = self.name()?;
        let mut steps = Vec::new();
        loop {
            if self.take_symbol(Symbol::Dot) {
                steps.push(Step::Member(self.name()?.name));
            } else if self.take_symbol(Symbol::OpenBracket) {
                steps.push(self.bracket_step()?);
                self.expect_symbol(Symbol::CloseBracket)?;
            } else {
                return Ok(High {
                    part: Input::Path { root, steps },
                    height: 1,
                });
            }
        }
    }

    /// `JOIN x IN OBJECTTOARRAY(…)`, which the documentation shows although no grammar has it
    /// (query-language: D4): short for `(SELECT VALUE OBJECTTOARRAY(…))`.
    fn call_input(&mut self) -> Parsed<High<Input>> {
        let call = self.nested(Self::primary)?;
        let span = call.part.span;
        let select = Select {
            distinct: false,
            top: None,
            top_span: None,
            projection: Projection::Value(*call.part),
            span,
        };
        let query = Query {
            select,
            from: None,
            filter: None,
            group_by: Vec::new(),
            order_by: None,
            page: None,
            span,
        };
        high(Input::Subquery(Box::new(query)), call.height + 1)
    }

    fn bracket_step(&mut self) -> Parsed<Step> {
        let token = self.token();
        let text = self.slice(token.span);
        let step = match token.kind {
            TokenKind::String => Step::Member(unescape(text)),
            TokenKind::Number => match text.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => return self.fail(),
            },
            _ => return self.fail(),
        };
        self.advance();
        Ok(step)
    }

    fn order_by(&mut self) -> Parsed<High<OrderBy>> {
        let start = self.expect_word(Word::Order)?.span.start;
        self.expect_word(Word::By)?;
        // RANK is a name too: only a call after it makes it the keyword.
        let rank = self.at_word(Word::Rank) && self.starts_call(1);
        if rank {
            self.advance();
        }
        let mut keys = Vec::new();
        let mut height = 0;
        loop {
            if rank && !self.starts_call(0) {
                return self.fail();
            }
            let expr = if rank {
                self.nested(Self::primary)?
            } else {
                self.expression()?
            };
            height = height.max(expr.height);
            let descending = if self.take_word(Word::Asc) {
                Some(false)
            } else if self.take_word(Word::Desc) {
                Some(true)
            } else {
                None
            };
            keys.push(OrderKey {
                expr: *expr.part,
                descending,
            });
            if !self.take_symbol(Symbol::Comma) {
                return Ok(High {
                    part: OrderBy {
                        rank,
                        keys,
                        span: self.span_from(start),
                    },
                    height,
                });
            }
        }
    }

    /// True when a call of a built-in function begins `ahead` tokens from here.
    fn starts_call(&self, ahead: usize) -> bool {
        let token = self.ahead(ahead);
        let named =
            is_name(token) || matches!(token.kind, TokenKind::Word(Word::Left | Word::Right));
        named && self.ahead(ahead + 1).kind == TokenKind::Symbol(Symbol::OpenParenthesis)
    }

    fn page(&mut self) -> Parsed<OffsetLimit> {
        let start = self.expect_word(Word::Offset)?.span.start;
        let offset = self.count(true)?;
        self.expect_word(Word::Limit)?;
        let limit = self.count(true)?;
        Ok(OffsetLimit {
            offset,
            limit,
            span: self.span_from(start),
        })
    }
}
