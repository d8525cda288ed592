//! The raw store doing what the engine did: the floor of the write benches.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use orrery_engine::CommitMode;
use orrery_storage::{Begin, CommitToken, FjallStore, Options, PartId, Pending, Store, Writes};

use super::super::recording::{Log, Recording};
use super::super::renew;
use super::{WRITERS, account, create};

/// What the engine commits for these items, one commit each.
pub(super) fn record(bodies: &[Vec<u8>], keys: &str) -> Result<Log> {
    let recording = Arc::new(Recording::default());
    let store = recording.store();
    let (engine, container) = account(&store, CommitMode::Inline, keys)?;
    for body in bodies {
        create(&engine, &container, body)?;
    }
    let ranges = container.ranges();
    let parts: Vec<PartId> = ranges.partitions().iter().map(|one| one.part()).collect();
    drop(engine);
    let mut log = recording.take();
    log.parts.retain(|(part, _)| parts.contains(part));
    log.commits.retain(|(part, _)| parts.contains(part));
    Ok(log)
}

/// Several items of one part, ready to be committed together.
pub(super) struct Group {
    part: PartId,
    items: u64,
    writes: Writes,
}

/// Gathers so many items for each commit, as a committer with a full line does. Before the clock
/// starts: the floor is what the store does.
pub(super) fn gather(log: &Log, size: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for chunk in log.commits.chunks(size) {
        let first = groups.len();
        for (part, writes) in chunk {
            let mut own = groups[first..].iter_mut();
            match own.find(|group| group.part == *part) {
                Some(group) => {
                    group.items += 1;
                    append(&mut group.writes, writes);
                }
                None => groups.push(Group {
                    part: *part,
                    items: 1,
                    writes: writes.clone(),
                }),
            }
        }
    }
    groups
}

fn append(all: &mut Writes, more: &Writes) {
    for (key, value) in more.iter() {
        match value {
            Some(value) => all.put(key, value),
            None => all.delete(key),
        }
    }
}

/// Items per second when one thread commits groups and has so many of them on their way to the
/// disk.
pub(super) fn grouped(
    log: &Log,
    groups: Vec<Group>,
    in_flight: usize,
    folder: &Path,
) -> Result<f64> {
    let store = raw_store(log, folder)?;
    let since = Instant::now();
    let mut waiting: VecDeque<Pending> = VecDeque::new();
    for group in groups {
        waiting.push_back(commit(&store, group)?);
        if waiting.len() >= in_flight {
            waiting.pop_front().context("not empty")?.wait()?;
        }
    }
    for pending in waiting {
        pending.wait()?;
    }
    let rate = log.commits.len() as f64 / since.elapsed().as_secs_f64();
    store.close()?;
    Ok(rate)
}

/// Items per second when 32 threads each commit an item and wait for it.
pub(super) fn threaded(log: &Log, folder: &Path) -> Result<f64> {
    let mut shares: Vec<Vec<Group>> = (0..WRITERS).map(|_| Vec::new()).collect();
    for (number, group) in gather(log, 1).into_iter().enumerate() {
        shares[number % WRITERS].push(group);
    }
    let store = raw_store(log, folder)?;
    let since = Instant::now();
    std::thread::scope(|scope| {
        let work = |share: Vec<Group>| {
            let mut groups = share.into_iter();
            groups.try_for_each(|group| anyhow::Ok(commit(&store, group)?.wait()?))
        };
        let threads: Vec<_> = shares
            .into_iter()
            .map(|share| scope.spawn(move || work(share)))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            let done = thread.join();
            done.map_err(|_| anyhow::anyhow!("a writer panicked"))?
        })
    })?;
    let rate = log.commits.len() as f64 / since.elapsed().as_secs_f64();
    store.close()?;
    Ok(rate)
}

fn raw_store(log: &Log, folder: &Path) -> Result<FjallStore> {
    renew(folder)?;
    let store = FjallStore::open(folder, Options::default())?;
    for (part, head) in &log.parts {
        store.create_part(*part, *head)?;
    }
    Ok(store)
}

fn commit(store: &FjallStore, group: Group) -> Result<Pending> {
    match store.begin(group.part, 1, &[])? {
        Begin::Open { txn, head, .. } => {
            let lsn = head.lsn + group.items;
            let head = head.advanced(lsn, CommitToken(u128::from(lsn)));
            Ok(txn.commit(group.writes, head)?)
        }
        Begin::Moved(_) => bail!("a part moved"),
    }
}

#[cfg(test)]
mod tests {
    use orrery_storage::{MemoryStore, Scan};

    use super::*;
    use crate::load::worker;

    /// The floor is one only if the raw store ends up with what the engine would have stored.
    #[test]
    fn replaying_commits_the_same_keys() {
        let bodies: Vec<Vec<u8>> = (0..40).map(|number| worker::item(number, 5, 50)).collect();
        let log = record(&bodies, "/pk").expect("whole items are recorded");
        assert_eq!(log.commits.len(), bodies.len());
        let (part, head) = log.parts[0];
        let contents = |size| {
            let store = MemoryStore::new();
            store.create_part(part, head).expect("a new part");
            let mut items = 0;
            for group in gather(&log, size) {
                let Begin::Open { txn, head, .. } =
                    store.begin(part, 1, &[]).expect("the part is there")
                else {
                    panic!("a new part is open")
                };
                items += group.items;
                let head = head.advanced(head.lsn + group.items, CommitToken(1));
                txn.commit(group.writes, head)
                    .expect("nobody else writes")
                    .wait()
                    .expect("memory keeps it");
            }
            assert_eq!(items, 40);
            let page = store.scan(part, &Scan::all()).expect("the part is there");
            let rows = page
                .rows
                .iter()
                .map(|row| (row.key.to_vec(), row.value.to_vec()));
            rows.collect::<Vec<_>>()
        };
        let stored = contents(1);
        assert_eq!(stored, contents(16));
        assert_eq!(stored, contents(1024));
        assert!(
            stored.len() > bodies.len() * 10,
            "items, ids, terms, changes"
        );
    }
}
