//! The golden scripts of `tests/golden`, asked of the engine in process: containers of 1, 3 and 16
//! ranges, pages of 1, 3, 100 and all rows, with a restart in the middle of every walk. Rows of
//! several ranges are merged by the code that `orrery query` merges with.
//!
//! `ORRERY_BLESS=1` writes the rows that one range answers into the scripts instead.

mod asking;
mod judging;
#[path = "../../../../tests/golden/script.rs"]
mod script;

use std::path::PathBuf;

use orrery_model::json;

use crate::harness::World;
use asking::Question;
use judging::{judge, judge_plan};
use script::{Case, Order, Script};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

fn scripts() -> Vec<Script> {
    Script::load(&folder()).expect("the scripts are readable")
}

fn world(script: &Script, ranges: u32) -> World {
    let world = World::new(&script.container, ranges);
    for item in &script.items {
        let made = world.create("", item);
        assert!(made.is_ok(), "{}: {item}: {made:?}", script.name);
    }
    world
}

/// Runs all cases of a script over so many ranges, and tells what is wrong.
fn run(script: &Script, ranges: u32, complaints: &mut Vec<String>) -> usize {
    let mut world = world(script, ranges);
    let mut walks = 0;
    for case in &script.cases {
        for most in [None, Some(1), Some(3), Some(100)] {
            // In the middle of the walk, as far as that can be known before.
            let restart = case.rows.len() / (2 * most.unwrap_or(u32::MAX) as usize).max(1);
            let question = Question::new(case, most, restart.max(1));
            let (reopened, answer) = question.walk(world);
            world = reopened;
            walks += 1;
            if let Err(complaint) = judge(case, answer.as_ref().map(|answer| &answer.rows)) {
                complaints.push(format!(
                    "{} `{}`, {ranges} ranges, pages of {most:?}: {complaint}\n  {}",
                    script.name, case.name, case.query
                ));
                break;
            }
            let charged = answer.map_or(0.0, |answer| answer.charge);
            if let (Some(charge), 1, None) = (case.charge, ranges, most)
                && (charge - charged).abs() > 0.005
            {
                complaints.push(format!(
                    "{} `{}`: charged {charged} instead of {charge}",
                    script.name, case.name
                ));
            }
        }
        if let Some(plan) = &case.plan
            && let Err(complaint) = judge_plan(plan, &asking::plan_json(&world, case))
        {
            complaints.push(format!("{} `{}`: {complaint}", script.name, case.name));
        }
    }
    walks
}

fn run_all(ranges: u32) {
    let (mut complaints, mut walks) = (Vec::new(), 0);
    for script in scripts() {
        walks += run(&script, ranges, &mut complaints);
    }
    assert!(walks >= 1_000, "only {walks} walks: where are the scripts?");
    assert!(
        complaints.is_empty(),
        "{} complaints\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

#[test]
fn one_range() {
    if std::env::var_os("ORRERY_BLESS").is_some() {
        scripts().iter().for_each(bless);
    }
    run_all(1);
}

#[test]
fn three_ranges() {
    run_all(3);
}

#[test]
fn sixteen_ranges() {
    run_all(16);
}

/// Writes the rows of one range into a script where they differ from what stands there.
fn bless(script: &Script) {
    let path = folder().join(format!("{}.txt", script.name));
    let text = std::fs::read_to_string(&path).expect("a script");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut world = world(script, 1);
    for case in script.cases.iter().rev() {
        let (reopened, answer) = Question::new(case, None, usize::MAX).walk(world);
        world = reopened;
        let rows = answer.map(|answer| answer.rows);
        if judge(case, rows.as_ref()).is_ok() || matches!(case.order, Order::Some(_)) {
            continue;
        }
        let rows = match rows {
            Ok(rows) => rows.iter().map(|row| shown(row)).collect(),
            Err(error) => vec![error],
        };
        lines.splice(case.lines.0..case.lines.1, rows);
    }
    std::fs::write(&path, lines.join("\n") + "\n").expect("a script can be written");
}

/// A row without system properties.
fn shown(row: &str) -> String {
    let value = json::parse_str(row).expect("a row is JSON");
    json::to_string(&judging::without_system(value.into_owned()))
}

#[test]
fn every_case_has_a_name_of_its_own() {
    for script in scripts() {
        let mut names: Vec<&str> = script.cases.iter().map(|case| case.name.as_str()).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before, "{}", script.name);
    }
}

/// The name of a case's SDK and its reason are words that the driver over HTTP reads.
#[test]
fn exceptions_have_reasons() {
    for script in scripts() {
        for Case {
            not_merged_by,
            without,
            ..
        } in &script.cases
        {
            for (sdk, why) in not_merged_by.iter().chain(without) {
                assert!(["python", "js"].contains(&sdk.as_str()), "{sdk}");
                assert!(why.len() > 10, "{}: {sdk} without a reason", script.name);
            }
        }
    }
}
