//! What lies in a folder: locks, formats, damage, and what a restart finds.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};

use orrery_storage::{
    CommitToken, FjallStore, Head, Options, PartId, PartState, Resolution, Row, Scan, Store,
    StoreError,
};

use crate::conformance::{PART, commit};
use crate::folder::TestFolder;

fn open(folder: &TestFolder) -> Result<FjallStore, StoreError> {
    FjallStore::open(folder.path(), Options::default())
}

/// A folder that was killed after ten acknowledged commits of one key each.
fn filled() -> TestFolder {
    let folder = TestFolder::new();
    let store = open(&folder).expect("open");
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
    for i in 0..10u8 {
        commit(&store, PART, |writes| writes.put(&[i], &[i; 100]));
    }
    let image = folder.crash_image();
    store.close().expect("close");
    drop(store);
    image.raise_mark_from(&folder);
    image.cut_journal(0);
    image
}

fn key_count(store: &FjallStore) -> usize {
    store.scan(PART, &Scan::all()).expect("scan").rows.len()
}

fn message(result: Result<FjallStore, StoreError>) -> String {
    match result {
        Ok(_) => panic!("it opened"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_restart_finds_everything() {
    let folder = filled();
    let store = open(&folder).expect("open");
    let head = store.head(PART).expect("head");
    assert_eq!(head.lsn, 10);
    assert_eq!(key_count(&store), 10);
    assert_eq!(
        store.resolve(PART, head.token, 10).expect("resolve"),
        Resolution::Committed
    );
    assert_eq!(
        store.resolve(PART, CommitToken(77), 11).expect("resolve"),
        Resolution::Aborted
    );
    commit(&store, PART, |writes| writes.put(b"more", b""));
}

#[test]
fn an_orderly_close_leaves_nothing_to_replay() {
    let folder = TestFolder::new();
    let store = open(&folder).expect("open");
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
    commit(&store, PART, |writes| writes.put(b"k", b"v"));
    store.close().expect("close");
    drop(store);
    assert_eq!(
        fs::metadata(folder.active_journal())
            .expect("metadata")
            .len(),
        0
    );
    for lsn in 1..4 {
        let store = open(&folder).expect("open");
        assert_eq!(store.head(PART).expect("head").lsn, lsn);
        assert_eq!(key_count(&store), 1);
        commit(&store, PART, |writes| writes.put(b"k", b"v"));
    }
}

#[test]
fn a_crash_replays_only_what_is_not_in_sorted_files() {
    let folder = TestFolder::new();
    // Few enough runs that no compaction changes files while they are copied.
    let options = Options {
        memtable_bytes: 2 << 20,
        ..Options::default()
    };
    let store = FjallStore::open(folder.path(), options).expect("open");
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
    let values = 60u8;
    for i in 0..values {
        commit(&store, PART, |writes| writes.put(&[i], &vec![i; 100_000]));
    }
    // The mark follows in the background, when what is being written out is there.
    let mark = || fs::read(folder.path().join("flushed")).expect("read");
    let mut before = Vec::new();
    for _ in 0..30 {
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        let now = mark();
        if !now.is_empty() && now == before {
            break;
        }
        before = now;
    }
    let image = folder.crash_image();
    let all = image.cut_journal(0);
    let again = FjallStore::open(image.path(), options).expect("open");
    let rest = fs::metadata(image.active_journal())
        .expect("metadata")
        .len();
    assert!(
        all > 6_000_000 && rest < all / 2,
        "{rest} bytes left of {all}"
    );
    let rows = again.scan(PART, &Scan::all()).expect("scan").rows;
    assert_eq!(rows.len(), usize::from(values));
    for (i, row) in (0..values).zip(&rows) {
        assert_eq!((&*row.key, &*row.value), (&[i][..], &vec![i; 100_000][..]));
    }
    assert_eq!(
        again.head(PART).expect("head"),
        store.head(PART).expect("head")
    );
    commit(&again, PART, |writes| writes.put(b"more", b""));
    drop(again);
    let again = FjallStore::open(image.path(), options).expect("open");
    assert_eq!(key_count(&again), usize::from(values) + 1);
}

#[test]
fn a_second_opener_is_refused_by_name() {
    let folder = TestFolder::new();
    let store = open(&folder).expect("open");
    let text = message(open(&folder));
    assert!(text.contains("in use by another process"), "{text}");
    assert!(
        text.contains(&folder.path().display().to_string()),
        "{text}"
    );
    drop(store);
    open(&folder).expect("free again");
}

#[test]
fn another_format_is_refused_by_name() {
    let folder = filled();
    let format = folder.path().join("FORMAT");
    fs::write(&format, "orrery data format 1\n").expect("write");
    let text = message(open(&folder));
    assert!(text.contains("orrery data format 1"), "{text}");
    assert!(text.contains("orrery data format 3"), "{text}");
    fs::remove_file(&format).expect("remove");
    let text = message(open(&folder));
    assert!(text.contains("FORMAT is missing"), "{text}");
    fs::write(&format, "orrery data format 3\n").expect("write");
    assert_eq!(
        key_count(&open(&folder).expect("open")),
        10,
        "nothing was touched"
    );
}

#[test]
fn an_interrupted_creation_starts_over() {
    let folder = TestFolder::new();
    fs::create_dir(folder.path().join("fjall")).expect("create");
    fs::write(folder.path().join("fjall").join("0.jnl"), b"").expect("write");
    open(&folder).expect("open");
}

#[test]
fn garbage_behind_the_journal_is_ignored() {
    let folder = filled();
    let mut journal = OpenOptions::new()
        .append(true)
        .open(folder.active_journal())
        .expect("open");
    // The start marker of a batch, cut off.
    journal.write_all(&[1, 0, 0]).expect("write");
    drop(journal);
    let store = open(&folder).expect("open");
    assert_eq!(key_count(&store), 10);
    commit(&store, PART, |writes| writes.put(b"more", b""));
    drop(store);
    assert_eq!(key_count(&open(&folder).expect("open")), 11);
}

#[test]
fn a_commit_cut_short_is_gone_as_a_whole() {
    let folder = filled();
    folder.cut_journal(5);
    // As if the crash had come before the mark was raised.
    fs::remove_file(folder.path().join("durable")).expect("remove");
    let store = open(&folder).expect("open");
    assert_eq!(store.head(PART).expect("head").lsn, 9);
    assert_eq!(key_count(&store), 9);
}

#[test]
fn a_hole_in_the_journal_is_no_end() {
    let folder = filled();
    let journal = folder.active_journal();
    let length = fs::metadata(&journal).expect("metadata").len();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&journal)
        .expect("open");
    file.seek(SeekFrom::Start(length / 2)).expect("seek");
    file.write_all(&vec![0; 400]).expect("write");
    drop(file);
    let text = message(open(&folder));
    assert!(text.contains("damaged"), "{text}");
    assert!(
        text.contains(&folder.path().display().to_string()),
        "{text}"
    );
}

#[test]
fn a_lost_tail_of_acknowledged_commits_is_noticed() {
    let folder = filled();
    folder.cut_journal(5);
    let text = message(open(&folder));
    assert!(text.contains("was acknowledged"), "{text}");
    fs::remove_file(folder.path().join("durable")).expect("remove");
    open(&folder).expect("the way out that the message names");
}

#[test]
fn no_flipped_bit_is_served_or_panics() {
    let folder = filled();
    let journal = folder.active_journal();
    let mut bytes = Vec::new();
    fs::File::open(&journal)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .expect("read");
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&journal, &flipped).expect("write");
        match open(&folder) {
            Err(StoreError::Damaged { .. }) => {}
            Err(other) => panic!("bit in byte {at}: {other}"),
            Ok(_) => panic!("bit in byte {at} went unnoticed"),
        }
    }
    fs::write(&journal, &bytes).expect("write");
    assert_eq!(key_count(&open(&folder).expect("open")), 10);
}

