//! A store over another one whose owner decides what becomes of each write: to record it, to
//! lose it, to end in the middle of it.
//!
//! Reads go through untouched. Imports are not offered, so that every row passes as a commit.

use std::sync::Arc;
use std::time::Duration;

use crate::bytes::StoredBytes;
use crate::error::{CommitError, StoreError};
use crate::part::{CommitToken, Head, PartId};
use crate::pending::Pending;
use crate::scan::{Page, Scan};
use crate::store::{Begin, Reader, Resolution, Store, Txn};
use crate::writes::Writes;

/// A change of which parts there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartChange {
    /// [`Store::create_part`].
    Create(PartId, Head),
    /// [`Store::drop_part`].
    Drop(PartId),
}

impl PartChange {
    /// Lets it happen.
    pub fn apply(self, store: &dyn Store) -> Result<(), StoreError> {
        match self {
            Self::Create(part, head) => store.create_part(part, head),
            Self::Drop(part) => store.drop_part(part),
        }
    }
}

/// What stands between the caller and the store.
pub trait Intercept: Send + Sync + 'static {
    /// Decides what becomes of a part's creation or drop.
    fn change(&self, change: PartChange, store: &dyn Store) -> Result<(), StoreError>;

    /// Decides what becomes of a commit.
    fn commit(
        &self,
        part: PartId,
        txn: Box<dyn Txn>,
        writes: Writes,
        head: Head,
    ) -> Result<Pending, CommitError>;
}

/// Lets a commit happen, durably, of which nobody is told: they get this error.
pub fn commit_untold(
    txn: Box<dyn Txn>,
    writes: Writes,
    head: Head,
    error: StoreError,
) -> Result<Pending, CommitError> {
    let pending = txn.commit(writes, head)?;
    pending.wait().map_err(CommitError::Unknown)?;
    Err(CommitError::Unknown(error))
}

/// See the module.
pub struct InterceptedStore<I> {
    inner: Arc<dyn Store>,
    intercept: Arc<I>,
}

impl<I: Intercept> InterceptedStore<I> {
    /// Puts `intercept` before a store.
    pub fn new(inner: Arc<dyn Store>, intercept: Arc<I>) -> Self {
        Self { inner, intercept }
    }
}

struct InterceptedTxn<I> {
    inner: Box<dyn Txn>,
    part: PartId,
    intercept: Arc<I>,
}

impl<I: Intercept> Reader for InterceptedTxn<I> {
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

impl<I: Intercept> Txn for InterceptedTxn<I> {
    fn commit(self: Box<Self>, writes: Writes, head: Head) -> Result<Pending, CommitError> {
        self.intercept.commit(self.part, self.inner, writes, head)
    }

    fn release(self: Box<Self>) -> Pending {
        self.inner.release()
    }
}

impl<I: Intercept> Store for InterceptedStore<I> {
    fn create_part(&self, part: PartId, head: Head) -> Result<(), StoreError> {
        let change = PartChange::Create(part, head);
        self.intercept.change(change, self.inner.as_ref())
    }

    fn drop_part(&self, part: PartId) -> Result<(), StoreError> {
        let change = PartChange::Drop(part);
        self.intercept.change(change, self.inner.as_ref())
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
                let txn = Box::new(InterceptedTxn {
                    inner: txn,
                    part,
                    intercept: Arc::clone(&self.intercept),
                });
                Begin::Open { txn, head, values }
            }
            moved @ Begin::Moved(_) => moved,
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
