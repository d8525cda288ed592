//! The committed list of expected failures: `[cause]` lines, below each the tests that fail for it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// Expected failures: test to cause.
#[derive(Debug, Default)]
pub struct Expected(BTreeMap<String, String>);

impl Expected {
    /// Reads the list.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut causes = BTreeMap::new();
        let mut cause = String::from("no cause given");
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                name.clone_into(&mut cause);
            } else {
                causes.insert(line.to_owned(), cause.clone());
            }
        }
        Self(causes)
    }

    /// Why this test is expected to fail, if it is.
    pub fn cause(&self, test: &str) -> Option<&str> {
        self.0.get(test).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Expected;

    #[test]
    fn tests_stand_below_their_cause() {
        let list = Expected::parse("# head\n[scripts]\na.py::t1\n\n[vectors]\nb.py::t[x]\n");
        assert_eq!(list.cause("a.py::t1"), Some("scripts"));
        assert_eq!(list.cause("b.py::t[x]"), Some("vectors"));
        assert_eq!(list.cause("c.py::t"), None);
    }
}
