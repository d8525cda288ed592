//! What every engine must do. A new engine adds one line to the list at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use orrery_storage::{
    Begin, CommitError, CommitToken, Durability, FjallStore, Head, MemoryStore, Options, PartId,
    PartState, Resolution, Scan, Store, StoreError, Txn, Writes,
};

use crate::folder::TestFolder;

pub const PART: PartId = PartId(7);

/// A writer of the part, or a failed test.
pub fn writer(store: &dyn Store, part: PartId) -> (Box<dyn Txn>, Head) {
    let generation = store.head(part).expect("the part exists").generation;
    match store.begin(part, generation, &[]).expect("begin") {
        Begin::Open { txn, head, .. } => (txn, head),
        Begin::Moved(head) => panic!("moved to {head:?}"),
    }
}

/// Commits changes at the next LSN and waits until they are durable.
pub fn commit(store: &dyn Store, part: PartId, change: impl FnOnce(&mut Writes)) -> Head {
    let (txn, head) = writer(store, part);
    let mut writes = Writes::new();
    change(&mut writes);
    let next = head.advanced(head.lsn + 1, CommitToken(u128::from(head.lsn) + 1));
    let pending = txn.commit(writes, next).expect("commit");
    pending.wait().expect("durable");
    next
}

fn created(store: &dyn Store) {
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
}

fn get(store: &dyn Store, key: &[u8]) -> Option<Vec<u8>> {
    let (_, values) = store.get_many(PART, &[key]).expect("get");
    values[0].as_deref().map(<[u8]>::to_vec)
}

fn keys(store: &dyn Store, scan: &Scan) -> Vec<Vec<u8>> {
    let page = store.scan(PART, scan).expect("scan");
    page.rows.iter().map(|row| row.key.to_vec()).collect()
}

fn parts_are_created_listed_and_dropped(store: Arc<dyn Store>) {
    let store = store.as_ref();
    assert!(matches!(
        store.head(PART),
        Err(StoreError::NoSuchPart(PART))
    ));
    assert!(matches!(
        store.begin(PART, 1, &[]),
        Err(StoreError::NoSuchPart(PART))
    ));
    let other = PartId(8);
    let importing = Head::new(PartState::Importing);
    store.create_part(other, importing).expect("create");
    created(store);
    let head = commit(store, PART, |writes| writes.put(b"k", b"v"));
    commit(store, other, |writes| writes.put(b"k", b"other"));
    created(store);
    assert_eq!(
        store.head(PART).expect("head"),
        head,
        "creating twice changes nothing"
    );
    let listed: Vec<_> = store.list_parts().expect("list");
    let numbers: Vec<_> = listed
        .iter()
        .map(|(part, head)| (part.0, head.lsn))
        .collect();
    assert_eq!(numbers, [(7, 1), (8, 1)]);

    store.drop_part(PART).expect("drop");
    store.drop_part(PART).expect("dropping twice");
    assert!(matches!(
        store.head(PART),
        Err(StoreError::NoSuchPart(PART))
    ));
    assert!(matches!(
        store.get_many(PART, &[b"k"]),
        Err(StoreError::NoSuchPart(PART))
    ));
    assert!(matches!(
        store.scan(PART, &Scan::all()),
        Err(StoreError::NoSuchPart(PART))
    ));
    assert!(store.snapshot(PART).is_err());
    assert_eq!(store.list_parts().expect("list").len(), 1);
    let (_, values) = store.get_many(other, &[b"k"]).expect("get");
    assert_eq!(
        values[0].as_deref(),
        Some(&b"other"[..]),
        "its neighbour is untouched"
    );
}

fn numbers_of_the_store_are_refused(store: Arc<dyn Store>) {
    let own = PartId(PartId::MAX.0 + 1);
    let refused = store.create_part(own, Head::new(PartState::Active));
    assert!(matches!(refused, Err(StoreError::PartUnusable(_))));
    store
        .create_part(PartId::MAX, Head::new(PartState::Active))
        .expect("the last number is usable");
    commit(store.as_ref(), PartId::MAX, |writes| {
        writes.put(b"\xFF\xFF", b"v");
    });
    let page = store.scan(PartId::MAX, &Scan::all()).expect("scan");
    assert_eq!(
        page.rows.len(),
        1,
        "a scan to the end of the last part ends there"
    );
}

fn a_commit_is_whole_and_its_head_travels_with_it(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    commit(store, PART, |writes| {
        writes.put(b"a", b"1");
        writes.put(b"b", b"1");
    });
    let head = commit(store, PART, |writes| {
        writes.put(b"a", b"2");
        writes.delete(b"b");
        writes.delete(b"never was");
        writes.put(b"", b"the empty key");
    });
    let (seen, values) = store.get_many(PART, &[b"a", b"b", b"", b"c"]).expect("get");
    assert_eq!(seen, head);
    let values: Vec<_> = values.iter().map(Option::as_deref).collect();
    assert_eq!(
        values,
        [Some(&b"2"[..]), None, Some(b"the empty key"), None]
    );
}

