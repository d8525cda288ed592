//! Writers do not notice: what waits for a parent is decided by its children.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use orrery_engine::split::{Cut, Stage};
use orrery_engine::write::{BatchKind, ItemOutcome, WriteKind, WriteOutcome};
use orrery_engine::{Clock, CommitMode, ContainerDraft, Engine, EngineConfig, Error};
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::limits::Limits;
use orrery_storage::{Durability, FjallStore, MemoryStore, Options, Writes};

use super::{check, ids, merge, split};
use crate::harness::{TestEntropy, World, clock, item, parse_key, request, spec};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

#[test]
fn new_docids_and_positions_come_after_the_old() {
    let world = World::new(PLAIN, 1);
    for n in 0..40 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"k{n}"}}"#))
            .expect("created");
    }
    let before = world.container.ranges().partitions()[0].lsn();
    split(&world, 0, Cut::Hash, 2);
    assert_eq!(ids(&world), [1, 2]);
    check(&world);
    let answer = world
        .create("", r#"{"id":"40","pk":"k40"}"#)
        .expect("created");
    assert_eq!(answer.meta.lsn, Lsn(before.0 + 1));
    assert!(answer.meta.range.is_some_and(|range| range.0 > 0));
    merge(&world, &[2, 1]);
    assert_eq!(ids(&world), [3]);
    check(&world);
    let order: Vec<String> = world
        .feed(&orrery_engine::page::Target::All, 7)
        .iter()
        .map(|text| crate::harness::member(text, "id"))
        .collect();
    let expected: Vec<String> = (0..41).map(|n| n.to_string()).collect();
    assert_eq!(
        order, expected,
        "in order of insertion, whatever happened to the ranges"
    );
}

#[test]
fn what_cannot_be_done_is_refused() {
    let world = World::new(PLAIN, 2);
    let [first, second] = [PartitionKeyRangeId(0), PartitionKeyRangeId(1)];
    let engine = &world.engine;
    let container = &world.container;
    let gone = engine.split_range(container, PartitionKeyRangeId(9), Cut::Hash, 2);
    assert!(matches!(gone, Err(Error::PartitionKeyRangeGone { .. })));
    for (cut, into) in [
        (Cut::Hash, 1),
        (Cut::Hash, 1_000),
        (Cut::Size, 3),
        (
            Cut::At(container.ranges().partitions()[1].range().min.clone()),
            2,
        ),
    ] {
        let refused = engine.split_range(container, first, cut, into);
        assert!(matches!(refused, Err(Error::BadRequest(_))));
    }
    for ranges in [&[first][..], &[first, first], &[]] {
        let refused = engine.merge_ranges(container, ranges);
        assert!(matches!(refused, Err(Error::BadRequest(_))));
    }
    engine
        .merge_ranges(container, &[second, first])
        .expect("lined up");
    let busy = engine.split_range(container, first, Cut::Hash, 2);
    assert!(matches!(busy, Err(Error::Conflict(_))));
    super::settle(&world);
    let lonely = engine.split_range(container, PartitionKeyRangeId(2), Cut::Size, 2);
    let lonely = lonely.expect("lined up");
    super::settle(&world);
    assert_eq!(lonely.progress().stage, Stage::Failed, "it is empty");
    assert_eq!(ids(&world), [2]);
}

