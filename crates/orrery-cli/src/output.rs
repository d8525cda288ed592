//! Standard output and error, the only place that prints. A reader that went away (`| head`) is
//! no failure of ours: it ends the command quietly.

use std::io::{self, Write as _};

use anyhow::Result;

/// Prints a line to standard output.
pub fn line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// Prints text that ends itself to standard output.
pub fn text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a line to standard error: what a person wants to know but a pipe does not.
pub fn note(text: &str) -> Result<()> {
    let mut out = io::stderr().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Whether an error is only that the reader of our output went away.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