fn an_abandoned_transaction_writes_nothing(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    let (txn, _) = writer(store, PART);
    drop(txn);
    let (txn, _) = writer(store, PART);
    txn.release().wait().expect("release");
    assert_eq!(store.head(PART).expect("head").lsn, 0);
    commit(store, PART, |writes| writes.put(b"k", b"v"));
}

fn begin_reads_under_the_lock(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    let head = commit(store, PART, |writes| writes.put(b"k", b"v"));
    let begun = store.begin(PART, 1, &[b"x", b"k"]).expect("begin");
    let Begin::Open {
        txn,
        head: seen,
        values,
    } = begun
    else {
        panic!("not open");
    };
    assert_eq!(seen, head);
    assert_eq!(txn.head(), head);
    assert!(values[0].is_none());
    assert_eq!(values[1].as_deref(), Some(&b"v"[..]));
    assert_eq!(txn.get(b"k").expect("get").as_deref(), Some(&b"v"[..]));
    assert_eq!(txn.scan(&Scan::all()).expect("scan").rows.len(), 1);
}

fn the_head_never_goes_back(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    let head = commit(store, PART, |writes| writes.put(b"k", b"v"));
    for (lsn, generation) in [(0, 1), (9, 0)] {
        let (txn, _) = writer(store, PART);
        let back = Head {
            lsn,
            generation,
            ..head
        };
        let refused = txn.commit(Writes::new(), back).err();
        assert!(matches!(
            refused,
            Some(CommitError::Aborted(StoreError::HeadGoesBack(_)))
        ));
    }
    let (txn, _) = writer(store, PART);
    let equal = Head {
        token: CommitToken(99),
        ..head
    };
    let pending = txn
        .commit(Writes::new(), equal)
        .expect("an equal LSN is allowed");
    pending.wait().expect("durable");
    assert_eq!(store.head(PART).expect("head"), equal);
}

fn a_sealed_part_or_a_wrong_generation_takes_nothing(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    commit(store, PART, |writes| writes.put(b"k", b"v"));
    let moved = |generation| match store.begin(PART, generation, &[b"k"]).expect("begin") {
        Begin::Moved(head) => Some(head),
        Begin::Open { .. } => None,
    };
    assert!(moved(0).is_some());
    assert!(moved(2).is_some());
    assert!(moved(1).is_none());
    let (txn, head) = writer(store, PART);
    let sealed = Head {
        generation: 2,
        state: PartState::Sealed,
        ..head
    };
    txn.commit(Writes::new(), sealed)
        .expect("seal")
        .wait()
        .expect("durable");
    for generation in [1, 2, 3] {
        assert_eq!(moved(generation), Some(sealed));
    }
    assert_eq!(
        get(store, b"k").as_deref(),
        Some(&b"v"[..]),
        "a sealed part can be read"
    );
}

fn long_keys_are_refused_before_anything_happens(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    let (txn, head) = writer(store, PART);
    let mut writes = Writes::new();
    writes.put(b"k", b"v");
    writes.put(&[1; 2_501], b"v");
    let refused = txn.commit(writes, head.advanced(1, CommitToken(1))).err();
    assert!(matches!(
        refused,
        Some(CommitError::Aborted(StoreError::KeyTooLong(2_501)))
    ));
    assert_eq!(get(store, b"k"), None);
    let longest = [1; 2_500];
    commit(store, PART, |writes| {
        writes.put(&longest, &vec![2; 3 << 20]);
    });
    assert_eq!(get(store, &longest).map(|value| value.len()), Some(3 << 20));
}

fn scans_page_in_both_directions(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    let neighbour = PartId(PART.0 + 1);
    store
        .create_part(neighbour, Head::new(PartState::Active))
        .expect("create");
    commit(store, neighbour, |writes| writes.put(b"", b"not ours"));
    commit(store, PART, |writes| {
        for i in 0..100u8 {
            writes.put(&[b'k', i], &[i; 10]);
        }
        writes.put(&[0xFF; 9], b"last");
    });
    commit(store, PART, |writes| writes.delete(&[b'k', 50]));
    let mut expected: Vec<Vec<u8>> = (0..100)
        .filter(|&i| i != 50)
        .map(|i| vec![b'k', i])
        .collect();
    assert_eq!(keys(store, &Scan::prefix(*b"k")), expected);
    expected.push(vec![0xFF; 9]);
    assert_eq!(keys(store, &Scan::all()), expected);
    for size in [1, 7, 100, 1_000] {
        for scan in [Scan::all(), Scan::all().backward()] {
            let scan = scan.max_rows(size);
            let mut seen = paged(store, scan.clone());
            if scan.direction == orrery_storage::Direction::Backward {
                seen.reverse();
            }
            assert_eq!(seen, expected, "pages of {size}, {:?}", scan.direction);
        }
    }
    assert_eq!(paged(store, Scan::all().max_bytes(30)), expected);
    // 12 bytes a row: the third reaches 30.
    assert_eq!(keys(store, &Scan::all().max_bytes(30)).len(), 3);
    assert_eq!(keys(store, &Scan::all().max_bytes(0)).len(), 1);
    assert_eq!(keys(store, &Scan::all().max_rows(0)).len(), 0);
}

