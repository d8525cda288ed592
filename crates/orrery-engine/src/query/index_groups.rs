//! GROUP BY without items: the entries of a composite index that begins with the keys lie group by
//! group, and within a group in order of the value behind the keys.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use orrery_model::ids::DocId;
use orrery_model::index::Composite;
use orrery_model::ordered::{self, Decoded, Tag};
use orrery_model::value::Value;
use orrery_sql::filter::{IndexAggregate, IndexGrouping, IndexStep, steps};
use orrery_sql::pipeline::{Folded, FoldedGroup};
use orrery_storage::scan::prefix_end;
use orrery_storage::{Reader, Scan};

use super::access::{Access, Choice};
use super::page::PageRun;
use super::seek::KeyRange;
use crate::error::Error;
use crate::layout::entries::Counters;
use crate::layout::term;
use crate::partition::PartitionSnapshot;

/// More groups are not held here; the pipeline counts what it holds.
const MOST_GROUPS: usize = 50_000;
/// Groups that are given out one by one.
const MOST_SHARES: usize = 32;

/// The groups of all items, if a composite index has them.
pub fn choose(
    run: &PageRun<'_>,
    snapshot: &PartitionSnapshot,
    grouping: &IndexGrouping,
    counters: &Counters,
) -> Result<Option<Choice>, Error> {
    let mut composites = run.state.composites();
    let Some(layout) = composites.find_map(|composite| Layout::of(composite, grouping)) else {
        return Ok(None);
    };
    let Some(found) = gather_all(run, snapshot.reader(), &layout, counters)? else {
        return Ok(None);
    };
    let entries = found.iter().map(|group| group.items).sum();
    // Every item has one entry, whatever it lacks.
    if entries != counters.items {
        return Ok(None);
    }
    let Some(groups) = fold(&layout, found, grouping) else {
        return Ok(None);
    };
    let mut choice = Choice::found(Access::Grouped(groups), 1);
    choice.cost.entries_scanned = entries;
    Ok(Some(choice))
}

/// All groups; `None` if entries do not tell them.
fn gather_all(
    run: &PageRun<'_>,
    reader: &dyn Reader,
    layout: &Layout,
    counters: &Counters,
) -> Result<Option<Vec<Group>>, Error> {
    let all = KeyRange {
        to: prefix_end(&layout.prefix),
        from: layout.prefix.clone(),
    };
    let engine = run.engine;
    let is_long = counters.items > engine.tuning().alone_at_most;
    let turn = is_long.then(|| engine.query_readers().enter()).flatten();
    let Some(turn) = turn else {
        return gather(reader, layout, all);
    };
    // Whoever is free takes the next group.
    let shares = Mutex::new(shares(reader, layout, all)?.into_iter());
    let work = || -> Result<Option<Vec<Group>>, Error> {
        let mut groups = Vec::new();
        loop {
            let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(range) = next() else {
                return Ok(Some(groups));
            };
            match gather(reader, layout, range)? {
                Some(found) => groups.extend(found),
                None => return Ok(None),
            }
        }
    };
    let (mine, other) = std::thread::scope(|scope| {
        let other = Builder::new().spawn_scoped(scope, work);
        let mine = work();
        let other = match other {
            // What a thread failed at is left to the items.
            Ok(thread) => thread.join().unwrap_or(Ok(None)),
            Err(_) => Ok(Some(Vec::new())),
        };
        (mine, other)
    });
    drop(turn);
    let (Some(mut groups), Some(others)) = (mine?, other?) else {
        return Ok(None);
    };
    groups.extend(others);
    Ok(Some(groups))
}

