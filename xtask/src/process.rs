//! Running other programs: always with a time limit, always ended when we stop caring.

use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A child that is killed when this value goes.
pub struct Guarded(pub Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command to its end and tells how it ended.
pub fn status(command: &mut Command, limit: Duration) -> Result<ExitStatus> {
    let shown = shown(command);
    eprintln!("$ {shown}");
    let child = command
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let mut child = Guarded(child);
    let started = Instant::now();
    loop {
        if let Some(status) = child.0.try_wait()? {
            return Ok(status);
        }
        if started.elapsed() > limit {
            bail!("`{shown}` was still running after {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Runs a command to its end; anything but success is an error.
pub fn run(command: &mut Command, limit: Duration) -> Result<()> {
    let status = status(command, limit)?;
    if status.success() {
        Ok(())
    } else {
        bail!("`{}` failed: {status}", shown(command))
    }
}

/// Runs a command and gives what it printed.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!(
            "`{shown}` failed: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Cargo, as it was called itself.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::paths::repository());
    command
}

fn shown(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
