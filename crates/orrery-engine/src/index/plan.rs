//! An indexing policy made ready to walk: one tree of all its paths.

use orrery_model::path::{ItemPath, PathEnd, Step};

/// The paths of one version of a container's indexing policy.
#[derive(Debug, Clone)]
pub struct IndexPlan {
    version: u32,
    automatic: bool,
    root: Option<Node>,
}

/// What the policy says at one path: the more precise rule wins (`/a/?` over `/a/*` over `/*`).
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// `/?`: the scalar here.
    exact: Option<bool>,
    /// `/*`: everything here and below that no more precise rule names.
    subtree: Option<bool>,
    members: Vec<(String, Node)>,
    elements: Option<Box<Node>>,
}

impl Node {
    /// The rule for the scalar here.
    pub fn exact(&self) -> Option<bool> {
        self.exact
    }

    /// The rule for here and below.
    pub fn below(&self) -> Option<bool> {
        self.subtree
    }

    /// Whether paths go on below.
    pub fn has_children(&self) -> bool {
        !self.members.is_empty() || self.elements.is_some()
    }

    /// The rules of a member.
    pub fn member(&self, name: &str) -> Option<&Node> {
        // Policies name few paths; a linear search beats hashing.
        self.members
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, node)| node)
    }

    /// The rules of array elements.
    pub fn elements(&self) -> Option<&Node> {
        self.elements.as_deref()
    }

    /// Whether members without rules of their own are indexed.
    pub fn children_included(&self) -> bool {
        self.subtree.unwrap_or(false)
    }

    fn step(&mut self, step: &Step) -> &mut Node {
        match step {
            Step::Element => self.elements.get_or_insert_default(),
            Step::Property(name) => {
                let place = self.members.iter().position(|(own, _)| own == name);
                let place = place.unwrap_or_else(|| {
                    self.members.push((name.clone(), Node::default()));
                    self.members.len() - 1
                });
                &mut self.members[place].1
            }
        }
    }
}

impl IndexPlan {
    /// A plan without any terms: indexing mode none.
    pub fn none(version: u32) -> Self {
        Self {
            version,
            automatic: false,
            root: None,
        }
    }

    /// A plan from the paths of a policy. Where a path is both included and excluded, the
    /// exclusion counts.
    pub fn new<'p>(
        version: u32,
        automatic: bool,
        included: impl IntoIterator<Item = &'p ItemPath>,
        excluded: impl IntoIterator<Item = &'p ItemPath>,
    ) -> Self {
        let mut root = Node::default();
        let included = included.into_iter().map(|path| (path, true));
        for (path, include) in included.chain(excluded.into_iter().map(|path| (path, false))) {
            let node = path.steps().iter().fold(&mut root, Node::step);
            match path.end() {
                PathEnd::Exact | PathEnd::Scalar => node.exact = Some(include),
                PathEnd::Subtree => node.subtree = Some(include),
            }
        }
        Self {
            version,
            automatic,
            root: Some(root),
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

    /// The tree; `None` when nothing is indexed.
    pub fn root(&self) -> Option<&Node> {
        self.root.as_ref()
    }

    /// Whether scalars at this path have terms. `id` and `_ts` always have, the other system
    /// properties never.
    pub fn covers(&self, steps: &[Step]) -> bool {
        let Some(root) = &self.root else { return false };
        match steps {
            [Step::Property(name)] if name == "id" || name == "_ts" => return true,
            [Step::Property(name), ..] if super::terms::is_system_property(name) => return false,
            _ => {}
        }
        let mut node = Some(root);
        let mut included = root.children_included();
        for step in steps {
            node = node.and_then(|node| match step {
                Step::Property(name) => node.member(name),
                Step::Element => node.elements(),
            });
            included = node.and_then(Node::below).unwrap_or(included);
        }
        node.and_then(Node::exact).unwrap_or(included)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::terms::Terms;
    use orrery_model::json;

    fn plan(included: &[&str], excluded: &[&str]) -> IndexPlan {
        let parse = |paths: &[&str]| -> Vec<ItemPath> {
            paths
                .iter()
                .map(|path| ItemPath::parse(path).expect("the test's path"))
                .collect()
        };
        IndexPlan::new(1, true, &parse(included), &parse(excluded))
    }

    fn count(item: &str, plan: &IndexPlan) -> usize {
        Terms::of(&json::parse_str(item).expect("the test's item"), plan).chargeable()
    }

    #[test]
    fn the_more_precise_path_wins() {
        let everything = plan(&["/*"], &["/\"_etag\"/?"]);
        let item = r#"{"id":"1","a":{"b":1,"c":[1,2,2]},"d":"x","_etag":"e","_rid":"r"}"#;
        // id, /a/b, two distinct /a/c/[], /d
        assert_eq!(count(item, &everything), 5);
        assert_eq!(count(item, &plan(&["/*"], &["/a/*"])), 2);
        assert_eq!(count(item, &plan(&["/a/b/?"], &["/*"])), 2);
        assert_eq!(count(item, &plan(&["/a/c/[]/?"], &["/*"])), 3);
        assert_eq!(count(item, &plan(&["/*", "/a/b/?"], &["/a/*"])), 3);
        assert_eq!(count(item, &IndexPlan::none(1)), 0);
    }

    #[test]
    fn coverage_agrees_with_terms() {
        let path = |text: &str| {
            ItemPath::parse(text)
                .expect("the test's path")
                .steps()
                .to_vec()
        };
        let narrow = plan(&["/a/b/?", "/t/[]/?"], &["/*"]);
        for (text, expected) in [
            ("/id", true),
            ("/_ts", true),
            ("/_rid", false),
            ("/a", false),
            ("/a/b", true),
            ("/a/b/c", false),
            ("/t/[]", true),
            ("/t", false),
        ] {
            assert_eq!(narrow.covers(&path(text)), expected, "{text}");
        }
    }
}