/// The entries of the first groups, each by itself, and those of the others.
fn shares(reader: &dyn Reader, layout: &Layout, all: KeyRange) -> Result<Vec<KeyRange>, Error> {
    let mut shares = Vec::new();
    let mut rest = Some(all);
    while let Some(KeyRange { from, to }) = rest.take() {
        let mut first = None;
        if shares.len() < MOST_SHARES {
            let scan = Scan::range(from.as_slice(), to.clone());
            reader.keys(&scan, &mut |key| {
                first = Some(key.to_vec());
                ControlFlow::Break(())
            })?;
        }
        let length = first.as_deref().and_then(|key| {
            let (value, _) = term::parts(key)?;
            Some(layout.prefix.len() + layout.length_of_keys(value)?)
        });
        let own = first.as_deref().zip(length);
        match own.and_then(|(key, length)| prefix_end(key.get(..length)?)) {
            Some(end) => {
                shares.push(KeyRange {
                    from,
                    to: Some(end.clone()),
                });
                rest = Some(KeyRange { from: end, to });
            }
            None => shares.push(KeyRange { from, to }),
        }
    }
    Ok(shares)
}

/// The groups of some entries, in their order; `None` if they do not tell all.
fn gather(
    reader: &dyn Reader,
    layout: &Layout,
    range: KeyRange,
) -> Result<Option<Vec<Group>>, Error> {
    let mut gathering = Gathering {
        layout,
        groups: Vec::new(),
        last: Vec::new(),
    };
    let mut is_told = true;
    reader.keys(&Scan::range(range.from, range.to), &mut |key| {
        is_told = gathering.take(key).is_some() && gathering.groups.len() <= MOST_GROUPS;
        if is_told {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    gathering.close();
    Ok(is_told.then_some(gathering.groups))
}

/// How the entries of a composite index are made of what the query asks for.
struct Layout {
    prefix: Vec<u8>,
    /// Which values of an entry the keys of the query are, in its order.
    keys: Vec<usize>,
    /// The directions of the values that are keys.
    descending: Vec<bool>,
    /// The direction of the value behind the keys, where there is one.
    behind: Option<bool>,
}

impl Layout {
    fn of(composite: &Composite, grouping: &IndexGrouping) -> Option<Self> {
        let place_of = |path: &Vec<IndexStep>| {
            let wanted = steps(path);
            let mut paths = composite.paths.iter();
            paths.position(|own| own.path.steps() == wanted)
        };
        let keys: Vec<usize> = grouping.keys.iter().map(place_of).collect::<Option<_>>()?;
        let count = keys.len();
        let is_front = (0..count).all(|place| keys.contains(&place));
        if !is_front || composite.paths.len() > count + 1 {
            return None;
        }
        let is_behind = |aggregate: &IndexAggregate| match aggregate {
            IndexAggregate::Items => true,
            IndexAggregate::Defined(path)
            | IndexAggregate::Least(path)
            | IndexAggregate::Greatest(path) => place_of(path) == Some(count),
        };
        let descending = composite.paths.iter().map(|path| path.descending);
        grouping.aggregates.iter().all(is_behind).then(|| Self {
            prefix: term::path_prefix(composite.hash),
            keys,
            descending: descending.clone().take(count).collect(),
            behind: descending.clone().nth(count),
        })
    }

    /// How long the keys are at the start of an entry's value; `None` where they do not tell all of
    /// the item's values.
    fn length_of_keys(&self, value: &[u8]) -> Option<usize> {
        let decoded = self.decode_keys(value)?;
        Some(value.len() - decoded.1.len())
    }

    /// The keys, and what is behind them.
    fn decode_keys<'v>(&self, value: &'v [u8]) -> Option<(Vec<Value<'static>>, &'v [u8])> {
        let mut rest = value;
        let mut keys = Vec::with_capacity(self.descending.len());
        for &descending in &self.descending {
            let (decoded, length) = decode(rest, descending)?;
            keys.push(decoded);
            rest = rest.get(length..)?;
        }
        Some((keys, rest))
    }
}

/// A scalar at the start of some bytes, and how long it is.
fn decode(bytes: &[u8], descending: bool) -> Option<(Value<'static>, usize)> {
    let turned: Vec<u8>;
    let bytes = if descending {
        turned = bytes.iter().map(|byte| !byte).collect();
        &turned
    } else {
        bytes
    };
    match ordered::decode(bytes)? {
        (Decoded::Value(value), rest) => Some((value, bytes.len() - rest.len())),
        _ => None,
    }
}

/// What is known of a group.
struct Group {
    /// Its keys as they begin its entries.
    keys: Vec<u8>,
    items: u64,
    /// Items that have a value behind the keys.
    defined: u64,
    /// The first and the last of these values.
    ends: Option<(Vec<u8>, Vec<u8>)>,
    /// The item that was the first to be inserted.
    first: DocId,
}

/// The walk over all entries.
struct Gathering<'l> {
    layout: &'l Layout,
    groups: Vec<Group>,
    /// The last value behind the keys.
    last: Vec<u8>,
}

impl Gathering<'_> {
    /// Takes the next entry; `None` if it does not tell all.
    fn take(&mut self, key: &[u8]) -> Option<()> {
        let (value, docid) = term::parts(key)?;
        // No encoding is a prefix of another.
        let is_same = |group: &Group| value.starts_with(&group.keys);
        if !self.groups.last().is_some_and(is_same) {
            self.close();
            let length = self.layout.length_of_keys(value)?;
            self.groups.push(Group {
                keys: value.get(..length)?.to_vec(),
                items: 0,
                defined: 0,
                ends: None,
                first: docid,
            });
        }
        let group = self.groups.last_mut()?;
        group.items += 1;
        group.first = group.first.min(docid);
        if let Some(descending) = self.layout.behind {
            let behind = value.get(group.keys.len()..)?;
            let turn = if descending { u8::MAX } else { 0 };
            if behind.first()? ^ turn != Tag::Undefined as u8 {
                group.defined += 1;
                if group.ends.is_none() {
                    group.ends = Some((behind.to_vec(), Vec::new()));
                }
                self.last.clear();
                self.last.extend_from_slice(behind);
            }
        }
        Some(())
    }

    /// Notes the end of the last group.
    fn close(&mut self) {
        if let Some((_, last)) = self.groups.last_mut().and_then(|group| group.ends.as_mut()) {
            last.clone_from(&self.last);
        }
    }
}

