//! The contract of a store.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::bytes::StoredBytes;
use crate::error::{CommitError, StoreError};
use crate::part::{CommitToken, Head, PartId};
use crate::pending::Pending;
use crate::scan::{Page, Row, Scan};
use crate::writes::Writes;

/// Ordered bytes, part by part. No transaction spans two parts, so the same contract fits an
/// embedded engine and a distributed one.
///
/// Guarantees of every engine (the conformance suite checks them):
///
/// * Commits of a part are totally ordered; who sees LSN n sees all up to n; nobody sees half a
///   commit; the LSN never goes back within a generation.
/// * A sealed part, or a writer of another generation, gets nothing in: [`Begin::Moved`].
/// * Readers see durable commits only, and at least every commit whose [`Pending`] resolved.
/// * After a write or sync failed, nothing more is accepted until the store is opened again.
pub trait Store: Send + Sync {
    /// Creates a part with the given head, durably. A part that exists is left as it is.
    fn create_part(&self, part: PartId, head: Head) -> Result<(), StoreError>;

    /// Removes a part and all its keys. The part is gone for everybody, durably, when this
    /// returns; its space is reclaimed in the background, across restarts. A part that does not
    /// exist is no error.
    fn drop_part(&self, part: PartId) -> Result<(), StoreError>;

    /// All parts in the order of their numbers, to find orphans.
    fn list_parts(&self) -> Result<Vec<(PartId, Head)>, StoreError>;

    /// The head after the last durable commit.
    fn head(&self, part: PartId) -> Result<Head, StoreError>;

    /// The values of some keys from one snapshot, with the head of that same snapshot. The
    /// answers stand in the order of the keys.
    fn get_many(
        &self,
        part: PartId,
        keys: &[&[u8]],
    ) -> Result<(Head, Vec<Option<StoredBytes>>), StoreError>;

    /// One page of a range, from one snapshot.
    fn scan(&self, part: PartId, scan: &Scan) -> Result<Page, StoreError>;

    /// One snapshot across calls. Short-lived (a query page, a feed page): it holds back the
    /// reclaiming of old versions. It keeps working when its part is dropped meanwhile, but may
    /// then miss keys.
    fn snapshot(&self, part: PartId) -> Result<Box<dyn Reader>, StoreError>;

    /// Becomes the exclusive writer of the part, waiting for its turn, and reads the `prefetch`
    /// keys under that lock. Answers [`Begin::Moved`] if the part is sealed or of another
    /// generation.
    fn begin(&self, part: PartId, generation: u64, prefetch: &[&[u8]])
    -> Result<Begin, StoreError>;

    /// Fills a part that has no rows yet, and no other writer until the import is finished, with
    /// rows in ascending order. `None` where that would be no faster than commits.
    fn import(&self, _part: PartId) -> Result<Option<Box<dyn Import>>, StoreError> {
        Ok(None)
    }

    /// What became of the commit named `token` that would have left `lsn` behind. For use after
    /// [`CommitError::Unknown`] or a failed [`Pending`], once the store has been opened again.
    fn resolve(&self, part: PartId, token: CommitToken, lsn: u64)
    -> Result<Resolution, StoreError>;

    /// Blocks until the part's durable LSN is greater than `lsn`, the part is gone, or the time
    /// is up, and answers the head then. A hint for long polls, not a promise: it may return
    /// early.
    fn wait(&self, part: PartId, lsn: u64, timeout: Duration) -> Result<Head, StoreError>;

    /// Makes everything durable and stops accepting writes. Dropping a store does the same but
    /// cannot tell of a failure.
    fn close(&self) -> Result<(), StoreError>;
}

/// Reads from one part at one point of its history.
pub trait Reader: Send + Sync {
    /// The head at that point.
    fn head(&self) -> Head;

    /// The value of one key.
    fn get(&self, key: &[u8]) -> Result<Option<StoredBytes>, StoreError>;

    /// The values of some keys, in their order.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<StoredBytes>>, StoreError> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// One page of a range.
    fn scan(&self, scan: &Scan) -> Result<Page, StoreError>;

    /// Shows all keys of a range in the order of the scan, until `each` breaks off. There are no
    /// pages: the limits of the scan do not count.
    fn keys(
        &self,
        scan: &Scan,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut scan = scan.clone().max_rows(KEYS).max_bytes(usize::MAX);
        loop {
            let page = self.scan(&scan)?;
            if page
                .rows
                .iter()
                .try_for_each(|row| each(&row.key))
                .is_break()
            {
                return Ok(());
            }
            match page.resume {
                Some(key) => scan.resume = Some(key.to_vec()),
                None => return Ok(()),
            }
        }
    }
}

/// Keys that [`Reader::keys`] holds at a time where an engine knows no better way.
const KEYS: usize = 1_024;

/// Rows on their way into a part. Dropping it gives them up.
pub trait Import: Send {
    /// Takes rows that lie behind all before them.
    fn put(&mut self, rows: Vec<Row>) -> Result<(), StoreError>;

    /// Makes all rows durable, at once and not before. Readers see them from the next commit of
    /// the part on.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// The exclusive writer of a part. It reads everything appended to the part, also what is not
/// durable yet. Dropping it writes nothing.
pub trait Txn: Reader {
    /// Appends the changes and the new head, all or nothing, and gives up the part: the next
    /// writer may begin while this commit is on its way to the disk. The new head must keep or
    /// raise the generation, and must not lower the LSN within it.
    fn commit(self: Box<Self>, writes: Writes, head: Head) -> Result<Pending, CommitError>;

    /// Gives up the part without a commit. The [`Pending`] resolves when everything that the
    /// transaction may have read is durable: a refusal ("this id is taken") waits for it.
    fn release(self: Box<Self>) -> Pending;
}

/// The answer to [`Store::begin`].
pub enum Begin {
    /// The part is held for writing.
    Open {
        /// The writer.
        txn: Box<dyn Txn>,
        /// The head after the last appended commit.
        head: Head,
        /// The values of the prefetched keys, in their order.
        values: Vec<Option<StoredBytes>>,
    },
    /// The part is sealed or has another generation: look up who owns it now.
    Moved(Head),
}

/// The fate of a commit whose answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It happened.
    Committed,
    /// It did not happen and never will.
    Aborted,
    /// A later commit has taken its place in the head, and the store does not remember names
    /// further back. It happened exactly if its effects are there.
    Overtaken,
}
