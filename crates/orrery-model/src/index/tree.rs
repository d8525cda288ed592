//! The indexing policy as a tree that is walked along with the item.

use super::{COMPOSITE_STRING_LIMIT, PathHash, Shapes, Terms};
use crate::container::{CompositePath, IndexingMode, IndexingPolicy};
use crate::ordered::{self, Tag};
use crate::path::{ItemPath, PathEnd, Step};
use crate::value::Value;

/// A policy compiled for speed. The more precise path wins; at one depth `?` wins over `*`.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexTree {
    root: Node,
    enabled: bool,
    composites: Vec<Composite>,
    spatial: Vec<Shapes>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Node {
    children: Vec<(String, Node)>,
    element: Option<Box<Node>>,
    /// Whether a scalar here is included, where a path says so.
    scalar: Option<bool>,
    /// Whether everything here and below is included, where a path says so.
    subtree: Option<bool>,
    /// The spatial index of shapes here, where a path says so.
    shape: Option<usize>,
    /// That of shapes here and below.
    shapes: Option<usize>,
}

/// A composite index in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composite {
    /// At the front of its entries; follows from the definition, so it survives policy changes.
    pub hash: PathHash,
    /// Its paths in order.
    pub paths: Vec<CompositePath>,
}

/// What of a path is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Scalars at the path.
    pub scalars: bool,
    /// Arrays and objects at the path, as such.
    pub nodes: bool,
}

impl Coverage {
    const NOTHING: Self = Self {
        scalars: false,
        nodes: false,
    };

    /// Whether every defined value at the path has an entry.
    pub fn is_complete(self) -> bool {
        self.scalars && self.nodes
    }
}

/// Members of items that are always indexed.
const ALWAYS: [&str; 2] = ["id", "_ts"];
/// Members of items that never are: they are made per write, or constant.
const NEVER: [&str; 4] = ["_rid", "_self", "_etag", "_attachments"];

impl IndexTree {
    /// Compiles a policy.
    pub fn new(policy: &IndexingPolicy) -> Self {
        let mut root = Node::default();
        for (paths, included) in [(policy.included(), true), (policy.excluded(), false)] {
            for path in paths {
                root.add(path, included);
            }
        }
        for (at, index) in policy.spatial_indexes().iter().enumerate() {
            let node = root.at(&index.path);
            match index.path.end() {
                PathEnd::Scalar | PathEnd::Exact => node.shape = Some(at),
                PathEnd::Subtree => node.shapes = Some(at),
            }
        }
        let composites = policy
            .composites()
            .iter()
            .cloned()
            .map(Composite::new)
            .collect();
        Self {
            root,
            enabled: policy.mode() != IndexingMode::None,
            composites,
            spatial: policy.spatial_indexes().iter().map(Shapes::new).collect(),
        }
    }

    /// The composite indexes.
    pub fn composites(&self) -> &[Composite] {
        if self.enabled { &self.composites } else { &[] }
    }

    /// Whether there is an index at all.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// What of a path is indexed; array positions are [`Step::Element`].
    pub fn coverage(&self, path: &[Step]) -> Coverage {
        if !self.enabled {
            return Coverage::NOTHING;
        }
        if let Some(Step::Property(name)) = path.first() {
            if NEVER.contains(&name.as_str()) {
                return Coverage::NOTHING;
            }
            if path.len() == 1 && ALWAYS.contains(&name.as_str()) {
                return Coverage {
                    scalars: true,
                    nodes: true,
                };
            }
        }
        let at = self.place(path);
        Coverage {
            scalars: at.scalar(),
            nodes: at.inherited,
        }
    }

    /// The spatial index of the shapes at a path.
    pub fn shapes(&self, path: &[Step]) -> Option<&Shapes> {
        let is_system = |name: &str| NEVER.contains(&name) || ALWAYS.contains(&name);
        match path.first() {
            Some(Step::Property(name)) if self.enabled && !is_system(name) => {
                self.spatial.get(self.place(path).shape()?)
            }
            _ => None,
        }
    }

    fn place(&self, path: &[Step]) -> Place<'_> {
        let root = Place::root(&self.root);
        path.iter().fold(root, |at, step| match step {
            Step::Property(name) => at.member(name),
            Step::Element => at.element(),
        })
    }

    /// Whether scalars at a path are indexed.
    pub fn includes(&self, path: &[Step]) -> bool {
        self.coverage(path).scalars
    }

    /// Collects the entries of an item, replacing what `terms` held.
    pub fn terms(&self, item: &Value<'_>, terms: &mut Terms) {
        terms.clear();
        if !self.enabled {
            return;
        }
        let Value::Object(object) = item else { return };
        let root = Place::root(&self.root);
        for (name, value) in object.iter() {
            if NEVER.contains(&name) {
                continue;
            }
            let hash = PathHash::ROOT.property(name);
            if ALWAYS.contains(&name) {
                terms.push_scalar(hash, value);
            } else {
                walk(&self.spatial, root.member(name), hash, value, terms);
            }
        }
        for composite in &self.composites {
            terms.push_composite(composite.hash, |out| composite.encode(item, out));
        }
        terms.finish();
    }
}

