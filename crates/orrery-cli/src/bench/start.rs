//! From the start of the process to the first answer, on the folders that the point bench filled.

use anyhow::Result;

use super::Sizes;
use super::child::Listening;
use super::point::{loaded, read_one};
use super::table::{Bar, Row};
use crate::report::count;

/// Starts that are measured; the median counts.
const STARTS: usize = 7;

/// Both sizes.
pub fn run(sizes: &Sizes) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, items, bar) in [("small", sizes.small, 40.0), ("large", sizes.large, 400.0)] {
        let folder = sizes.folder.join(name);
        if !folder.is_dir() {
            let server = Listening::serve(&folder)?;
            loaded(&server, sizes, items, &["--clients", "1"])?;
            server.stop()?;
        }
        let mut times = Vec::with_capacity(STARTS);
        for _ in 0..STARTS {
            let server = Listening::serve(&folder)?;
            read_one(&server)?;
            times.push(server.started().elapsed().as_secs_f64() * 1e3);
            server.stop()?;
        }
        times.sort_by(f64::total_cmp);
        let median = times[STARTS / 2];
        rows.push(Row {
            name: format!("start to first answer, {} items", count(items)),
            ours: format!("{median:.1} ms"),
            floor: String::new(),
            figure: median,
            unit: " ms",
            bar: Bar::AtMost(bar),
        });
    }
    Ok(rows)
}
