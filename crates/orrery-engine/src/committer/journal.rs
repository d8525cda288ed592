//! Which items of a partition were written while it is being copied.
//!
//! Off, it costs a lock of its own that nobody else takes. On, every round notes the items that
//! its commit touches; whoever copies reads them again afterwards ([`crate::split`]). It lives in
//! memory: a copy that a restart interrupts starts again.

use std::sync::{Mutex, PoisonError};

use orrery_model::ids::DocId;
use orrery_storage::Writes;

use crate::layout::keys;

/// The journal of one partition.
#[derive(Debug, Default)]
pub struct Journal {
    /// `None` while nobody copies.
    touched: Mutex<Option<Vec<DocId>>>,
}

impl Journal {
    /// Begins, empty.
    pub(crate) fn start(&self) {
        *self.lock() = Some(Vec::new());
    }

    /// Ends.
    pub(crate) fn stop(&self) {
        *self.lock() = None;
    }

    /// Notes the items of a commit: each version and each removal writes the item's key entry.
    pub(crate) fn note(&self, writes: &Writes) {
        let mut touched = self.lock();
        if let Some(touched) = touched.as_mut() {
            let items = writes.iter().filter_map(|(key, _)| keys::parts_of_key(key));
            touched.extend(items.map(|(_, docid)| docid));
        }
    }

    /// How many notes there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().as_ref().map_or(0, Vec::len)
    }

    /// Takes the notes, each item once, in order.
    pub(crate) fn take(&self) -> Vec<DocId> {
        let mut taken = self.lock().as_mut().map(std::mem::take).unwrap_or_default();
        taken.sort_unstable();
        taken.dedup();
        taken
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Vec<DocId>>> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
