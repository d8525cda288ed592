//! What readers see: the newest durable state, and reads from a point of the history.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use fjall::{Readable, Snapshot};

use crate::bytes::StoredBytes;
use crate::error::StoreError;
use crate::lock::{read, write};
use crate::part::{Head, PartId};
use crate::scan::{Direction, Page, Row, Scan};
use crate::store::Reader;

use super::Core;
use super::append::Moves;
use super::keys::{part_end, part_key, push_part};

/// A snapshot of the engine with the heads that belong to it.
pub(super) struct View {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) heads: BTreeMap<PartId, Head>,
}

impl Core {
    /// Lets readers see a newer state.
    pub(super) fn publish(&self, snapshot: Arc<Snapshot>, moves: &[Moves]) {
        let mut view = write(&self.view);
        let old = std::mem::replace(&mut view.snapshot, snapshot);
        for moves in moves {
            match *moves {
                Moves::Nothing => {}
                Moves::Head(part, head) => {
                    view.heads.insert(part, head);
                }
                Moves::Gone(part) => {
                    view.heads.remove(&part);
                }
            }
        }
        drop(view);
        // Closing a snapshot takes a lock of the engine.
        drop(old);
    }

    pub(super) fn heads(&self) -> Vec<(PartId, Head)> {
        let view = read(&self.view);
        view.heads
            .iter()
            .map(|(&part, &head)| (part, head))
            .collect()
    }

    pub(super) fn head(&self, part: PartId) -> Result<Head, StoreError> {
        read(&self.view)
            .heads
            .get(&part)
            .copied()
            .ok_or(StoreError::NoSuchPart(part))
    }

    /// The newest durable state, with the part's head in it.
    pub(super) fn durable(&self, part: PartId) -> Result<(Arc<Snapshot>, Head), StoreError> {
        let view = read(&self.view);
        let head = view
            .heads
            .get(&part)
            .copied()
            .ok_or(StoreError::NoSuchPart(part))?;
        Ok((Arc::clone(&view.snapshot), head))
    }

    pub(super) fn get_many(
        &self,
        snapshot: &Snapshot,
        part: PartId,
        keys: &[&[u8]],
    ) -> Result<Vec<Option<StoredBytes>>, StoreError> {
        let mut whole = Vec::with_capacity(64);
        push_part(part, &mut whole);
        let prefix = whole.len();
        keys.iter()
            .map(|key| {
                whole.truncate(prefix);
                whole.extend_from_slice(key);
                self.get_whole(snapshot, &whole)
            })
            .collect()
    }

    fn get_whole(
        &self,
        snapshot: &Snapshot,
        key: &[u8],
    ) -> Result<Option<StoredBytes>, StoreError> {
        let value = snapshot
            .get(&self.data, key)
            .map_err(|error| self.failure("reading", error))?;
        Ok(value.map(StoredBytes::block))
    }

    pub(super) fn scan(
        &self,
        snapshot: &Snapshot,
        part: PartId,
        scan: &Scan,
    ) -> Result<Page, StoreError> {
        let Some(rows) = self.rows(snapshot, part, scan) else {
            return Ok(Page::default());
        };
        let prefix = part_key(part, &[]).len();
        let row = |guard: fjall::Guard| {
            let (key, value) = guard
                .into_inner()
                .map_err(|error| self.failure("reading a range", error))?;
            Ok(Row {
                key: StoredBytes::block_after(key, prefix),
                value: StoredBytes::block(value),
            })
        };
        match scan.direction {
            Direction::Forward => scan.collect(rows.map(row)),
            Direction::Backward => scan.collect(rows.rev().map(row)),
        }
    }

    fn keys(
        &self,
        snapshot: &Snapshot,
        part: PartId,
        scan: &Scan,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let Some(rows) = self.rows(snapshot, part, scan) else {
            return Ok(());
        };
        let prefix = part_key(part, &[]).len();
        let mut show = |guard: fjall::Guard| {
            let key = guard
                .key()
                .map_err(|error| self.failure("reading a range", error))?;
            Ok(each(key.get(prefix..).unwrap_or_default()))
        };
        match scan.direction {
            Direction::Forward => until_break(rows.map(&mut show)),
            Direction::Backward => until_break(rows.rev().map(&mut show)),
        }
    }

    /// The rows of a range, ascending, whatever its limits.
    fn rows(&self, snapshot: &Snapshot, part: PartId, scan: &Scan) -> Option<fjall::Iter> {
        let (lower, upper) = scan.bounds()?;
        let lower = lower.map(|key| part_key(part, key));
        let upper = upper.map_or_else(|| part_end(part), |key| part_key(part, key));
        Some(snapshot.range::<Vec<u8>, _>(&self.data, (lower, Bound::Excluded(upper))))
    }
}

fn until_break(
    flows: impl Iterator<Item = Result<ControlFlow<()>, StoreError>>,
) -> Result<(), StoreError> {
    for flow in flows {
        if flow?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Reads one part from one snapshot.
pub(super) struct PartReader {
    core: Arc<Core>,
    snapshot: Arc<Snapshot>,
    part: PartId,
    head: Head,
}

impl PartReader {
    pub(super) fn new(core: Arc<Core>, snapshot: Arc<Snapshot>, part: PartId, head: Head) -> Self {
        Self {
            core,
            snapshot,
            part,
            head,
        }
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn part(&self) -> PartId {
        self.part
    }
}

impl Reader for PartReader {
    fn head(&self) -> Head {
        self.head
    }

    fn get(&self, key: &[u8]) -> Result<Option<StoredBytes>, StoreError> {
        self.core
            .get_whole(&self.snapshot, &part_key(self.part, key))
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<StoredBytes>>, StoreError> {
        self.core.get_many(&self.snapshot, self.part, keys)
    }

    fn scan(&self, scan: &Scan) -> Result<Page, StoreError> {
        self.core.scan(&self.snapshot, self.part, scan)
    }

    fn keys(
        &self,
        scan: &Scan,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.core.keys(&self.snapshot, self.part, scan, each)
    }
}
