//! Aggregates that the index answers without any item: counts over filters that entries satisfy
//! exactly, and the ends of a path.

use orrery_model::charge::QueryCost;
use orrery_model::index::PathHash;
use orrery_model::ordered::{self, Decoded, Tag};
use orrery_model::value::Value;
use orrery_sql::filter::{IndexAggregate, IndexFilter, IndexStep, steps};
use orrery_sql::pipeline::Folded;
use orrery_storage::{Direction, Scan};

use super::access::{Access, Choice, of_keys};
use super::index_groups;
use super::page::PageRun;
use super::seek::{KeyRange, Seeker};
use crate::error::Error;
use crate::layout::entries::Counters;
use crate::layout::{keys, term};
use crate::partition::PartitionSnapshot;

/// Most items that a count lists to intersect them.
const MOST_LISTED: usize = 1 << 22;

/// The answers for a page, if the index has them all.
pub fn choose(
    run: &PageRun<'_>,
    snapshot: &PartitionSnapshot,
    counters: &Counters,
    usable: bool,
) -> Result<Option<Choice>, Error> {
    let program = &run.prepared.program;
    // Entries do not tell what has expired.
    if run.state.default_ttl().is_some() || !program.has_exact_filter() {
        return Ok(None);
    }
    if usable
        && run.wanted.is_empty()
        && *program.filter() == IndexFilter::All
        && let Some(grouping) = program.index_grouping()
    {
        return index_groups::choose(run, snapshot, &grouping, counters);
    }
    let Some(aggregates) = program.index_aggregates() else {
        return Ok(None);
    };
    let mut seeker = Seeker {
        reader: snapshot.reader(),
        part: run.partition.part(),
        lists: run.engine.query_lists(),
        state: run.state,
        most_entries: MOST_LISTED,
        is_exact: true,
        cost: QueryCost::default(),
    };
    let is_whole = run.wanted.is_empty();
    let filter = program.filter();
    let counts = aggregates
        .iter()
        .all(|aggregate| *aggregate == IndexAggregate::Items);
    let answers = if *filter == IndexFilter::All && is_whole {
        if !counts && !usable {
            return Ok(None);
        }
        let mut answers = Vec::with_capacity(aggregates.len());
        for aggregate in &aggregates {
            match answer(&mut seeker, aggregate, counters)? {
                Some(answer) => answers.push(answer),
                None => return Ok(None),
            }
        }
        answers
    } else {
        let is_free = *filter == IndexFilter::All;
        if !counts || !(usable || is_free) {
            return Ok(None);
        }
        // The short hash of the first version may give two keys one place.
        if !run.keys.is_empty() && run.state.key_definition().version() < 2 {
            return Ok(None);
        }
        let count = if is_free {
            let mut count = 0;
            for range in &run.wanted {
                let (from, to) = keys::key_span(range);
                count += seeker.entries(KeyRange { from, to: Some(to) })?;
            }
            Some(count)
        } else {
            let of_keys = of_keys(run, snapshot)?;
            if of_keys.is_none() && !is_whole {
                return Ok(None);
            }
            seeker.count(filter, of_keys)?
        };
        match count {
            Some(count) => vec![Folded::Count(count); aggregates.len()],
            None => return Ok(None),
        }
    };
    let mut choice = Choice::found(Access::Folded(answers), 0);
    choice.cost = seeker.cost;
    choice.cost.seeks = choice.cost.seeks.max(1);
    Ok(Some(choice))
}

/// An aggregate over all items.
fn answer(
    seeker: &mut Seeker<'_>,
    aggregate: &IndexAggregate,
    counters: &Counters,
) -> Result<Option<Folded>, Error> {
    let (path, direction) = match aggregate {
        IndexAggregate::Items => {
            // Nothing is loaded, but the service counts entries (request units: section 4.2).
            seeker.cost.entries_scanned += counters.items;
            return Ok(Some(Folded::Count(counters.items)));
        }
        IndexAggregate::Defined(path) => {
            let Some(range) = all_entries(seeker, path) else {
                return Ok(None);
            };
            seeker.cost.seeks += 1;
            return Ok(Some(Folded::Count(seeker.entries(range)?)));
        }
        IndexAggregate::Least(path) => (path, Direction::Forward),
        IndexAggregate::Greatest(path) => (path, Direction::Backward),
    };
    let Some(range) = all_entries(seeker, path) else {
        return Ok(None);
    };
    seeker.cost.seeks += 1;
    let Some(last) = end(seeker, &range, Direction::Backward)? else {
        return Ok(Some(Folded::Best(Value::Undefined)));
    };
    // Arrays and objects come last; one of them spoils the result (query language: section 7.4).
    if last.first().is_some_and(|&tag| tag >= Tag::Array as u8) {
        return Ok(Some(Folded::Best(Value::Array(Vec::new()))));
    }
    let best = match direction {
        Direction::Backward => Some(last),
        Direction::Forward => end(seeker, &range, Direction::Forward)?,
    };
    let decoded = best.and_then(|value| Some(ordered::decode(&value)?.0));
    Ok(match decoded {
        Some(Decoded::Value(value)) => Some(Folded::Best(value)),
        // Only the item has the whole of a long string.
        _ => None,
    })
}

/// The entries of a path, where every defined value has one.
fn all_entries(seeker: &Seeker<'_>, path: &[IndexStep]) -> Option<KeyRange> {
    let steps = steps(path);
    let prefix = term::path_prefix(PathHash::of(&steps));
    let is_complete = seeker.state.coverage(&steps).is_complete();
    is_complete.then(|| KeyRange {
        to: orrery_storage::scan::prefix_end(&prefix),
        from: prefix,
    })
}

/// The encoded value of the first entry in a direction.
fn end(
    seeker: &Seeker<'_>,
    range: &KeyRange,
    direction: Direction,
) -> Result<Option<Vec<u8>>, Error> {
    let mut scan = Scan::range(range.from.clone(), range.to.clone()).max_rows(1);
    scan.direction = direction;
    let page = seeker.reader.scan(&scan)?;
    let Some(row) = page.rows.first() else {
        return Ok(None);
    };
    let (value, _) = term::parts(&row.key).ok_or(Error::Damaged("index term"))?;
    Ok(Some(value.to_vec()))
}
