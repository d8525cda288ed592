//! Pairs of items and a query: the indexed executor, page by page, gives the rows that the pipeline
//! alone makes of all items. The query is made up from a number, or is the text of the input.
#![no_main]
#![allow(dead_code, unused_imports)] // the tests' modules have more than is needed here

#[path = "../../crates/orrery-engine/tests/it/harness.rs"]
#[macro_use]
mod harness;

#[path = "../../crates/orrery-engine/tests/it/query/asking.rs"]
mod asking;
#[path = "../../crates/orrery-engine/tests/it/query/differential.rs"]
mod differential;
#[path = "../../crates/orrery-engine/tests/it/query/making.rs"]
mod making;
#[path = "../../crates/orrery-engine/tests/it/query/spatial.rs"]
mod spatial;

use std::cell::RefCell;
use std::collections::HashMap;

use harness::{TestEntropy, World};
use libfuzzer_sys::fuzz_target;
use orrery_engine::Error;
use orrery_engine::page::Target;
use orrery_model::json;
use orrery_sql::environment::{Environment, Parameters};
use orrery_sql::pipeline::{Flow, Item, PageLimits, Pipeline};
use orrery_sql::program::Program;

/// Sets of items that are kept.
const WORLDS: u8 = 12;

thread_local! {
    static KEPT: RefCell<HashMap<u8, World>> = RefCell::default();
}

fn world(seed: u8) -> World {
    let definition = format!(
        r#"{{"partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{{
            "includedPaths":[{{"path":"/*"}}],"excludedPaths":[],"compositeIndexes":{}}}}}"#,
        making::COMPOSITES
    );
    let world = if seed % 2 == 0 {
        World::without_sorting(&definition, 1)
    } else {
        World::new(&definition, 1)
    };
    let dice = TestEntropy::new(u64::from(seed) + 1);
    for id in 0..60 {
        let (_, body) = making::item(&dice, id, seed % 3 > 0);
        world.create("", &body).expect("created");
    }
    world
}

/// What depends on the moment or on chance has no second opinion.
fn is_constant(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    !["RAND", "GETCURRENT", "NOW", "AGO", "RANK"]
        .iter()
        .any(|word| text.contains(word))
}

/// The rows of the pipeline alone; `None` when it refuses the query.
fn alone(world: &World, text: &str) -> Option<Vec<String>> {
    let query = orrery_sql::parser::parse(text).ok()?;
    let limits = orrery_sql::analysis::QueryLimits::default();
    orrery_sql::analysis::analyze(text, &query, &limits).ok()?;
    let program =
        Program::compile(&query, &Parameters::default(), &Environment::default()).ok()?;
    let limits = PageLimits {
        rows: usize::MAX,
        bytes: 16 << 20,
        steps: 200_000,
        ..PageLimits::default()
    };
    let mut pipeline = Pipeline::new(&program, limits, false, None, None).ok()?;
    let mut flow = Flow::More;
    let partition = world.container.ranges().partitions()[0].clone();
    for (docid, _, text) in asking::items(world, &partition) {
        if flow != Flow::More || !program.reads_items() {
            break;
        }
        let item = Item {
            doc: docid.0,
            text: &text,
            system: None,
        };
        flow = pipeline.push(item).ok()?;
    }
    if matches!(flow, Flow::PageFull | Flow::PageFullInside)
        || pipeline.finish().ok()? != Flow::Done
    {
        return None;
    }
    let rows = pipeline.take_rows().into_iter();
    Some(rows.map(canonical).collect())
}

fn canonical(row: Vec<u8>) -> String {
    json::to_string(&json::parse(&row).expect("rows are JSON"))
}

/// The rows of the engine; `None` when it refuses the query.
fn paged(world: &World, text: &str, most: u32) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut token = None;
    for _ in 0..20_000 {
        match asking::ask(world, text, &Target::All, most, token.take()) {
            Ok(answer) => {
                all.extend(asking::rows(&answer.value));
                token = answer.value.continuation;
                if token.is_none() {
                    return Some(all);
                }
            }
            Err(failure) => {
                let fault = matches!(failure.error, Error::Damaged(_) | Error::Storage(_));
                assert!(!fault, "{:?}", failure.error);
                return None;
            }
        }
        if all.len() > 20_000 {
            return None;
        }
    }
    panic!("the walk does not end");
}

fuzz_target!(|input: (u8, u8, u64, &str)| {
    let (seed, most, number, text) = input;
    let dice = TestEntropy::new(number);
    let text = if text.len() > 12 {
        text.to_owned()
    } else {
        making::any(&dice)
    };
    if !is_constant(&text) {
        return;
    }
    KEPT.with_borrow_mut(|kept| {
        let seed = seed % WORLDS;
        let world = kept.entry(seed).or_insert_with(|| world(seed));
        let Some(wanted) = alone(world, &text) else {
            return;
        };
        let most = [1, 3, 100][usize::from(most) % 3];
        if wanted.len() > 2_000 && most < 100 {
            return;
        }
        if let Some(found) = paged(world, &text, most) {
            assert_eq!(found, wanted, "{text}");
        }
    });
});
