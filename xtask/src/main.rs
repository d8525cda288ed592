//! Developer commands of this repository: `cargo xtask COMMAND`.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command line tool speaks to its user

mod arguments;
mod cases;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

use arguments::Arguments;

const HELP: &str = "\
Developer commands of OrreryDB.

  cargo xtask cases [--root DIR]   run test cases (default ../shared/cases)
              [--show N]           failures printed for each file (default 3)
              [--filter TEXT]      only cases whose id contains the text
";

fn main() -> ExitCode {
    match dispatch(Arguments::from_environment()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(mut arguments: Arguments) -> Result<()> {
    match arguments.command().as_deref() {
        Some("cases") => {
            let options = cases::Options {
                root: arguments
                    .value("--root")?
                    .map_or_else(|| repository_root().join("../shared/cases"), PathBuf::from),
                show: arguments.number("--show")?.unwrap_or(3),
                filter: arguments.value("--filter")?,
            };
            arguments.finish()?;
            cases::run(&options)
        }
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => bail!("no command `{other}`; `cargo xtask help` lists them"),
    }
}

/// The folder of the workspace.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_path_buf()
}
