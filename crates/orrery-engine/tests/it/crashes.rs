//! The store fails at every commit in turn, before or after the commit happened; what was
//! acknowledged is there after a restart, and nothing is there by half.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use orrery_engine::page::Target;
use orrery_engine::write::{BatchKind, WriteOutcome};
use orrery_engine::{Answer, Engine};
use orrery_model::limits::Limits;
use orrery_storage::{
    Begin, CommitError, CommitToken, Head, MemoryStore, Page, PartId, Pending, Reader, Resolution,
    Scan, Store, StoreError, StoredBytes, Txn, Writes,
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

/// A store whose commits all fail from some point on.
pub struct FailingStore {
    pub inner: Arc<dyn Store>,
    pub commits_left: Arc<AtomicI64>,
    pub crash: Crash,
}

impl FailingStore {
    fn check(&self) -> Result<(), StoreError> {
        if self.commits_left.load(Ordering::SeqCst) < 0 {
            return Err(stopped());
        }
        Ok(())
    }
}

struct FailingTxn {
    inner: Box<dyn Txn>,
    commits_left: Arc<AtomicI64>,
    crash: Crash,
}

fn stopped() -> StoreError {
    StoreError::Stopped {
        reason: "the test said so".to_owned(),
    }
}

impl Reader for FailingTxn {
    fn head(&self) -> Head {
        self.inner.head()
    }

    fn get(&self, key: &[u8]) -> Result<Option<StoredBytes>, StoreError> {
        self.inner.get(key)
    }

    fn scan(&self, scan: &Scan) -> Result<Page, StoreError> {
        self.inner.scan(scan)
    }
}

impl Txn for FailingTxn {
    fn commit(self: Box<Self>, writes: Writes, head: Head) -> Result<Pending, CommitError> {
        let left = self.commits_left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return self.inner.commit(writes, head);
        }
        if left == 0 && self.crash == Crash::After {
            let pending = self.inner.commit(writes, head)?;
            pending.wait().map_err(CommitError::Unknown)?;
            return Err(CommitError::Unknown(stopped()));
        }
        Err(CommitError::Aborted(stopped()))
    }

    fn release(self: Box<Self>) -> Pending {
        self.inner.release()
    }
}

impl Store for FailingStore {
    fn create_part(&self, part: PartId, head: Head) -> Result<(), StoreError> {
        self.check()?;
        self.inner.create_part(part, head)
    }

    fn drop_part(&self, part: PartId) -> Result<(), StoreError> {
        self.check()?;
        self.inner.drop_part(part)
    }

    fn list_parts(&self) -> Result<Vec<(PartId, Head)>, StoreError> {
        self.inner.list_parts()
    }

    fn head(&self, part: PartId) -> Result<Head, StoreError> {
        self.inner.head(part)
    }

    fn get_many(
        &self,
        part: PartId,
        keys: &[&[u8]],
    ) -> Result<(Head, Vec<Option<StoredBytes>>), StoreError> {
        self.inner.get_many(part, keys)
    }

    fn scan(&self, part: PartId, scan: &Scan) -> Result<Page, StoreError> {
        self.inner.scan(part, scan)
    }

    fn snapshot(&self, part: PartId) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.snapshot(part)
    }

    fn begin(
        &self,
        part: PartId,
        generation: u64,
        prefetch: &[&[u8]],
    ) -> Result<Begin, StoreError> {
        Ok(match self.inner.begin(part, generation, prefetch)? {
            Begin::Open { txn, head, values } => {
                let txn = FailingTxn {
                    inner: txn,
                    commits_left: Arc::clone(&self.commits_left),
                    crash: self.crash,
                };
                Begin::Open {
                    txn: Box::new(txn),
                    head,
                    values,
                }
            }
            Begin::Moved(head) => Begin::Moved(head),
        })
    }

    fn resolve(
        &self,
        part: PartId,
        token: CommitToken,
        lsn: u64,
    ) -> Result<Resolution, StoreError> {
        self.inner.resolve(part, token, lsn)
    }

    fn wait(&self, part: PartId, lsn: u64, timeout: Duration) -> Result<Head, StoreError> {
        self.inner.wait(part, lsn, timeout)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
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
            let commits_left = Arc::new(AtomicI64::new(i64::MAX));
            let store = FailingStore {
                inner: Arc::clone(&inner),
                commits_left: Arc::clone(&commits_left),
                crash,
            };
            let mut world = World::on(Arc::new(store), DEFINITION, 1, Limits::default());
            commits_left.store(healthy as i64, Ordering::SeqCst);
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
        let commits_left = Arc::new(AtomicI64::new(i64::MAX));
        let store = FailingStore {
            inner: Arc::clone(&inner),
            commits_left: Arc::clone(&commits_left),
            crash,
        };
        let mut world = World::on(Arc::new(store), DEFINITION, 2, Limits::default());
        commits_left.store(0, Ordering::SeqCst);
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
