//! Items that lack a path: an index has no entries for them, but ORDER BY returns them.
//!
//! Finding them takes a look at all entries of the path. The list is kept with the partition and
//! brought up to date from the change feed, so that pages and queries after the first one look
//! only at what has changed since.

use std::ops::ControlFlow;

use orrery_model::ids::{DocId, Lsn};
use orrery_model::json;
use orrery_model::path::Step;
use orrery_storage::{Reader, Scan};

use super::docids::DocIds;
use super::waiting::fetch_each;
use super::walk::Ground;
use crate::error::Error;
use crate::layout::entries::{ChangeEntry, Counters};
use crate::layout::{family, keys, term};
use crate::partition::StoredItem;

/// With more changes than this the list is made anew.
const MOST_CHANGES: usize = 10_000;
/// More items without an entry are not looked at one by one.
const MOST_CHECKED: usize = 10_000;
/// Paths that are remembered.
const MOST_PATHS: usize = 16;
/// Items on all lists that are remembered.
const MOST_REMEMBERED: usize = 1 << 20;

/// What is known of some paths of a partition, the last used first.
#[derive(Debug, Default)]
pub struct MissingCache {
    lists: Vec<Known>,
}

#[derive(Debug, Clone)]
struct Known {
    /// The start of the path's entries.
    prefix: Vec<u8>,
    /// The position as of which the list is right.
    lsn: Lsn,
    /// How far a rebuild had come: it changes entries, and no position tells.
    moved: Option<Vec<u8>>,
    items: DocIds,
}

impl MissingCache {
    fn get(&self, prefix: &[u8]) -> Option<&Known> {
        self.lists.iter().find(|known| known.prefix == prefix)
    }

    fn put(&mut self, new: Known) {
        self.lists.retain(|known| known.prefix != new.prefix);
        self.lists.insert(0, new);
        self.lists.truncate(MOST_PATHS);
        let mut total = 0;
        self.lists.retain(|known| {
            total += known.items.len();
            total <= MOST_REMEMBERED
        });
    }
}

/// The items that lack a path; maybe also some that are gone. `None` when items have arrays or
/// objects there that no entry tells of, or when telling would take too long.
pub fn find(
    ground: Ground<'_>,
    prefix: &[u8],
    path: &[Step],
    nodes: bool,
    counters: &Counters,
) -> Result<Option<DocIds>, Error> {
    let Ground { run, snapshot } = ground;
    if let [Step::Property(name)] = path
        && (name == "id" || name == "_ts")
    {
        return Ok(Some(DocIds::default()));
    }
    let lsn = snapshot.lsn();
    let moved = snapshot.reader().get(&keys::REBUILD)?;
    let moved = moved.map(|value| value.to_vec());
    let known = run.partition.missing_cache().get(prefix).cloned();
    let items = match known.filter(|known| known.lsn <= lsn && known.moved == moved) {
        Some(known) => match bring_up_to_date(ground, &known, path, nodes)? {
            Progress::Items(items) => Some(items),
            Progress::OutOfOrder => return Ok(None),
            Progress::TooMany => find_all(ground, prefix, path, nodes, counters)?,
        },
        None => find_all(ground, prefix, path, nodes, counters)?,
    };
    if let Some(items) = &items {
        let prefix = prefix.to_vec();
        let items = items.clone();
        run.partition.missing_cache().put(Known {
            prefix,
            lsn,
            moved,
            items,
        });
    }
    Ok(items)
}

enum Progress {
    Items(DocIds),
    /// An array or object has come that no entry may tell of.
    OutOfOrder,
    TooMany,
}

fn bring_up_to_date(
    ground: Ground<'_>,
    known: &Known,
    path: &[Step],
    nodes: bool,
) -> Result<Progress, Error> {
    let snapshot = ground.snapshot;
    if known.lsn == snapshot.lsn() {
        return Ok(Progress::Items(known.items.clone()));
    }
    let from = keys::behind(family::CHANGE, known.lsn);
    let end = keys::family_end(family::CHANGE);
    let changes = Scan::range(from, Some(end)).max_rows(MOST_CHANGES);
    let page = snapshot.reader().scan(&changes)?;
    if page.resume.is_some() {
        return Ok(Progress::TooMany);
    }
    let mut changed = Vec::with_capacity(page.rows.len());
    for row in &page.rows {
        changed.push(ChangeEntry::decode(&row.key, &row.value)?.docid);
    }
    let changed = DocIds::new(changed);
    let mut items: Vec<DocId> = known.items.without(&changed).iter().collect();
    let mut is_told = true;
    fetch_each(ground, changed.iter().collect(), |fetched| {
        match at_path(&fetched.item, path) {
            At::Nothing => items.push(fetched.docid),
            At::Node => is_told &= nodes,
            At::Scalar => {}
        }
    })?;
    Ok(if is_told {
        Progress::Items(DocIds::new(items))
    } else {
        Progress::OutOfOrder
    })
}

fn find_all(
    ground: Ground<'_>,
    prefix: &[u8],
    path: &[Step],
    nodes: bool,
    counters: &Counters,
) -> Result<Option<DocIds>, Error> {
    let snapshot = ground.snapshot;
    let docid_of_term = |key: &[u8]| term::parts(key).map(|(_, docid)| docid);
    let with = all_docids(snapshot.reader(), &Scan::prefix(prefix), docid_of_term)?;
    if with.len() as u64 == counters.items {
        return Ok(Some(DocIds::default()));
    }
    let docid_of_key = |key: &[u8]| keys::parts_of_key(key).map(|(_, docid)| docid);
    let all = all_docids(
        snapshot.reader(),
        &Scan::prefix([family::KEY]),
        docid_of_key,
    )?;
    let without = all.without(&with);
    if nodes {
        return Ok(Some(without));
    }
    if without.len() > MOST_CHECKED {
        return Ok(None);
    }
    let mut lack_it = true;
    fetch_each(ground, without.iter().collect(), |fetched| {
        lack_it &= at_path(&fetched.item, path) == At::Nothing;
    })?;
    Ok(lack_it.then_some(without))
}

#[derive(Debug, PartialEq, Eq)]
enum At {
    Nothing,
    Scalar,
    Node,
}

/// What an item has at a path of properties.
fn at_path(item: &StoredItem, path: &[Step]) -> At {
    let mut text = item.json();
    for step in path {
        let Step::Property(name) = step else {
            return At::Nothing;
        };
        match json::member_slice(text, name) {
            Some(inner) => text = inner,
            None => return At::Nothing,
        }
    }
    match text.first() {
        Some(b'[' | b'{') => At::Node,
        _ => At::Scalar,
    }
}

fn all_docids(
    reader: &dyn Reader,
    scan: &Scan,
    docid: impl Fn(&[u8]) -> Option<DocId>,
) -> Result<DocIds, Error> {
    let (mut found, mut is_sound) = (Vec::new(), true);
    reader.keys(scan, &mut |key| {
        let docid = docid(key);
        is_sound &= docid.is_some();
        found.extend(docid);
        if is_sound {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    if !is_sound {
        return Err(Error::Damaged("index entry"));
    }
    Ok(DocIds::new(found))
}
