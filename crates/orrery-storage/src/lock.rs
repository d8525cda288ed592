//! Locks that outlive a panic elsewhere, and the turns of a part's writers.
//!
//! No critical section of this crate leaves its data half changed: what a section publishes, it
//! publishes in its last step. So a panic in some thread is no reason to refuse the others.

use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::part::Head;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn park<'a, T>(signal: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    signal.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn park_for<'a, T>(
    signal: &Condvar,
    guard: MutexGuard<'a, T>,
    time: Duration,
) -> MutexGuard<'a, T> {
    signal
        .wait_timeout(guard, time)
        .unwrap_or_else(PoisonError::into_inner)
        .0
}

/// Who may write to a part: one at a time. Unlike a mutex guard, a turn is free of lifetimes and
/// may move to another thread.
#[derive(Default)]
pub(crate) struct Turns {
    taken: Mutex<bool>,
    freed: Condvar,
}

/// The right to write, until dropped.
pub(crate) struct Turn(Arc<Turns>);

impl Turns {
    pub(crate) fn take(self: &Arc<Self>) -> Turn {
        let mut taken = lock(&self.taken);
        while *taken {
            taken = park(&self.freed, taken);
        }
        *taken = true;
        Turn(Arc::clone(self))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *lock(&self.0.taken) = false;
        self.0.freed.notify_one();
    }
}

/// Wakes those who wait for a head to move on. One signal for all parts: waiters are few, and
/// without any a commit pays one uncontended lock.
#[derive(Default)]
pub(crate) struct Watch {
    waiters: Mutex<usize>,
    moved: Condvar,
}

impl Watch {
    /// Some heads moved. Called after they can be read.
    pub(crate) fn notify(&self) {
        if *lock(&self.waiters) > 0 {
            self.moved.notify_all();
        }
    }

    /// Asks for the head until its LSN is beyond `lsn` or the time is up.
    pub(crate) fn wait(
        &self,
        lsn: u64,
        timeout: Duration,
        head: impl Fn() -> Result<Head, StoreError>,
    ) -> Result<Head, StoreError> {
        let start = Instant::now();
        let mut waiters = lock(&self.waiters);
        *waiters += 1;
        let answer = loop {
            // Under the lock, so that no `notify` falls between the look and the nap.
            let found = head();
            let left = timeout.saturating_sub(start.elapsed());
            match found {
                Ok(head) if head.lsn <= lsn && !left.is_zero() => {
                    waiters = park_for(&self.moved, waiters, left);
                }
                other => break other,
            }
        };
        *waiters -= 1;
        answer
    }
}
