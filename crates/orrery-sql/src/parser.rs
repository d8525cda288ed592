//! Tokens to a syntax tree: the native grammar (query-language: sections 2 and 3).
//!
//! Recursive descent over clauses, precedence climbing over expressions. Two bounds keep hostile
//! text from exhausting a thread's stack: [`MAX_NESTING`] on the recursion of the parser and
//! [`MAX_HEIGHT`] on the tree, so that whoever walks or drops it may recurse.

mod clauses;
mod expressions;
mod height;

use crate::ast::{Expr, ExprKind, Ident, Query, Span};
use crate::errors::{Code, SqlError, SqlErrors, shown};
use crate::lexer::{Symbol, Token, TokenKind, Word, tokens};

/// The longest query text, in characters.
pub const MAX_TEXT: usize = 524_288;

/// How deep brackets, operands and subqueries may nest in the text. Parentheses around a left
/// operand, as LINQ writes long chains of OR, do not count.
pub const MAX_NESTING: u32 = 200;

/// How high the tree may be. Long chains of AND, OR and `||` are balanced and do not count.
pub const MAX_HEIGHT: u32 = 256;

/// Errors are rare and large, results are frequent and should be small.
type Parsed<T> = Result<T, Box<SqlError>>;

/// Parses a query.
pub fn parse(text: &str) -> Result<Query, SqlErrors> {
    check_length(text)?;
    let tokens = tokens(text);
    let mut parser = Parser {
        text,
        tokens: &tokens,
        place: 0,
        nesting: 0,
    };
    parser
        .top_query()
        .map_err(|error| SqlErrors::from(*error).locate(text))
}

fn check_length(text: &str) -> Result<(), SqlErrors> {
    if text.len() > MAX_TEXT && text.chars().count() > MAX_TEXT {
        let message =
            format!("The SQL query text exceeded the maximum limit of {MAX_TEXT} characters.");
        return Err(SqlError {
            code: Code::Named("SC3020"),
            message,
            span: None,
        }
        .into());
    }
    Ok(())
}

/// A part of the tree and its height.
struct High<T> {
    part: T,
    height: u32,
}

/// An expression and its height. Boxed: the parser recurses, and its frames must be small.
type Node = High<Box<Expr>>;

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    place: usize,
    nesting: u32,
}

impl<'a> Parser<'a> {
    fn top_query(&mut self) -> Parsed<Query> {
        let query = self.query()?;
        if self.token().kind != TokenKind::End {
            return self.fail();
        }
        Ok(*query.part)
    }

    /// The token at hand.
    fn token(&self) -> Token {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> Token {
        let last = self.tokens.len() - 1; // `tokens` ends with `End`
        self.tokens[last.min(self.place + count)]
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        self.place += 1;
        token
    }

    fn slice(&self, span: Span) -> &'a str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    fn at_word(&self, word: Word) -> bool {
        self.token().kind == TokenKind::Word(word)
    }

    fn at_symbol(&self, symbol: Symbol) -> bool {
        self.token().kind == TokenKind::Symbol(symbol)
    }

    fn take_word(&mut self, word: Word) -> bool {
        let found = self.at_word(word);
        self.place += usize::from(found);
        found
    }

    fn take_symbol(&mut self, symbol: Symbol) -> bool {
        let found = self.at_symbol(symbol);
        self.place += usize::from(found);
        found
    }

    fn expect_word(&mut self, word: Word) -> Parsed<Token> {
        if self.at_word(word) {
            Ok(self.advance())
        } else {
            self.fail()
        }
    }

    fn expect_symbol(&mut self, symbol: Symbol) -> Parsed<Token> {
        if self.at_symbol(symbol) {
            Ok(self.advance())
        } else {
            self.fail()
        }
    }

    /// True at a name; LET and RANK are reserved only where the grammar needs them.
    fn at_name(&self) -> bool {
        is_name(self.token())
    }

    fn name(&mut self) -> Parsed<Ident> {
        if !self.at_name() {
            return self.fail();
        }
        let span = self.advance().span;
        Ok(Ident {
            name: self.slice(span).to_owned(),
            span,
        })
    }

    /// The place from `start` to the last token taken.
    fn span_from(&self, start: u32) -> Span {
        let end = self
            .place
            .checked_sub(1)
            .and_then(|place| self.tokens.get(place))
            .map_or(start, |token| token.span.end);
        Span { start, end }
    }

    /// The error of the token at hand; at the end of the text, of the last token.
    fn fail<T>(&self) -> Parsed<T> {
        let mut token = self.token();
        if token.kind == TokenKind::End {
            token = self
                .place
                .checked_sub(1)
                .and_then(|place| self.tokens.get(place))
                .copied()
                .unwrap_or(token);
        }
        let text = shown(self.slice(token.span));
        Err(Box::new(match token.kind {
            TokenKind::Invalid => SqlError::new(
                "SC1010",
                format!("Syntax error, invalid token '{text}'."),
                token.span,
            ),
            TokenKind::InvalidString => SqlError::new(
                "SC1012",
                format!("Syntax error, invalid string literal token '{text}'."),
                token.span,
            ),
            _ => SqlError::syntax(text, token.span),
        }))
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            return too_deep();
        }
        self.nesting += 1;
        let result = inner(self);
        self.nesting -= 1;
        result
    }
}

/// A new expression, its height checked.
fn node(kind: ExprKind, span: Span, height: u32) -> Parsed<Node> {
    bounded(High {
        part: Box::new(Expr { kind, span, height }),
        height,
    })
}

/// `node`, its height checked.
fn bounded(node: Node) -> Parsed<Node> {
    if node.height > MAX_HEIGHT {
        too_deep()
    } else {
        Ok(node)
    }
}

/// Checks the height of a new part.
fn high<T>(part: T, height: u32) -> Parsed<High<T>> {
    if height > MAX_HEIGHT {
        too_deep()
    } else {
        Ok(High { part, height })
    }
}

/// The service's wording is not known (query-language: section 12).
fn too_deep<T>() -> Parsed<T> {
    let message = "The SQL query exceeded the maximum nesting level of its expressions.";
    Err(Box::new(SqlError::plain(message)))
}

fn is_name(token: Token) -> bool {
    matches!(
        token.kind,
        TokenKind::Name | TokenKind::Word(Word::Let | Word::Rank)
    )
}

#[cfg(test)]
mod tests;
