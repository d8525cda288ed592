//! The store fails at every commit in turn, before or after the commit happened; what was
//! acknowledged is there after a restart, and nothing is there by half.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use orrery_engine::page::Target;
use orrery_engine::write::{BatchKind, WriteOutcome};
use orrery_engine::{Answer, Engine};
use orrery_model::limits::Limits;
use orrery_storage::intercept::{Intercept, InterceptedStore, PartChange, commit_untold};
use orrery_storage::{
    CommitError, Head, MemoryStore, PartId, Pending, Store, StoreError, Txn, Writes,
};

use crate::harness::World;

/// How a commit fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// It never happened.
    Before,
    /// It happened, but nobody is told.
    After,
}

/// Lets commits all fail from some point on.
pub struct Failing {
    commits_left: AtomicI64,
    crash: Crash,
}

impl Failing {
    /// Healthy so far.
    pub fn new(crash: Crash) -> Arc<Self> {
        Arc::new(Self {
            commits_left: AtomicI64::new(i64::MAX),
            crash,
        })
    }

    /// The store over `inner` that fails.
    pub fn over(self: &Arc<Self>, inner: &Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(InterceptedStore::new(Arc::clone(inner), Arc::clone(self)))
    }

    /// Lets so many more commits work.
    pub fn after(&self, commits: usize) {
        self.commits_left.store(commits as i64, Ordering::SeqCst);
    }

    /// Whether a commit has failed.
    pub fn has_failed(&self) -> bool {
        self.commits_left.load(Ordering::SeqCst) < 0
    }
}

fn stopped() -> StoreError {
    StoreError::Stopped {
        reason: "the test said so".to_owned(),
    }
}

impl Intercept for Failing {
    fn change(&self, change: PartChange, store: &dyn Store) -> Result<(), StoreError> {
        if self.has_failed() {
            return Err(stopped());
        }
        change.apply(store)
    }

    fn commit(
        &self,
        _part: PartId,
        txn: Box<dyn Txn>,
        writes: Writes,
        head: Head,
    ) -> Result<Pending, CommitError> {
        let left = self.commits_left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return txn.commit(writes, head);
        }
        if left == 0 && self.crash == Crash::After {
            return commit_untold(txn, writes, head, stopped());
        }
        Err(CommitError::Aborted(stopped()))
    }
}

const DEFINITION: &str = r#"{"partitionKey":{"paths":["/pk"]},
    "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}}"#;

fn item(id: u32, version: u32) -> String {
    format!(r#"{{"id":"{id}","pk":"a","v":{version},"u":{id}}}"#)
}

/// A step of the workload and the items after it.
type Step = (fn(&World) -> bool, &'static [(u32, u32)]);

fn write(world: &World, kinds: Vec<BatchKind>) -> bool {
    match world.batch(r#"["a"]"#, kinds, true) {
        Ok(Answer {
            value: WriteOutcome::Batch(batch),
            ..
        }) => batch.all_succeeded(),
        _ => false,
    }
}

const STEPS: [Step; 5] = [
    (|world| world.create("", &item(1, 1)).is_ok(), &[(1, 1)]),
    (
        |world| {
            let create = |id| BatchKind::Create {
                body: item(id, 1).into(),
            };
            write(world, vec![create(2), create(3), create(4)])
        },
        &[(1, 1), (2, 1), (3, 1), (4, 1)],
    ),
    (
        |world| {
            let replace = BatchKind::Replace {
                id: "2".to_owned(),
                body: item(2, 2).into(),
            };
            let delete = BatchKind::Delete { id: "3".to_owned() };
            write(world, vec![replace, delete])
        },
        &[(1, 1), (2, 2), (4, 1)],
    ),
    (
        |world| world.upsert("", &item(3, 3)).is_ok(),
        &[(1, 1), (2, 2), (4, 1), (3, 3)],
    ),
    (
        |world| world.delete(r#"["a"]"#, "1").is_ok(),
        &[(2, 2), (4, 1), (3, 3)],
    ),
];

fn texts(items: &[(u32, u32)]) -> Vec<String> {
    items
        .iter()
        .map(|&(id, version)| item(id, version))
        .collect()
}

#[test]
fn a_crash_at_any_commit_loses_nothing_and_leaves_nothing_by_half() {
    for crash in [Crash::Before, Crash::After] {
        for healthy in 0..=STEPS.len() {
            let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
            let failing = Failing::new(crash);
            let store = failing.over(&inner);
            let mut world = World::on(store, DEFINITION, 1, Limits::default());
            failing.after(healthy);
            for (number, (step, _)) in STEPS.iter().enumerate() {
                assert_eq!(
                    step(&world),
                    number < healthy,
                    "{crash:?} {healthy} {number}"
                );
            }
            let acknowledged = healthy.checked_sub(1).map_or(&[][..], |last| STEPS[last].1);
            let under_way = STEPS.get(healthy).map_or(acknowledged, |step| step.1);
            let expected = match crash {
                Crash::Before => acknowledged,
                Crash::After => under_way,
            };
            world.store = inner;
            let world = world.reopen();
            assert_eq!(
                world.feed(&Target::All, 10),
                texts(expected),
                "{crash:?} {healthy}"
            );
            crate::index::check(&world);
            let partition = Arc::clone(&world.container.ranges().partitions()[0]);
            assert_eq!(partition.statistics().items, expected.len() as u64);
            // Work goes on, with the same rules.
            assert!(world.upsert("", &item(9, 9)).is_ok());
            assert!(world.create("", &item(9, 9)).is_err());
        }
    }
}

#[test]
fn a_crash_while_a_container_is_made_or_dropped_leaves_no_parts() {
    for crash in [Crash::Before, Crash::After] {
        let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let failing = Failing::new(crash);
        let store = failing.over(&inner);
        let mut world = World::on(store, DEFINITION, 2, Limits::default());
        failing.after(0);
        let gone = [Arc::clone(&world.container)];
        assert!(world.engine.drop_containers(&gone, Writes::new()).is_err());
        world.store = Arc::clone(&inner);
        let engine: Engine = crate::harness::open(&inner, &world.clock, &Limits::default())
            .expect("the store opens again");
        let parts = inner.list_parts().expect("listed").len();
        match crash {
            Crash::Before => {
                assert_eq!(parts, 3);
                assert!(engine.container_by_number(7, 3).is_some());
            }
            Crash::After => {
                assert_eq!(parts, 1);
                assert!(engine.container_by_number(7, 3).is_none());
            }
        }
    }
}
