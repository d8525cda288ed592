//! Running the binary, and folders that go away.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for anything; far beyond what a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder of this test, removed at its end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("orrery-cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file or folder in it, as an argument.
    pub fn at(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file and gives its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.at(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The binary with a clean environment of the names that it reads.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
    for name in [
        "PORT",
        "PROTOCOL",
        "KEY_FILE",
        "DATA_PATH",
        "LOG_LEVEL",
        "GATEWAY_PUBLIC_ENDPOINT",
        "ENABLE_EXPLORER",
    ] {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

/// Runs a command to its end.
pub fn run(arguments: &[&str]) -> Said {
    command(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into()
}

/// Runs a command that must succeed.
pub fn succeed(arguments: &[&str]) -> Said {
    let said = run(arguments);
    assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
    said
}

/// Runs a command that reads this text.
pub fn run_with_input(arguments: &[&str], input: &str) -> Said {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap().into()
}

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// What it printed until it listened.
    pub greeting: String,
    /// Where it listens, with the slash at the end.
    pub url: String,
}

impl Server {
    /// Starts `orrery serve` on a port that the system chooses.
    pub fn start(arguments: &[&str]) -> Self {
        Self::spawn(command(&["serve", "--port", "0", "--health-port", "0"]).args(arguments))
    }

    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self {
            child,
            stdout,
            greeting: String::new(),
            url: String::new(),
        };
        while server.url.is_empty() {
            let mut line = String::new();
            let read = server.stdout.read_line(&mut line).unwrap();
            assert!(read > 0, "the server ended: {}", server.greeting);
            server.greeting.push_str(&line);
            if let Some(url) = line.trim().strip_prefix("Now listening on: ") {
                url.clone_into(&mut server.url);
            }
        }
        server
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        self.url.split("://").nth(1).unwrap().trim_end_matches('/')
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([&format!("-{name}"), &id])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits for the end; the exit code and what else was printed.
    pub fn wait(&mut self) -> (i32, String) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                let mut rest = String::new();
                self.stdout.read_to_string(&mut rest).unwrap();
                return (status.code().unwrap_or(-1), rest);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }

    /// Ends the server as a user would.
    pub fn stop(mut self) {
        self.signal("TERM");
        assert_eq!(self.wait().0, 0);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer to a plain GET, head and body.
pub fn get(authority: &str, path: &str) -> String {
    let mut stream = std::net::TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Lines of JSON, sorted by id.
pub fn items(text: &str) -> Vec<serde_json::Value> {
    let mut items: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    items.sort_by_key(|item| item["id"].as_str().unwrap_or_default().to_owned());
    items
}

/// Sends a body to a server without authentication; it must be taken.
pub fn post(authority: &str, path: &str, body: &str) {
    let mut stream = std::net::TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}