#[test]
fn an_interrupted_drop_goes_on_after_a_restart() {
    let folder = TestFolder::new();
    let store = open(&folder).expect("open");
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
    for i in 0..20u64 {
        commit(&store, PART, |writes| {
            for j in 0..1_000u64 {
                writes.put(&[i.to_be_bytes(), j.to_be_bytes()].concat(), b"v");
            }
        });
    }
    store.drop_part(PART).expect("drop");
    drop(store);
    let store = open(&folder).expect("open");
    assert!(matches!(
        store.head(PART),
        Err(StoreError::NoSuchPart(PART))
    ));
    // The number is free again only when the last key is gone.
    let mut again = store.create_part(PART, Head::new(PartState::Active));
    for _ in 0..2_000 {
        match again {
            Err(StoreError::PartUnusable(PART)) => {
                std::thread::sleep(std::time::Duration::from_millis(5));
                again = store.create_part(PART, Head::new(PartState::Active));
            }
            other => {
                again = other;
                break;
            }
        }
    }
    again.expect("the space is reclaimed");
    assert_eq!(key_count(&store), 0);
}

#[test]
fn many_parts_survive_a_restart() {
    let folder = TestFolder::new();
    let store = open(&folder).expect("open");
    for part in 0..50 {
        store
            .create_part(PartId(part), Head::new(PartState::Active))
            .expect("create");
    }
    drop(store);
    assert_eq!(
        open(&folder)
            .expect("open")
            .list_parts()
            .expect("list")
            .len(),
        50
    );
}