impl Node {
    fn at(&mut self, path: &ItemPath) -> &mut Self {
        let mut node = self;
        for step in path.steps() {
            node = match step {
                Step::Element => node.element.get_or_insert_default(),
                Step::Property(name) => node.child(name),
            };
        }
        node
    }

    fn add(&mut self, path: &ItemPath, included: bool) {
        let node = self.at(path);
        match path.end() {
            PathEnd::Scalar | PathEnd::Exact => node.scalar = Some(included),
            PathEnd::Subtree => node.subtree = Some(included),
        }
    }

    fn child(&mut self, name: &str) -> &mut Self {
        let found = self.children.iter().position(|(own, _)| own == name);
        let place = found.unwrap_or_else(|| {
            self.children.push((name.to_owned(), Self::default()));
            self.children.len() - 1
        });
        &mut self.children[place].1
    }
}

/// A position in the item: the policy's node there, if any, and what the paths above say.
#[derive(Clone, Copy)]
struct Place<'t> {
    node: Option<&'t Node>,
    inherited: bool,
    shapes: Option<usize>,
}

impl<'t> Place<'t> {
    fn root(node: &'t Node) -> Self {
        Self {
            node: Some(node),
            inherited: node.subtree.unwrap_or(false),
            shapes: node.shapes,
        }
    }

    fn below(self, node: Option<&'t Node>) -> Self {
        let own = node.and_then(|node| node.subtree);
        Self {
            node,
            inherited: own.unwrap_or(self.inherited),
            shapes: node.and_then(|node| node.shapes).or(self.shapes),
        }
    }

    fn member(self, name: &str) -> Self {
        let children = self.node.map_or(&[][..], |node| &node.children);
        self.below(
            children
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, node)| node),
        )
    }

    fn element(self) -> Self {
        self.below(self.node.and_then(|node| node.element.as_deref()))
    }

    fn scalar(self) -> bool {
        self.node
            .and_then(|node| node.scalar)
            .unwrap_or(self.inherited)
    }

    fn shape(self) -> Option<usize> {
        self.node.and_then(|node| node.shape).or(self.shapes)
    }

    /// Nothing below can be included.
    fn is_barren(self) -> bool {
        !self.inherited && self.node.is_none() && self.shapes.is_none()
    }
}

fn walk(
    spatial: &[Shapes],
    place: Place<'_>,
    hash: PathHash,
    value: &Value<'_>,
    terms: &mut Terms,
) {
    match value {
        _ if place.is_barren() => {}
        Value::Array(elements) => {
            if place.inherited {
                terms.push_node(hash, Tag::Array);
            }
            let (below, hash) = (place.element(), hash.element());
            for element in elements {
                walk(spatial, below, hash, element, terms);
            }
        }
        Value::Object(object) => {
            if place.inherited {
                terms.push_node(hash, Tag::Object);
            }
            if let Some(shapes) = place.shape().and_then(|at| spatial.get(at)) {
                shapes.push(hash, value, terms);
            }
            for (name, member) in object.iter() {
                let below = place.member(name);
                walk(spatial, below, hash.property(name), member, terms);
            }
        }
        Value::Undefined => {}
        scalar => {
            if place.scalar() {
                terms.push_scalar(hash, scalar);
            }
        }
    }
}

impl Composite {
    fn new(paths: Vec<CompositePath>) -> Self {
        // The seed keeps composites apart from paths; a path's order is part of the hash.
        const SEED: PathHash = PathHash(0x6f72_7265_7279_0002);
        let hash = paths.iter().fold(SEED, |hash, part| {
            let order = if part.descending {
                "descending"
            } else {
                "ascending"
            };
            hash.property(order)
                .property(&ItemPath::of_steps(part.path.steps()).to_string())
        });
        Self { hash, paths }
    }

    /// Appends the values of an item as its entry has them; absent ones are undefined.
    pub fn encode(&self, item: &Value<'_>, out: &mut Vec<u8>) {
        for part in &self.paths {
            let value = part.path.evaluate(item);
            if part.descending {
                ordered::encode_descending(value, COMPOSITE_STRING_LIMIT, out);
            } else {
                ordered::encode(value, COMPOSITE_STRING_LIMIT, out);
            }
        }
    }
}
