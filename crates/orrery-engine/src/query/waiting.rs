//! Docids of a page whose items are to be fetched, a few of them in memory at a time.

use orrery_model::ids::DocId;
use orrery_storage::Scan;

use super::source::{CHUNK_BYTES, Fetched};
use super::walk::Ground;
use crate::error::Error;
use crate::layout::keys;
use crate::partition::{PartitionSnapshot, StoredItem};

/// Items that are looked up at a time; no more of the largest ones are in memory than that.
const AT_A_TIME: usize = 32;
/// Items of ascending docids are read in one go while there are no more than so many others, for
/// each of them, in between.
const NEAR: u64 = 4;
/// So many of the first items that a page looks up one by one stay at hand for those who ask
/// next: large pages would only push out what others read.
const KEPT: usize = 256;

/// Docids whose items are still to be fetched.
#[derive(Debug, Default)]
pub struct Waiting {
    docids: Vec<DocId>,
    /// How many of them were fetched.
    done: usize,
    /// How many items were looked up one by one so far, of all docids.
    looked_up: usize,
}

impl Waiting {
    /// All of these, now that none is left.
    pub fn refill(&mut self, docids: Vec<DocId>) {
        self.docids = docids;
        self.done = 0;
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.done == self.docids.len()
    }

    /// The next items that are there; maybe none. Some docids are done with, not many more than
    /// bring [`CHUNK_BYTES`].
    pub fn fetch(&mut self, ground: Ground<'_>) -> Result<Vec<Fetched>, Error> {
        let docids = self.docids.get(self.done..).unwrap_or_default();
        let (Some(&first), Some(&last)) = (docids.first(), docids.last()) else {
            return Ok(Vec::new());
        };
        let is_dense = last.0.saturating_sub(first.0) < NEAR * docids.len() as u64;
        if is_dense && docids.len() > 1 && docids.is_sorted() {
            return self.fetch_between(ground.snapshot, first, last);
        }
        let mut fetched = Vec::with_capacity(docids.len());
        let mut bytes = 0;
        for some in docids.chunks(AT_A_TIME) {
            self.done += some.len();
            self.looked_up += some.len();
            let items = look_up(ground, some, self.looked_up <= KEPT)?;
            for (&docid, item) in some.iter().zip(items) {
                let Some(item) = item else { continue };
                bytes += item.json().len();
                fetched.push(Fetched { docid, item });
            }
            if bytes >= CHUNK_BYTES {
                break;
            }
        }
        Ok(fetched)
    }

    /// The same by reading everything from the first to the last.
    fn fetch_between(
        &mut self,
        snapshot: &PartitionSnapshot,
        first: DocId,
        last: DocId,
    ) -> Result<Vec<Fetched>, Error> {
        let mut end = keys::item(last);
        end.push(0);
        let range = Scan::range(keys::item_key(first), Some(end));
        let page = snapshot.reader().scan(&range.max_bytes(CHUNK_BYTES))?;
        let is_whole = page.resume.is_none();
        let mut fetched = Vec::with_capacity(page.rows.len().min(self.docids.len() - self.done));
        for row in page.rows {
            let docid = keys::docid_of_item(&row.key).ok_or(Error::Damaged("item key"))?;
            let left = self.docids.get(self.done..).unwrap_or_default();
            self.done += left.iter().take_while(|wanted| **wanted < docid).count();
            if self.docids.get(self.done) == Some(&docid) {
                self.done += 1;
                let item = StoredItem::decode(row.value)?;
                fetched.push(Fetched { docid, item });
            }
        }
        if is_whole {
            self.done = self.docids.len();
        }
        Ok(fetched)
    }
}

/// Several items, in the order of the docids; those that were read lately without the store.
/// `keeps` leaves the others at hand for the next reader.
fn look_up(
    ground: Ground<'_>,
    docids: &[DocId],
    keeps: bool,
) -> Result<Vec<Option<StoredItem>>, Error> {
    let Ground { run, snapshot } = ground;
    if run.engine.is_read_region() {
        return snapshot.items(docids);
    }
    let (recent, part) = (&run.engine.environment().recent, run.partition.part());
    let mut items = Vec::with_capacity(docids.len());
    let mut missed = Vec::new();
    for (at, &docid) in docids.iter().enumerate() {
        let found = match recent.find(part, docid) {
            // What lies there is the newest version: the snapshot's, unless it came later.
            Ok(stored) if stored.header().lsn <= snapshot.lsn() => Some(stored),
            Ok(_) => {
                missed.push((at, docid, None));
                None
            }
            Err(ticket) => {
                missed.push((at, docid, Some(ticket)));
                None
            }
        };
        items.push(found);
    }
    if missed.is_empty() {
        return Ok(items);
    }
    let others: Vec<DocId> = missed.iter().map(|(_, docid, _)| *docid).collect();
    // What the snapshot has may be kept only if it was still the newest when the tickets came. The
    // part may be gone since; the snapshot is not.
    let is_newest = |head| head == snapshot.reader().head();
    let keeps = keeps && run.engine.store().head(part).is_ok_and(is_newest);
    for ((at, docid, ticket), item) in missed.into_iter().zip(snapshot.items(&others)?) {
        if let (Some(item), Some(ticket), true) = (&item, ticket, keeps) {
            recent.keep(part, docid, ticket, item);
        }
        if let Some(place) = items.get_mut(at) {
            *place = item;
        }
    }
    Ok(items)
}

/// Shows the items of some docids that are there, a few of them in memory at a time.
pub fn fetch_each(
    ground: Ground<'_>,
    docids: Vec<DocId>,
    mut each: impl FnMut(Fetched),
) -> Result<(), Error> {
    let mut waiting = Waiting {
        // They are many, and nobody asked for them.
        looked_up: KEPT,
        ..Waiting::default()
    };
    waiting.refill(docids);
    while !waiting.is_empty() {
        waiting.fetch(ground)?.into_iter().for_each(&mut each);
    }
    Ok(())
}
