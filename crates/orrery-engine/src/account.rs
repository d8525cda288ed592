//! The account's own part of the store: what must be known before any partition is.
//!
//! Keys start with a letter; `p` and `n` are used here and in [`crate::partition_map`], the
//! others belong to the catalog, which puts its records into the same commits.

use std::sync::{Arc, Mutex, PoisonError};

use orrery_storage::{Begin, CommitToken, Head, PartId, PartState, Scan, Store, Writes};

use crate::clock::Entropy;
use crate::error::Error;

/// The reserved part.
pub const ACCOUNT_PART: PartId = PartId(0);
/// Family of the partition maps.
pub const MAP: u8 = b'p';
/// Family of numbers that only count up.
pub const NUMBER: u8 = b'n';

/// A key and its value.
pub type Record = (Vec<u8>, Vec<u8>);

/// The account's part.
pub struct Account {
    store: Arc<dyn Store>,
    entropy: Arc<dyn Entropy>,
    // Numbers are read, raised and written back; one at a time.
    writer: Mutex<()>,
}

impl Account {
    /// Opens the part, making it in a new store.
    pub fn open(store: Arc<dyn Store>, entropy: Arc<dyn Entropy>) -> Result<Self, Error> {
        store.create_part(ACCOUNT_PART, Head::new(PartState::Active))?;
        Ok(Self {
            store,
            entropy,
            writer: Mutex::new(()),
        })
    }

    /// One entry.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let (_, values) = self.store.get_many(ACCOUNT_PART, &[key])?;
        Ok(values
            .into_iter()
            .next()
            .flatten()
            .map(|value| value.to_vec()))
    }

    /// All entries that start with `prefix`, in order.
    pub fn scan(&self, prefix: &[u8]) -> Result<Vec<Record>, Error> {
        let page = self.store.scan(ACCOUNT_PART, &Scan::prefix(prefix))?;
        let entries = page.rows.into_iter();
        Ok(entries
            .map(|row| (row.key.to_vec(), row.value.to_vec()))
            .collect())
    }

    /// Commits and waits until it is durable.
    pub fn commit(&self, writes: Writes) -> Result<(), Error> {
        let _turn = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.commit_in_turn(writes)
    }

    fn commit_in_turn(&self, writes: Writes) -> Result<(), Error> {
        let Begin::Open { txn, head, .. } = self.store.begin(ACCOUNT_PART, 1, &[])? else {
            return Err(Error::Damaged("account"));
        };
        let high = u128::from(self.entropy.next_u64());
        let token = CommitToken((high << 64) | u128::from(self.entropy.next_u64()));
        let pending = txn
            .commit(writes, head.advanced(head.lsn + 1, token))
            .map_err(orrery_storage::CommitError::into_inner)?;
        Ok(pending.wait()?)
    }

    /// Takes `count` numbers of a kind that are never given again; answers the first, from 1.
    pub fn take_numbers(&self, kind: &str, count: u64) -> Result<u64, Error> {
        let _turn = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let key = [&[NUMBER], kind.as_bytes()].concat();
        let next = match self.get(&key)? {
            None => 1,
            Some(value) => {
                let bytes = value
                    .as_slice()
                    .try_into()
                    .map_err(|_| Error::Damaged("number"))?;
                u64::from_be_bytes(bytes)
            }
        };
        let mut writes = Writes::new();
        writes.put(&key, &next.saturating_add(count).to_be_bytes());
        self.commit_in_turn(writes)?;
        Ok(next)
    }
}
