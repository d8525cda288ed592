//! A full scan with a filter that no index serves, beside parsing the same bytes: into nothing,
//! which is the least that a parser can do and the bar, and into values.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use serde::de::IgnoredAny;

use super::Sizes;
use super::child::Listening;
use super::point::loaded;
use super::table::{Bar, Row};
use crate::client::account::{Account, ContainerName};
use crate::client::{Endpoint, PUBLISHED_KEY};
use crate::load::worker;

/// Filling of an item, as `load` has it.
const FILLING: usize = 650;
/// Runs of each kind.
const RUNS: usize = 3;
const QUERY: &str = r#"{"query":"SELECT VALUE COUNT(1) FROM c WHERE c.n + c.count = -1"}"#;

/// Runs it on the small container's size times ten, in one range.
pub fn run(sizes: &Sizes) -> Result<Vec<Row>> {
    let items = sizes.small * 10;
    let server = Listening::serve(&sizes.folder.join("scan"))?;
    loaded(
        &server,
        sizes,
        items,
        &["--clients", "1", "--requests", "1", "--warm-up", "0s"],
    )?;
    let mut account = Account::new(Endpoint::parse(server.url(), Some(PUBLISHED_KEY))?);
    let name: ContainerName = "load/items".parse().map_err(anyhow::Error::msg)?;
    let scanned = fastest(|| {
        let mut continuation = None;
        loop {
            let page = account.query_page(&name, QUERY.as_bytes(), "0", continuation.as_deref())?;
            continuation = page.continuation;
            if continuation.is_none() {
                return Ok(());
            }
        }
    })?;
    server.stop()?;
    let bodies: Vec<Vec<u8>> = (0..items)
        .map(|number| worker::item(number, items, FILLING))
        .collect();
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    let skipped = fastest(|| {
        bodies.iter().try_for_each(|body| {
            black_box(serde_json::from_slice::<IgnoredAny>(body)?);
            anyhow::Ok(())
        })
    })?;
    let parsed = fastest(|| {
        bodies.iter().try_for_each(|body| {
            black_box(serde_json::from_slice::<serde_json::Value>(body)?);
            anyhow::Ok(())
        })
    })?;
    let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
    let row = |floor: &str, seconds: f64, bar| Row {
        name: format!("full scan, unindexed filter, 1 range, against {floor}"),
        ours: format!("{:.2} GB/s", rate(scanned)),
        floor: format!("JSON {:.2} GB/s", rate(seconds)),
        figure: seconds / scanned,
        unit: "",
        bar,
    };
    Ok(vec![
        row("a parse into nothing", skipped, Bar::AtLeast(0.5)),
        row("a parse into values", parsed, Bar::None),
    ])
}

/// Seconds of the fastest of some runs.
fn fastest(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let since = Instant::now();
        work()?;
        best = best.min(since.elapsed().as_secs_f64());
    }
    Ok(best)
}
