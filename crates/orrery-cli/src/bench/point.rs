//! Point reads and routed queries over HTTP, small and large containers, few and many ranges.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;

use super::Sizes;
use super::child::Listening;
use super::memory;
use super::table::{Bar, Row};
use crate::client::account::ContainerName;
use crate::client::{Connection, Endpoint, PUBLISHED_KEY, Request};
use crate::load::outcome::Outcome;
use crate::load::{self, LoadArgs};
use crate::report::{count, span};

#[derive(clap::Parser)]
struct LoadLine {
    #[command(flatten)]
    args: LoadArgs,
}

/// Turns of a measurement and its floor. They alternate, so that a busy moment of the machine
/// hits both, and the turn with the median ratio counts.
const TURNS: u32 = 5;
/// The least that is worth measuring.
const SHORTEST_TURN: Duration = Duration::from_secs(1);

/// Runs a load against a server that is already filled, or fills it with so many items.
pub fn loaded(server: &Listening, sizes: &Sizes, items: u64, more: &[&str]) -> Result<Outcome> {
    let (items, time) = (items.to_string(), millis(sizes.time));
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

/// A duration as options have it.
fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// A server, the container in it, and how it is asked.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub server: &'a Listening,
    pub items: u64,
    pub options: &'a [&'a str],
}

impl Target<'_> {
    /// Fills the container.
    pub fn fill(&self, sizes: &Sizes) -> Result<()> {
        let once = ["--requests", "1", "--warm-up", "0s"];
        let options: Vec<&str> = self.options.iter().copied().chain(once).collect();
        loaded(self.server, sizes, self.items, &options).map(|_| ())
    }

    pub fn turn(&self, sizes: &Sizes) -> Result<Outcome> {
        let warm_up = ["--warm-up", "300ms"];
        let options: Vec<&str> = self.options.iter().copied().chain(warm_up).collect();
        let sizes = Sizes {
            time: (sizes.time / TURNS).max(SHORTEST_TURN),
            ..sizes.clone()
        };
        loaded(self.server, &sizes, self.items, &options)
    }
}

/// The turn with the median of these ratios: ours, the floor's, and the ratio.
fn median_turn(
    mut ours: impl FnMut() -> Result<f64>,
    mut floor: impl FnMut() -> Result<f64>,
) -> Result<(f64, f64)> {
    let turn = |_| Ok((ours()?, floor()?));
    let mut turns = (0..TURNS).map(turn).collect::<Result<Vec<_>>>()?;
    turns.sort_by(|a, b| f64::total_cmp(&(a.0 / a.1), &(b.0 / b.1)));
    Ok(turns[turns.len() / 2])
}

/// Runs all of them.
pub fn run(sizes: &Sizes) -> Result<Vec<Row>> {
    let small = Listening::serve(&sizes.folder.join("small"))?;
    let mut rows = vec![against_bare_http(&small, sizes)?];
    let one_client = |server, items| Target {
        server,
        items,
        options: &["--clients", "1"],
    };
    let small_read = one_client(&small, sizes.small);
    let query = ["--clients", "1", "--mix", "query"];
    for (what, plain) in [("point read", &query[..2]), ("routed query", &query[..])] {
        let ranges = ["--in", "load/ranges", "--throughput", "384000"];
        let options: Vec<&str> = plain.iter().copied().chain(ranges).collect();
        let one = Target {
            options: plain,
            ..small_read
        };
        let many = Target {
            options: &options,
            ..small_read
        };
        let name = format!("{what}, 64 ranges against 1");
        rows.push(latency(&name, &many, &one, sizes, Bar::AtMost(1.1))?);
        let charges = [many.turn(sizes)?.charge(), one.turn(sizes)?.charge()];
        rows.push(Row {
            name: format!("{what}, charge at 64 ranges against 1"),
            ours: format!("{:.2} RU", charges[0]),
            floor: format!("{:.2} RU", charges[1]),
            figure: charges[0] / charges[1],
            unit: "",
            bar: Bar::AtMost(1.1),
        });
    }
    let large = Listening::serve(&sizes.folder.join("large"))?;
    let large_read = one_client(&large, sizes.large);
    let name = format!(
        "point read, {} items against {}",
        count(sizes.large),
        count(sizes.small)
    );
    let bar = Bar::AtMost(1.2);
    rows.push(latency(&name, &large_read, &small_read, sizes, bar)?);
    let large_query = Target {
        options: &query,
        ..large_read
    };
    let name = format!(
        "routed query, 1 of {} items, against point read",
        count(sizes.large)
    );
    let bar = Bar::AtMost(3.0);
    rows.push(latency(&name, &large_query, &large_read, sizes, bar)?);
    large.stop()?;
    small.stop()?;
    rows.extend(memory::idle(&sizes.folder.join("small"))?);
    Ok(rows)
}

