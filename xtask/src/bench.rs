//! Benches: builds the release binary and lets it measure itself beside floors. The measuring is
//! in the binary (`orrery bench`, hidden), because it needs its client, load generator and store.

pub mod queries;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::server::Profile;
use crate::{paths, process};

/// What to measure.
#[derive(Debug, Default)]
pub struct Options {
    /// Small sizes.
    pub quick: bool,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
    /// Only benches whose name contains this.
    pub only: Option<String>,
    /// A file to import instead of generated items, and its partition key paths.
    pub file: Option<(PathBuf, String)>,
}

/// Builds and measures.
pub fn run(options: &Options) -> Result<()> {
    let binary = Profile::Release.build()?;
    let mut command = Command::new(binary);
    command
        .arg("bench")
        .arg("--folder")
        .arg(paths::target().join("bench-data"));
    if options.quick {
        command.arg("--quick");
    }
    if let Some(file) = &options.json {
        command.arg("--json").arg(file);
    }
    if let Some(only) = &options.only {
        command.args(["--only", only]);
    }
    if let Some((file, keys)) = &options.file {
        command.arg("--file").arg(file);
        command.args(["--partition-key", keys]);
    }
    process::run(&mut command, Duration::from_secs(3600))
}
