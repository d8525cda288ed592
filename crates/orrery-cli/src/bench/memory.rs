//! Memory of a server that has nothing to do.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::child::Listening;
use super::table::{Bar, Row};

/// Starts a server on a folder, lets it rest and looks at its resident memory.
pub fn idle(folder: &Path) -> Result<Vec<Row>> {
    let server = Listening::serve(folder)?;
    std::thread::sleep(Duration::from_secs(2));
    let megabytes = server.resident_bytes()? as f64 / f64::from(1 << 20);
    server.stop()?;
    Ok(vec![Row {
        name: "memory, idle".to_owned(),
        ours: format!("{megabytes:.1} MB"),
        floor: String::new(),
        figure: megabytes,
        unit: " MB",
        bar: Bar::AtMost(40.0),
    }])
}