/// The rate of point reads beside that of the same HTTP stack, asked the same way and answering a
/// constant of as many bytes.
fn against_bare_http(server: &Listening, sizes: &Sizes) -> Result<Row> {
    let ours = Target {
        server,
        items: sizes.small,
        options: &[],
    };
    ours.fill(sizes)?;
    let size = read_one(server)?.to_string();
    let floor = Listening::start(&["bench-floor", "--size", &size])?;
    let (read, bare) = median_turn(
        || Ok(ours.turn(sizes)?.rate()),
        || Ok(bare(&floor, sizes)?.rate()),
    )?;
    Ok(Row {
        name: "point read 1 KB, 16 connections".to_owned(),
        ours: format!("{}/s", count(read as u64)),
        floor: format!("bare HTTP {}/s", count(bare as u64)),
        figure: read / bare,
        unit: "",
        bar: Bar::AtLeast(0.6),
    })
}

/// Reads a loaded item: the bytes of the answer, headers included.
pub fn read_one(server: &Listening) -> Result<usize> {
    let endpoint = Endpoint::parse(server.url(), Some(PUBLISHED_KEY))?;
    let name: ContainerName = "load/items".parse().map_err(anyhow::Error::msg)?;
    let mut connection = Connection::new(endpoint.into());
    let response = connection.send(&Request {
        verb: "GET",
        path: &format!("{}/docs/item-0", name.path()),
        resource_type: "docs",
        link: &format!("{}/docs/item-0", name.link()),
        headers: &[("x-ms-documentdb-partitionkey", "[\"key-0\"]")],
        body: b"",
    })?;
    if response.status != 200 {
        bail!("{}", response.failure());
    }
    Ok(response.wire_bytes())
}

/// The median latency beside that of another load.
fn latency(
    name: &str,
    ours: &Target<'_>,
    floor: &Target<'_>,
    sizes: &Sizes,
    bar: Bar,
) -> Result<Row> {
    ours.fill(sizes)?;
    floor.fill(sizes)?;
    let (ours, floor) = median_turn(
        || Ok(ours.turn(sizes)?.median() as f64),
        || Ok(floor.turn(sizes)?.median() as f64),
    )?;
    Ok(Row {
        name: name.to_owned(),
        ours: span(ours as u64),
        floor: span(floor as u64),
        figure: ours / floor.max(1.0),
        unit: "",
        bar,
    })
}

/// The same signed requests to the server that answers a constant.
fn bare(floor: &Listening, sizes: &Sizes) -> Result<Outcome> {
    let time = millis((sizes.time / TURNS).max(SHORTEST_TURN));
    let items = sizes.small.to_string();
    let line = [
        "load",
        "--endpoint",
        floor.url(),
        "--items",
        &items,
        "--duration",
        &time,
        "--warm-up",
        "300ms",
    ];
    let outcome = load::unfilled(&LoadLine::try_parse_from(line)?.args)?;
    (outcome.answered() > 0)
        .then_some(outcome)
        .context("the floor did not answer")
}
