//! The memory that queries share.
//!
//! Each query counts what it holds (rows that wait to be sorted, groups, values under way). Up to
//! [`FREE`] that is its own business; more it takes from a pool that all queries of a process
//! share, so that many large ones together stay within bounds.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that every query may hold without asking.
pub const FREE: usize = 256 << 10;
/// Bytes that are asked for at a time.
const STEP: usize = 1 << 20;

/// Bytes that are left for queries.
#[derive(Debug)]
pub struct MemoryPool(AtomicUsize);

impl MemoryPool {
    /// A pool of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    fn take(&self, bytes: usize) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            })
            .is_ok()
    }

    fn give(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What one query has of the pool; it goes back when the query ends.
#[derive(Debug)]
pub(crate) struct Grant<'p> {
    pool: Option<&'p MemoryPool>,
    limit: usize,
    taken: Cell<usize>,
}

impl<'p> Grant<'p> {
    /// At most `limit` bytes, of nobody's.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            pool: None,
            limit,
            taken: Cell::new(0),
        }
    }

    /// Takes from this pool from now on.
    pub(crate) fn share(&mut self, pool: &'p MemoryPool) {
        self.pool = Some(pool);
    }

    /// Whether so many bytes may be held in all.
    pub(crate) fn covers(&self, bytes: usize) -> bool {
        if bytes > self.limit {
            return false;
        }
        let Some(pool) = self.pool else { return true };
        let more = bytes.saturating_sub(FREE + self.taken.get());
        if more == 0 {
            return true;
        }
        let more = more.next_multiple_of(STEP);
        let granted = pool.take(more);
        if granted {
            self.taken.set(self.taken.get() + more);
        }
        granted
    }
}

impl Drop for Grant<'_> {
    fn drop(&mut self) {
        if let Some(pool) = self.pool {
            pool.give(self.taken.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_shared_and_comes_back() {
        let pool = MemoryPool::new(4 * STEP);
        let grant = || {
            let mut grant = Grant::new(100 * STEP);
            grant.share(&pool);
            grant
        };
        let (first, second) = (grant(), grant());
        assert!(first.covers(FREE) && second.covers(FREE));
        assert!(first.covers(FREE + 3 * STEP));
        assert!(second.covers(FREE + STEP));
        assert!(!second.covers(FREE + STEP + 1));
        drop(first);
        assert!(second.covers(FREE + 4 * STEP));
        assert!(!Grant::new(5).covers(6));
    }
}
