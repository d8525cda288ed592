//! Sets of items as sorted lists of docids.

use orrery_model::ids::DocId;

/// Items, in order of insertion, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocIds(Vec<DocId>);

impl DocIds {
    /// Sorts a list.
    pub fn new(mut list: Vec<DocId>) -> Self {
        if !list.is_sorted() {
            list.sort_unstable();
        }
        list.dedup();
        Self(list)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The items after one, in order; all without one.
    pub fn after(&self, last: Option<DocId>) -> &[DocId] {
        let start = last.map_or(0, |last| self.0.partition_point(|&docid| docid <= last));
        self.0.get(start..).unwrap_or_default()
    }

    /// Those that are in both.
    pub fn intersect(&self, other: &Self) -> Self {
        let (few, many) = if self.len() <= other.len() {
            (self, other)
        } else {
            (other, self)
        };
        Self(
            few.0
                .iter()
                .filter(|docid| many.0.binary_search(docid).is_ok())
                .copied()
                .collect(),
        )
    }

    /// Whether one is in it.
    pub fn contains(&self, docid: DocId) -> bool {
        self.0.binary_search(&docid).is_ok()
    }

    /// Those that are not in the other.
    pub fn without(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .filter(|docid| !other.contains(**docid))
                .copied()
                .collect(),
        )
    }

    /// Those before one, from the last to the first; all without one.
    pub fn before(&self, first: Option<DocId>) -> Vec<DocId> {
        let end = first.map_or(self.0.len(), |first| {
            self.0.partition_point(|&docid| docid < first)
        });
        self.0.iter().take(end).rev().copied().collect()
    }

    /// Those that are in either.
    pub fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        Self::new(self.0)
    }
}
