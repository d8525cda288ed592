//! The index of a container as the engine keeps it. What the terms of an item are says
//! [`orrery_model::index`]; how they lie in the store, [`crate::layout::term`]. The query module
//! seeks them through [`crate::partition::PartitionSnapshot::scan_terms`].

use orrery_model::container::IndexingPolicy;
use orrery_model::index::{IndexTree, Terms};
use orrery_model::value::Value;

/// Whether a write indexes the item (`x-ms-indexing-directive`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexingDirective {
    /// As the container's policy says.
    #[default]
    Default,
    /// Also where the policy is not automatic.
    Include,
    /// Not at all.
    Exclude,
}

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

    /// What is indexed.
    pub fn tree(&self) -> &IndexTree {
        &self.tree
    }

    /// The terms of an item, which must have its `_ts`.
    pub fn terms(&self, item: &Value<'_>, directive: IndexingDirective) -> Terms {
        let mut terms = Terms::new();
        let included = match directive {
            IndexingDirective::Default => self.automatic,
            IndexingDirective::Include => true,
            IndexingDirective::Exclude => false,
        };
        if included {
            self.tree.terms(item, &mut terms);
        }
        terms
    }
}
