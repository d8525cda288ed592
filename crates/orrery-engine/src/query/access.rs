//! How a page comes by its items.

use orrery_model::charge::QueryCost;
use orrery_model::container::CompositePath;
use orrery_model::index::{Composite, PathHash};
use orrery_model::value::Value;
use orrery_sql::filter::{Composable, IndexFilter, IndexStep, IndexTest, steps};
use orrery_sql::pipeline::{Folded, FoldedGroup};
use orrery_storage::Scan;

use super::docid_stream::{DocIdStream, Span};
use super::docids::DocIds;
use super::index_only;
use super::metrics::AccessKind;
use super::page::PageRun;
use super::seek::{self, KeyRange, Seeker};
use super::walk::{CompositePart, Layout, OrderedWalk};
use crate::error::Error;
use crate::layout::entries::Counters;
use crate::layout::{keys, term};
use crate::partition::PartitionSnapshot;

/// Up to so many items of the wanted keys, reading all of them beats looking anything up.
const FEW_OF_KEY: usize = 256;
/// More keys than this are not listed.
const MOST_OF_KEYS: usize = 100_000;
/// Entries that one read of the store brings.
const CHUNK: usize = 4_096;

/// The way that was chosen.
#[derive(Debug)]
pub enum Access {
    /// All items of the partition, in order of insertion.
    Scan,
    /// Only these, in order of insertion.
    Chosen(DocIdStream),
    /// In the order of an index.
    Ordered(OrderedWalk),
    /// No item need be read: what the index says of each aggregate.
    Folded(Vec<Folded>),
    /// The same of each group.
    Grouped(Vec<FoldedGroup>),
}

impl Access {
    /// Its name.
    pub fn kind(&self) -> AccessKind {
        match self {
            Self::Scan => AccessKind::Scan,
            Self::Chosen(_) => AccessKind::Chosen,
            Self::Ordered(_) => AccessKind::Ordered,
            Self::Folded(_) | Self::Grouped(_) => AccessKind::Counted,
        }
    }
}

/// What was chosen, and what choosing cost.
pub struct Choice {
    /// The way.
    pub access: Access,
    /// Index look-ups so far.
    pub cost: QueryCost,
    /// Whether an index narrowed the items.
    pub narrowed: bool,
}

impl Choice {
    pub(super) fn found(access: Access, seeks: u64) -> Self {
        let cost = QueryCost {
            seeks,
            ..QueryCost::default()
        };
        Self {
            access,
            cost,
            narrowed: true,
        }
    }
}

/// The order in which a page needs its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Whichever is cheapest; the index may answer without any item.
    Any,
    /// That of ORDER BY, if an index has it.
    Sorted,
    /// That of insertion.
    Inserted,
}

/// Chooses for one page.
pub fn choose(run: &PageRun<'_>, snapshot: &PartitionSnapshot) -> Result<Choice, Error> {
    let program = &run.prepared.program;
    if !program.reads_items() || *program.filter() == IndexFilter::Nothing {
        let nothing = DocIdStream::List(DocIds::default());
        return Ok(Choice::found(Access::Chosen(nothing), 1));
    }
    let counters = snapshot.counters()?;
    // Items without entries, or a definition that changed under our hands: only a scan is right.
    let usable = counters.unindexed == 0 && run.is_current();
    if run.arrival == Arrival::Any
        && let Some(choice) = index_only::choose(run, snapshot, &counters, usable)?
    {
        return Ok(choice);
    }
    if let Some(found) = by_id(run, snapshot)? {
        return Ok(Choice::found(Access::Chosen(DocIdStream::List(found)), 1));
    }
    let mut of_keys = of_keys(run, snapshot)?;
    let in_partition = usize::try_from(counters.items).unwrap_or(usize::MAX);
    if let Some(items) = &mut of_keys
        && items.is_few(snapshot.reader(), FEW_OF_KEY)?
    {
        let items = of_keys.unwrap_or(DocIdStream::List(DocIds::default()));
        let mut choice = Choice::found(Access::Chosen(items), 1);
        choice.narrowed = false;
        return Ok(choice);
    }
    let mut walk = None;
    if usable && program.is_ordered() && run.arrival != Arrival::Inserted {
        walk = ordered_walk(run);
    }
    if let Some((walk, Rest::Nothing)) = walk {
        return walk_straight(walk, run, snapshot, &counters);
    }
    if run.arrival == Arrival::Sorted
        && let Some((mut walk, _)) = walk.take()
        && walk.prepare(run, snapshot, &counters)?
    {
        return Ok(Choice::found(Access::Ordered(walk), 1));
    }
    let tuning = run.engine.tuning();
    let few = tuning.sort_per_root.saturating_mul(in_partition.isqrt());
    let few = few.max(tuning.sort_at_most);
    let mut seeker = Seeker {
        reader: snapshot.reader(),
        part: run.partition.part(),
        lists: run.engine.query_lists(),
        state: run.state,
        most_entries: match &walk {
            Some(_) => few,
            None => (in_partition / 8).max(few),
        },
        is_exact: false,
        cost: QueryCost::default(),
    };
    let found = match (&walk, usable) {
        (_, false) => None,
        (Some((_, Rest::Filter(rest))), true) => seeker.items(rest)?,
        (Some((_, Rest::Nothing)), true) => None,
        (None, true) => seeker.items(program.filter())?,
    };
    let cost = seeker.cost;
    let narrowed = found.is_some();
    let items = match (found, of_keys) {
        (Some(found), Some(of_keys)) => Some(DocIdStream::All(vec![of_keys, found])),
        (found, of_keys) => found.or(of_keys),
    };
    let access = match (walk, items) {
        (Some((mut walk, _)), items) => match sortable(items, in_partition, few, snapshot)? {
            Sortable::All => Access::Scan,
            Sortable::These(items) => Access::Chosen(items),
            // Sorting many is left only where the index cannot give their order.
            Sortable::Many(items) => {
                if walk.prepare(run, snapshot, &counters)? {
                    Access::Ordered(walk)
                } else {
                    items.map_or(Access::Scan, Access::Chosen)
                }
            }
        },
        (None, items) => items.map_or(Access::Scan, Access::Chosen),
    };
    Ok(Choice {
        access,
        cost,
        narrowed,
    })
}

