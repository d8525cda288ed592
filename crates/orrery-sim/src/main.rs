//! `orrery-sim`: runs simulations for some time, one seed after the other.
#![allow(clippy::print_stdout)] // a command line tool speaks to its user

use std::process::ExitCode;
use std::time::{Duration, Instant};

use orrery_sim::simulation::{Options, Verdict, run};

const HELP: &str = "\
orrery-sim [--seed N] [--steps N] [--minutes N | --runs N] [--trace]

  --seed N      the first seed (default 1); the next runs take the seeds after it
  --steps N     steps of a run (default 20000)
  --minutes N   begin no further run after so long
  --runs N      so many runs (default 1)
  --trace       print every step of the runs

Every seed runs twice: a run whose traces differ counts as a violation. Exit code 1 after a violation;
the seed is printed, and repeats it.
";

/// A run of this seed, a second time.
fn is_repeatable(options: Options, first: &Verdict) -> bool {
    let options = Options {
        keep_trace: false,
        ..options
    };
    run(options).trace.to_string() == first.trace.to_string()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|one| one == "--help") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let number = |name: &str| {
        let at = arguments.iter().position(|one| one == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    let keep_trace = arguments.iter().any(|one| one == "--trace");
    let first = number("--seed").unwrap_or(1);
    let until = number("--minutes").map(|minutes| Duration::from_secs(minutes * 60));
    let runs = number("--runs").unwrap_or(1);
    let started = Instant::now();
    let mut failed = 0;
    let mut done = 0;
    while until.map_or(done < runs, |until| started.elapsed() < until) {
        let options = Options {
            seed: first + done,
            steps: number("--steps").unwrap_or(20_000),
            keep_trace,
        };
        let verdict = run(options);
        for line in verdict.trace.kept() {
            println!("{line}");
        }
        let counts = verdict.counts;
        let mut violation = verdict.violation.clone();
        if violation.is_none() && !is_repeatable(options, &verdict) {
            violation = Some("a second run went another way".to_owned());
        }
        println!(
            "seed {}: {} steps, {} writes, {} splits and merges asked, map version {}, {} crashes, {} restarts, trace {}",
            options.seed,
            options.steps,
            counts.writes,
            counts.reshapes,
            counts.maps,
            counts.crashes,
            counts.restarts,
            verdict.trace
        );
        if let Some(violation) = violation {
            failed += 1;
            println!("seed {}: VIOLATION: {violation}", options.seed);
        }
        done += 1;
    }
    println!(
        "simulations: {} passed, {failed} failed, {} s",
        done - failed,
        started.elapsed().as_secs()
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
