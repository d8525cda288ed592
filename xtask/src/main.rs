//! Developer commands of this repository: `cargo xtask COMMAND`.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command line tool speaks to its user

mod apps;
mod arguments;
mod bench;
mod cases;
mod check;
mod conformance;
mod crash;
mod differential;
mod flights;
mod fuzz;
mod golden;
mod install;
mod keylab;
mod paths;
mod process;
mod random;
mod server;
mod sim;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};

use apps::Language;
use arguments::Arguments;
use server::{Binary, Profile};

const HELP: &str = "\
Developer commands of OrreryDB.

  cargo xtask test                   install what the tests need below target/, run all tests
  cargo xtask check                  format, tidy, dependencies, lints, documentation, tests
  cargo xtask check tidy             only the rules on text (or: check dependencies)

  cargo xtask cases [--root DIR]     run test cases (default ../shared/cases)
              [--show N]             failures printed for each file (default 3)
              [--filter TEXT]        only cases whose id contains the text

  cargo xtask apps [python|js]       sample applications of tests/sdk, over http and https
              [--release]            with the release binary

  cargo xtask golden [python|js]     golden scripts of tests/golden through the SDKs
              [--full]               1, 3 and 16 ranges, all sizes of pages
              [--filter TEXT]        only scripts whose name contains the text
              [--debug]              with the debug binary
              [--binary FILE]        with this binary, nothing is built

  cargo xtask conformance python     the Python SDK's own tests against the release binary
              [--mark MARK]          one selection of cosmosEmulator, cosmosQuery,
                                     cosmosSearchQuery (default: all three)
              [--filter EXPRESSION]  as pytest's -k
              [--jobs N]             servers and runners side by side (default 1)
              [--seconds N]          limit for one test (default 120)
              [--debug]              with the debug binary
              [--binary FILE]        with this binary, nothing is built
              [--endpoint URL]       against a server that already runs

  cargo xtask crash [--rounds N]     kill -9 under load, then check (default 50)
              [--seed N]             repeat a run
              [--writers N]          concurrent writers (default 16)
              [--splits]             while partitions are split and merged
              [--debug]              with the debug binary

  cargo xtask sim [--hours N | --minutes N]  simulations of the engine with crashes and splits
              [--seed N]             the first seed (default: from the clock)
              [--steps N]            steps of a run (default 20000)

  cargo xtask bench [--quick]        our speed beside floors, with the release binary
              [--json FILE]          the figures as JSON too
              [--only TEXT]          writes, import, scan, point, start or splits
              [--splits]             only the splits
              [--file FILE --partition-key /PATH,...]  import this file, not generated items
  cargo xtask bench --queries        queries beside PostgreSQL, SQLite and DuckDB
              [--hostile]            instead: hostile queries, and the memory they take
              [--quick]              a tenth of the generated items
              [--keep]               with the data that an earlier run has loaded
              [--only TEXT]          queries whose data and name contain this
              [--json FILE]          the figures as JSON too
              [--binary FILE]        with this binary, nothing is built

  cargo xtask flights                336,776 real items imported, read back and compared (minutes)

  cargo xtask differential           random queries with the index and without, release build
              [--queries N]          how many (default 100000)
              [--seed N]             repeat a run

  cargo xtask keylab                 the laboratory on real data, and the figures of docs/keylab.md
              [--bless]              write those figures anew
              [--debug | --binary FILE]
  cargo xtask keylab verify          every key of every scenario on the engine (minutes)
              [--debug | --binary FILE]
  cargo xtask keylab speed           profile and all candidates of 10,000,000 items (5 GB), beside
                                     parsing them with the fastest parser, in turn (minutes)
              [--items N]            another number of items
              [--rounds N]           the best of so many (default 3)
              [--folder DIR]         with its items.ndjson and workload.yaml
              [--keep]               the generated file stays for the next run
              [--debug | --binary FILE]

  cargo xtask fuzz [TARGET]          fuzz targets; needs the nightly compiler
              [--minutes N]          for each target (default 5)
";

