//! `orrery top`: a live view of a server's throughput, from the admin interface.

mod frame;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value as Json;

use crate::client::account::refusal;
use crate::client::{Connection, Endpoint, PUBLISHED_KEY, Request};
use crate::load::duration;
use crate::output;
use frame::View;

const EXAMPLES: &str = "\
Examples:
  orrery top                              the server on this machine, once a second
  orrery top --once                       one frame, for scripts
  orrery top --in shop/orders --ranges 32 one container, more of its ranges

A bar is what a range used of its budget in the last whole second; `max` is the highest second of
the last minute. Ctrl-C ends it.

Exit code: 0; 1 when the server does not answer.";

/// Options of `orrery top`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    /// Server to watch.
    #[arg(long, default_value = "http://127.0.0.1:8081", value_name = "URL")]
    endpoint: String,
    /// Master key; the published emulator key by default.
    #[arg(long, default_value = PUBLISHED_KEY, hide_default_value = true)]
    key: String,
    /// Only containers whose database/container name contains this.
    #[arg(long = "in", value_name = "TEXT")]
    name: Option<String>,
    /// Print one frame and end.
    #[arg(long)]
    once: bool,
    /// How often to look, as 500ms or 2s.
    #[arg(long, default_value = "1s", value_parser = duration)]
    interval: Duration,
    /// Most ranges of a container; the busiest are shown.
    #[arg(long, default_value_t = 16, value_name = "N")]
    ranges: usize,
    /// Most keys and queries of a container.
    #[arg(long, default_value_t = 5, value_name = "N")]
    top: usize,
    /// Columns of the frame [default: those of the terminal].
    #[arg(long, value_name = "N")]
    width: Option<usize>,
}

/// Escape sequences: to the start, clear the rest of a line, clear what is below.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K\n";
const CLEAR_BELOW: &str = "\x1b[J";
const CLEAR_ALL: &str = "\x1b[2J";

/// Runs the command.
pub fn run(args: &TopArgs) -> Result<ExitCode> {
    let endpoint = Endpoint::parse(&args.endpoint, Some(&args.key))?;
    let mut connection = Connection::new(endpoint.into());
    let is_terminal = std::io::stdout().is_terminal();
    let view = View {
        name: args.name.clone(),
        ranges: args.ranges,
        top: args.top,
        width: args.width.unwrap_or_else(terminal_width),
        is_coloured: is_terminal && std::env::var_os("NO_COLOR").is_none(),
    };
    if args.once || !is_terminal {
        let shown = ask(&mut connection, args.top)?;
        output::text(&view.frame(&shown))?;
        return Ok(ExitCode::SUCCESS);
    }
    show(CLEAR_ALL)?;
    loop {
        let next = Instant::now() + args.interval;
        let shown = ask(&mut connection, args.top)?;
        let frame = view.frame(&shown).replace('\n', CLEAR_LINE);
        show(&format!("{HOME}{frame}{CLEAR_BELOW}"))?;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

fn show(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// What the server knows of its throughput.
fn ask(connection: &mut Connection, top: usize) -> Result<Json> {
    let path = format!("/_orrery/throughput?seconds=60&top={}", top.clamp(1, 64));
    let response = connection.send(&Request {
        verb: "GET",
        path: &path,
        resource_type: "_orrery",
        link: "_orrery/throughput",
        headers: &[],
        body: b"",
    })?;
    if response.status != 200 {
        return Err(refusal("the throughput", response));
    }
    serde_json::from_slice(&response.body).context("the server's answer is no JSON")
}

/// The terminal's width as shells tell it; enough for most otherwise.
fn terminal_width() -> usize {
    std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .unwrap_or(100)
}
