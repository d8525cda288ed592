//! How a page comes by its items.

use orrery_model::charge::QueryCost;
use orrery_model::container::CompositePath;
use orrery_model::ids::DocId;
use orrery_model::index::{Composite, IndexTree, PathHash};
use orrery_model::ordered::Tag;
use orrery_model::value::Value;
use orrery_sql::filter::{IndexFilter, IndexStep, IndexTest};
use orrery_storage::{Direction, Reader, Scan};

use super::docids::DocIds;
use super::page::PageRun;
use super::prepare::steps;
use super::seek::Seeker;
use crate::error::Error;
use crate::layout::{family, keys, term};
use crate::partition::PartitionSnapshot;

/// Up to so many items, sorting what matches beats walking an index in order.
const FEW: usize = 2_000;
/// Up to so many items of the wanted keys, reading all of them beats looking anything up.
const FEW_OF_KEY: usize = 256;
/// Entries that one read of the store brings.
const CHUNK: usize = 4_096;

/// The way that was chosen.
#[derive(Debug)]
pub enum Access {
    /// All items of the partition, in order of insertion.
    Scan,
    /// Only these, in order of insertion.
    Chosen(DocIds),
    /// In the order of an index.
    Ordered(OrderedWalk),
}

/// A walk along one index.
#[derive(Debug)]
pub struct OrderedWalk {
    /// The start of all its entries.
    pub prefix: Vec<u8>,
    /// Where it begins and where it goes.
    pub direction: Direction,
    /// Items without an entry: they come first when ascending, last when descending.
    pub missing: DocIds,
    /// Items outside need not be read.
    pub only: Option<DocIds>,
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

/// Chooses for one page.
pub fn choose(run: &PageRun<'_>, snapshot: &PartitionSnapshot) -> Result<Choice, Error> {
    let program = &run.prepared.program;
    let nothing = |cost| Choice {
        access: Access::Chosen(DocIds::default()),
        cost,
        narrowed: true,
    };
    if !program.reads_items() || *program.filter() == IndexFilter::Nothing {
        return Ok(nothing(QueryCost {
            seeks: 1,
            ..QueryCost::default()
        }));
    }
    if let Some(docid) = by_id(run, snapshot)? {
        let cost = QueryCost {
            seeks: 1,
            ..QueryCost::default()
        };
        let items = DocIds::new(docid.into_iter().collect());
        return Ok(Choice {
            access: Access::Chosen(items),
            cost,
            narrowed: true,
        });
    }
    let of_keys = of_keys(run, snapshot)?;
    if let Some(items) = &of_keys
        && items.len() <= FEW_OF_KEY
    {
        let cost = QueryCost {
            seeks: 1,
            ..QueryCost::default()
        };
        return Ok(Choice {
            access: Access::Chosen(items.clone()),
            cost,
            narrowed: false,
        });
    }
    let in_partition = usize::try_from(run.partition.statistics().items).unwrap_or(usize::MAX);
    let bound = of_keys.as_ref().map_or(in_partition, DocIds::len);
    let mut seeker = Seeker {
        reader: snapshot.reader(),
        tree: run.state.index().tree(),
        most_entries: (in_partition / 8).max(FEW) as u64,
        cost: QueryCost::default(),
    };
    let usable = run.state.index().tree().is_enabled() && run.state.index_is_whole();
    let found = if usable {
        seeker.items(program.filter())?
    } else {
        None
    };
    let cost = seeker.cost;
    let narrowed = found.is_some();
    let items = match (found, of_keys) {
        (Some(found), Some(of_keys)) => Some(found.intersect(&of_keys)),
        (found, of_keys) => found.or(of_keys),
    };
    let few = items.as_ref().is_some_and(|items| items.len() <= FEW) || bound <= FEW;
    if program.is_ordered()
        && !few
        && usable
        && let Some(walk) = ordered_walk(run, snapshot, items.as_ref())?
    {
        return Ok(Choice {
            access: Access::Ordered(walk),
            cost,
            narrowed,
        });
    }
    let access = items.map_or(Access::Scan, Access::Chosen);
    Ok(Choice {
        access,
        cost,
        narrowed,
    })
}

/// The item of a full key and an id, where the query pins both.
fn by_id(run: &PageRun<'_>, snapshot: &PartitionSnapshot) -> Result<Option<Option<DocId>>, Error> {
    let [key] = run.keys else {
        return Ok(None);
    };
    let definition = run.state.key_definition();
    let Some(id) = pinned_id(run.prepared.program.filter()).filter(|_| definition.is_full(key))
    else {
        return Ok(None);
    };
    snapshot.docid(&definition.effective(key), id).map(Some)
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
fn of_keys(run: &PageRun<'_>, snapshot: &PartitionSnapshot) -> Result<Option<DocIds>, Error> {
    const MOST: usize = 100_000;
    if run.wanted.is_empty() {
        return Ok(None);
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
            if found.len() > MOST {
                return Ok(None);
            }
            match page.resume {
                Some(key) => scan.resume = Some(key.to_vec()),
                None => break,
            }
        }
    }
    Ok(Some(DocIds::new(found)))
}

/// The walk that gives the rows in the order of ORDER BY, if an index does.
fn ordered_walk(
    run: &PageRun<'_>,
    snapshot: &PartitionSnapshot,
    items: Option<&DocIds>,
) -> Result<Option<OrderedWalk>, Error> {
    let tree = run.state.index().tree();
    let Some(order) = run.prepared.program.order_keys() else {
        return Ok(None);
    };
    let only = items.cloned();
    if let [(path, descending)] = order {
        let steps = steps(path);
        if path.contains(&IndexStep::AnyElement) || !tree.coverage(&steps).scalars {
            return Ok(None);
        }
        let prefix = term::path_prefix(PathHash::of(&steps));
        // Arrays and objects have entries without their content: no order.
        if has_entries_from(snapshot.reader(), &prefix, Tag::Array)? {
            return Ok(None);
        }
        let missing = if implies_defined(run.prepared.program.filter(), path) {
            DocIds::default()
        } else {
            missing(run, snapshot, &prefix)?
        };
        let direction = if *descending {
            Direction::Backward
        } else {
            Direction::Forward
        };
        return Ok(Some(OrderedWalk {
            prefix,
            direction,
            missing,
            only,
        }));
    }
    let Some((composite, flipped)) = composite_for(tree, order) else {
        return Ok(None);
    };
    let direction = if flipped {
        Direction::Backward
    } else {
        Direction::Forward
    };
    let prefix = term::path_prefix(composite.hash);
    Ok(Some(OrderedWalk {
        prefix,
        direction,
        missing: DocIds::default(),
        only,
    }))
}

/// The composite index of exactly these paths in this order, all directions as asked or all the
/// other way round (query language: section 11).
pub fn composite_for<'t>(
    tree: &'t IndexTree,
    order: &[(Vec<IndexStep>, bool)],
) -> Option<(&'t Composite, bool)> {
    let same_path = |own: &CompositePath, path: &[IndexStep]| own.path.steps() == steps(path);
    tree.composites().iter().find_map(|composite| {
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

fn has_entries_from(reader: &dyn Reader, prefix: &[u8], tag: Tag) -> Result<bool, Error> {
    let mut from = prefix.to_vec();
    from.push(tag as u8);
    let scan = Scan::range(from, orrery_storage::scan::prefix_end(prefix)).max_rows(1);
    Ok(!reader.scan(&scan)?.rows.is_empty())
}

/// The items without an entry in an index.
fn missing(
    run: &PageRun<'_>,
    snapshot: &PartitionSnapshot,
    prefix: &[u8],
) -> Result<DocIds, Error> {
    let docid_of_term = |key: &[u8]| term::parts(key).map(|(_, docid)| docid);
    let with = all_docids(snapshot.reader(), Scan::prefix(prefix), docid_of_term)?;
    if with.len() as u64 == run.partition.statistics().items {
        return Ok(DocIds::default());
    }
    let docid_of_key = |key: &[u8]| keys::parts_of_key(key).map(|(_, docid)| docid);
    let all = all_docids(snapshot.reader(), Scan::prefix([family::KEY]), docid_of_key)?;
    Ok(all.without(&with))
}

fn all_docids(
    reader: &dyn Reader,
    scan: Scan,
    docid: impl Fn(&[u8]) -> Option<DocId>,
) -> Result<DocIds, Error> {
    let mut scan = scan.max_rows(CHUNK);
    let mut found = Vec::new();
    loop {
        let page = reader.scan(&scan)?;
        for row in &page.rows {
            found.push(docid(&row.key).ok_or(Error::Damaged("index entry"))?);
        }
        match page.resume {
            Some(key) => scan.resume = Some(key.to_vec()),
            None => return Ok(DocIds::new(found)),
        }
    }
}