/// The groups in order of their first items; `None` if a value is not told.
fn fold(
    layout: &Layout,
    mut groups: Vec<Group>,
    grouping: &IndexGrouping,
) -> Option<Vec<FoldedGroup>> {
    groups.sort_by_key(|group| group.first);
    let folded = groups.iter().map(|group| fold_one(layout, group, grouping));
    folded.collect()
}

fn fold_one(layout: &Layout, group: &Group, grouping: &IndexGrouping) -> Option<FoldedGroup> {
    let (values, _) = layout.decode_keys(&group.keys)?;
    let keys = layout.keys.iter().map(|&place| values.get(place).cloned());
    let descending = layout.behind.unwrap_or_default();
    let best = |is_greatest: bool| {
        let Some((first, last)) = &group.ends else {
            return Some(Value::Undefined);
        };
        let (least, greatest) = if descending {
            (last, first)
        } else {
            (first, last)
        };
        // Arrays and objects are the greatest of all values and spoil the result; entries do not
        // have them.
        let (greatest, _) = decode(greatest, descending)?;
        if is_greatest {
            return Some(greatest);
        }
        decode(least, descending).map(|(least, _)| least)
    };
    let answers = grouping.aggregates.iter().map(|aggregate| match aggregate {
        IndexAggregate::Items => Some(Folded::Count(group.items)),
        IndexAggregate::Defined(_) => Some(Folded::Count(group.defined)),
        IndexAggregate::Least(_) => best(false).map(Folded::Best),
        IndexAggregate::Greatest(_) => best(true).map(Folded::Best),
    });
    Some(FoldedGroup {
        keys: keys.collect::<Option<_>>()?,
        answers: answers.collect::<Option<_>>()?,
    })
}