fn main() -> ExitCode {
    match dispatch(Arguments::from_environment()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(mut arguments: Arguments) -> Result<()> {
    match arguments.command().as_deref() {
        Some("test") => {
            arguments.finish()?;
            test::run()
        }
        Some("check") => match arguments.command().as_deref() {
            None => check::run(),
            Some("tidy") => check::tidy(),
            Some("dependencies") => check::dependencies(),
            Some(other) => bail!("no check `{other}`"),
        },
        Some("cases") => run_cases(arguments),
        Some("apps") => run_apps(arguments),
        Some("golden") => run_golden(arguments),
        Some("conformance") => run_conformance(arguments),
        Some("crash") => run_crash(arguments),
        Some("bench") if arguments.switch("--queries") => {
            let items = if arguments.switch("--quick") {
                bench::queries::QUICK_ITEMS
            } else {
                bench::queries::ITEMS
            };
            let options = bench::queries::Options {
                items,
                keep: arguments.switch("--keep"),
                only: arguments.value("--only")?,
                hostile: arguments.switch("--hostile"),
                json: arguments.value("--json")?.map(PathBuf::from),
                binary: Binary::of(&mut arguments)?,
            };
            arguments.finish()?;
            bench::queries::run(&options)
        }
        Some("bench") => {
            let options = bench::Options {
                quick: arguments.switch("--quick"),
                json: arguments.value("--json")?.map(PathBuf::from),
                only: if arguments.switch("--splits") {
                    Some("splits".to_owned())
                } else {
                    arguments.value("--only")?
                },
                file: arguments
                    .value("--file")?
                    .map(PathBuf::from)
                    .zip(arguments.value("--partition-key")?),
            };
            arguments.finish()?;
            bench::run(&options)
        }
        Some("flights") => {
            arguments.finish()?;
            flights::run()
        }
        Some("differential") => {
            let options = differential::Options {
                queries: arguments.number("--queries")?.unwrap_or(100_000),
                seed: arguments.number("--seed")?.unwrap_or_else(seed),
            };
            arguments.finish()?;
            differential::run(&options)
        }
        Some("keylab") => {
            let what = arguments.command();
            if what.as_deref() == Some("speed") {
                let options = keylab::speed::Options {
                    binary: server::Binary::of(&mut arguments)?,
                    items: arguments.number("--items")?.unwrap_or(keylab::speed::ITEMS),
                    rounds: arguments.number("--rounds")?.unwrap_or(3),
                    folder: arguments.value("--folder")?.map(PathBuf::from),
                    keep: arguments.switch("--keep"),
                };
                arguments.finish()?;
                return keylab::speed::run(&options);
            }
            let options = keylab::Options {
                binary: server::Binary::of(&mut arguments)?,
                bless: arguments.switch("--bless"),
            };
            arguments.finish()?;
            match what.as_deref() {
                None => keylab::run(&options),
                Some("verify") => keylab::verify(&options.binary),
                Some(other) => bail!("keylab knows no '{other}'; see cargo xtask help"),
            }
        }
        Some("sim") => {
            let hours: Option<u64> = arguments.number("--hours")?;
            let minutes: Option<u64> = arguments.number("--minutes")?;
            let options = sim::Options {
                minutes: minutes.or(hours.map(|hours| hours * 60)).unwrap_or(5),
                seed: arguments.number("--seed")?.unwrap_or_else(seed),
                steps: arguments.number("--steps")?.unwrap_or(20_000),
            };
            arguments.finish()?;
            sim::run(&options)
        }
        Some("fuzz") => {
            let options = fuzz::Options {
                minutes: arguments.number("--minutes")?.unwrap_or(5).max(1),
                target: arguments.command(),
            };
            arguments.finish()?;
            fuzz::run(&options)
        }
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => bail!("no command `{other}`; `cargo xtask help` lists them"),
    }
}

fn run_cases(mut arguments: Arguments) -> Result<()> {
    let root = arguments.value("--root")?;
    let options = cases::Options {
        root: root.map_or_else(
            || paths::repository().join("../shared/cases"),
            PathBuf::from,
        ),
        show: arguments.number("--show")?.unwrap_or(3),
        filter: arguments.value("--filter")?,
    };
    arguments.finish()?;
    cases::run(&options)
}

fn run_apps(mut arguments: Arguments) -> Result<()> {
    let profile = if arguments.switch("--release") {
        Profile::Release
    } else {
        Profile::Debug
    };
    let languages = languages(&mut arguments)?;
    arguments.finish()?;
    apps::run(&languages, profile)
}

fn languages(arguments: &mut Arguments) -> Result<Vec<Language>> {
    Ok(match arguments.command().as_deref() {
        None => vec![Language::Python, Language::JavaScript],
        Some("python") => vec![Language::Python],
        Some("js") => vec![Language::JavaScript],
        Some(other) => bail!("no SDK `{other}`"),
    })
}

fn run_golden(mut arguments: Arguments) -> Result<()> {
    let options = golden::Options {
        languages: languages(&mut arguments)?,
        full: arguments.switch("--full"),
        filter: arguments.value("--filter")?,
        binary: Binary::of(&mut arguments)?,
    };
    arguments.finish()?;
    golden::run(&options)
}

fn run_conformance(mut arguments: Arguments) -> Result<()> {
    match arguments.command().as_deref() {
        Some("python") => {}
        _ => bail!("which SDK? `cargo xtask conformance python`"),
    }
    let options = conformance::Options {
        mark: arguments.value("--mark")?,
        filter: arguments.value("--filter")?,
        jobs: arguments.number("--jobs")?.unwrap_or(1).max(1),
        seconds: arguments.number("--seconds")?.unwrap_or(120),
        binary: Binary::of(&mut arguments)?,
        endpoint: arguments.value("--endpoint")?,
    };
    arguments.finish()?;
    conformance::python(&options)
}

fn run_crash(mut arguments: Arguments) -> Result<()> {
    let options = crash::Options {
        rounds: arguments.number("--rounds")?.unwrap_or(50),
        seed: arguments.number("--seed")?.unwrap_or_else(seed),
        writers: arguments.number("--writers")?.unwrap_or(16).max(1),
        splits: arguments.switch("--splits"),
        profile: profile(&mut arguments),
    };
    arguments.finish()?;
    crash::run(&options)
}

fn profile(arguments: &mut Arguments) -> Profile {
    if arguments.switch("--debug") {
        Profile::Debug
    } else {
        Profile::Release
    }
}

/// A seed that differs from run to run; it is printed.
fn seed() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(1, |now| now.as_nanos() as u64 % 1_000_000)
}
