//! The exclusive writer of a part.

use std::sync::Arc;

use crate::bytes::StoredBytes;
use crate::error::{CommitError, StoreError};
use crate::lock::{Turn, lock};
use crate::part::Head;
use crate::pending::Pending;
use crate::scan::{Page, Scan};
use crate::store::{Reader, Txn};
use crate::writes::Writes;

use super::Part;
use super::view::PartReader;

pub(super) struct FjallTxn {
    /// On a snapshot of everything appended; only the owner of the turn can change the part.
    reader: PartReader,
    part: Arc<Part>,
    _turn: Turn,
}

impl FjallTxn {
    pub(super) fn new(reader: PartReader, part: Arc<Part>, turn: Turn) -> Self {
        Self {
            reader,
            part,
            _turn: turn,
        }
    }
}

impl Reader for FjallTxn {
    fn head(&self) -> Head {
        self.reader.head()
    }

    fn get(&self, key: &[u8]) -> Result<Option<StoredBytes>, StoreError> {
        self.reader.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<StoredBytes>>, StoreError> {
        self.reader.get_many(keys)
    }

    fn scan(&self, scan: &Scan) -> Result<Page, StoreError> {
        self.reader.scan(scan)
    }
}

impl Txn for FjallTxn {
    fn commit(self: Box<Self>, writes: Writes, head: Head) -> Result<Pending, CommitError> {
        self.reader
            .head()
            .check_successor(head)
            .map_err(CommitError::Aborted)?;
        let writes = writes.into_final().map_err(CommitError::Aborted)?;
        let core = self.reader.core();
        let ticket = core.append_commit(self.reader.part(), &writes, head)?;
        *lock(&self.part.appended) = head;
        Ok(core.pending(ticket))
    }

    fn release(self: Box<Self>) -> Pending {
        let core = self.reader.core();
        core.pending(core.last_ticket())
    }
}
