//! Servers as child processes of the benches: measured as users run them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// A child process that listens; ended when dropped.
pub struct Listening {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    url: String,
    started: Instant,
}

impl Listening {
    /// Starts this program with other arguments and waits until it listens.
    pub fn start(arguments: &[&str]) -> Result<Self> {
        let program = std::env::current_exe().context("this program does not know its own file")?;
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let stdout = child.stdout.take().context("a server without output")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        loop {
            line.clear();
            if stdout.read_line(&mut line)? == 0 {
                let _ = child.wait();
                bail!("the server ended before it listened");
            }
            if let Some(url) = line.trim().strip_prefix("Now listening on: ") {
                let url = url.to_owned();
                return Ok(Self {
                    child,
                    _stdout: stdout,
                    url,
                    started,
                });
            }
        }
    }

    /// Serves a data folder.
    pub fn serve(folder: &Path) -> Result<Self> {
        let folder = folder.display().to_string();
        Self::start(&[
            "serve",
            "--port",
            "0",
            "--health-port",
            "0",
            "--data",
            &folder,
        ])
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// When its process was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Memory that it holds, in bytes.
    pub fn resident_bytes(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).context("memory is known on Linux only")?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .context("no VmRSS")?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024)
    }

    /// Ends it as a user would: what it wrote is durable and its folder is closed.
    pub fn stop(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .context("cannot end the server")?;
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait()? {
                if status.success() {
                    return Ok(());
                }
                bail!("the server ended with {status}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("the server did not end within a minute")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
