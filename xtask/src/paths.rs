//! Where things lie: the repository, its target folder, and the folder of what we install there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder of the workspace.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_path_buf()
}

/// The folder that cargo builds into.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// The folder for what the developer commands download and write, made on demand.
pub fn installed(name: &str) -> Result<PathBuf> {
    let folder = target().join("xtask").join(name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// An empty folder for one run.
pub fn scratch(name: &str) -> Result<PathBuf> {
    let folder = target()
        .join("xtask")
        .join("scratch")
        .join(format!("{name}-{}", std::process::id()));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
