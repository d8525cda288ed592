//! Partition keys of Terraform files.

use super::{Declared, bracketed, line_of, texts, without_comments};

const RESOURCE: &str = "\"azurerm_cosmosdb_sql_container\"";

/// The containers of the `azurerm` provider.
pub(super) fn containers(text: &str) -> Result<Vec<Declared>, String> {
    let code = without_comments(text, &["#", "//"], '"');
    let mut found = Vec::new();
    for (at, word) in code.match_indices(RESOURCE) {
        let line = line_of(&code, at);
        let behind = &code[at + word.len()..];
        let symbol = texts(behind, '"').into_iter().next().unwrap_or_default();
        let body = bracketed(behind, '{', '}')
            .ok_or_else(|| format!("line {line}: the braces of {symbol} do not close"))?;
        let body_line = line_of(&code, at)
            + behind[..behind.find('{').unwrap_or(0)]
                .matches('\n')
                .count();
        let (key_at, paths) = paths(body).ok_or_else(|| {
            format!("line {line}: the paths of {symbol} are no literals, so the key cannot be told")
        })?;
        found.push(Declared {
            name: value(body, "name")
                .and_then(|(_, rest)| texts(rest, '"').into_iter().next())
                .unwrap_or(symbol),
            line: body_line + body[..key_at].matches('\n').count(),
            paths,
            kind: value(body, "partition_key_kind")
                .and_then(|(_, rest)| texts(rest, '"').into_iter().next())
                .unwrap_or_else(|| "Hash".to_owned()),
            version: value(body, "partition_key_version")
                .and_then(|(_, rest)| rest.trim().parse().ok()),
        });
    }
    Ok(found)
}

fn paths(body: &str) -> Option<(usize, Vec<String>)> {
    if let Some((at, _)) = value(body, "partition_key_paths") {
        let list = bracketed(&body[at..], '[', ']')?;
        return Some((at, texts(list, '"'))).filter(|(_, paths)| !paths.is_empty());
    }
    let (at, rest) = value(body, "partition_key_path")?;
    Some((at, vec![texts(rest, '"').into_iter().next()?]))
}

/// An argument: where its line begins, and what stands behind the equals sign on it.
fn value<'a>(body: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix(name)
            && let Some(rest) = rest.trim_start().strip_prefix('=')
        {
            return Some((at, rest));
        }
        at += line.len();
    }
    None
}
