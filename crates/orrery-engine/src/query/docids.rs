//! Sets of items as sorted lists of docids.

use std::sync::Arc;

use orrery_model::ids::DocId;

/// Items, in order of insertion, each once. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocIds(Arc<[DocId]>);

impl DocIds {
    /// Sorts a list.
    pub fn new(mut list: Vec<DocId>) -> Self {
        if !list.is_sorted() {
            list.sort_unstable();
        }
        list.dedup();
        Self(list.into())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = DocId> {
        self.0.iter().copied()
    }

    /// The items from one on.
    pub fn from(&self, first: DocId) -> &[DocId] {
        let start = self.0.partition_point(|&docid| docid < first);
        self.0.get(start..).unwrap_or_default()
    }

    /// The items before one, in order.
    pub fn before(&self, end: DocId) -> &[DocId] {
        let end = self.0.partition_point(|&docid| docid < end);
        self.0.get(..end).unwrap_or_default()
    }

    /// Whether one is in it.
    pub fn contains(&self, docid: DocId) -> bool {
        self.0.binary_search(&docid).is_ok()
    }

    /// Those that are not in the other.
    pub fn without(&self, other: &Self) -> Self {
        let rest = self.0.iter().filter(|docid| !other.contains(**docid));
        Self(rest.copied().collect())
    }
}
