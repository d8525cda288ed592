//! Kill -9 in the middle of commits.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread;

use orrery_storage::{
    Begin, CommitToken, FjallStore, Head, Options, PartId, PartState, Scan, Store, Writes,
};

use crate::folder::TestFolder;

const FOLDER: &str = "ORRERY_TEST_CRASH_FOLDER";
const PARTS: u64 = 3;
const KEYS: u64 = 5;

/// Starts one test of this program as a process of its own, with a variable that tells it so.
pub fn start(test: &str, variable: &str, value: &std::path::Path) -> Command {
    let program = std::env::current_exe().expect("a running program has a path");
    let mut command = Command::new(program);
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(variable, value);
    command
}

fn start_writer(folder: &TestFolder) -> Child {
    start("crash::the_process_that_is_killed", FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test program starts")
}

/// Not a test in an ordinary run: the process that the test below starts and kills. It commits
/// until then, and says what was acknowledged.
#[test]
fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let store = FjallStore::open(folder, Options::default()).expect("open");
    thread::scope(|scope| {
        for part in (0..PARTS).map(PartId) {
            let store = &store;
            scope.spawn(move || {
                store
                    .create_part(part, Head::new(PartState::Active))
                    .expect("create");
                loop {
                    let Begin::Open { txn, head, .. } = store.begin(part, 1, &[]).expect("begin")
                    else {
                        panic!("moved");
                    };
                    let lsn = head.lsn + 1;
                    let mut writes = Writes::new();
                    for key in 0..KEYS {
                        writes.put(&[lsn.to_be_bytes(), key.to_be_bytes()].concat(), &[7; 200]);
                    }
                    let next = head.advanced(lsn, CommitToken(u128::from(lsn)));
                    let pending = txn.commit(writes, next).expect("commit");
                    pending.wait().expect("durable");
                    let line = format!("acknowledged {} {lsn}\n", part.0);
                    std::io::stdout()
                        .write_all(line.as_bytes())
                        .expect("the parent reads");
                }
            });
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost_by_kill_9() {
    let folder = TestFolder::new();
    let mut acknowledged = [0u64; PARTS as usize];
    for round in 0..8usize {
        let mut child = start_writer(&folder);
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut left = 20 + round * 97;
        for line in output.lines().map_while(Result::ok) {
            // The last line may be cut by the kill; the harness prints lines of its own.
            let Some(rest) = line.strip_prefix("acknowledged ") else {
                continue;
            };
            if let Some((part, lsn)) = rest.split_once(' ')
                && let (Ok(part), Ok(lsn)) = (part.parse::<usize>(), lsn.parse())
            {
                acknowledged[part] = lsn;
            }
            left = left.saturating_sub(1);
            if left == 0 {
                // SIGKILL; reading goes on to the end of what was said before it.
                let _ = child.kill();
            }
        }
        child.wait().expect("the child ends");
        assert_eq!(left, 0, "the child ended by itself");
        check(&folder, &acknowledged);
    }
}

fn check(folder: &TestFolder, acknowledged: &[u64]) {
    let store = FjallStore::open(folder.path(), Options::default()).expect("open after the kill");
    for (part, &acknowledged) in acknowledged.iter().enumerate() {
        let part = PartId(part as u64);
        let Ok(head) = store.head(part) else {
            assert_eq!(acknowledged, 0);
            continue;
        };
        assert!(head.lsn >= acknowledged, "{} < {acknowledged}", head.lsn);
        assert_eq!(head.token, CommitToken(u128::from(head.lsn)));
        let rows = store.scan(part, &Scan::all()).expect("scan").rows;
        let expected = (1..=head.lsn).flat_map(|lsn| (0..KEYS).map(move |key| (lsn, key)));
        let expected: Vec<_> = expected
            .map(|(lsn, key)| [lsn.to_be_bytes(), key.to_be_bytes()].concat())
            .collect();
        let found: Vec<_> = rows.iter().map(|row| row.key.to_vec()).collect();
        assert!(found == expected, "all commits up to the head, each whole");
    }
}
