//! Finding case files, and laying a case's data set into the case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

/// All `.jsonl` files at or below `root`, in name order.
pub fn case_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path)
                .with_context(|| format!("cannot list {}", path.display()))?;
            for entry in entries {
                open.push(entry?.path());
            }
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Data sets already read, by path.
#[derive(Default)]
pub struct Datasets(BTreeMap<PathBuf, Value>);

/// What a data set may give to a case that does not say it itself.
const MEMBERS: [&str; 7] = [
    "documents",
    "partitionKeyPaths",
    "indexingPolicy",
    "computedProperties",
    "vectorEmbeddingPolicy",
    "fullTextPolicy",
    "vectorIndexes",
];

impl Datasets {
    /// Lays the data set that a case names into the case: afterwards `documents`,
    /// `indexingPolicy` and their like are members of the case itself.
    pub fn fill(&mut self, case_file: &Path, case: &mut Value) -> Result<()> {
        let Some(name) = case["dataset"].as_str().map(ToOwned::to_owned) else {
            return Ok(());
        };
        let folder = case_file.with_file_name("datasets");
        let dataset = self.read(&folder, &name)?.clone();
        let items = match dataset["documentsFrom"].as_str() {
            Some(holder) => self.read(&folder, holder)?["documents"].clone(),
            None => Value::Null,
        };
        let case = case.as_object_mut().context("a case is an object")?;
        for member in MEMBERS {
            if let Some(value) = dataset.get(member) {
                case.entry(member).or_insert_with(|| value.clone());
            }
        }
        if items.is_array() {
            case.entry("documents").or_insert(items);
        }
        Ok(())
    }

    fn read(&mut self, folder: &Path, name: &str) -> Result<&Value> {
        let path = folder.join(format!("{name}.json"));
        if !self.0.contains_key(&path) {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("data set {}", path.display()))?;
            self.0.insert(path.clone(), serde_json::from_str(&text)?);
        }
        Ok(&self.0[&path])
    }
}
