//! The server under test: built, started on a port that the operating system chooses, and ended.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::process::{self, Guarded};

/// The key that emulators of the service publish and that the server takes by default.
pub const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// How the binary is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build; what the tests use.
    Debug,
    /// What users run.
    Release,
}

impl Profile {
    /// Builds the binary and gives its path.
    pub fn build(self) -> Result<PathBuf> {
        let mut command = process::cargo();
        command.args(["build", "--package", "orrery-cli"]);
        if self == Self::Release {
            command.arg("--release");
        }
        process::run(&mut command, Duration::from_secs(2400))?;
        let folder = match self {
            Self::Debug => "debug",
            Self::Release => "release",
        };
        Ok(crate::paths::target().join(folder).join("orrery"))
    }
}

/// Which binary is tested.
#[derive(Debug, Clone)]
pub enum Binary {
    /// One that is built first.
    Built(Profile),
    /// One that lies there.
    File(PathBuf),
}

impl Binary {
    /// Takes `--binary FILE` and `--debug`; the release binary is the default.
    pub fn of(arguments: &mut Arguments) -> Result<Self> {
        Ok(match arguments.value("--binary")? {
            Some(file) => Self::File(std::path::absolute(file)?),
            None => Self::Built(crate::profile(arguments)),
        })
    }

    /// Its path; built by now.
    pub fn path(&self) -> Result<PathBuf> {
        match self {
            Self::Built(profile) => profile.build(),
            Self::File(file) => Ok(file.clone()),
        }
    }
}

/// A running server; it is killed when this value goes.
pub struct Server {
    child: Guarded,
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts `orrery serve`, on a free port unless the arguments name one, with these further arguments and waits until it
    /// accepts connections.
    pub fn start(binary: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary);
        command.arg("serve");
        if !arguments.contains(&"--port") {
            command.args(["--port", "0"]);
        }
        // A panic's words must not be pushed out of the tail that is shown.
        command.env("RUST_BACKTRACE", "0");
        Self::spawn(command.args(arguments))
    }

    /// Starts a server in memory that advertises itself as emulators of the service do: by the
    /// numeric address, whatever name the client used. SDK tests tell two regions apart by this.
    pub fn start_as_emulator(binary: &Path) -> Result<Self> {
        // The address must be known before the server is: let the system choose a port, and let it
        // go again.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        Self::spawn(
            Command::new(binary)
                .args(["serve", "--in-memory", "--port", &port.to_string()])
                .env(
                    "GATEWAY_PUBLIC_ENDPOINT",
                    format!("https://127.0.0.1:{port}/"),
                ),
        )
    }

    fn spawn(command: &mut Command) -> Result<Self> {
        command
            .args(["--health-port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let mut child = Guarded(child);
        let log = Arc::new(Mutex::new(Vec::new()));
        let (found, ports) = channel();
        follow(child.0.stdout.take(), &log, &found);
        follow(child.0.stderr.take(), &log, &found);
        drop(found);
        let port = wait_for_port(&mut child, &ports, &log)?;
        Ok(Self { child, port, log })
    }

    /// The address for plain HTTP.
    pub fn http(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// The address for TLS.
    pub fn https(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends the server as a crash would (SIGKILL).
    pub fn kill(mut self) -> Result<()> {
        self.child.0.kill()?;
        self.child.0.wait()?;
        Ok(())
    }

    /// Whether the process still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.0.try_wait(), Ok(None))
    }

    /// The last lines that the server printed.
    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }
}

fn follow<R: Read + Send + 'static>(
    stream: Option<R>,
    log: &Arc<Mutex<Vec<String>>>,
    found: &Sender<u16>,
) {
    let Some(stream) = stream else { return };
    let log = Arc::clone(log);
    let found = found.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if let Some(port) = port_in(&line) {
                let _ = found.send(port);
            }
            if let Ok(mut log) = log.lock() {
                log.push(line);
            }
        }
    });
}

fn wait_for_port(
    child: &mut Guarded,
    ports: &Receiver<u16>,
    log: &Mutex<Vec<String>>,
) -> Result<u16> {
    let started = Instant::now();
    let limit = Duration::from_secs(60);
    let mut port = None;
    while started.elapsed() < limit {
        if port.is_none() {
            port = ports.recv_timeout(Duration::from_millis(20)).ok();
        }
        if let Some(port) = port {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(port);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(status) = child.0.try_wait()? {
            bail!("the server ended at once ({status}):\n{}", tail(log));
        }
    }
    bail!("the server did not say where it listens:\n{}", tail(log))
}

/// The port of the first address `scheme://host:port` in a line of the server's output.
fn port_in(line: &str) -> Option<u16> {
    let (_, address) = line.split_once("://")?;
    let (_, port) = address.split_once(':')?;
    let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|port| *port != 0)
}

fn tail(log: &Mutex<Vec<String>>) -> String {
    let lines = log.lock().map(|lines| lines.clone()).unwrap_or_default();
    let from = lines.len().saturating_sub(30);
    lines[from..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::port_in;

    #[test]
    fn the_port_is_read_from_an_address() {
        assert_eq!(
            port_in("Now listening on: https://127.0.0.1:40123/"),
            Some(40123)
        );
        assert_eq!(port_in("endpoint  http://localhost:8081"), Some(8081));
        assert_eq!(port_in("data folder ./orrery-data"), None);
        assert_eq!(port_in("see http://localhost/help"), None);
    }
}
