//! What the service says of a query that it refuses (query-language: section 13).

use crate::ast::Span;
use std::fmt::{self, Write as _};

/// The code of an error: most are texts like `SC1001`, a few are bare numbers, some are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// `"SC1001"`
    Named(&'static str),
    /// `2206`
    Numbered(u16),
    /// The service gives none: the message travels in `{"Errors":["…"]}`.
    Absent,
}

/// The most errors of a list: a text may hold a mistake in every other letter.
const MOST_ERRORS: usize = 100;
/// The most characters of a query that a message repeats.
const MOST_SHOWN: usize = 256;
/// The most characters of a message.
const MOST_MESSAGE: usize = 1_024;

/// A text as a message repeats it: its start.
pub(crate) fn shown(text: &str) -> &str {
    text.char_indices()
        .nth(MOST_SHOWN)
        .and_then(|(end, _)| text.get(..end))
        .unwrap_or(text)
}

fn bounded(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(MOST_MESSAGE) {
        message.truncate(end);
    }
    message
}

/// One reason to refuse a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// Its code.
    pub code: Code,
    /// The service's wording.
    pub message: String,
    /// The offending text: bytes at first, characters once [`SqlErrors::locate`] was called.
    pub span: Option<Span>,
}

impl SqlError {
    /// An error of the usual form.
    pub fn new(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self {
            code: Code::Named(code),
            message: bounded(message.into()),
            span: Some(span),
        }
    }

    /// An error with a number for a code and no place.
    pub fn numbered(code: u16, message: impl Into<String>) -> Self {
        Self {
            code: Code::Numbered(code),
            message: bounded(message.into()),
            span: None,
        }
    }

    /// An error of which the service tells only the message.
    pub fn plain(message: impl Into<String>) -> Self {
        Self {
            code: Code::Absent,
            message: bounded(message.into()),
            span: None,
        }
    }

    /// SC1001, the answer to most mistakes.
    pub(crate) fn syntax(near: &str, span: Span) -> Self {
        Self::new(
            "SC1001",
            format!("Syntax error, incorrect syntax near '{}'.", shown(near)),
            span,
        )
    }
}

/// Every reason to refuse a query, in the order of the service. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SqlErrors {
    errors: Vec<SqlError>,
    located: bool,
}

impl SqlErrors {
    /// Wraps a list; `None` when it is empty.
    pub fn of(mut errors: Vec<SqlError>) -> Option<Self> {
        errors.truncate(MOST_ERRORS);
        if errors.is_empty() {
            None
        } else {
            Some(Self {
                errors,
                located: false,
            })
        }
    }

    /// `Ok(())` when the list is empty.
    pub fn check(errors: Vec<SqlError>) -> Result<(), Self> {
        Self::of(errors).map_or(Ok(()), Err)
    }

    /// The errors; at least one.
    pub fn list(&self) -> &[SqlError] {
        &self.errors
    }

    /// Turns byte offsets into the character offsets that the service reports. The parser did it
    /// already for its own errors; doing it again changes nothing.
    #[must_use]
    pub fn locate(mut self, text: &str) -> Self {
        if !self.located {
            self.located = true;
            if !text.is_ascii() {
                for span in self
                    .errors
                    .iter_mut()
                    .filter_map(|error| error.span.as_mut())
                {
                    *span = Span {
                        start: characters_before(text, span.start),
                        end: characters_before(text, span.end),
                    };
                }
            }
        }
        self
    }

    /// The text that follows `Message: ` in the error body.
    pub fn body(&self) -> String {
        let mut out = String::new();
        if self.errors.iter().all(|error| error.code == Code::Absent) {
            out.push_str("{\"Errors\":[");
            for (place, error) in self.errors.iter().enumerate() {
                separate(&mut out, place);
                write_string(&mut out, &error.message);
            }
        } else {
            out.push_str("{\"errors\":[");
            for (place, error) in self.errors.iter().enumerate() {
                separate(&mut out, place);
                write_error(&mut out, error);
            }
        }
        out.push_str("]}");
        out
    }
}

impl From<SqlError> for SqlErrors {
    fn from(error: SqlError) -> Self {
        Self {
            errors: vec![error],
            located: false,
        }
    }
}

impl fmt::Display for SqlErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.body())
    }
}

fn characters_before(text: &str, offset: u32) -> u32 {
    let count = text
        .char_indices()
        .take_while(|(place, _)| *place < offset as usize)
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn separate(out: &mut String, place: usize) {
    if place > 0 {
        out.push(',');
    }
}

fn write_error(out: &mut String, error: &SqlError) {
    out.push_str("{\"severity\":\"Error\"");
    if let Some(span) = error.span {
        // Writing to a `String` cannot fail.
        let _ = write!(
            out,
            ",\"location\":{{\"start\":{},\"end\":{}}}",
            span.start, span.end
        );
    }
    match error.code {
        Code::Named(code) => {
            let _ = write!(out, ",\"code\":\"{code}\"");
        }
        Code::Numbered(code) => {
            let _ = write!(out, ",\"code\":{code}");
        }
        Code::Absent => {}
    }
    out.push_str(",\"message\":");
    write_string(out, &error.message);
    out.push('}');
}

/// Writes a JSON string.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_body_lists_everything() {
        let mut errors = vec![SqlError::syntax("a\"b", Span { start: 3, end: 6 })];
        errors.push(SqlError::numbered(2206, "No."));
        let errors = SqlErrors::of(errors).map(|errors| errors.body());
        assert_eq!(
            errors.as_deref(),
            Some(concat!(
                r#"{"errors":[{"severity":"Error","location":{"start":3,"end":6},"code":"SC1001","#,
                r#""message":"Syntax error, incorrect syntax near 'a\"b'."},"#,
                r#"{"severity":"Error","code":2206,"message":"No."}]}"#
            ))
        );
        let plain = SqlErrors::from(SqlError::plain("Never."));
        assert_eq!(plain.body(), r#"{"Errors":["Never."]}"#);
    }

    #[test]
    fn bodies_are_short_whatever_the_text() {
        let span = Span { start: 0, end: 1 };
        let long = "é".repeat(500_000);
        let errors = vec![SqlError::syntax(&long, span); 500];
        let body = SqlErrors::of(errors).map(|errors| errors.body());
        assert!(body.is_some_and(|body| body.len() < 100_000));
        let message = SqlError::plain(long).message;
        assert_eq!(message.chars().count(), MOST_MESSAGE);
        assert!(SqlError::syntax("short", span).message.contains("'short'"));
    }

    #[test]
    fn offsets_become_characters_once() {
        let text = "é é x";
        let errors = SqlErrors::from(SqlError::syntax("x", Span { start: 6, end: 7 }));
        let errors = errors.locate(text).locate(text);
        assert_eq!(errors.list()[0].span, Some(Span { start: 4, end: 5 }));
    }
}
