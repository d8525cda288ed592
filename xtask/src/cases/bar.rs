//! The bar: how many failures each file of cases may have today.
//!
//! The file is a ratchet. Its lines are `family/file count`, `#` starts a comment. A file that it
//! does not name must not fail at all; lower a number whenever the runner shows fewer failures.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// Allowed failures by file of cases.
#[derive(Debug, Default)]
pub struct Bar(BTreeMap<String, usize>);

impl Bar {
    /// Reads the bar; an absent file allows nothing.
    pub fn load(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        Self::parse(&std::fs::read_to_string(path)?).with_context(|| format!("{}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut allowed = BTreeMap::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (name, count) = line
                .split_once(char::is_whitespace)
                .with_context(|| format!("`{line}` is not `family/file count`"))?;
            let count = count
                .trim()
                .parse()
                .with_context(|| format!("`{line}` does not end in a count"))?;
            allowed.insert(name.to_owned(), count);
        }
        Ok(Self(allowed))
    }

    /// How many cases of this file may fail.
    pub fn allowed_failures(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_counts_are_read() {
        let bar = Bar::parse("# head\nparser/linq 3 # reason\n\n").expect("well formed");
        assert_eq!(bar.allowed_failures("parser/linq"), 3);
        assert_eq!(bar.allowed_failures("parser/other"), 0);
        assert!(Bar::parse("parser/linq").is_err());
    }
}
