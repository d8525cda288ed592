//! What metering costs a point read: budgets, statistics and the trace on, against all of them off.

use anyhow::Result;

use super::Sizes;
use super::child::Listening;
use super::point::{Target, median_turn};
use super::table::{Bar, Row};
use crate::report::count;

/// Throughput that no load of this machine uses up, so that nothing is refused.
const OPTIONS: [&str; 4] = ["--in", "load/metered", "--throughput", "1000000"];

/// Runs it.
pub fn run(sizes: &Sizes) -> Result<Vec<Row>> {
    let trace = sizes.folder.join("trace.ndjson").display().to_string();
    let server = |more: &[&str]| {
        let always = ["serve", "--port", "0", "--health-port", "0", "--in-memory"];
        Listening::start(&[&always[..], more].concat())
    };
    let metered = server(&["--throttle", "--trace", &trace])?;
    let bare = server(&["--statistics", "off"])?;
    let target = |server| Target {
        server,
        items: sizes.small,
        options: &OPTIONS,
    };
    let (on, off) = (target(&metered), target(&bare));
    on.fill(sizes)?;
    off.fill(sizes)?;
    let (ours, floor) = median_turn(
        || Ok(on.turn(sizes)?.rate()),
        || Ok(off.turn(sizes)?.rate()),
    )?;
    Ok(vec![Row {
        name: "point read with metering, statistics, trace".to_owned(),
        ours: format!("{}/s", count(ours as u64)),
        floor: format!("without {}/s", count(floor as u64)),
        figure: ours / floor,
        unit: "",
        bar: Bar::AtLeast(0.95),
    }])
}
