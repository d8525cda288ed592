//! Sample applications written with the official SDKs, run against the server over HTTP and over
//! TLS; and the programs of README.md, which are run as they stand there.

mod readme;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::server::{KEY, Profile, Server};
use crate::{install, paths, process};

const LIMIT: Duration = Duration::from_secs(300);

/// Which applications run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `tests/sdk/python`
    Python,
    /// `tests/sdk/js`
    JavaScript,
}

/// Runs the applications of these languages.
pub fn run(languages: &[Language], profile: Profile) -> Result<()> {
    let binary = profile.build()?;
    let (mut passed, mut failed) = (0, Vec::new());
    let mut note = |name: String, outcome: Result<()>| match outcome {
        Ok(()) => passed += 1,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            failed.push(name);
        }
    };
    for scheme in ["http", "https"] {
        let server = Server::start(&binary, &["--in-memory"])?;
        let endpoint = if scheme == "http" {
            server.http()
        } else {
            server.https()
        };
        for language in languages {
            let outcome = match language {
                Language::Python => python_apps(&endpoint, &binary),
                Language::JavaScript => node_apps(&endpoint),
            };
            note(format!("{language:?} applications over {scheme}"), outcome);
        }
        if !failed_server(server) {
            bail!("the server ended while the applications ran");
        }
    }
    let server = Server::start(&binary, &["--in-memory"])?;
    for language in languages {
        note(
            format!("{language:?} program of README.md"),
            readme::run(*language, &server),
        );
    }
    println!("sdk applications: {passed} passed, {} failed", failed.len());
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("failed: {}", failed.join(", "))
    }
}

fn failed_server(mut server: Server) -> bool {
    let alive = server.is_alive();
    if !alive {
        eprintln!("{}", server.log_tail());
    }
    alive
}

fn python_apps(endpoint: &str, binary: &Path) -> Result<()> {
    let python = install::python()?;
    process::run(
        Command::new(python)
            .args([
                "-m",
                "pytest",
                "-q",
                "--no-header",
                "--tb=short",
                "-W",
                "ignore",
            ])
            .args(["-p", "no:cacheprovider", "--timeout=120", "."])
            .current_dir(paths::repository().join("tests/sdk/python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("ORRERY_BINARY", binary)
            .env("ORRERY_ENDPOINT", endpoint)
            .env("ORRERY_KEY", KEY),
        LIMIT,
    )
}

fn node_apps(endpoint: &str) -> Result<()> {
    let packages = install::node_packages()?;
    let apps = packages.join("apps");
    copy_folder(&paths::repository().join("tests/sdk/js"), &apps)?;
    let mut tests: Vec<_> = std::fs::read_dir(&apps)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    tests.sort();
    process::run(
        Command::new("node")
            .args(["--test", "--test-reporter=spec"])
            .args(tests)
            .current_dir(&apps)
            .env("ORRERY_ENDPOINT", endpoint)
            .env("ORRERY_KEY", KEY),
        LIMIT,
    )
}

/// Copies the files of a folder to where their imports find the installed packages.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        std::fs::remove_dir_all(to)?;
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| format!("{}", from.display()))? {
        let path = entry?.path();
        if let Some(name) = path.file_name()
            && path.is_file()
        {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
