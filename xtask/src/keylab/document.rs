//! The tutorial's commands, run: what stands below a `$ ` line in a console block must be what the
//! command prints.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::paths;

const DOCUMENT: &str = "docs/keylab.md";
const OPEN: &str = "```console\n$ ";
const CLOSE: &str = "\n```";

/// Runs every command of the document in the folder of the data; writes what they print into the
/// document when `bless` is set, else tells the differences.
pub(super) fn check(binary: &Path, data: &Path, bless: bool) -> Result<Vec<String>> {
    let path = paths::repository().join(DOCUMENT);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let mut written = String::with_capacity(text.len());
    let mut wrong = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, block)) = rest.split_once(OPEN) {
        let (block, behind) = block
            .split_once(CLOSE)
            .context("a console block does not end")?;
        let (command, shown) = block.split_once('\n').unwrap_or((block, ""));
        let printed = run(binary, data, command)?;
        let printed = printed.trim_end();
        if printed != shown {
            let line = text[..text.len() - rest.len() + before.len()]
                .matches('\n')
                .count()
                + 2;
            wrong.push(format!(
                "{DOCUMENT}:{line}: `{command}` prints something else (--bless writes it)"
            ));
        }
        written.push_str(before);
        written.push_str(OPEN);
        written.push_str(command);
        if !printed.is_empty() {
            written.push('\n');
            written.push_str(printed);
        }
        written.push_str(CLOSE);
        rest = behind;
    }
    written.push_str(rest);
    if bless {
        std::fs::write(&path, written)?;
        return Ok(Vec::new());
    }
    Ok(wrong)
}

/// Runs a command of the document: `orrery ...`, maybe with `> file` at its end.
fn run(binary: &Path, data: &Path, line: &str) -> Result<String> {
    let (line, into) = match line.split_once(" > ") {
        Some((line, file)) => (line, Some(file)),
        None => (line, None),
    };
    let mut words = line.split_whitespace();
    if words.next() != Some("orrery") {
        bail!("the document runs something else than orrery: {line}");
    }
    let output = Command::new(binary)
        .current_dir(data)
        .args(words)
        .output()?;
    if !matches!(output.status.code(), Some(0 | 3 | 4)) {
        bail!(
            "`{line}` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if let Some(file) = into {
        std::fs::write(data.join(file), printed)?;
        return Ok(String::new());
    }
    Ok(printed)
}
