//! Query text to tokens.
//!
//! Mistakes become tokens too, so that the parser reports whichever mistake comes first in the
//! text, as the service does.

use crate::ast::Span;

/// A token and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its bytes in the text.
    pub span: Span,
}

/// The kinds of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A name that is not reserved.
    Name,
    /// A reserved word.
    Word(Word),
    /// `@name`
    Parameter,
    /// A decimal or hexadecimal number without sign.
    Number,
    /// A quoted string, its escapes known to be good.
    String,
    /// An operator or bracket.
    Symbol(Symbol),
    /// SC1010: characters outside the language.
    Invalid,
    /// SC1012: a string that does not end or has a bad escape.
    InvalidString,
    /// After the last token; its span is empty.
    End,
}

macro_rules! words {
    ($($variant:ident)*) => {
        /// The reserved words (query-language: section 1).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)] // the names say it
        pub enum Word { $($variant,)* }

        const WORDS: &[(&str, Word)] = &[$((stringify!($variant), Word::$variant),)*];
    };
}

words! {
    And Array As Asc Between By Case Cast Convert Cross Desc Distinct Else End Escape Exists False
    For From Group Having In Inner Insert Into Is Join Left Let Like Limit Not Null Offset On Or
    Order Outer Over Rank Right Select Set Then Top True Udf Undefined Update Value When Where With
}

impl Word {
    fn lookup(text: &str) -> Option<Self> {
        // No reserved word is longer than UNDEFINED: most property names end here.
        if !(2..=9).contains(&text.len()) {
            return None;
        }
        WORDS
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(text))
            .map(|(_, word)| *word)
    }
}

/// Operators and brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Symbol {
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Comma,
    Dot,
    Colon,
    Question,
    DoubleQuestion,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
    DoubleBar,
    Bar,
    Ampersand,
    Caret,
    Tilde,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
}

/// Longest first, so that the first match is the right one.
const SYMBOLS: &[(&str, Symbol)] = &[
    (">>>", Symbol::ShiftRightZero),
    ("<<", Symbol::ShiftLeft),
    (">>", Symbol::ShiftRight),
    ("<=", Symbol::LessOrEqual),
    (">=", Symbol::GreaterOrEqual),
    ("<>", Symbol::NotEqual),
    ("!=", Symbol::NotEqual),
    ("??", Symbol::DoubleQuestion),
    ("||", Symbol::DoubleBar),
    ("(", Symbol::OpenParenthesis),
    (")", Symbol::CloseParenthesis),
    ("[", Symbol::OpenBracket),
    ("]", Symbol::CloseBracket),
    ("{", Symbol::OpenBrace),
    ("}", Symbol::CloseBrace),
    (",", Symbol::Comma),
    (".", Symbol::Dot),
    (":", Symbol::Colon),
    ("?", Symbol::Question),
    ("=", Symbol::Equal),
    ("<", Symbol::Less),
    (">", Symbol::Greater),
    ("|", Symbol::Bar),
    ("&", Symbol::Ampersand),
    ("^", Symbol::Caret),
    ("~", Symbol::Tilde),
    ("+", Symbol::Plus),
    ("-", Symbol::Minus),
    ("*", Symbol::Star),
    ("/", Symbol::Slash),
    ("%", Symbol::Percent),
];

