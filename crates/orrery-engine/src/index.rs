//! The index of a container as the engine keeps it. What the terms of an item are says
//! [`orrery_model::index`]; how they lie in the store, [`crate::layout::term`]. The query module
//! seeks them through [`crate::partition::PartitionSnapshot::scan_terms`].

use orrery_model::container::IndexingPolicy;
use orrery_model::index::{IndexTree, Terms};
use orrery_model::value::Value;

/// One version of a container's indexing policy, ready for use.
#[derive(Debug, Clone)]
pub struct IndexPlan {
    version: u32,
    automatic: bool,
    tree: IndexTree,
}

impl IndexPlan {
    /// Compiles a policy; `version` counts the policies of the container.
    pub fn new(policy: &IndexingPolicy, version: u32) -> Self {
        Self {
            version,
            automatic: policy.automatic(),
            tree: IndexTree::new(policy),
        }
    }

    /// Counts up with each change of the policy; stored with every item.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Whether items are indexed without a directive.
    pub fn automatic(&self) -> bool {
        self.automatic
    }

    /// What is indexed.
    pub fn tree(&self) -> &IndexTree {
        &self.tree
    }

    /// The terms of an item, which must have its `_ts`.
    pub fn terms(&self, item: &Value<'_>) -> Terms {
        let mut terms = Terms::new();
        self.tree.terms(item, &mut terms);
        terms
    }
}
