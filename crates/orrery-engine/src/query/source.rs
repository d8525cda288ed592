//! Items for a page, chunk by chunk, in the order that its access promises.

use orrery_model::ids::DocId;
use orrery_storage::{Direction, Scan};

use super::access::{Access, OrderedWalk};
use super::docids::DocIds;
use super::position::QueryPosition;
use crate::error::Error;
use crate::layout::term;
use crate::partition::{PartitionSnapshot, StoredItem};

/// Items of the first chunk; small, for queries that need few.
const FIRST_CHUNK: usize = 16;
/// Items of later chunks.
const CHUNK: usize = 256;
/// Most bytes that one chunk of a scan brings.
const CHUNK_BYTES: usize = 1 << 20;

/// An item of a chunk.
pub struct Fetched {
    /// Its docid.
    pub docid: DocId,
    /// Its bytes.
    pub item: StoredItem,
    /// Its entry in the index that is walked, without the index's prefix; else empty.
    pub entry: Vec<u8>,
}

/// Where the items come from.
pub struct Source {
    way: Way,
    chunk: usize,
}

enum Way {
    Scan { after: Option<DocId>, is_done: bool },
    Chosen { left: std::vec::IntoIter<DocId> },
    Ordered(Walk),
}

/// The rest of a walk along an index.
struct Walk {
    walk: OrderedWalk,
    /// Items without an entry that are still to come.
    missing: std::vec::IntoIter<DocId>,
    scan: Option<Scan>,
}

impl Source {
    /// The items from a position on.
    pub fn new(access: Access, start: Option<&QueryPosition>) -> Self {
        let after = start.and_then(|start| match (start.after, start.again) {
            // The docid before is at least not above, and the item itself comes again.
            (Some(docid), true) => docid.0.checked_sub(1).map(DocId),
            (after, _) => after,
        });
        let way = match access {
            Access::Scan => Way::Scan {
                after,
                is_done: false,
            },
            Access::Chosen(items) => Way::Chosen {
                left: items.after(after).to_vec().into_iter(),
            },
            Access::Ordered(walk) => Way::Ordered(Walk::new(walk, start)),
        };
        Self {
            way,
            chunk: FIRST_CHUNK,
        }
    }

    /// The next chunk; empty at the end.
    pub fn next(&mut self, snapshot: &PartitionSnapshot) -> Result<Vec<Fetched>, Error> {
        let chunk = std::mem::replace(&mut self.chunk, CHUNK);
        match &mut self.way {
            Way::Scan { is_done: true, .. } => Ok(Vec::new()),
            Way::Scan { after, is_done } => {
                let page = snapshot.scan_items(*after, Direction::Forward, chunk, CHUNK_BYTES)?;
                *is_done = page.resume.is_none();
                *after = page.entries.last().map(|(docid, _)| *docid).or(*after);
                let fetched = |(docid, item)| Fetched {
                    docid,
                    item,
                    entry: Vec::new(),
                };
                Ok(page.entries.into_iter().map(fetched).collect())
            }
            // An index may name items that are gone by now: a chunk is empty only at the end.
            Way::Chosen { left } => loop {
                let docids: Vec<DocId> = left.by_ref().take(chunk).collect();
                let fetched = fetch(snapshot, &docids, Vec::new())?;
                if !fetched.is_empty() || docids.is_empty() {
                    return Ok(fetched);
                }
            },
            Way::Ordered(walk) => walk.next(snapshot, chunk),
        }
    }
}

fn fetch(
    snapshot: &PartitionSnapshot,
    docids: &[DocId],
    entries: Vec<Vec<u8>>,
) -> Result<Vec<Fetched>, Error> {
    let items = snapshot.items(docids)?;
    let entries = entries.into_iter().chain(std::iter::repeat_with(Vec::new));
    let with = docids.iter().zip(items).zip(entries);
    Ok(with
        .filter_map(|((docid, item), entry)| {
            Some(Fetched {
                docid: *docid,
                item: item?,
                entry,
            })
        })
        .collect())
}

impl Walk {
    fn new(walk: OrderedWalk, start: Option<&QueryPosition>) -> Self {
        let descending = walk.direction == Direction::Backward;
        let to = orrery_storage::scan::prefix_end(&walk.prefix);
        let mut scan = Scan::range(walk.prefix.clone(), to).max_rows(CHUNK);
        scan.direction = walk.direction;
        let from_start = |missing: &DocIds| {
            if descending {
                missing.before(None)
            } else {
                missing.after(None).to_vec()
            }
        };
        let mut scan = Some(scan);
        let missing = match start {
            None => from_start(&walk.missing),
            Some(start) if start.entry.is_empty() => {
                let docid = start.after;
                // Descending, the items without an entry are the last.
                if descending {
                    scan = None;
                    let first =
                        docid.map(|docid| DocId(docid.0.saturating_add(u64::from(start.again))));
                    walk.missing.before(first)
                } else {
                    let last = docid.and_then(|docid| docid.0.checked_sub(u64::from(start.again)));
                    walk.missing.after(last.map(DocId)).to_vec()
                }
            }
            Some(start) => {
                let key = [walk.prefix.as_slice(), &start.entry].concat();
                if let Some(scan) = &mut scan {
                    match (start.again, descending) {
                        (false, _) => scan.resume = Some(key),
                        (true, false) => scan.from = key,
                        (true, true) => scan.to = Some([key.as_slice(), &[0]].concat()),
                    }
                }
                if descending {
                    from_start(&walk.missing)
                } else {
                    Vec::new()
                }
            }
        };
        Self {
            walk,
            missing: missing.into_iter(),
            scan,
        }
    }

    fn next(&mut self, snapshot: &PartitionSnapshot, chunk: usize) -> Result<Vec<Fetched>, Error> {
        loop {
            let missing_now = self.walk.direction == Direction::Forward || self.scan.is_none();
            if missing_now {
                let docids: Vec<DocId> = self.missing.by_ref().take(chunk).collect();
                let fetched = fetch(snapshot, &docids, Vec::new())?;
                if !fetched.is_empty() {
                    return Ok(fetched);
                }
                if !docids.is_empty() {
                    continue;
                }
            }
            let Some(scan) = &mut self.scan else {
                return Ok(Vec::new());
            };
            scan.max_rows = chunk;
            let page = snapshot.reader().scan(scan)?;
            let mut docids = Vec::with_capacity(page.rows.len());
            let mut entries = Vec::with_capacity(page.rows.len());
            for row in &page.rows {
                let (_, docid) = term::parts(&row.key).ok_or(Error::Damaged("index term"))?;
                if self
                    .walk
                    .only
                    .as_ref()
                    .is_none_or(|only| only.contains(docid))
                {
                    docids.push(docid);
                    entries.push(
                        row.key
                            .get(self.walk.prefix.len()..)
                            .unwrap_or_default()
                            .to_vec(),
                    );
                }
            }
            match page.resume {
                Some(key) => scan.resume = Some(key.to_vec()),
                None => self.scan = None,
            }
            let fetched = fetch(snapshot, &docids, entries)?;
            if !fetched.is_empty() {
                return Ok(fetched);
            }
            if self.scan.is_none() && self.missing.len() == 0 {
                return Ok(Vec::new());
            }
        }
    }
}