/// All tokens of a text, [`TokenKind::End`] last. Stops after the first invalid one.
///
/// The text must be shorter than 4 GiB; the parser's own limit is far below.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, place: 0 };
    let mut tokens = Vec::with_capacity(text.len() / 4 + 2);
    loop {
        let token = lexer.next();
        tokens.push(token);
        match token.kind {
            TokenKind::End => return tokens,
            TokenKind::Invalid | TokenKind::InvalidString => {
                tokens.push(lexer.token(TokenKind::End, lexer.text.len(), lexer.text.len()));
                return tokens;
            }
            _ => {}
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    place: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn byte(&self, offset: usize) -> u8 {
        self.text
            .as_bytes()
            .get(self.place + offset)
            .copied()
            .unwrap_or(0)
    }

    #[allow(clippy::unused_self)]
    fn token(&self, kind: TokenKind, start: usize, end: usize) -> Token {
        Token {
            kind,
            span: Span {
                start: start as u32,
                end: end as u32,
            },
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.byte(0) {
                b' ' | b'\t' | b'\r' | b'\n' => self.place += 1,
                b'-' if self.byte(1) == b'-' => {
                    let rest = &self.text.as_bytes()[self.place..];
                    self.place += rest
                        .iter()
                        .position(|byte| *byte == b'\n')
                        .unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    fn next(&mut self) -> Token {
        self.skip_blanks();
        let start = self.place;
        let Some(first) = self.rest().chars().next() else {
            return self.token(TokenKind::End, start, start);
        };
        let kind = match first {
            'a'..='z' | 'A'..='Z' | '_' => self.word(),
            '0'..='9' => self.number(),
            '.' if self.byte(1).is_ascii_digit() => self.number(),
            '\'' | '"' => self.string(first as u8),
            '@' => {
                self.place += 1;
                if self.skip_name() {
                    TokenKind::Parameter
                } else {
                    TokenKind::Invalid
                }
            }
            letter if letter.is_alphabetic() => self.word(),
            other => self.symbol(other),
        };
        self.token(kind, start, self.place)
    }

    fn symbol(&mut self, first: char) -> TokenKind {
        let rest = self.rest();
        if let Some((text, symbol)) = SYMBOLS.iter().find(|(text, _)| rest.starts_with(text)) {
            self.place += text.len();
            return TokenKind::Symbol(*symbol);
        }
        self.place += first.len_utf8();
        TokenKind::Invalid
    }

    /// Skips a name; false when there is none.
    fn skip_name(&mut self) -> bool {
        let rest = self.rest();
        let mut end = 0;
        for (place, letter) in rest.char_indices() {
            let fits = letter == '_'
                || if place == 0 {
                    letter.is_alphabetic()
                } else {
                    letter.is_alphanumeric()
                };
            if !fits {
                break;
            }
            end = place + letter.len_utf8();
        }
        self.place += end;
        end > 0
    }

    fn word(&mut self) -> TokenKind {
        let start = self.place;
        self.skip_name();
        self.text
            .get(start..self.place)
            .and_then(Word::lookup)
            .map_or(TokenKind::Name, TokenKind::Word)
    }

    fn skip_digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.place += 1;
        }
    }

    fn number(&mut self) -> TokenKind {
        if self.byte(0) == b'0'
            && matches!(self.byte(1), b'x' | b'X')
            && self.byte(2).is_ascii_hexdigit()
        {
            self.place += 2;
            while self.byte(0).is_ascii_hexdigit() {
                self.place += 1;
            }
            return TokenKind::Number;
        }
        self.skip_digits();
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.place += 1;
            self.skip_digits();
        }
        if matches!(self.byte(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
            if self.byte(1 + sign).is_ascii_digit() {
                self.place += 1 + sign;
                self.skip_digits();
            }
        }
        TokenKind::Number
    }

    fn string(&mut self, quote: u8) -> TokenKind {
        self.place += 1;
        loop {
            match self.byte(0) {
                byte if byte == quote => {
                    self.place += 1;
                    return TokenKind::String;
                }
                b'\\' => match self.byte(1) {
                    b'\'' | b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                        self.place += 2;
                    }
                    b'u' if (2..6).all(|offset| self.byte(offset).is_ascii_hexdigit()) => {
                        self.place += 6;
                    }
                    _ => {
                        self.place = self.text.len();
                        return TokenKind::InvalidString;
                    }
                },
                0 if self.place >= self.text.len() => return TokenKind::InvalidString,
                // A byte of a longer character cannot be a quote or a backslash.
                _ => self.place += 1,
            }
        }
    }
}

/// The text that a string token stands for. Halves of surrogate pairs become U+FFFD.
pub fn unescape(token: &str) -> String {
    let inner = token
        .get(1..token.len().saturating_sub(1))
        .unwrap_or_default();
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    let mut units: Vec<u16> = Vec::new();
    let mut out = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        let plain = match letter {
            '\\' => match letters.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let unit = letters
                        .by_ref()
                        .take(4)
                        .fold(0, |unit, digit| unit << 4 | digit.to_digit(16).unwrap_or(0));
                    units.push(unit as u16);
                    continue;
                }
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        flush_units(&mut units, &mut out);
        out.push(plain);
    }
    flush_units(&mut units, &mut out);
    out
}

fn flush_units(units: &mut Vec<u16>, out: &mut String) {
    if !units.is_empty() {
        out.extend(
            char::decode_utf16(units.drain(..))
                .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_names_and_symbols() {
        assert_eq!(
            kinds("SeLeCt c.x>>>1 -- end"),
            [
                TokenKind::Word(Word::Select),
                TokenKind::Name,
                TokenKind::Symbol(Symbol::Dot),
                TokenKind::Name,
                TokenKind::Symbol(Symbol::ShiftRightZero),
                TokenKind::Number,
                TokenKind::End
            ]
        );
        assert_eq!(
            kinds("é_1 @p"),
            [TokenKind::Name, TokenKind::Parameter, TokenKind::End]
        );
    }

    #[test]
    fn invalid_text_ends_the_list() {
        assert_eq!(
            kinds("a ; b"),
            [TokenKind::Name, TokenKind::Invalid, TokenKind::End]
        );
        assert_eq!(kinds("'abc"), [TokenKind::InvalidString, TokenKind::End]);
        assert_eq!(kinds("'a\\q'"), [TokenKind::InvalidString, TokenKind::End]);
        assert_eq!(kinds("@"), [TokenKind::Invalid, TokenKind::End]);
    }

    #[test]
    fn numbers() {
        for number in ["0", "12", "1.5", "2e10", "1E-7", "0x1F", ".5"] {
            assert_eq!(
                kinds(number),
                [TokenKind::Number, TokenKind::End],
                "{number}"
            );
        }
        assert_eq!(kinds("1.e").len(), 4);
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(r#""a\"\u00e9\ud83d\ude00\n\/""#), "a\"é😀\n/");
        assert_eq!(unescape(r"'\ud83d'"), "\u{fffd}");
        assert_eq!(unescape("'it\"s'"), "it\"s");
    }
}