/// What WHERE says beyond the entries that a walk passes.
enum Rest {
    /// Nothing: each entry is an item of the answer, so no other way is shorter.
    Nothing,
    Filter(IndexFilter),
}

/// Walks along a composite index, which needs no preparation that could fail.
fn walk_straight(
    mut walk: OrderedWalk,
    run: &PageRun<'_>,
    snapshot: &PartitionSnapshot,
    counters: &Counters,
) -> Result<Choice, Error> {
    walk.prepare(run, snapshot, counters)?;
    Ok(Choice::found(Access::Ordered(walk), 1))
}

/// Whether so few items are left that sorting them beats walking an index in order.
enum Sortable {
    /// All of the partition.
    All,
    These(DocIdStream),
    Many(Option<DocIdStream>),
}

fn sortable(
    items: Option<DocIdStream>,
    in_partition: usize,
    few: usize,
    snapshot: &PartitionSnapshot,
) -> Result<Sortable, Error> {
    let Some(mut items) = items else {
        return Ok(if in_partition <= few {
            Sortable::All
        } else {
            Sortable::Many(None)
        });
    };
    let list = items.take(snapshot.reader(), None, few.saturating_add(1))?;
    if list.len() <= few {
        return Ok(Sortable::These(DocIdStream::List(DocIds::new(list))));
    }
    Ok(Sortable::Many(Some(items)))
}

/// The item of a full key and an id, or nothing, where the query pins both.
fn by_id(run: &PageRun<'_>, snapshot: &PartitionSnapshot) -> Result<Option<DocIds>, Error> {
    let [key] = run.keys else {
        return Ok(None);
    };
    let definition = run.state.key_definition();
    let Some(id) = pinned_id(run.prepared.program.filter()).filter(|_| definition.is_full(key))
    else {
        return Ok(None);
    };
    let docid = snapshot.docid(&definition.effective(key), id)?;
    Ok(Some(DocIds::new(docid.into_iter().collect())))
}

fn pinned_id(filter: &IndexFilter) -> Option<&str> {
    match filter {
        IndexFilter::Path(path, IndexTest::Equal(Value::String(id))) if matches!(path.as_slice(), [IndexStep::Member(name)] if name == "id") => {
            Some(id)
        }
        IndexFilter::And(branches) => branches.iter().find_map(pinned_id),
        _ => None,
    }
}

/// The items of the wanted part of the key space; `None` when that is the whole partition, or
/// too much of it for a list.
pub(super) fn of_keys(
    run: &PageRun<'_>,
    snapshot: &PartitionSnapshot,
) -> Result<Option<DocIdStream>, Error> {
    let definition = run.state.key_definition();
    if run.wanted.is_empty() {
        return Ok(None);
    }
    if !run.keys.is_empty() && run.keys.iter().all(|key| definition.is_full(key)) {
        // Only those that the target covers too.
        let inside = |key: &&_| run.touches(&definition.prefix_range(key));
        let span = |key| DocIdStream::Span(Span::new(keys::key_prefix(&definition.effective(key))));
        let mut spans: Vec<DocIdStream> = run.keys.iter().filter(inside).map(span).collect();
        return Ok(match spans.len() {
            1 => spans.pop(),
            _ => Some(DocIdStream::any(spans)),
        });
    }
    let mut found = Vec::new();
    for range in &run.wanted {
        let (from, to) = keys::key_span(range);
        let mut scan = Scan::range(from, Some(to)).max_rows(CHUNK);
        loop {
            let page = snapshot.reader().scan(&scan)?;
            for row in &page.rows {
                let (_, docid) = keys::parts_of_key(&row.key).ok_or(Error::Damaged("key entry"))?;
                found.push(docid);
            }
            if found.len() > MOST_OF_KEYS {
                return Ok(None);
            }
            match page.resume {
                Some(key) => scan.resume = Some(key.to_vec()),
                None => break,
            }
        }
    }
    Ok(Some(DocIdStream::List(DocIds::new(found))))
}