/// Rows with keys of these numbers.
fn imported(numbers: std::ops::Range<u64>) -> Vec<Row> {
    let row = |number: u64| {
        let bytes = number.to_be_bytes();
        Row {
            key: bytes.as_slice().into(),
            value: bytes.as_slice().into(),
        }
    };
    numbers.map(row).collect()
}

#[test]
fn an_import_is_there_as_a_whole_beside_commits_and_after_a_restart() {
    let folder = TestFolder::new();
    let store = open(&folder).expect("open");
    let other = PartId(3);
    for part in [PART, other] {
        store
            .create_part(part, Head::new(PartState::Active))
            .expect("create");
    }
    let mut import = store.import(PART).expect("import").expect("a faster way");
    for page in 0..20 {
        import
            .put(imported(page * 1_000..(page + 1) * 1_000))
            .expect("taken");
        commit(&store, other, |writes| {
            writes.put(&page.to_be_bytes(), b"v");
        });
    }
    assert_eq!(key_count(&store), 0, "nothing before the end");
    import.finish().expect("finished");
    // Later commits of the part lie over it.
    commit(&store, PART, |writes| {
        writes.delete(&7_u64.to_be_bytes());
        writes.put(&8_u64.to_be_bytes(), b"new");
    });
    let check = |store: &FjallStore| {
        assert_eq!(key_count(store), 19_999);
        let keys = [
            7_u64.to_be_bytes(),
            8_u64.to_be_bytes(),
            9_u64.to_be_bytes(),
        ];
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
        let (_, values) = store.get_many(PART, &keys).expect("read");
        assert_eq!(values[0], None);
        assert_eq!(values[1].as_deref(), Some(b"new".as_slice()));
        assert_eq!(values[2].as_deref(), Some(keys[2]));
        let of_other = store.scan(other, &Scan::all()).expect("scan").rows.len();
        assert_eq!(of_other, 20);
    };
    check(&store);
    drop(store);
    check(&open(&folder).expect("open"));
}

#[test]
fn an_import_that_is_given_up_leaves_nothing() {
    let folder = TestFolder::new();
    let store = open(&folder).expect("open");
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
    let mut import = store.import(PART).expect("import").expect("a faster way");
    import.put(imported(0..5_000)).expect("taken");
    drop(import);
    commit(&store, PART, |writes| writes.put(b"k", b"v"));
    assert_eq!(key_count(&store), 1);
    drop(store);
    assert_eq!(key_count(&open(&folder).expect("open")), 1);
}

#[test]
fn an_import_ends_with_the_store() {
    let folder = TestFolder::new();
    let store = open(&folder).expect("open");
    store
        .create_part(PART, Head::new(PartState::Active))
        .expect("create");
    let mut import = store.import(PART).expect("import").expect("a faster way");
    import.put(imported(0..10)).expect("taken");
    store.close().expect("closed");
    assert!(import.finish().is_err());
    assert!(store.import(PART).is_err());
}
