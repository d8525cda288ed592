//! The binary `orrery`: the only place where the real clock, disk, sockets and randomness are
//! chosen.

mod ambient;
mod bench;
mod client;
mod config;
mod data_folder;
mod diagnostics;
mod export;
mod import;
mod instance;
mod keylab;
mod load;
mod logger;
mod output;
mod partitions;
mod patience;
mod query;
mod regions;
mod report;
mod serve;
mod target;
mod top;
mod trace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXAMPLES: &str = "\
Start here:
  orrery serve                                  a durable account in ./orrery-data on port 8081
  orrery import data.csv --into db/items --partition-key /city
  orrery query \"SELECT TOP 10 * FROM c\" --in db/items
  orrery load --mix read=80,create=20           how fast is it here?

Every command explains itself with examples: orrery import --help";

/// OrreryDB, compatible with Azure Cosmos DB for NoSQL: the official SDKs connect unchanged.
#[derive(Debug, Parser)]
#[command(name = "orrery", version, after_help = EXAMPLES)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve an account over HTTP and HTTPS.
    Serve(serve::ServeArgs),
    /// Import items from NDJSON, JSON arrays and CSV.
    Import(import::ImportArgs),
    /// Export a container's items as NDJSON.
    Export(export::ExportArgs),
    /// Run a query and print its rows, charge and ranges visited.
    Query(query::QueryArgs),
    /// Show, split and merge the physical partitions of a container.
    Partitions(partitions::PartitionsArgs),
    /// Show and change the regions of a server: lag, pauses, failover.
    Regions(regions::RegionsArgs),
    /// Watch a server's throughput: ranges, 429s, hottest keys, heaviest queries.
    Top(top::TopArgs),
    /// Turn a trace into the diagnostic logs that the service would have written.
    Diagnostics(diagnostics::DiagnosticsArgs),
    /// Put a server under load and measure it.
    Load(load::LoadArgs),
    /// Choose the partition key with evidence.
    Keylab(keylab::KeylabArgs),
    /// Measure our speed beside floors on this machine (`cargo xtask bench` runs it).
    #[command(hide = true)]
    Bench(bench::BenchArgs),
    /// Answer a constant, as the floor of the benches.
    #[command(hide = true)]
    BenchFloor(bench::floor::FloorArgs),
}

fn main() -> ExitCode {
    let line = Line::parse();
    logger::start(log::LevelFilter::Warn);
    match run(&line.command) {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = output::note(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Import(args) => import::run(args),
        Command::Export(args) => export::run(args),
        Command::Query(args) => query::run(args),
        Command::Partitions(args) => partitions::run(args),
        Command::Regions(args) => regions::run(args),
        Command::Top(args) => top::run(args),
        Command::Diagnostics(args) => diagnostics::run(args),
        Command::Load(args) => load::run(args),
        Command::Keylab(args) => keylab::run(args),
        Command::Bench(args) => bench::run(args),
        Command::BenchFloor(args) => bench::floor::run(args),
    }
}
