//! Asking the engine page by page, and asking the pipeline alone for the same rows.

use std::collections::BTreeSet;

use orrery_engine::catalog::feeds::QuerySpec;
use orrery_engine::page::Target;
use orrery_engine::partition::Partition;
use orrery_engine::query::{AccessKind, QueryOptions, QueryPage};
use orrery_engine::{Answer, Failure};
use orrery_model::epk::EpkRange;
use orrery_model::ids::DocId;
use orrery_model::json;
use orrery_model::value::Value;
use orrery_sql::environment::{Environment, Parameters};
use orrery_sql::parser;
use orrery_sql::pipeline::{Flow, Item, PageLimits, Pipeline};
use orrery_sql::program::Program;
use orrery_storage::Direction;

use super::differential::short;
use crate::harness::World;

pub fn spec(text: &str) -> QuerySpec {
    QuerySpec {
        text: text.to_owned(),
        parameters: Vec::new(),
        resume_filter: None,
    }
}

pub fn ask(
    world: &World,
    text: &str,
    target: &Target,
    most: u32,
    continuation: Option<String>,
) -> Result<Answer<QueryPage>, Failure> {
    let options = QueryOptions {
        max_items: Some(most),
        continuation,
        cross_partition: true,
        ..QueryOptions::default()
    };
    world
        .engine
        .query(&world.container, &spec(text), target, &options)
}

/// The rows of a page, each canonical.
pub fn rows(page: &QueryPage) -> Vec<String> {
    let text = [b"[", page.rows.as_slice(), b"]"].concat();
    let parsed = json::parse(&text).expect("rows are JSON");
    let rows: Vec<String> = parsed
        .as_array()
        .expect("an array")
        .iter()
        .map(json::to_string)
        .collect();
    assert_eq!(rows.len(), page.count as usize);
    rows
}

/// All rows over all pages; the process ends once on the way, before the page of that number.
pub fn walk(
    mut world: World,
    text: &str,
    target: &Target,
    most: u32,
    restart: usize,
    seen: &mut BTreeSet<AccessKind>,
) -> (World, Vec<String>) {
    let mut all = Vec::new();
    let mut token = None;
    for number in 0..5_000 {
        if number == restart {
            world = world.reopen();
        }
        let answer = ask(&world, text, target, most, token.take());
        let page = answer
            .unwrap_or_else(|failure| panic!("{}: {failure:?}", short(text)))
            .value;
        assert!(page.count <= most, "{text}");
        seen.insert(page.metrics.access);
        all.extend(rows(&page));
        match page.continuation {
            Some(next) => {
                assert!(page.count > 0 || world.container.ranges().partitions().len() > 1);
                token = Some(next);
            }
            None => return (world, all),
        }
    }
    panic!("does not end: {}", short(text));
}

/// The stretch of key space that a target covers.
pub fn space(world: &World, target: &Target) -> EpkRange {
    let state = world.container.state();
    match target {
        Target::All => EpkRange::full(),
        Target::Key(key) => state.key_definition().prefix_range(key),
        Target::Range { id, epk } => {
            let partition = world.container.partition(*id).expect("a range");
            let range = partition.range();
            epk.as_ref().map_or(range.clone(), |epk| {
                range.intersect(epk).expect("a part of the range")
            })
        }
    }
}

/// The items of a partition in order of insertion, with their effective partition keys.
pub fn items(world: &World, partition: &Partition) -> Vec<(DocId, Vec<u8>, Vec<u8>)> {
    let snapshot = partition.snapshot(&*world.store).expect("readable");
    let page = snapshot
        .scan_items(None, Direction::Forward, usize::MAX, usize::MAX)
        .expect("readable");
    let copy = |(docid, item): &(DocId, orrery_engine::partition::StoredItem)| {
        (*docid, item.epk().to_vec(), item.json().to_vec())
    };
    page.entries.iter().map(copy).collect()
}

/// The rows that the pipeline makes of all items, range by range.
pub fn expected(world: &World, text: &str, target: &Target) -> Vec<String> {
    let query = parser::parse(text).unwrap_or_else(|errors| panic!("{}: {errors:?}", short(text)));
    let parameters = Parameters::default();
    let environment = Environment {
        surface: world.container.state().spec().geospatial,
        ..Environment::default()
    };
    let program = Program::compile(&query, &parameters, &environment)
        .unwrap_or_else(|errors| panic!("{}: {errors:?}", short(text)));
    let space = space(world, target);
    let limits = PageLimits {
        rows: usize::MAX,
        bytes: usize::MAX,
        ..PageLimits::default()
    };
    let mut all = Vec::new();
    for partition in world.container.ranges().overlapping(&space) {
        let mut pipeline =
            Pipeline::new(&program, limits, false, None, None).expect("a fresh pipeline");
        let mut is_done = false;
        for (docid, epk, json) in items(world, partition) {
            let epk = orrery_model::epk::EffectivePartitionKey::from_bytes(epk);
            if is_done || !space.contains(&epk) {
                continue;
            }
            let item = Item {
                doc: docid.0,
                text: &json,
                system: None,
            };
            is_done = pipeline.push(item).expect("the pipeline runs") == Flow::Done;
        }
        pipeline.finish().expect("the pipeline runs");
        for row in pipeline.take_rows() {
            let row = String::from_utf8(row).expect("UTF-8");
            let value: Value<'_> = json::parse_str(&row).expect("JSON");
            all.push(json::to_string(&value));
        }
    }
    all
}
