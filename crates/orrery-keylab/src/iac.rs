//! Partition keys in infrastructure code: Bicep, ARM JSON and Terraform, read for `keylab check`.

mod bicep;
mod terraform;

use orrery_model::json;
use orrery_model::value::Value;

use crate::scenario::KeySpec;

/// A container that a file declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// What the file calls it.
    pub name: String,
    /// The line on which its key stands, from 1; 0 where it is not known.
    pub line: usize,
    /// Paths of the key, with their slash.
    pub paths: Vec<String>,
    /// `Hash` or `MultiHash`.
    pub kind: String,
    /// The hash's version; absent is the provider's default.
    pub version: Option<u8>,
}

impl Declared {
    /// The key as the laboratory calls it.
    pub fn key(&self) -> KeySpec {
        match self.paths.as_slice() {
            [path] => KeySpec::Path(path.clone()),
            paths => KeySpec::Hierarchy(paths.to_vec()),
        }
    }

    /// What the service or time to come will object to.
    pub fn objections(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.paths.len() > 1 && self.kind != "MultiHash" {
            found.push(format!(
                "{} paths need kind MultiHash, not {}",
                self.paths.len(),
                self.kind
            ));
        }
        if self.paths.len() > 3 {
            found.push("a hierarchical key has at most three levels".to_owned());
        }
        if self.version == Some(1) {
            found.push(
                "version 1 hashes only the first 101 bytes of a value: use version 2".to_owned(),
            );
        }
        if let Some(path) = self.paths.iter().find(|path| !path.starts_with('/')) {
            found.push(format!("the path {path} does not begin with /"));
        }
        found
    }
}

/// The containers of a file, told by its name.
pub fn containers(name: &str, text: &str) -> Result<Vec<Declared>, String> {
    let ending = name
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    match ending.as_str() {
        "bicep" => bicep::containers(text),
        "tf" => terraform::containers(text),
        "json" => arm(text),
        _ => Err(format!("{name} ends in none of .bicep, .json, .tf")),
    }
}

/// The containers of an ARM template: every object with a `partitionKey` that has paths.
fn arm(text: &str) -> Result<Vec<Declared>, String> {
    let value = json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    collect(&value, "", &mut found);
    Ok(found)
}

fn collect(value: &Value<'_>, name: &str, found: &mut Vec<Declared>) {
    if let Some(array) = value.as_array() {
        for element in array {
            collect(element, name, found);
        }
    }
    let Some(object) = value.as_object() else {
        return;
    };
    let own = ["id", "name"]
        .iter()
        .find_map(|member| object.get(member).and_then(Value::as_str))
        .unwrap_or(name);
    if let Some(key) = object.get("partitionKey")
        && let Some(paths) = key.member("paths").as_array()
    {
        found.push(Declared {
            name: own.to_owned(),
            line: 0,
            paths: paths
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            kind: key.member("kind").as_str().unwrap_or("Hash").to_owned(),
            version: key
                .member("version")
                .as_i64()
                .and_then(|version| u8::try_from(version).ok()),
        });
    }
    for (_, member) in object.iter() {
        collect(member, own, found);
    }
}

/// Quoted texts in a piece of code.
fn texts(code: &str, quote: char) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some((_, after)) = rest.split_once(quote) {
        let Some((text, behind)) = after.split_once(quote) else {
            break;
        };
        found.push(text.to_owned());
        rest = behind;
    }
    found
}

/// The text from an opening bracket to the one that closes it, brackets aside.
fn bracketed(code: &str, open: char, close: char) -> Option<&str> {
    let start = code.find(open)?;
    let mut depth = 0_usize;
    for (at, letter) in code[start..].char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth -= 1;
            if depth == 0 {
                return Some(&code[start + open.len_utf8()..start + at]);
            }
        }
    }
    None
}

/// Code without its comments; line breaks stay where they are.
fn without_comments(code: &str, marks: &[&str], quote: char) -> String {
    let mut plain = String::with_capacity(code.len());
    for line in code.lines() {
        let mut is_text = false;
        let mut end = line.len();
        for (at, letter) in line.char_indices() {
            if letter == quote {
                is_text = !is_text;
            } else if !is_text && marks.iter().any(|mark| line[at..].starts_with(mark)) {
                end = at;
                break;
            }
        }
        plain.push_str(&line[..end]);
        plain.push('\n');
    }
    plain
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bicep_is_read_through_comments() {
        let text = "resource c 'Microsoft.DocumentDB/x@1' = {\n  name: 'orders'\n  properties: { resource: {\n    id: 'orders'\n    // partitionKey: { paths: ['/old'] }\n    partitionKey: {\n      paths: [\n        '/tenantId'\n        '/id' ]\n      kind: 'MultiHash'\n      version: 2\n    } } }\n}\n";
        let found = containers("main.bicep", text).expect("file");
        assert_eq!(
            found,
            [Declared {
                name: "orders".to_owned(),
                line: 6,
                paths: vec!["/tenantId".to_owned(), "/id".to_owned()],
                kind: "MultiHash".to_owned(),
                version: Some(2),
            }]
        );
    }

    #[test]
    fn terraform_of_both_providers_versions() {
        let text = "resource \"azurerm_cosmosdb_sql_container\" \"a\" {\n  name = \"orders\"\n  partition_key_path = \"/customerId\" # old form\n  partition_key_version = 1\n}\nresource \"azurerm_cosmosdb_sql_container\" \"b\" {\n  name = var.n\n  partition_key_paths = [\"/a\", \"/b\"]\n}\n";
        let found = containers("main.tf", text).expect("file");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name.as_str(), found[0].line), ("orders", 3));
        assert_eq!(found[0].objections().len(), 1);
        assert_eq!(found[1].name, "b");
        assert_eq!(found[1].paths, ["/a", "/b"]);
        assert_eq!(found[1].objections().len(), 1);
    }

    #[test]
    fn arm_is_searched_at_any_depth() {
        let text = r#"{"resources":[{"name":"n","properties":{"resource":{"id":"orders","partitionKey":{"paths":["/k"],"kind":"Hash","version":2}}}}]}"#;
        let found = containers("t.json", text).expect("file");
        assert_eq!(found[0].name, "orders");
        assert_eq!(found[0].paths, ["/k"]);
        assert!(containers("t.json", "{").is_err());
        assert!(containers("t.yaml", "").is_err());
    }
}