/// The walk that gives the rows in the order of ORDER BY, if an index does.
fn ordered_walk(run: &PageRun<'_>) -> Option<(OrderedWalk, Rest)> {
    let program = &run.prepared.program;
    let order = program.order_keys()?;
    let filter = program.filter();
    let composable = Composable::new(filter, order);
    let composites = run.state.composites();
    let served = composites.filter_map(|own| Some((own, composable.served_by(own)?)));
    // The more values are fixed, the fewer entries are passed.
    let best = served.max_by_key(|(_, served)| served.values.len());
    if let [(path, descending)] = order
        && best
            .as_ref()
            .is_none_or(|(_, served)| served.values.is_empty())
    {
        let steps = steps(path);
        let coverage = run.state.coverage(&steps);
        if path.is_empty() || path.contains(&IndexStep::AnyElement) || !coverage.scalars {
            return None;
        }
        let prefix = term::path_prefix(PathHash::of(&steps));
        let (range, rest) = narrowed(filter, path, &prefix);
        let is_defined = range.is_some() || implies_defined(filter, path);
        let layout = Layout::Single {
            path: steps,
            nodes: coverage.nodes,
            is_defined,
        };
        let mut walk = OrderedWalk::new(prefix, layout, *descending);
        if let Some(range) = range {
            walk.range = range;
        }
        return Some((walk, Rest::Filter(rest)));
    }
    let (composite, served) = best?;
    let prefix = seek::composite_prefix(composite, &served.values);
    let rest = composite.paths.get(served.values.len()..)?;
    let parts = rest.iter().map(|own| {
        let is_own = |(path, _): &(Vec<IndexStep>, bool)| own.path.steps() == steps(path);
        Some(CompositePart {
            key: order.iter().position(is_own)?,
            descending: own.descending,
        })
    });
    let layout = Layout::Composite {
        parts: parts.collect::<Option<_>>()?,
        // Items of equal values come in the direction of the first key, entries as they are.
        is_reversed: order.first()?.1 != served.is_flipped,
    };
    let range = served.range.as_ref().zip(rest.first());
    let range = range.map(|(test, own)| seek::composite_range(&prefix, test, own.descending));
    let mut walk = OrderedWalk::new(prefix, layout, served.is_flipped);
    if let Some(range) = range {
        walk.range = range;
    }
    let rest = if run.wanted.is_empty() && served.answers_all(composite, filter) {
        Rest::Nothing
    } else {
        Rest::Filter(filter.clone())
    };
    Some((walk, rest))
}

/// The entries of a path that WHERE leaves, and the rest of WHERE.
fn narrowed(
    filter: &IndexFilter,
    path: &[IndexStep],
    prefix: &[u8],
) -> (Option<KeyRange>, IndexFilter) {
    let range_of = |filter: &IndexFilter| match filter {
        IndexFilter::Path(
            own,
            test @ (IndexTest::Equal(_) | IndexTest::Range(..) | IndexTest::StartsWith(_)),
        ) if own == path => seek::ranges(prefix, test).into_iter().next(),
        _ => None,
    };
    if let Some(range) = range_of(filter) {
        return (Some(range), IndexFilter::All);
    }
    if let IndexFilter::And(branches) = filter
        && let Some((at, range)) = branches
            .iter()
            .enumerate()
            .find_map(|(at, branch)| Some((at, range_of(branch)?)))
    {
        let mut rest = branches.clone();
        rest.remove(at);
        return (Some(range), IndexFilter::and(rest));
    }
    (None, filter.clone())
}

/// The composite index of exactly these paths in this order, all directions as asked or all the
/// other way round (query language: section 11): without one, several keys are refused.
pub fn find_composite<'s>(
    mut composites: impl Iterator<Item = &'s Composite>,
    order: &[(Vec<IndexStep>, bool)],
) -> Option<(&'s Composite, bool)> {
    let same_path = |own: &CompositePath, path: &[IndexStep]| own.path.steps() == steps(path);
    composites.find_map(|composite| {
        if composite.paths.len() != order.len() {
            return None;
        }
        let pairs = || composite.paths.iter().zip(order);
        if !pairs().all(|(own, (path, _))| same_path(own, path)) {
            return None;
        }
        let flips = |wanted: bool| {
            pairs().all(|(own, (_, descending))| (own.descending != *descending) == wanted)
        };
        if flips(false) {
            Some((composite, false))
        } else {
            flips(true).then_some((composite, true))
        }
    })
}

/// Whether WHERE lets no item pass that lacks the path.
fn implies_defined(filter: &IndexFilter, path: &[IndexStep]) -> bool {
    match filter {
        IndexFilter::Path(own, _) => own == path,
        IndexFilter::And(branches) => branches.iter().any(|branch| implies_defined(branch, path)),
        IndexFilter::Or(branches) => branches.iter().all(|branch| implies_defined(branch, path)),
        IndexFilter::Nothing => true,
        IndexFilter::All => false,
    }
}
