//! `orrery partitions`: show, split and merge the physical partitions of a container.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value as Json, json};

use crate::client::Request;
use crate::client::account::{Account, ContainerName, refusal};
use crate::output;
use crate::report;
use crate::target::{Target, TargetArgs};

const EXAMPLES: &str = "\
Examples:
  orrery partitions list shop/orders
  orrery partitions split shop/orders 0             two halves of the hash space
  orrery partitions split shop/orders 0 --by size   two halves of the bytes
  orrery partitions split shop/orders 0 --into 8
  orrery partitions merge shop/orders 1 2

Requests go on meanwhile; SDKs follow by themselves. The command returns when the new partitions
serve, unless --no-wait is given.

Exit code: 0; 1 when it failed; 2 wrong usage.";

/// Items between two looks at a folder that this process works on itself.
const BUDGET: usize = 5_000;
/// Pause between two questions to a server.
const PAUSE: Duration = Duration::from_millis(100);

/// Options of `orrery partitions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PartitionsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the partitions, and splits and merges that are under way.
    List {
        /// The container.
        #[arg(value_name = "DB/CONTAINER")]
        name: ContainerName,
        /// Print what the server answers, as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Split a partition.
    Split {
        /// The container.
        #[arg(value_name = "DB/CONTAINER")]
        name: ContainerName,
        /// Id of the partition key range.
        #[arg(value_name = "RANGE")]
        range: String,
        /// Into how many; by hash only.
        #[arg(long, default_value_t = 2, value_name = "N")]
        into: u32,
        /// Where to cut: the hash space in half, or the bytes.
        #[arg(long, value_enum, default_value = "hash")]
        by: By,
        /// Return at once.
        #[arg(long)]
        no_wait: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Merge neighbouring partitions into one.
    Merge {
        /// The container.
        #[arg(value_name = "DB/CONTAINER")]
        name: ContainerName,
        /// Ids of the partition key ranges.
        #[arg(value_name = "RANGE", required = true, num_args = 2..)]
        ranges: Vec<String>,
        /// Return at once.
        #[arg(long)]
        no_wait: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Hash,
    Size,
}

/// Runs the command.
pub fn run(args: &PartitionsArgs) -> Result<ExitCode> {
    let (options, name) = match &args.action {
        Action::List { target, name, .. }
        | Action::Split { target, name, .. }
        | Action::Merge { target, name, .. } => (target, name),
    };
    let target = options.open(false)?;
    let outcome = act(&args.action, name, &target);
    target.close()?;
    outcome?;
    Ok(ExitCode::SUCCESS)
}

fn act(action: &Action, name: &ContainerName, target: &Target) -> Result<()> {
    let mut account = target.account();
    let (body, no_wait) = match action {
        Action::List { json, .. } => {
            let shown = ask(&mut account, name, None)?;
            return if *json {
                output::text(&format!("{shown:#}\n"))
            } else {
                output::text(&table(&shown))
            };
        }
        Action::Split {
            range,
            into,
            by,
            no_wait,
            ..
        } => {
            let by = match by {
                By::Hash => "hash",
                By::Size => "size",
            };
            let split = json!({"split": {"range": range, "into": into, "by": by}});
            (split, *no_wait)
        }
        Action::Merge {
            ranges, no_wait, ..
        } => (json!({"merge": {"ranges": ranges}}), *no_wait),
    };
    let asked = ask(&mut account, name, Some(&body))?;
    if no_wait && target.engine().is_none() {
        return output::note(&format!("{} is lined up", title(&asked)));
    }
    let done = wait(&mut account, name, target, &asked["id"])?;
    if let Some(error) = done["error"].as_str() {
        bail!("{} failed: {error}", title(&done));
    }
    output::note(&format!(
        "{} is done in {}: writes were paused for {}, the new ranges are {}",
        title(&done),
        report::span(done["tookMillis"].as_u64().unwrap_or(0) * 1_000_000),
        report::span(done["pauseMicros"].as_u64().unwrap_or(0) * 1_000),
        list(&done["children"]),
    ))
}

/// Asks until the operation is over; in a folder of ours, does the work.
fn wait(account: &mut Account, name: &ContainerName, target: &Target, id: &Json) -> Result<Json> {
    loop {
        if let Some(engine) = target.engine() {
            engine.advance_reshapes(BUDGET)?;
        }
        let shown = ask(account, name, None)?;
        let operations = shown["operations"].as_array();
        let mine = operations.and_then(|all| all.iter().find(|one| one["id"] == *id));
        let mine = mine.context("the server has forgotten the operation; it was restarted")?;
        if matches!(mine["stage"].as_str(), Some("done" | "failed")) {
            return Ok(mine.clone());
        }
        if target.engine().is_none() {
            std::thread::sleep(PAUSE);
        }
    }
}

fn ask(account: &mut Account, name: &ContainerName, body: Option<&Json>) -> Result<Json> {
    let path = format!("/_orrery/partitions{}", name.path());
    let body = body.map(Json::to_string).unwrap_or_default();
    let request = Request {
        verb: if body.is_empty() { "GET" } else { "POST" },
        path: &path,
        resource_type: "_orrery",
        link: path.trim_start_matches('/'),
        headers: &[],
        body: body.as_bytes(),
    };
    let mut connection = account.connection();
    let response = connection.send(&request)?;
    if !(200..300).contains(&response.status) {
        return Err(refusal(&format!("partitions of {name}"), response));
    }
    serde_json::from_slice(&response.body).context("the server's answer is no JSON")
}

fn title(operation: &Json) -> String {
    format!(
        "the {} of {}",
        operation["kind"].as_str().unwrap_or("change"),
        list(&operation["ranges"])
    )
}

fn list(ids: &Json) -> String {
    let ids = ids.as_array().map(Vec::as_slice).unwrap_or_default();
    let ids: Vec<&str> = ids.iter().filter_map(Json::as_str).collect();
    ids.join(", ")
}

fn table(shown: &Json) -> String {
    let mut text = format!(
        "{:>5}  {:<34}  {:<34}  {:>10}  {:>12}  {:>8}  parents\n",
        "range", "from", "to", "items", "bytes", "lsn"
    );
    for one in shown["partitions"].as_array().into_iter().flatten() {
        let number = |name: &str| one[name].as_u64().unwrap_or(0);
        let _ = writeln!(
            text,
            "{:>5}  {:<34}  {:<34}  {:>10}  {:>12}  {:>8}  {}",
            one["id"].as_str().unwrap_or_default(),
            one["minInclusive"].as_str().unwrap_or_default(),
            one["maxExclusive"].as_str().unwrap_or_default(),
            number("items"),
            number("itemBytes") + number("indexBytes"),
            number("lsn"),
            list(&one["parents"]),
        );
    }
    for one in shown["operations"].as_array().into_iter().flatten() {
        if !matches!(one["stage"].as_str(), Some("done" | "failed")) {
            let _ = writeln!(
                text,
                "{}: {}, {} of {} items",
                title(one),
                one["stage"].as_str().unwrap_or_default(),
                one["copied"],
                one["items"],
            );
        }
    }
    text
}