/// All keys of a scan, page by page.
fn paged(store: &dyn Store, mut scan: Scan) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    for _ in 0..1_000 {
        let page = store.scan(PART, &scan).expect("scan");
        assert!(page.rows.len() <= scan.max_rows);
        seen.extend(page.rows.iter().map(|row| row.key.to_vec()));
        match page.resume {
            Some(key) => scan = scan.resume(key.to_vec()),
            None => return seen,
        }
    }
    panic!("the scan does not end");
}

fn scan_bounds_are_exact(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    commit(store, PART, |writes| {
        for key in [b"a", b"b", b"c", b"d"] {
            writes.put(key, b"");
        }
    });
    let between = |from: &[u8], to: &[u8]| Scan::range(from, Some(to.to_vec()));
    assert_eq!(keys(store, &between(b"b", b"d")), [b"b", b"c"]);
    assert_eq!(keys(store, &between(b"b", b"d").backward()), [b"c", b"b"]);
    assert_eq!(keys(store, &between(b"b", b"d").resume(*b"b")), [b"c"]);
    assert_eq!(
        keys(store, &between(b"b", b"d").backward().resume(*b"c")),
        [b"b"]
    );
    let nothing: [Vec<u8>; 0] = [];
    assert_eq!(keys(store, &between(b"d", b"b")), nothing, "inverted");
    assert_eq!(keys(store, &between(b"b", b"b")), nothing, "empty");
    assert_eq!(
        keys(store, &between(b"b", b"d").resume(*b"x")),
        nothing,
        "behind the end"
    );
    assert_eq!(
        keys(store, &between(b"b", b"d").resume(*b"a")),
        [b"b", b"c"],
        "before the start"
    );
    assert_eq!(
        keys(store, &between(b"b", b"d").backward().resume(*b"x")),
        [b"c", b"b"]
    );
    assert_eq!(
        keys(store, &between(b"b", b"d").backward().resume(*b"b")),
        nothing
    );
}

fn a_snapshot_does_not_move(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    let head = commit(store, PART, |writes| {
        writes.put(b"a", b"1");
        writes.put(b"b", b"1");
    });
    let snapshot = store.snapshot(PART).expect("snapshot");
    for _ in 0..3 {
        commit(store, PART, |writes| {
            writes.put(b"a", b"2");
            writes.delete(b"b");
            writes.put(b"c", b"2");
        });
    }
    assert_eq!(snapshot.head(), head);
    let values = snapshot.get_many(&[b"a", b"b", b"c"]).expect("get");
    let values: Vec<_> = values.iter().map(Option::as_deref).collect();
    assert_eq!(values, [Some(&b"1"[..]), Some(b"1"), None]);
    let rows = snapshot.scan(&Scan::all()).expect("scan").rows;
    assert_eq!(rows.len(), 2);
    drop(snapshot);
    assert_eq!(keys(store, &Scan::all()), [b"a", b"c"]);
}

/// Writers raise all keys together; readers must never see them differ, nor the LSN go back.
fn nobody_sees_half_a_commit(store: Arc<dyn Store>) {
    const KEYS: [&[u8]; 3] = [b"a", b"m", b"z"];
    const COMMITS: u64 = 150;
    created(store.as_ref());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Acquire) {
                    let (head, values) = store.get_many(PART, &KEYS).expect("get");
                    assert!(head.lsn >= last, "the LSN went back");
                    last = head.lsn;
                    if last > 0 {
                        for value in values {
                            let value = value.expect("all keys are there");
                            assert_eq!(*value, last.to_be_bytes(), "a value of another commit");
                        }
                    }
                    let snapshot = store.snapshot(PART).expect("snapshot");
                    let rows = snapshot.scan(&Scan::all()).expect("scan").rows;
                    let lsn = snapshot.head().lsn;
                    assert!(rows.iter().all(|row| *row.value == lsn.to_be_bytes()));
                }
            });
        }
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..COMMITS {
                        let (txn, head) = writer(store.as_ref(), PART);
                        let lsn = head.lsn + 1;
                        let mut writes = Writes::new();
                        for key in KEYS {
                            writes.put(key, &lsn.to_be_bytes());
                        }
                        let pending = txn
                            .commit(writes, head.advanced(lsn, CommitToken(1)))
                            .expect("commit");
                        pending.wait().expect("durable");
                        let seen = store.head(PART).expect("head").lsn;
                        assert!(seen >= lsn, "acknowledged but not seen");
                    }
                })
            })
            .collect();
        let results: Vec<_> = writers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        done.store(true, Ordering::Release);
        assert!(results.iter().all(Result::is_ok));
    });
    assert_eq!(store.head(PART).expect("head").lsn, 2 * COMMITS);
}

