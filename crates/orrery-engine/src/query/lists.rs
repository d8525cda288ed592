//! What ranges of index values listed, kept for the pages that follow.
//!
//! Items come in order of insertion, but the entries of a range of values lie in order of these, so
//! that each page of such a query needs the whole list. A list is good for one position of the log
//! of a partition only.

use std::sync::{Mutex, PoisonError};

use orrery_storage::{PartId, Reader};

use super::docids::DocIds;
use super::seek::KeyRange;
use crate::error::Error;
use crate::layout::keys;

/// Lists that are kept.
const MOST_LISTS: usize = 16;
/// Docids on all of them: 4 MB.
const MOST_DOCIDS: usize = 1 << 19;
/// Shorter lists are as quickly made as looked up.
const FEW: usize = 256;

/// The lists, the last used first.
#[derive(Debug, Default)]
pub struct ListCache(Mutex<Vec<Known>>);

#[derive(Debug)]
struct Known {
    place: Place,
    items: DocIds,
}

/// What a list is of.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    part: PartId,
    lsn: u64,
    /// How far a rebuild had come: it changes entries, and no position tells.
    moved: Option<Vec<u8>>,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

impl Place {
    fn new(part: PartId, reader: &dyn Reader, range: &KeyRange) -> Result<Self, Error> {
        Ok(Self {
            part,
            lsn: reader.head().lsn,
            moved: reader.get(&keys::REBUILD)?.map(|value| value.to_vec()),
            from: range.from.clone(),
            to: range.to.clone(),
        })
    }
}

impl ListCache {
    /// The items of a range, if they are known.
    pub fn get(
        &self,
        part: PartId,
        reader: &dyn Reader,
        range: &KeyRange,
    ) -> Result<Option<DocIds>, Error> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing is read for a range that nobody asked for before.
        let is_near = |known: &Known| known.place.part == part && known.place.from == range.from;
        if !lists.iter().any(is_near) {
            return Ok(None);
        }
        let place = Place::new(part, reader, range)?;
        let Some(at) = lists.iter().position(|known| known.place == place) else {
            return Ok(None);
        };
        let known = lists.remove(at);
        let items = known.items.clone();
        lists.insert(0, known);
        Ok(Some(items))
    }

    /// Keeps the items of a range.
    pub fn put(
        &self,
        part: PartId,
        reader: &dyn Reader,
        range: &KeyRange,
        items: &DocIds,
    ) -> Result<(), Error> {
        if items.len() <= FEW || items.len() > MOST_DOCIDS {
            return Ok(());
        }
        let place = Place::new(part, reader, range)?;
        let items = items.clone();
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was true at another position is not asked for again.
        let is_old = |known: &Known| {
            (known.place.part, &known.place.from, &known.place.to) == (part, &place.from, &place.to)
        };
        lists.retain(|known| !is_old(known));
        lists.insert(0, Known { place, items });
        lists.truncate(MOST_LISTS);
        let mut total = 0;
        lists.retain(|known| {
            total += known.items.len();
            total <= MOST_DOCIDS
        });
        Ok(())
    }
}
