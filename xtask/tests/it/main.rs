//! Tests of the developer commands: they run the commands themselves, so that what they check is
//! also checked by a plain `cargo test`.

// What a test skips, it says.
#![allow(clippy::print_stdout)]

mod cases;
mod repository;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs `xtask` with these arguments.
fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .output()
        .expect("the command starts")
}

/// The command must succeed; its output is the message when it does not.
fn succeeds(arguments: &[&str]) -> String {
    let output = xtask(arguments);
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "xtask {arguments:?}:\n{text}");
    text
}

/// The folder of shared test cases, if this machine has it.
fn shared_cases() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cases");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is absent", folder.display());
    None
}