fn outcomes_can_be_asked_for(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    let (txn, head) = writer(store, PART);
    let committed = head.advanced(1, CommitToken(11));
    txn.commit(Writes::new(), committed)
        .expect("commit")
        .wait()
        .expect("durable");
    let resolve = |token, lsn| {
        store
            .resolve(PART, CommitToken(token), lsn)
            .expect("resolve")
    };
    assert_eq!(resolve(11, 1), Resolution::Committed);
    assert_eq!(resolve(12, 2), Resolution::Aborted);
    commit(store, PART, |writes| writes.put(b"k", b"v"));
    assert_eq!(resolve(11, 1), Resolution::Overtaken);
}

fn waiting_ends_with_the_next_commit_or_the_time(store: Arc<dyn Store>) {
    created(store.as_ref());
    let head = store.wait(PART, 0, Duration::from_millis(1)).expect("wait");
    assert_eq!(head.lsn, 0, "the time is up");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| store.wait(PART, 0, Duration::from_secs(60)));
        commit(store.as_ref(), PART, |writes| writes.put(b"k", b"v"));
        let head = waiter.join().expect("no panic").expect("wait");
        assert_eq!(head.lsn, 1);
    });
    let head = store.wait(PART, 0, Duration::from_secs(60)).expect("wait");
    assert_eq!(head.lsn, 1, "an old LSN does not wait");
}

fn a_closed_store_refuses_writes(store: Arc<dyn Store>) {
    let store = store.as_ref();
    created(store);
    commit(store, PART, |writes| writes.put(b"k", b"v"));
    let (txn, head) = writer(store, PART);
    store.close().expect("close");
    store.close().expect("closing twice");
    let refused = txn.commit(Writes::new(), head.advanced(2, CommitToken(2)));
    assert!(matches!(
        refused.err(),
        Some(CommitError::Aborted(StoreError::Closed))
    ));
    assert!(matches!(store.begin(PART, 1, &[]), Err(StoreError::Closed)));
    let created = store.create_part(PartId(9), Head::new(PartState::Active));
    assert!(matches!(created, Err(StoreError::Closed)));
    assert_eq!(
        get(store, b"k").as_deref(),
        Some(&b"v"[..]),
        "reads still work"
    );
}

/// A store and what must outlive it.
pub struct Fixture {
    pub store: Arc<dyn Store>,
    _folder: Option<TestFolder>,
}

fn in_memory() -> Fixture {
    Fixture {
        store: Arc::new(MemoryStore::new()),
        _folder: None,
    }
}

fn fjall(durability: Durability) -> Fixture {
    let folder = TestFolder::new();
    let options = Options {
        durability,
        ..Options::default()
    };
    Fixture {
        store: Arc::new(FjallStore::open(folder.path(), options).expect("open")),
        _folder: Some(folder),
    }
}

macro_rules! suite {
    ($engine:ident, $fixture:expr, [$($check:ident),* $(,)?]) => {
        mod $engine {
            #[allow(unused_imports)]
            use super::*;

            $(
                #[test]
                fn $check() {
                    let fixture: Fixture = $fixture;
                    super::$check(Arc::clone(&fixture.store));
                }
            )*
        }
    };
}

macro_rules! engines {
    ($($engine:ident => $fixture:expr),* $(,)?) => {
        $(
            suite!($engine, $fixture, [
                parts_are_created_listed_and_dropped,
                numbers_of_the_store_are_refused,
                a_commit_is_whole_and_its_head_travels_with_it,
                an_abandoned_transaction_writes_nothing,
                begin_reads_under_the_lock,
                the_head_never_goes_back,
                a_sealed_part_or_a_wrong_generation_takes_nothing,
                long_keys_are_refused_before_anything_happens,
                scans_page_in_both_directions,
                scan_bounds_are_exact,
                a_snapshot_does_not_move,
                nobody_sees_half_a_commit,
                outcomes_can_be_asked_for,
                waiting_ends_with_the_next_commit_or_the_time,
                a_closed_store_refuses_writes,
            ]);
        )*
    };
}

engines! {
    memory => in_memory(),
    fjall_strict => fjall(Durability::Strict),
    fjall_relaxed => fjall(Durability::Relaxed),
}
