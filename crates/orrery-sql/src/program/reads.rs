//! What a program reads of the item.

use super::node::{LikeSide, Members, Node, Projection, Select, SortKey, Source, Step};
use crate::eval::item::MOST_PLACES;
use crate::filter::IndexStep;
use crate::pipeline::ranking::{Component, Ranking};
use crate::signatures::BuiltIn;
use orrery_model::json::{MemberFinder, PathTree};
use std::collections::HashMap;

/// Where the value of a binding lies in the item, when it does.
pub(crate) type Origin = Option<Vec<IndexStep>>;

/// The path of a node below the item.
pub(crate) fn path_of(node: &Node, origins: &[Origin]) -> Origin {
    let (outwards, steps): (u32, &[Step]) = match node {
        Node::Slot(outwards) => (*outwards, &[]),
        Node::Path(outwards, steps) => (*outwards, steps),
        _ => return None,
    };
    let level = origins
        .len()
        .checked_sub(1)?
        .checked_sub(outwards as usize)?;
    let mut path = origins.get(level)?.clone()?;
    path.extend(steps.iter().map(|step| match step {
        Step::Member(name) => IndexStep::Member(name.clone()),
        Step::Element(_) => IndexStep::AnyElement,
    }));
    Some(path)
}

/// The origin that a source gives its binding.
pub(crate) fn origin_of(source: &Source, origins: &[Origin]) -> Origin {
    match source {
        Source::Value(node) => path_of(node, origins),
        Source::Elements(node) => {
            let mut path = path_of(node, origins)?;
            path.push(IndexStep::AnyElement);
            Some(path)
        }
        Source::Rows(_) | Source::RowElements(_) => None,
    }
}

/// A growing [`PathTree`] that also knows paths of which only the existence matters.
#[derive(Default)]
struct Tree {
    all: bool,
    members: Vec<(String, Tree)>,
    /// Where each name is, once there are many.
    places: HashMap<String, usize>,
}

/// More members of an object are not read one by one.
const MOST_NAMES: usize = 256;
/// From so many members on they are looked up.
const MANY: usize = 16;

impl Tree {
    fn add(&mut self, path: &[IndexStep], whole: bool) {
        let mut tree = self;
        // Array positions are transparent to the tree.
        for step in path {
            let IndexStep::Member(name) = step else {
                continue;
            };
            let place = tree.place(name);
            tree = &mut tree.members[place].1;
        }
        tree.all |= whole;
    }

    /// The place of a member, which is made if need be.
    fn place(&mut self, name: &str) -> usize {
        let known = if self.members.len() < MANY {
            self.members.iter().position(|(known, _)| known == name)
        } else {
            self.places.get(name).copied()
        };
        known.unwrap_or_else(|| {
            self.members.push((name.to_owned(), Self::default()));
            let count = self.members.len();
            if count == MANY {
                let names = self.members.iter().enumerate();
                self.places = names
                    .map(|(place, (name, _))| (name.clone(), place))
                    .collect();
            } else if count > MANY {
                self.places.insert(name.to_owned(), count - 1);
            }
            count - 1
        })
    }

    fn finish(self) -> PathTree {
        // Of very many members each would be compared with all.
        if self.all || self.members.len() > MOST_NAMES {
            return PathTree::All;
        }
        PathTree::Members(
            self.members
                .into_iter()
                .map(|(name, tree)| (name, tree.finish()))
                .collect(),
        )
    }
}

/// Everything that the query reads.
pub(super) fn needed(
    select: &Select,
    item_filter: &[Node],
    order: &[SortKey],
    ranking: Option<&Ranking>,
) -> PathTree {
    let mut tree = Tree::default();
    let mut visit = |path: &[IndexStep], whole: bool| tree.add(path, whole);
    let mut origins = vec![Some(Vec::new())];
    for node in item_filter {
        node_reads(node, &mut origins, &mut visit);
    }
    select_reads(select, &mut origins, &mut visit, &mut |origins, visit| {
        for key in order {
            node_reads(&key.node, origins, visit);
        }
        for component in ranking.iter().flat_map(|ranking| &ranking.components) {
            match component {
                Component::FullText { text, .. } => node_reads(text, origins, visit),
                Component::Vector { node, .. } => node_reads(node, origins, visit),
            }
        }
    });
    tree.finish()
}

type Visit<'v> = dyn FnMut(&[IndexStep], bool) + 'v;

