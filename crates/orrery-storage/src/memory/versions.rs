//! An ordered map that remembers what its open snapshots can still see.
//!
//! Copying the map for each snapshot would make a commit during a query cost the whole map; here
//! a key keeps its old values only while a snapshot needs them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use crate::bytes::StoredBytes;
use crate::error::StoreError;
use crate::scan::{Direction, Page, Row, Scan};
use crate::writes::Writes;

/// One value of a key, and the version at which it came; `None` is a delete.
struct Version {
    since: u64,
    value: Option<Arc<[u8]>>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Versions {
    /// Each with at least one version, oldest first.
    keys: BTreeMap<Arc<[u8]>, Vec<Version>>,
    /// The number of commits applied.
    now: u64,
    /// Open snapshots: version -> how many.
    held: BTreeMap<u64, usize>,
    /// Keys that got a second version or a delete, in the order of commits: to be cleaned when
    /// no snapshot from before that commit is left.
    superseded: VecDeque<(u64, Arc<[u8]>)>,
}

impl Versions {
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Opens a snapshot and answers its version.
    pub(super) fn hold(&mut self) -> u64 {
        *self.held.entry(self.now).or_default() += 1;
        self.now
    }

    pub(super) fn release(&mut self, version: u64) {
        if let Some(count) = self.held.get_mut(&version) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(&version);
                self.clean();
            }
        }
    }

    pub(super) fn get(&self, key: &[u8], version: u64) -> Option<StoredBytes> {
        visible(self.keys.get(key)?, version).map(Into::into)
    }

    pub(super) fn scan(&self, scan: &Scan, version: u64) -> Result<Page, StoreError> {
        let Some((lower, upper)) = scan.bounds() else {
            return Ok(Page::default());
        };
        let upper = upper.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.keys.range::<[u8], _>((lower, upper));
        let seen = |(key, versions): (&Arc<[u8]>, &Vec<Version>)| {
            let value = visible(versions, version)?.into();
            let key = Arc::clone(key).into();
            Some(Ok(Row { key, value }))
        };
        match scan.direction {
            Direction::Forward => scan.collect(rows.filter_map(seen)),
            Direction::Backward => scan.collect(rows.rev().filter_map(seen)),
        }
    }

    pub(super) fn apply(&mut self, writes: &Writes) {
        self.now += 1;
        for (key, value) in writes.iter() {
            let version = Version {
                since: self.now,
                value: value.map(Arc::from),
            };
            if let Some(versions) = self.keys.get_mut(key) {
                versions.push(version);
                self.superseded.push_back((self.now, Arc::from(key)));
            } else if version.value.is_some() {
                self.keys.insert(Arc::from(key), vec![version]);
            }
        }
        self.clean();
    }

    /// Forgets what neither the present nor an open snapshot can see.
    fn clean(&mut self) {
        let oldest = self.held.keys().next().copied().unwrap_or(self.now);
        while let Some((commit, _)) = self.superseded.front() {
            if *commit > oldest {
                break;
            }
            let Some((_, key)) = self.superseded.pop_front() else {
                break;
            };
            let Some(versions) = self.keys.get_mut(&key) else {
                continue;
            };
            let needed = versions
                .iter()
                .rposition(|version| version.since <= oldest)
                .unwrap_or(0);
            versions.drain(..needed);
            if let [only] = versions.as_slice()
                && only.value.is_none()
                && only.since <= oldest
            {
                self.keys.remove(&key);
            }
        }
    }
}

fn visible(versions: &[Version], at: u64) -> Option<Arc<[u8]>> {
    versions
        .iter()
        .rev()
        .find(|version| version.since <= at)?
        .value
        .clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(versions: &mut Versions, key: &[u8], value: Option<&[u8]>) {
        let mut writes = Writes::new();
        match value {
            Some(value) => writes.put(key, value),
            None => writes.delete(key),
        }
        versions.apply(&writes);
    }

    #[test]
    fn old_versions_live_as_long_as_their_snapshots() {
        let mut versions = Versions::default();
        put(&mut versions, b"k", Some(b"1"));
        let first = versions.hold();
        put(&mut versions, b"k", Some(b"2"));
        let second = versions.hold();
        put(&mut versions, b"k", None);
        let at = |versions: &Versions, version| versions.get(b"k", version).map(|v| v.to_vec());
        assert_eq!(at(&versions, first), Some(b"1".to_vec()));
        assert_eq!(at(&versions, second), Some(b"2".to_vec()));
        assert_eq!(at(&versions, versions.now()), None);
        versions.release(first);
        assert_eq!(at(&versions, second), Some(b"2".to_vec()));
        versions.release(second);
        assert!(versions.keys.is_empty(), "a delete leaves nothing behind");
        assert!(versions.superseded.is_empty());
    }
}