#[test]
fn a_batch_of_bad_operations_and_bulks_reach_the_children() {
    let world = World::new(PLAIN, 1);
    split(&world, 0, Cut::Hash, 4);
    let creates = |from: u32| {
        (from..from + 20).map(|n| BatchKind::Create {
            body: format!(r#"{{"id":"{n}","pk":"k"}}"#).into(),
        })
    };
    let answer = world.batch(r#"["k"]"#, creates(0).collect(), true);
    let WriteOutcome::Batch(batch) = answer.expect("served").value else {
        panic!("a batch")
    };
    assert!(batch.all_succeeded());
    let again = world.batch(r#"["k"]"#, creates(10).collect(), false);
    let WriteOutcome::Batch(batch) = again.expect("served").value else {
        panic!("a batch")
    };
    let taken = batch.results.iter().filter(|one| one.outcome.is_err());
    assert_eq!(taken.count(), 10);
    check(&world);
}

struct OnDrop<'f>(&'f AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Threads write while ranges split and merge again and again.
#[test]
fn nothing_that_was_acknowledged_is_lost_under_way() {
    let limits = Limits::default();
    let config = EngineConfig {
        commit: CommitMode::Threads(2),
        ..EngineConfig::default()
    };
    let engine = Engine::open(
        Arc::new(MemoryStore::new()),
        clock() as Arc<dyn Clock>,
        Arc::new(TestEntropy::new(5)),
        config,
    )
    .expect("an empty store opens");
    let draft = ContainerDraft {
        database: 1,
        number: 1,
        alt_path: "dbs/d/colls/c".to_owned(),
        spec: spec(PLAIN, &limits),
        ranges: 1,
    };
    let container = engine.add_container(draft, Writes::new()).expect("added");
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let last: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let writer = |own: u64| {
            let (engine, container, stop, written) = (&engine, &container, &stop, &written);
            move || {
                let mut last = vec![0; 10];
                let mut version = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    version += 1;
                    let n = (version % 10) as usize;
                    let body = format!(r#"{{"id":"{n}","pk":"w{own}-{n}","v":{version}}}"#);
                    let answer = engine.write(
                        container,
                        request(WriteKind::Upsert { body: body.into() }, ""),
                    );
                    let outcome = item(answer.expect("written"));
                    assert!(matches!(
                        outcome,
                        ItemOutcome::Created(_) | ItemOutcome::Replaced(_)
                    ));
                    last[n] = version;
                    written.fetch_add(1, Ordering::Relaxed);
                }
                last
            }
        };
        // Whatever fails below, the writers end.
        let _end = OnDrop(&stop);
        let writers: Vec<_> = (0..4).map(|own| scope.spawn(writer(own))).collect();
        for _ in 0..15 {
            let all: Vec<_> = {
                let ranges = container.ranges();
                ranges.partitions().iter().map(|one| one.id()).collect()
            };
            let asked = if all.len() > 1 {
                engine.merge_ranges(&container, &all)
            } else {
                engine.split_range(&container, all[0], Cut::Hash, 4)
            };
            let reshape = asked.expect("lined up");
            let target = written.load(Ordering::Relaxed) + 50;
            while !reshape.is_over() || written.load(Ordering::Relaxed) < target {
                engine.advance_reshapes(5).expect("advanced");
            }
            assert_eq!(reshape.progress().stage, Stage::Done);
        }
        stop.store(true, Ordering::Relaxed);
        writers
            .into_iter()
            .map(|one| one.join().expect("joined"))
            .collect()
    });
    for (own, last) in last.iter().enumerate() {
        for (n, version) in last.iter().enumerate() {
            let key = parse_key(&format!(r#"["w{own}-{n}"]"#));
            let item = orrery_engine::write::ItemRef::Id(n.to_string());
            let options = orrery_engine::read::ReadOptions::default();
            let answer = engine.read_item(&container, &key, &item, &options);
            let orrery_engine::read::ReadOutcome::Item(body) = answer.expect("found").value else {
                panic!("no condition was given")
            };
            let text = String::from_utf8(body.to_vec()).expect("UTF-8");
            assert_eq!(crate::harness::member(&text, "v"), version.to_string());
        }
    }
    let ranges = container.ranges();
    let items: u64 = ranges
        .partitions()
        .iter()
        .map(|one| one.statistics().items)
        .sum();
    assert_eq!(items, 40);
}

#[test]
fn a_large_range_on_disk_goes_into_files_of_its_children() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("large-range-{}", std::process::id()));
    // Left by a run that failed, if at all.
    let _ = std::fs::remove_dir_all(&folder);
    let options = Options {
        durability: Durability::Relaxed,
        ..Options::default()
    };
    let store = Arc::new(FjallStore::open(&folder, options).expect("open"));
    let definition = r#"{"partitionKey":{"paths":["/pk"]},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},"defaultTtl":-1,
        "changeFeedPolicy":{"retentionDuration":10}}"#;
    let world = World::on(store, definition, 1, Limits::default());
    let body = |n: u32, version: u32| {
        let ttl = if n.is_multiple_of(5) {
            r#","ttl":1000"#
        } else {
            ""
        };
        format!(
            r#"{{"id":"{n}","pk":"k{}","u":{n},"v":{version}{ttl}}}"#,
            n % 311
        )
    };
    let items = 5_000;
    for n in 0..items {
        world.create("", &body(n, 0)).expect("created");
    }
    let bytes = world.container.ranges().partitions()[0]
        .statistics()
        .total_bytes();
    let asked = world
        .engine
        .split_range(&world.container, PartitionKeyRangeId(0), Cut::Size, 2)
        .expect("lined up");
    let mut n = 0;
    while !asked.is_over() {
        world.engine.advance_reshapes(50).expect("advanced");
        world.upsert("", &body(n % items, 0)).expect("written");
        n += 7;
    }
    assert_eq!(asked.progress().stage, Stage::Done, "{asked:?}");
    assert_eq!(asked.progress().copied, u64::from(items));
    check(&world);
    let ranges = world.container.ranges();
    let sum = |of: &dyn Fn(&orrery_engine::partition::Partition) -> u64| -> u64 {
        ranges.partitions().iter().map(|one| of(one)).sum()
    };
    assert_eq!(sum(&|one| one.statistics().items), u64::from(items));
    assert_eq!(sum(&|one| one.statistics().total_bytes()), bytes);
    drop(ranges);
    // It is all there after a restart too.
    let world = world.reopen();
    check(&world);
    drop(world);
    std::fs::remove_dir_all(&folder).expect("removed");
}
