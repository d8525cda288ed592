//! The programs of README.md: taken out of its text and run, so that they cannot rot.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Language;
use crate::server::Server;
use crate::{install, paths, process};

/// The address that the README uses; only this is replaced.
const ADDRESS: &str = "http://localhost:8081";

/// Runs the program of one language against the server.
pub fn run(language: Language, server: &Server) -> Result<()> {
    let readme = std::fs::read_to_string(paths::repository().join("README.md"))?;
    let name = match language {
        Language::Python => "python",
        Language::JavaScript => "js",
    };
    let program = block(&readme, name)
        .with_context(|| format!("README.md has no ```{name} block that uses {ADDRESS}"))?
        .replace(ADDRESS, &server.http());
    let mut command = match language {
        Language::Python => {
            let mut command = Command::new(install::python()?);
            command.arg("-c").arg(program);
            command
        }
        Language::JavaScript => {
            let folder = install::node_packages()?;
            std::fs::write(folder.join("readme.mjs"), program)?;
            let mut command = Command::new("node");
            command.arg("readme.mjs").current_dir(folder);
            command
        }
    };
    process::run(&mut command, Duration::from_secs(60))
}

/// The first fenced block of a language that uses the address.
fn block(text: &str, language: &str) -> Option<String> {
    let opening = format!("```{language}\n");
    text.split(opening.as_str())
        .skip(1)
        .filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block))
        .find(|block| block.contains(ADDRESS))
        .map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn a_block_is_found_by_language_and_address() {
        let text = "```js\nlet a;\n```\n```js\nuse('http://localhost:8081');\n```\n";
        assert_eq!(
            block(text, "js").as_deref(),
            Some("use('http://localhost:8081');")
        );
        assert_eq!(block(text, "python"), None);
    }
}
