//! Commits that are appended while earlier ones are on their way to the disk.

use std::sync::mpsc;

use orrery_storage::{
    Begin, CommitToken, Durability, FjallStore, Head, Options, PartId, PartState, Store, Writes,
};

use crate::conformance::{PART, commit, writer};
use crate::folder::TestFolder;

fn opened(parts: u64) -> (FjallStore, TestFolder) {
    let folder = TestFolder::new();
    let store = FjallStore::open(folder.path(), Options::default()).expect("open");
    for part in 0..parts {
        store
            .create_part(PartId(PART.0 + part), Head::new(PartState::Active))
            .expect("create");
    }
    (store, folder)
}

#[test]
fn a_writer_sees_what_readers_do_not_see_yet() {
    let (store, _folder) = opened(1);
    let (txn, head) = writer(&store, PART);
    let mut writes = Writes::new();
    writes.put(b"k", b"1");
    let next = head.advanced(1, CommitToken(1));
    let pending = txn.commit(writes, next).expect("commit");
    assert!(!pending.is_durable(), "nobody has asked for a sync");
    let (seen, values) = store.get_many(PART, &[b"k"]).expect("get");
    assert_eq!(
        (seen.lsn, values[0].as_deref()),
        (0, None),
        "readers see durable commits only"
    );

    let begun = store.begin(PART, 1, &[b"k"]).expect("begin");
    let Begin::Open { txn, head, values } = begun else {
        panic!("moved");
    };
    assert_eq!(head, next);
    assert_eq!(
        values[0].as_deref(),
        Some(&b"1"[..]),
        "a writer sees what was appended"
    );
    let released = txn.release();
    assert!(!released.is_durable(), "it has read what is not durable");
    released.wait().expect("durable");
    assert!(pending.is_durable(), "one sync covers all");
    let (seen, values) = store.get_many(PART, &[b"k"]).expect("get");
    assert_eq!((seen, values[0].as_deref()), (next, Some(&b"1"[..])));
}

#[test]
fn callbacks_come_in_order_and_share_syncs() {
    const COMMITS: u64 = 300;
    const PARTS: u64 = 3;
    let (store, _folder) = opened(PARTS);
    let syncs_before = store.metrics().syncs;
    let (sender, receiver) = mpsc::channel();
    for i in 0..COMMITS {
        let part = PartId(PART.0 + i % PARTS);
        let Begin::Open { txn, head, .. } = store.begin(part, 1, &[]).expect("begin") else {
            panic!("moved");
        };
        let mut writes = Writes::new();
        writes.put(&i.to_be_bytes(), &[0; 100]);
        let next = head.advanced(head.lsn + 1, CommitToken(1));
        let pending = txn.commit(writes, next).expect("commit");
        let sender = sender.clone();
        pending.then(move |result| {
            result.expect("durable");
            sender.send(i).expect("the test still listens");
        });
    }
    drop(sender);
    let order: Vec<_> = receiver.iter().collect();
    assert_eq!(order, (0..COMMITS).collect::<Vec<_>>());
    let syncs = store.metrics().syncs - syncs_before;
    assert!(
        syncs < COMMITS,
        "{syncs} syncs for {COMMITS} commits of one thread"
    );
    assert_eq!(store.head(PART).expect("head").lsn, COMMITS / PARTS);
}

#[test]
fn closing_makes_the_rest_durable() {
    let (store, folder) = opened(1);
    let (txn, head) = writer(&store, PART);
    let (sender, receiver) = mpsc::channel();
    let pending = txn
        .commit(Writes::new(), head.advanced(1, CommitToken(1)))
        .expect("commit");
    pending.then(move |result| sender.send(result.is_ok()).expect("the test still listens"));
    store.close().expect("close");
    assert_eq!(receiver.recv(), Ok(true));
    drop(store);
    let store = FjallStore::open(folder.path(), Options::default()).expect("open");
    assert_eq!(store.head(PART).expect("head").lsn, 1);
}

#[test]
fn under_relaxed_durability_readers_never_fall_behind_the_writer() {
    let folder = TestFolder::new();
    let options = Options {
        durability: Durability::Relaxed,
        ..Options::default()
    };
    let store = FjallStore::open(folder.path(), options).expect("open");
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
    let mut commits = 0u64;
    // Some syncs in the background, with commits before, during and after each.
    while store.metrics().syncs < 4 && commits < 1_000_000 {
        commits += 1;
        let head = commit(&store, PART, |writes| {
            writes.put(b"k", &commits.to_be_bytes());
        });
        let (seen, values) = store.get_many(PART, &[b"k"]).expect("get");
        assert_eq!(seen, head);
        assert_eq!(values[0].as_deref(), Some(&commits.to_be_bytes()[..]));
    }
    assert!(store.metrics().syncs >= 4, "no sync in {commits} commits");
}
