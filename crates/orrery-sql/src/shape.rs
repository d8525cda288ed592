//! The shape of a query: its text with literals and white space taken out, so that queries that
//! differ only in what they ask for count as one. What cannot be read stays as it is.

use crate::lexer::{TokenKind, tokens};

/// The shape of a text: words in their case, one space between tokens that need it, `?` for
/// numbers and strings.
pub fn of(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    let mut end = 0;
    for token in tokens(text) {
        let (from, to) = (token.span.start as usize, token.span.end as usize);
        if token.kind == TokenKind::End {
            break;
        }
        if from > end && !shape.is_empty() {
            shape.push(' ');
        }
        end = to;
        match token.kind {
            TokenKind::Number | TokenKind::String | TokenKind::InvalidString => shape.push('?'),
            _ => shape.push_str(text.get(from..to).unwrap_or_default()),
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn literals_and_white_space_do_not_count() {
        let shape = "SELECT * FROM c WHERE c.a = ? AND c[?] IN (?, ?) AND c.d > @d";
        for text in [
            "SELECT * FROM c WHERE c.a = 1 AND c['x'] IN (\"a\", 0x1F) AND c.d > @d",
            " SELECT *\n FROM  c WHERE c.a = 'it\\'s' AND c[7] IN (1.5e3, 2) AND c.d > @d ",
        ] {
            assert_eq!(of(text), shape, "{text}");
        }
        assert_eq!(of(""), "");
        assert_eq!(of("SELECT ü FROM 'x"), "SELECT ü FROM ?");
    }
}
