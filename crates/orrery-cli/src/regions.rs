//! `orrery regions`: who takes the writes, and how far read regions are behind.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::client::account::refusal;
use crate::client::{Connection, Endpoint, PUBLISHED_KEY, Request};
use crate::load::duration;
use crate::output;

const EXAMPLES: &str = "\
Examples (for a server started with --regions \"East US,West US\"):
  orrery regions list
  orrery regions lag \"West US\" 5s       what it shows is five seconds old
  orrery regions pause \"West US\"        it stands still
  orrery regions resume \"West US\"
  orrery regions failover \"West US\"     it takes the writes; SDKs follow by themselves

Exit code: 0; 1 when the server does not answer or refuses; 2 wrong usage.";

/// Options of `orrery regions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RegionsArgs {
    #[command(subcommand)]
    action: Action,
    /// Server to ask.
    #[arg(
        long,
        default_value = "http://127.0.0.1:8081",
        value_name = "URL",
        global = true
    )]
    endpoint: String,
    /// Master key; the published emulator key by default.
    #[arg(long, default_value = PUBLISHED_KEY, hide_default_value = true, value_name = "BASE64", global = true)]
    key: String,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the regions.
    List {
        /// Print what the server answers, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Set how far a region is behind.
    Lag {
        /// Name of the region.
        region: String,
        /// How far, as 500ms or 5s.
        #[arg(value_parser = duration)]
        time: Duration,
    },
    /// Stop the replication to a region.
    Pause {
        /// Name of the region.
        region: String,
    },
    /// Let a paused region catch up.
    Resume {
        /// Name of the region.
        region: String,
    },
    /// Give the writes to a region.
    Failover {
        /// Name of the region.
        region: String,
    },
}

/// Runs the command.
pub fn run(args: &RegionsArgs) -> Result<ExitCode> {
    let change = |body: Json| ("PUT", "/_orrery/regions", Some(body));
    let (verb, path, body) = match &args.action {
        Action::List { .. } => ("GET", "/_orrery/regions", None),
        Action::Lag { region, time } => {
            let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            change(json!({"region": region, "lagMillis": millis}))
        }
        Action::Pause { region } => change(json!({"region": region, "paused": true})),
        Action::Resume { region } => change(json!({"region": region, "paused": false})),
        Action::Failover { region } => {
            ("POST", "/_orrery/failover", Some(json!({"region": region})))
        }
    };
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let endpoint = Endpoint::parse(&args.endpoint, Some(&args.key))?;
    let mut connection = Connection::new(endpoint.into());
    let response = connection.send(&Request {
        verb,
        path,
        resource_type: "_orrery",
        link: path.trim_start_matches('/'),
        headers: &[],
        body: body.as_bytes(),
    })?;
    if !(200..300).contains(&response.status) {
        return Err(refusal("the regions", response));
    }
    let shown: Json =
        serde_json::from_slice(&response.body).context("the server's answer is no JSON")?;
    match args.action {
        Action::List { json: true } => output::text(&format!("{shown:#}\n"))?,
        _ => output::text(&table(&shown))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn table(shown: &Json) -> String {
    let regions = shown["regions"].as_array().map(Vec::as_slice);
    let regions = regions.unwrap_or_default();
    if regions.is_empty() {
        return "the account has one region; orrery serve --regions \"East US,West US\" gives it more\n"
            .to_owned();
    }
    let mut text = format!(
        "{:<24}  {:<7}  {:>10}  endpoint\n",
        "region", "role", "behind"
    );
    for one in regions {
        let writes = one["writes"].as_bool() == Some(true);
        let behind = match (writes, one["paused"].as_bool()) {
            (true, _) => "-".to_owned(),
            (_, Some(true)) => "paused".to_owned(),
            _ => format!("{} ms", one["lagMillis"]),
        };
        let _ = writeln!(
            text,
            "{:<24}  {:<7}  {behind:>10}  {}",
            one["name"].as_str().unwrap_or_default(),
            if writes { "writes" } else { "reads" },
            one["endpoint"].as_str().unwrap_or_default(),
        );
    }
    text
}
