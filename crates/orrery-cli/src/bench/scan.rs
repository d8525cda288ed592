//! A full scan with a filter that no index serves, beside parsing the same bytes.

use std::time::Instant;

use anyhow::{Context as _, Result};
use orrery_model::json;

use super::Sizes;
use super::child::Listening;
use super::point::loaded;
use super::table::{Bar, Row};
use crate::client::account::{Account, ContainerName};
use crate::client::{Endpoint, PUBLISHED_KEY};
use crate::load::worker;

/// Filling of an item, as `load` has it.
const FILLING: usize = 650;
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
    let mut best = f64::MAX;
    for _ in 0..3 {
        let since = Instant::now();
        let mut continuation = None;
        loop {
            let page = account.query_page(&name, QUERY.as_bytes(), "0", continuation.as_deref())?;
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
        }
        best = best.min(since.elapsed().as_secs_f64());
    }
    server.stop()?;
    let bodies: Vec<Vec<u8>> = (0..items)
        .map(|number| worker::item(number, items, FILLING))
        .collect();
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    let since = Instant::now();
    for body in &bodies {
        std::hint::black_box(json::parse(body).context("an item is no JSON")?);
    }
    let parse = since.elapsed().as_secs_f64();
    let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
    Ok(vec![Row {
        name: "full scan, unindexed filter, 1 range".to_owned(),
        ours: format!("{:.2} GB/s", rate(best)),
        floor: format!("JSON parse {:.2} GB/s", rate(parse)),
        figure: parse / best,
        unit: "",
        bar: Bar::AtLeast(0.5),
    }])
}
