//! What metering costs a point read: budgets, statistics and the trace on, against all of them off.

use anyhow::Result;

use super::Sizes;
use super::child::Listening;
use super::point::Target;
use super::table::{Bar, Row};
use crate::report::count;

/// Throughput that no load of this machine uses up, so that nothing is refused.
const OPTIONS: [&str; 4] = ["--in", "load/metered", "--throughput", "1000000"];

/// Servers of each kind. Where a process happens to lie in memory makes it up to a sixth faster or
/// slower, far more than what is measured: so each turn has processes of its own.
const PAIRS: usize = 16;

/// Runs it.
pub fn run(sizes: &Sizes) -> Result<Vec<Row>> {
    let trace = sizes.folder.join("trace.ndjson").display().to_string();
    let turn = |more: &[&str]| -> Result<f64> {
        let always = ["serve", "--port", "0", "--health-port", "0", "--in-memory"];
        let server = Listening::start(&[&always[..], more].concat())?;
        let target = Target {
            server: &server,
            items: sizes.small,
            options: &OPTIONS,
        };
        target.fill(sizes)?;
        let rate = target.turn(sizes)?.rate();
        server.stop()?;
        Ok(rate)
    };
    let (mut on, mut off) = (0.0, 0.0);
    for pair in 0..PAIRS {
        // Neither is always the first.
        for is_metered in [pair % 2 == 0, pair % 2 == 1] {
            if is_metered {
                on += turn(&["--throttle", "--trace", &trace])? / PAIRS as f64;
            } else {
                off += turn(&["--statistics", "off"])? / PAIRS as f64;
            }
        }
    }
    Ok(vec![Row {
        name: format!("point read with metering, statistics, trace ({PAIRS} servers each)"),
        ours: format!("{}/s", count(on as u64)),
        floor: format!("without {}/s", count(off as u64)),
        figure: on / off,
        unit: "",
        bar: Bar::AtLeast(0.95),
    }])
}
