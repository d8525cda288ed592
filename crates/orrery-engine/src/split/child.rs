//! A partition in the making: a part that is being filled, and that no map names yet.

use std::collections::VecDeque;
use std::sync::Arc;

use orrery_model::epk::EpkRange;
use orrery_model::ids::{DocId, Lsn};
use orrery_storage::{Begin, Head, Import, PartId, PartState, Pending, Row, Txn, Writes};

use super::entries::Batch;
use crate::committer::{Environment, GENERATION};
use crate::container::ContainerState;
use crate::error::Error;
use crate::layout::entries::Counters;
use crate::layout::keys;
use crate::partition::StoredItem;

/// Commits that may be on their way to the disk before the next waits.
const MOST_PENDING: usize = 4;

/// See the module.
pub struct Child {
    /// The key space that it will own.
    pub range: EpkRange,
    /// Where it lies.
    pub part: PartId,
    /// Its sums so far.
    pub counters: Counters,
    pending: VecDeque<Pending>,
    /// Takes rows in order, faster than commits.
    import: Option<Box<dyn Import>>,
}

/// An item of a parent as it is now: gone, or this version.
pub type Present = (DocId, Option<Arc<StoredItem>>);

impl Child {
    /// Makes the part.
    pub fn create(environment: &Environment, part: PartId, range: EpkRange) -> Result<Self, Error> {
        environment
            .store
            .create_part(part, Head::new(PartState::Importing))?;
        Ok(Self {
            range,
            part,
            counters: Counters::empty(),
            pending: VecDeque::new(),
            import: None,
        })
    }

    /// Whether an effective partition key, as bytes, lies in its key space.
    pub fn holds(&self, epk: &[u8]) -> bool {
        let end = epk
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |at| at + 1);
        let epk = &epk[..end];
        self.range.min.significant() <= epk && epk < self.range.max.significant()
    }

    /// Prepares for many rows in order. Nothing else may write to the part until they are all there.
    pub fn start_import(&mut self, environment: &Environment) -> Result<(), Error> {
        self.import = environment.store.import(self.part)?;
        Ok(())
    }

    /// Whether rows go into files.
    pub fn is_importing(&self) -> bool {
        self.import.is_some()
    }

    /// Takes rows behind all before them.
    pub fn put_rows(&mut self, environment: &Environment, rows: Vec<Row>) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        if let Some(import) = &mut self.import {
            return Ok(import.put(rows)?);
        }
        let mut batch = self.batch();
        for row in &rows {
            batch.writes.put(&row.key, &row.value);
        }
        self.append(environment, batch)
    }

    /// All rows are there.
    pub fn end_import(&mut self) -> Result<(), Error> {
        match self.import.take() {
            Some(import) => Ok(import.finish()?),
            None => Ok(()),
        }
    }

    /// Gives up what is under way.
    pub fn give_up(&mut self) {
        self.import = None;
        self.pending.clear();
    }

    /// A commit that goes on where the last one ended.
    pub fn batch(&self) -> Batch {
        Batch {
            writes: Writes::new(),
            counters: self.counters,
        }
    }

    /// Appends a commit; an empty one is nothing.
    pub fn append(&mut self, environment: &Environment, batch: Batch) -> Result<(), Error> {
        if batch.writes.is_empty() {
            return Ok(());
        }
        let (txn, head) = self.begin(environment)?;
        self.commit(environment, txn, head, batch)
    }

    /// Brings items to what they are now, whatever the child has of them.
    pub fn reconcile(
        &mut self,
        environment: &Environment,
        state: &ContainerState,
        items: &[Present],
    ) -> Result<(), Error> {
        if items.is_empty() {
            return Ok(());
        }
        let (txn, head) = self.begin(environment)?;
        let keys: Vec<Vec<u8>> = items.iter().map(|(docid, _)| keys::item(*docid)).collect();
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut batch = self.batch();
        let mut inserts = Vec::with_capacity(items.len());
        // All that go before any that come: what one frees another may take.
        for ((docid, new), old) in items.iter().zip(txn.get_many(&slices)?) {
            let old = old.map(StoredItem::decode).transpose()?;
            if let (Some(new), Some(old)) = (new, &old)
                && new.header() == old.header()
            {
                continue;
            }
            if let Some(old) = &old {
                batch.remove(&*txn, state, *docid, old)?;
            }
            if let Some(new) = new {
                inserts.push((*docid, new));
            }
        }
        for (docid, new) in inserts {
            batch.insert(state, docid, new)?;
        }
        if batch.writes.is_empty() {
            return Ok(());
        }
        self.commit(environment, txn, head, batch)
    }

    /// The last commit: from here on the part is one like any other, at this position.
    pub fn activate(
        &mut self,
        environment: &Environment,
        lsn: Lsn,
        last_ts: u64,
        history_cut: Lsn,
    ) -> Result<(), Error> {
        self.counters.last_ts = last_ts;
        self.counters.history_cut = history_cut;
        let (txn, mut head) = self.begin(environment)?;
        head.state = PartState::Active;
        head.lsn = lsn.0;
        let batch = self.batch();
        self.commit(environment, txn, head, batch)
    }

    /// Waits until everything is durable.
    pub fn settle(&mut self) -> Result<(), Error> {
        for pending in self.pending.drain(..) {
            pending.wait()?;
        }
        Ok(())
    }

    fn begin(&self, environment: &Environment) -> Result<(Box<dyn Txn>, Head), Error> {
        match environment.store.begin(self.part, GENERATION, &[])? {
            Begin::Open { txn, head, .. } => Ok((txn, head)),
            Begin::Moved(_) => Err(Error::Damaged("partition in the making")),
        }
    }

    fn commit(
        &mut self,
        environment: &Environment,
        txn: Box<dyn Txn>,
        head: Head,
        batch: Batch,
    ) -> Result<(), Error> {
        let Batch {
            mut writes,
            counters,
        } = batch;
        writes.put(&keys::COUNTERS, &counters.encode());
        let head = head.advanced(head.lsn, environment.token());
        let pending = txn
            .commit(writes, head)
            .map_err(orrery_storage::CommitError::into_inner)?;
        self.counters = counters;
        self.pending.push_back(pending);
        while self.pending.len() > MOST_PENDING {
            if let Some(oldest) = self.pending.pop_front() {
                oldest.wait()?;
            }
        }
        Ok(())
    }
}

/// The child that owns an effective partition key.
pub fn child_of(children: &[Child], epk: &[u8]) -> Result<usize, Error> {
    children
        .iter()
        .position(|child| child.holds(epk))
        .ok_or(Error::Damaged("partition map"))
}
