//! Point reads and routed queries over HTTP, small and large containers, few and many ranges.

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;

use super::Sizes;
use super::child::Listening;
use super::memory;
use super::table::{Bar, Row};
use crate::load::outcome::Outcome;
use crate::load::{self, LoadArgs};
use crate::report::{count, span};

#[derive(clap::Parser)]
struct LoadLine {
    #[command(flatten)]
    args: LoadArgs,
}

/// Runs a load against a server that is already filled, or fills it with so many items.
pub fn loaded(server: &Listening, sizes: &Sizes, items: u64, more: &[&str]) -> Result<Outcome> {
    let (items, time) = (items.to_string(), format!("{}s", sizes.time.as_secs()));
    let line = [
        "load",
        "--json",
        "--endpoint",
        server.url(),
        "--items",
        &items,
        "--duration",
        &time,
    ]
    .into_iter()
    .chain(more.iter().copied());
    let outcome = load::perform(&LoadLine::try_parse_from(line)?.args)?;
    if outcome.answered() == 0 || outcome.failed() > 0 {
        bail!(
            "{} requests failed of {}: {}",
            outcome.failed(),
            outcome.answered(),
            outcome.to_text()
        );
    }
    Ok(outcome)
}

/// Runs all of them.
pub fn run(sizes: &Sizes) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let floor = Listening::start(&["bench-floor", "--size", "1250"])?;
    let bare = bare(&floor, sizes)?;
    drop(floor);
    let small = Listening::serve(&sizes.folder.join("small"))?;
    let read = loaded(&small, sizes, sizes.small, &[])?;
    rows.push(Row {
        name: "point read 1 KB, 16 connections".to_owned(),
        ours: format!("{}/s", count(read.rate() as u64)),
        floor: format!("bare HTTP {}/s", count(bare.rate() as u64)),
        figure: read.rate() / bare.rate(),
        unit: "",
        bar: Bar::AtLeast(0.6),
    });
    let one = ["--clients", "1"];
    let small_read = loaded(&small, sizes, sizes.small, &one)?;
    let many = [
        "--clients",
        "1",
        "--in",
        "load/ranges",
        "--throughput",
        "384000",
    ];
    let many_read = loaded(&small, sizes, sizes.small, &many)?;
    rows.push(latency(
        "point read, 64 ranges against 1",
        &many_read,
        &small_read,
        Bar::AtMost(1.1),
    ));
    small.stop()?;
    rows.extend(memory::idle(&sizes.folder.join("small"))?);
    let large = Listening::serve(&sizes.folder.join("large"))?;
    let large_read = loaded(&large, sizes, sizes.large, &one)?;
    let name = format!(
        "point read, {} items against {}",
        count(sizes.large),
        count(sizes.small)
    );
    rows.push(latency(&name, &large_read, &small_read, Bar::AtMost(1.2)));
    let query = loaded(
        &large,
        sizes,
        sizes.large,
        &["--clients", "1", "--mix", "query"],
    )?;
    let name = format!(
        "routed query, 1 of {} items, against point read",
        count(sizes.large)
    );
    rows.push(latency(&name, &query, &large_read, Bar::AtMost(3.0)));
    large.stop()?;
    Ok(rows)
}

fn latency(name: &str, ours: &Outcome, floor: &Outcome, bar: Bar) -> Row {
    Row {
        name: name.to_owned(),
        ours: span(ours.median()),
        floor: span(floor.median()),
        figure: ours.median() as f64 / floor.median().max(1) as f64,
        unit: "",
        bar,
    }
}

/// The same signed requests to the server that answers a constant.
fn bare(floor: &Listening, sizes: &Sizes) -> Result<Outcome> {
    let time = format!("{}s", sizes.time.as_secs());
    let items = sizes.small.to_string();
    let line = [
        "load",
        "--endpoint",
        floor.url(),
        "--items",
        &items,
        "--duration",
        &time,
    ];
    let outcome = load::unfilled(&LoadLine::try_parse_from(line)?.args)?;
    (outcome.answered() > 0)
        .then_some(outcome)
        .context("the floor did not answer")
}
