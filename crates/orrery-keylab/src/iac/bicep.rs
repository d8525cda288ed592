//! Partition keys of Bicep files.

use super::{Declared, bracketed, line_of, texts, without_comments};

/// The containers: every `partitionKey` with paths in brackets.
pub(super) fn containers(text: &str) -> Result<Vec<Declared>, String> {
    let code = without_comments(text, &["//"], '\'');
    let mut found = Vec::new();
    for (at, word) in code.match_indices("partitionKey") {
        let is_member = code[at + word.len()..].trim_start().starts_with(':');
        let begins = code[..at]
            .chars()
            .next_back()
            .is_none_or(|letter| !letter.is_alphanumeric());
        if !is_member || !begins {
            continue;
        }
        let line = line_of(&code, at);
        let body = bracketed(&code[at..], '{', '}')
            .ok_or_else(|| format!("line {line}: the braces of partitionKey do not close"))?;
        let paths = body
            .find("paths")
            .and_then(|at| bracketed(&body[at..], '[', ']'))
            .map(|list| texts(list, '\''))
            .unwrap_or_default();
        if paths.is_empty() {
            return Err(format!(
                "line {line}: the paths are no literals, so the key cannot be told; check the compiled template instead"
            ));
        }
        found.push(Declared {
            name: name(&code[..at]),
            line,
            paths,
            kind: member(body, "kind")
                .and_then(|rest| texts(rest, '\'').into_iter().next())
                .unwrap_or_else(|| "Hash".to_owned()),
            version: member(body, "version").and_then(|rest| rest.trim().parse().ok()),
        });
    }
    Ok(found)
}

/// The rest of the line behind a member's name.
fn member<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    body.lines().find_map(|line| {
        let (_, behind) = line.split_once(name)?;
        behind.trim_start().strip_prefix(':')
    })
}

/// The last name before the key: of the resource's `id` or `name`, or its symbol.
fn name(before: &str) -> String {
    let resource = before.rfind("resource ").unwrap_or(0);
    let literal = before[resource..].lines().rev().find_map(|line| {
        let line = line.trim();
        let value = line
            .strip_prefix("id:")
            .or_else(|| line.strip_prefix("name:"))?;
        texts(value, '\'').into_iter().next()
    });
    literal.unwrap_or_else(|| {
        before[resource..]
            .split_whitespace()
            .nth(1)
            .unwrap_or("container")
            .to_owned()
    })
}
