//! A disk that takes no more, and a folder that may not be written.
//!
//! A limit on the size of files stands in for the full disk: the journal cannot grow, in the
//! middle of a commit.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use orrery_storage::{
    Begin, CommitError, CommitToken, FjallStore, Head, Options, PartState, Scan, Store, StoreError,
    Writes,
};

use crate::conformance::{PART, commit};
use crate::crash::start;
use crate::folder::TestFolder;

const FULL: &str = "ORRERY_TEST_FULL_FOLDER";
const READ_ONLY: &str = "ORRERY_TEST_READ_ONLY_FOLDER";

fn filled() -> TestFolder {
    let folder = TestFolder::new();
    let store = FjallStore::open(folder.path(), Options::default()).expect("open");
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
    commit(&store, PART, |writes| writes.put(b"first", b"v"));
    store.close().expect("close");
    folder
}

/// Not a test in an ordinary run: the process whose disk is full.
#[test]
fn the_process_whose_disk_is_full() {
    let Some(folder) = std::env::var_os(FULL) else {
        return;
    };
    let store = FjallStore::open(folder, Options::default()).expect("open");
    let mut last = store.head(PART).expect("head");
    let failure = loop {
        let Begin::Open { txn, head, .. } = store.begin(PART, 1, &[]).expect("begin") else {
            panic!("moved");
        };
        assert!(head.lsn < 10_000, "the disk never fills");
        let mut writes = Writes::new();
        writes.put(&head.lsn.to_be_bytes(), &[1; 5_000]);
        let next = head.advanced(head.lsn + 1, CommitToken(1));
        let result = txn
            .commit(writes, next)
            .and_then(|pending| pending.wait().map_err(CommitError::Unknown));
        match result {
            Ok(()) => last = next,
            Err(error) => break error,
        }
    };
    assert!(last.lsn > 10, "some commits fit");
    assert!(matches!(failure.into_inner(), StoreError::DiskFull));
    assert!(matches!(
        store.begin(PART, 1, &[]),
        Err(StoreError::DiskFull)
    ));
    assert!(matches!(store.drop_part(PART), Err(StoreError::DiskFull)));
    assert_eq!(store.head(PART).expect("reads work"), last);
    let rows = store.scan(PART, &Scan::all()).expect("reads work").rows;
    assert_eq!(rows.len() as u64, last.lsn);
    assert!(matches!(store.close(), Err(StoreError::DiskFull) | Ok(())));
    drop(store);
    std::fs::write(
        std::env::var_os(FULL)
            .map(|folder| Path::new(&folder).join("last"))
            .expect("set"),
        last.lsn.to_string(),
    )
    .expect("a small file fits");
}

#[test]
fn a_full_disk_stops_writes_and_nothing_else() {
    let folder = filled();
    // 512-byte blocks: 1 MiB. The signal that comes with the limit would end the process.
    let child = start(
        "full_disk::the_process_whose_disk_is_full",
        FULL,
        folder.path(),
    );
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\"")
        .arg(child.get_program())
        .args(child.get_args())
        .env(FULL, folder.path());
    succeeded(&shell.output().expect("sh starts"));
    let last = std::fs::read_to_string(folder.path().join("last")).expect("the child said");
    let last: u64 = last.parse().expect("a number");

    // With room again, everything acknowledged is there and writes go on.
    let store = FjallStore::open(folder.path(), Options::default()).expect("open");
    let head = store.head(PART).expect("head");
    assert!(head.lsn >= last, "{} < {last}", head.lsn);
    let rows = store.scan(PART, &Scan::all()).expect("scan").rows;
    assert_eq!(rows.len() as u64, head.lsn, "no half commit");
    commit(&store, PART, |writes| writes.put(b"more", b"v"));
}

/// Not a test in an ordinary run: the process that may not write.
#[test]
fn the_process_that_may_not_write() {
    let Some(folder) = std::env::var_os(READ_ONLY) else {
        return;
    };
    match FjallStore::open(&folder, Options::default()) {
        Err(error @ StoreError::ReadOnly { .. }) => {
            let text = error.to_string();
            assert!(text.contains(&*folder.to_string_lossy()), "{text}");
            assert!(text.contains("not writable"), "{text}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it opened"),
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_named_and_left_alone() {
    let folder = filled();
    let set_mode = |mode| {
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode))
            .expect("own folder");
    };
    let lock = folder.path().join("LOCK");
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o444)).expect("own file");
    set_mode(0o555);
    let test = "full_disk::the_process_that_may_not_write";
    let child = start(test, READ_ONLY, folder.path());
    // Permissions do not bind root, so the child gives it up where it can.
    let mut unprivileged = Command::new("setpriv");
    unprivileged
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(child.get_program())
        .args(child.get_args())
        .env(READ_ONLY, folder.path());
    let root = std::fs::File::create(folder.path().join("probe")).is_ok();
    let output = if root {
        unprivileged.output()
    } else {
        start(test, READ_ONLY, folder.path()).output()
    };
    set_mode(0o755);
    match output {
        Ok(output) if root && !output.status.success() && output.stdout.is_empty() => {
            skip("the test program cannot be run without privileges");
        }
        Ok(output) => succeeded(&output),
        Err(error) => skip(&error.to_string()),
    }
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o644)).expect("own file");
    let store = FjallStore::open(folder.path(), Options::default()).expect("open");
    assert_eq!(
        store.head(PART).expect("head").lsn,
        1,
        "nothing was touched"
    );
}

fn succeeded(output: &Output) {
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[allow(clippy::print_stderr)] // A skipped check must be seen.
fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}