fn select_reads(
    select: &Select,
    origins: &mut Vec<Origin>,
    visit: &mut Visit<'_>,
    after: &mut dyn FnMut(&mut Vec<Origin>, &mut Visit<'_>),
) {
    let outer = origins.len();
    for source in &select.sources {
        let origin = origin_of(source, origins);
        match source {
            Source::Value(node) | Source::Elements(node) => match path_of(node, origins) {
                // The value itself is read only where its binding is.
                Some(path) => visit(&path, false),
                None => node_reads(node, origins, visit),
            },
            Source::Rows(inner) | Source::RowElements(inner) => {
                select_reads(inner, origins, visit, &mut |_, _| ());
            }
        }
        origins.push(origin);
    }
    for node in &select.filter {
        node_reads(node, origins, visit);
    }
    if let Some(grouping) = &select.grouping {
        for node in grouping.keys.iter().chain(
            grouping
                .aggregates
                .iter()
                .map(|aggregate| &aggregate.argument),
        ) {
            node_reads(node, origins, visit);
        }
        origins.truncate(outer);
        origins.push(None);
    }
    match &select.projection {
        Projection::Value(node) => node_reads(node, origins, visit),
        Projection::List(members) => members
            .iter()
            .for_each(|(_, node)| node_reads(node, origins, visit)),
    }
    after(origins, visit);
    origins.truncate(outer);
}

fn node_reads(node: &Node, origins: &mut Vec<Origin>, visit: &mut Visit<'_>) {
    match node {
        Node::Slot(_) | Node::Path(..) => {
            if let Some(path) = path_of(node, origins) {
                visit(&path, true);
            }
        }
        Node::Call(BuiltIn::IsDefined, _, arguments) => match path_of(&arguments[0], origins) {
            Some(path) => visit(&path, false),
            None => node_reads(&arguments[0], origins, visit),
        },
        // Of the item only its id is looked at.
        Node::Call(BuiltIn::DocumentId, _, arguments) if matches!(arguments[0], Node::Slot(_)) => {
            if let Some(mut path) = path_of(&arguments[0], origins) {
                path.push(IndexStep::Member("_rid".to_owned()));
                visit(&path, true);
            }
        }
        Node::Subquery(_, select) => select_reads(select, origins, visit, &mut |_, _| ()),
        Node::Let(parts) => {
            node_reads(&parts.0, origins, visit);
            let origin = path_of(&parts.0, origins);
            origins.push(origin);
            node_reads(&parts.1, origins, visit);
            origins.pop();
        }
        other => each_child(other, &mut |child| node_reads(child, origins, visit)),
    }
}

/// Visits the operands of an operator; not what stands behind a new binding.
pub(crate) fn each_child<'n>(node: &'n Node, visit: &mut dyn FnMut(&'n Node)) {
    match node {
        Node::Constant(_) | Node::Slot(_) | Node::Path(..) | Node::Subquery(..) => {}
        Node::Into(base, _) | Node::Prefix(_, base) => visit(base),
        Node::Index(sides)
        | Node::Coalesce(sides)
        | Node::Compare(_, sides)
        | Node::Arithmetic(_, sides) => {
            visit(&sides.0);
            visit(&sides.1);
        }
        Node::Vector(_, sides) | Node::Let(sides) => {
            visit(&sides.0);
            visit(&sides.1);
        }
        Node::And(list) | Node::Or(list) | Node::Array(list) | Node::Call(_, _, list) => {
            list.iter().for_each(visit);
        }
        Node::Conditional(parts) | Node::Between(parts) => {
            visit(&parts.0);
            visit(&parts.1);
            visit(&parts.2);
        }
        Node::In(value, members) => {
            visit(value);
            if let Members::List(list) = members {
                list.iter().for_each(visit);
            }
        }
        Node::Like(value, side) => {
            visit(value);
            if let LikeSide::Computed(pattern, _) = side {
                visit(pattern);
            }
        }
        Node::Object(members) => members.iter().for_each(|(_, node)| visit(node)),
    }
}

/// How often an expression at that depth reads the item; many for a subquery, which may loop.
pub(super) fn count_item_reads(node: &Node, depth: u32) -> usize {
    match node {
        Node::Slot(outwards) | Node::Path(outwards, _) => usize::from(outwards + 1 == depth),
        Node::Subquery(..) | Node::Let(_) => 100,
        other => {
            let mut reads = 0;
            each_child(other, &mut |child| reads += count_item_reads(child, depth));
            reads
        }
    }
}

/// How often the clauses that make rows read the item.
pub(super) fn count_row_reads(select: &Select, order: &[SortKey]) -> usize {
    if !select.sources.is_empty() {
        return 100;
    }
    let nodes: Vec<&Node> = match (&select.grouping, &select.projection) {
        (Some(grouping), _) => grouping
            .keys
            .iter()
            .chain(
                grouping
                    .aggregates
                    .iter()
                    .map(|aggregate| &aggregate.argument),
            )
            .collect(),
        (None, Projection::Value(node)) => vec![node],
        (None, Projection::List(members)) => members.iter().map(|(_, node)| node).collect(),
    };
    let keys = order.iter().map(|key| &key.node);
    nodes
        .into_iter()
        .chain(keys)
        .chain(&select.filter)
        .map(|node| count_item_reads(node, 1))
        .sum()
}

/// The sort keys as paths of the item; `None` when one is anything else.
pub(super) fn order_paths(order: &[SortKey], depth: u32) -> Option<Vec<(Vec<IndexStep>, bool)>> {
    if order.is_empty() {
        return None;
    }
    let keys = order.iter().map(|key| match &key.node {
        Node::Path(outwards, steps) if outwards + 1 == depth => {
            let members = steps.iter().map(|step| match step {
                Step::Member(name) => Some(IndexStep::Member(name.clone())),
                Step::Element(_) => None,
            });
            Some((members.collect::<Option<Vec<_>>>()?, key.descending))
        }
        _ => None,
    });
    keys.collect()
}

/// Finders for the members that the query reads, or that its conditions read; none where these are
/// many.
pub(super) fn finders(needed: &PathTree, item_filter: &[Node]) -> Vec<MemberFinder> {
    let of = |tree: &PathTree| match tree {
        PathTree::Members(members) if members.len() <= MOST_PLACES => {
            let names = members.iter().map(|(name, _)| MemberFinder::new(name));
            Some(names.collect())
        }
        _ => None,
    };
    let of_filter = || {
        let mut tree = Tree::default();
        let mut visit = |path: &[IndexStep], whole: bool| tree.add(path, whole);
        for node in item_filter {
            node_reads(node, &mut vec![Some(Vec::new())], &mut visit);
        }
        of(&tree.finish())
    };
    of(needed).or_else(of_filter).unwrap_or_default()
}

/// True when system properties may be read, that is names with an underscore or the whole item.
pub(super) fn reads_system(needed: &PathTree) -> bool {
    match needed {
        PathTree::All => true,
        PathTree::Members(members) => members.iter().any(|(name, _)| name.starts_with('_')),
    }
}
