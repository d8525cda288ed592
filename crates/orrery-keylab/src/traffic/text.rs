//! Query texts as patterns: literals become parameters, and a key that was sent beside the text
//! becomes a part of it.

use orrery_sql::ast::Input;
use orrery_sql::lexer::{TokenKind, tokens};

/// The text with all literals taken out, for comparing.
pub fn shape(text: &str) -> String {
    orrery_sql::shape::of(text)
}

/// The text with parameters in the place of the literals of its condition.
pub fn parameterised(text: &str) -> String {
    let parsed = orrery_sql::parser::parse(text).ok();
    let is_readable = parsed.is_some();
    let condition = parsed
        .and_then(|query| query.filter)
        .map(|filter| (filter.span.start as usize, filter.span.end as usize));
    let mut out = String::with_capacity(text.len());
    let (mut end, mut number) = (0, 0);
    for token in tokens(text) {
        let (from, to) = (token.span.start as usize, token.span.end as usize);
        if token.kind == TokenKind::End {
            break;
        }
        let is_inside = condition.is_some_and(|(start, end)| start <= from && to <= end);
        let before = text.get(end..from).unwrap_or_default();
        // A literal in brackets is the name of a member.
        let is_index = out.trim_end().ends_with('[') && before.trim().is_empty();
        out.push_str(before);
        let is_literal = matches!(token.kind, TokenKind::Number | TokenKind::String);
        // Traces without values have this in the place of a literal.
        let is_hidden = !is_readable && text.get(from..to) == Some("?");
        if is_inside && is_literal && !is_index || is_hidden {
            number += 1;
            out.push_str("@value");
            out.push_str(&number.to_string());
        } else {
            out.push_str(text.get(from..to).unwrap_or_default());
        }
        end = to;
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

/// The text with conditions on the members of the key that was sent beside it.
pub fn with_key(text: &str, key_paths: &[String]) -> String {
    let Ok(query) = orrery_sql::parser::parse(text) else {
        return text.to_owned();
    };
    let Some(from) = &query.from else {
        return text.to_owned();
    };
    let Some(source) = from.sources.first() else {
        return text.to_owned();
    };
    let alias = match (&source.alias, &source.input) {
        (Some(alias), _) if !source.iterate => &alias.name,
        (None, Input::Path { root, steps }) if steps.is_empty() => &root.name,
        _ => return text.to_owned(),
    };
    let known: Vec<String> = key_paths.iter().map(|path| equality(alias, path)).collect();
    let known = known.join(" AND ");
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    if let Some(filter) = &query.filter {
        let (start, end) = (filter.span.start as usize, filter.span.end as usize);
        return format!(
            "{}{known} AND ({}){}",
            part(0..start),
            part(start..end),
            part(end..text.len())
        );
    }
    let at = from.span.end as usize;
    format!("{} WHERE {known}{}", part(0..at), part(at..text.len()))
}

/// `c.address.city = @city`
pub fn equality(alias: &str, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let letters = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    let parameter: String = name.chars().map(letters).collect();
    let mut member = alias.to_owned();
    for step in path.split('/') {
        let is_word = step
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && !step.starts_with(|letter: char| letter.is_ascii_digit());
        if is_word {
            member.push('.');
            member.push_str(step);
        } else {
            member.push('[');
            member.push_str(&serde_json::Value::from(step).to_string());
            member.push(']');
        }
    }
    format!("{member} = @{parameter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_parameters_in_conditions_only() {
        assert_eq!(
            parameterised("SELECT TOP 10 c.a FROM c WHERE c.b = 'x' AND c[\"d\"] > 3 AND c.e = @e"),
            "SELECT TOP 10 c.a FROM c WHERE c.b = @value1 AND c[\"d\"] > @value2 AND c.e = @e"
        );
        assert_eq!(parameterised("SELECT 1"), "SELECT 1");
    }

    #[test]
    fn keys_beside_a_text_go_into_it() {
        let paths = ["tenant/id".to_owned()];
        assert_eq!(
            with_key(
                "SELECT * FROM x WHERE x.a = 1 OR x.b = 2 ORDER BY x.c",
                &paths
            ),
            "SELECT * FROM x WHERE x.tenant.id = @id AND (x.a = 1 OR x.b = 2) ORDER BY x.c"
        );
        assert_eq!(
            with_key("SELECT VALUE COUNT(1) FROM root r", &paths),
            "SELECT VALUE COUNT(1) FROM root r WHERE r.tenant.id = @id"
        );
        assert_eq!(with_key("no query", &paths), "no query");
    }
}
