//! The store fails at every commit of splits and merges in turn: parents or children, never both,
//! never none, and nothing that was acknowledged is lost.

use std::sync::Arc;

use orrery_engine::page::Target;
use orrery_engine::split::Cut;
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::limits::Limits;
use orrery_storage::{MemoryStore, Store};

use super::{check, ids};
use crate::crashes::{Crash, Failing};
use crate::harness::World;

const DEFINITION: &str = r#"{"partitionKey":{"paths":["/pk"]},
    "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},
    "changeFeedPolicy":{"retentionDuration":10}}"#;

fn body(n: u64, version: u64) -> String {
    format!(r#"{{"id":"{n}","pk":"k{}","u":{n},"v":{version}}}"#, n % 7)
}

/// Splits, writes between the steps, merges; answers the items that were acknowledged, and those
/// of the write that failed.
fn run(world: &World) -> (Vec<String>, Vec<String>) {
    let mut present: Vec<String> = (0..30).map(|n| body(n, 0)).collect();
    let container = &world.container;
    let mut version = 1;
    for round in 0..2 {
        let asked = if round == 0 {
            world
                .engine
                .split_range(container, PartitionKeyRangeId(0), Cut::Hash, 3)
        } else {
            let all: Vec<_> = ids(world).into_iter().map(PartitionKeyRangeId).collect();
            world.engine.merge_ranges(container, &all)
        };
        let Ok(reshape) = asked else {
            return (present.clone(), present);
        };
        while !reshape.is_over() {
            if world.engine.advance_reshapes(7).is_err() {
                return (present.clone(), present);
            }
            let n = version * 5 % 30;
            let new = body(n, version);
            let mut after = present.clone();
            after[n as usize].clone_from(&new);
            if world.upsert("", &new).is_err() {
                return (present, after);
            }
            present = after;
            version += 1;
        }
    }
    (present.clone(), present)
}

fn sorted(mut items: Vec<String>) -> Vec<String> {
    items.sort();
    items
}

#[test]
fn a_crash_at_any_commit_leaves_parents_or_children() {
    let mut outcomes = std::collections::BTreeSet::new();
    for crash in [Crash::Before, Crash::After] {
        for healthy in 0..200 {
            let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
            let failing = Failing::new(crash);
            let store = failing.over(&inner);
            let mut world = World::on(store, DEFINITION, 1, Limits::default());
            for n in 0..30 {
                world.create("", &body(n, 0)).expect("created");
            }
            failing.after(healthy);
            let (acknowledged, under_way) = run(&world);
            let is_through = !failing.has_failed();
            world.store = inner;
            let world = world.reopen();
            check(&world);
            let found = sorted(world.feed(&Target::All, 9));
            assert!(
                found == sorted(acknowledged) || found == sorted(under_way),
                "{crash:?} {healthy}"
            );
            let ranges = world.container.ranges().partitions().len();
            let parts = world.store.list_parts().expect("listed").len();
            assert_eq!(parts, 1 + ranges, "{crash:?} {healthy}");
            outcomes.insert(ids(&world));
            // Work goes on with the same rules.
            assert!(world.create("", &body(3, 9)).is_err());
            assert!(world.upsert("", &body(31, 9)).is_ok());
            if is_through {
                break;
            }
            assert!(healthy < 199, "there is an end");
        }
    }
    assert_eq!(
        outcomes,
        [vec![0], vec![1, 2, 3], vec![4]].into_iter().collect(),
        "all outcomes were seen, and no other"
    );
}
