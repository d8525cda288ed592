//! Queries stay right while the indexing policy changes and items are moved to the new one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orrery_engine::page::Target;
use orrery_engine::query::{AccessKind, QueryOptions, QueryTuning};
use orrery_engine::write::{IndexingDirective, WriteKind};
use orrery_engine::{Clock, CommitMode, ContainerDraft, Engine, EngineConfig};
use orrery_model::limits::Limits;
use orrery_storage::{MemoryStore, Writes};

use super::asking::{ask, expected, rows, spec as query, walk};
use super::differential::{fill, short};
use super::making::{COMPOSITES, SPATIAL, any};
use crate::harness::{TestEntropy, World, clock, parse_key, request, spec};

fn definition(policy: &str) -> String {
    format!(r#"{{"partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{{{policy}}}}}"#)
}

fn policies() -> [String; 4] {
    let all = r#""includedPaths":[{"path":"/*"}],"excludedPaths":[]"#;
    [
        format!(r#"{all},"compositeIndexes":{COMPOSITES}"#),
        format!(
            r#""includedPaths":[{{"path":"/a/?"}},{{"path":"/n/?"}},{{"path":"/s/?"}},
            {{"path":"/o/x/?"}}],"excludedPaths":[{{"path":"/*"}}],"compositeIndexes":{COMPOSITES}"#
        ),
        format!(
            r#""includedPaths":[{{"path":"/*"}}],"excludedPaths":[{{"path":"/tags/*"}}],
            "compositeIndexes":{COMPOSITES},"spatialIndexes":{SPATIAL}"#
        ),
        format!(r#"{all},"compositeIndexes":{COMPOSITES},"spatialIndexes":{SPATIAL}"#),
    ]
}

#[test]
fn half_rebuilt_indexes_answer_right() {
    let dice = TestEntropy::new(77);
    let [first, rest @ ..] = policies();
    let mut world = World::without_sorting(&definition(&first), 2);
    fill(&world, &dice, 600, true);
    let mut seen = std::collections::BTreeSet::new();
    for policy in rest {
        let new = spec(&definition(&policy), &Limits::default());
        world
            .engine
            .redefine_container(&world.container, new, Writes::new())
            .expect("redefined");
        for step in 0..7 {
            for _ in 0..6 {
                let ranges = world.container.ranges();
                let id = ranges.partitions()[dice.below(2) as usize].id();
                let target = Target::Range { id, epk: None };
                let text = any(&dice);
                let wanted = expected(&world, &text, &target);
                let most = [2, 50][dice.below(2) as usize];
                let found;
                (world, found) = walk(world, &text, &target, most, usize::MAX, &mut seen);
                assert!(found == wanted, "step {step} {policy}\n{}", short(&text));
            }
            world.engine.rebuild_indexes(1).expect("a step");
            let (_, body) = super::making::item(&dice, dice.below(600), true);
            world.upsert("", &body).expect("written");
        }
        assert_eq!(world.container.index_progress(), 100);
    }
}

#[test]
fn items_that_no_index_knows_are_found() {
    let world = World::without_sorting(&definition(&policies()[0]), 1);
    for id in 0..400 {
        let body = format!(r#"{{"id":"{id}","pk":"p","n":{}}}"#, id % 50);
        let mut write = request(WriteKind::Create { body: body.into() }, r#"["p"]"#);
        if id == 207 {
            write.indexing = IndexingDirective::Exclude;
        }
        world.write(write).expect("created");
    }
    let target = Target::All;
    let found = |text: &str| {
        let page = ask(&world, text, &target, 100, None)
            .expect("answered")
            .value;
        (page.metrics.access, rows(&page).len())
    };
    let equal = "SELECT VALUE c.id FROM c WHERE c.n = 7";
    assert_eq!(found(equal), (AccessKind::Scan, 8));
    let order = "SELECT TOP 20 VALUE c.id FROM c ORDER BY c.n DESC";
    assert_eq!(found(order), (AccessKind::Scan, 20));
    // Once it is written as the others are, the index knows all.
    world
        .upsert("", r#"{"id":"207","pk":"p","n":7}"#)
        .expect("replaced");
    assert_eq!(found(equal), (AccessKind::Chosen, 8));
    assert_eq!(found(order), (AccessKind::Ordered, 20));
}

/// Writers, a rebuild and queries at the same time: what no writer touches is always found.
#[test]
fn writes_and_queries_during_a_rebuild() {
    const ITEMS: u64 = 500;
    let limits = Limits::default();
    let config = EngineConfig {
        limits: limits.clone(),
        commit: CommitMode::Threads(2),
        tuning: QueryTuning {
            sort_at_most: 0,
            sort_per_root: 0,
            alone_at_most: 40,
        },
        ..EngineConfig::default()
    };
    let store = Arc::new(MemoryStore::new());
    let entropy = Arc::new(TestEntropy::new(5));
    let clock = clock() as Arc<dyn Clock>;
    let engine = Engine::open(store, clock, entropy, config).expect("opens");
    let [first, second, third, _] = policies();
    let draft = ContainerDraft {
        database: 7,
        number: 3,
        alt_path: "dbs/d/colls/c".to_owned(),
        spec: spec(&definition(&first), &limits),
        ranges: 1,
    };
    let container = engine.add_container(draft, Writes::new()).expect("added");
    let write = |id: u64, version: u64| {
        let body = format!(
            r#"{{"id":"{id}","pk":"p","n":{},"a":{version},"s":"{version}","tags":["t{}"]}}"#,
            id % 10,
            id % 5
        );
        let kind = WriteKind::Upsert { body: body.into() };
        engine
            .write(&container, request(kind, r#"["p"]"#))
            .expect("written");
    };
    for id in 0..ITEMS {
        write(id, 0);
    }
    let stop = AtomicBool::new(false);
    let count = |text: &str| {
        let options = QueryOptions {
            max_items: Some(1_000),
            ..QueryOptions::default()
        };
        let target = Target::Key(parse_key(r#"["p"]"#));
        let answer = engine.query(&container, &query(text), &target, &options);
        u64::from(answer.expect("answered").value.count)
    };
    /// Ends the threads also when one of them has failed.
    struct Stop<'s>(&'s AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for version in 1.. {
                for id in (version % 7..ITEMS).step_by(7) {
                    write(id, version);
                }
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let asking = scope.spawn(|| {
            let _stop = Stop(&stop);
            for round in 0.. {
                let n = round % 10;
                let by_number = format!("SELECT VALUE c.id FROM c WHERE c.n = {n}");
                assert_eq!(count(&by_number), ITEMS / 10, "round {round}");
                let by_tag = format!(
                    r#"SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, "t{}")"#,
                    n % 5
                );
                assert_eq!(count(&by_tag), ITEMS / 5, "round {round}");
                assert_eq!(count("SELECT VALUE c.id FROM c ORDER BY c.n"), ITEMS);
                if stop.load(Ordering::Relaxed) {
                    return round;
                }
            }
            0
        });
        let _stop = Stop(&stop);
        for policy in [&second, &third, &first, &second, &first] {
            let new = spec(&definition(policy), &limits);
            engine
                .redefine_container(&container, new, Writes::new())
                .expect("redefined");
            while engine.rebuild_indexes(1).expect("a step") > 0 {}
            assert_eq!(container.index_progress(), 100);
        }
        stop.store(true, Ordering::Relaxed);
        assert!(asking.join().expect("the queries") > 0);
    });
}
