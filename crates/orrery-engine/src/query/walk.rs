//! A walk along an index in the order of ORDER BY.
//!
//! An index has nearly the order that the query asks for. Where it has not, the walk stops at a
//! run of entries that the index cannot tell apart and puts it in order by itself: strings are cut
//! in entries, arrays and objects have entries without their content, and entries of one value
//! always lie in order of insertion, which is the wrong way round for some composite indexes.

use std::collections::VecDeque;

use orrery_model::ids::DocId;
use orrery_model::index::{COMPOSITE_STRING_LIMIT, STRING_LIMIT};
use orrery_model::ordered::{self, Decoded, Tag};
use orrery_model::path::Step;
use orrery_model::value::Value;
use orrery_sql::pipeline::{Item, SortPlace, Standing};
use orrery_storage::scan::prefix_end;
use orrery_storage::{Direction, Row, Scan};

use super::docids::DocIds;
use super::page::PageRun;
use super::seek::KeyRange;
use super::source::Fetched;
use super::waiting::{Waiting, fetch_each};
use crate::error::Error;
use crate::layout::entries::Counters;
use crate::layout::term;
use crate::partition::PartitionSnapshot;

/// Entries that one read of a run brings.
const RUN_CHUNK: usize = 1_024;
/// Bytes of the sort values of one run.
const RUN_BYTES: usize = 64 << 20;

/// What the entries of an index are made of.
#[derive(Debug)]
pub enum Layout {
    /// The values of one path.
    Single {
        /// The path.
        path: Vec<Step>,
        /// Whether arrays and objects have entries.
        nodes: bool,
        /// Whether WHERE lets no item pass that lacks the path.
        is_defined: bool,
    },
    /// Several values each, undefined ones too.
    Composite {
        /// The values behind the prefix.
        parts: Vec<CompositePart>,
        /// Whether the entries of one value are the other way round than the query asks.
        is_reversed: bool,
    },
}

/// A value of the entries of a composite index.
#[derive(Debug, Clone, Copy)]
pub struct CompositePart {
    /// Which sort key it is of.
    pub key: usize,
    /// Whether it is the other way round.
    pub descending: bool,
}

/// A way along an index.
#[derive(Debug)]
pub struct OrderedWalk {
    /// The start of all its entries.
    prefix: Vec<u8>,
    /// Those that WHERE leaves.
    pub range: KeyRange,
    layout: Layout,
    direction: Direction,
    /// Items without an entry: they come first when ascending, last when descending. `None`
    /// until they are needed.
    missing: Option<DocIds>,
}

impl OrderedWalk {
    /// Along all entries of an index.
    pub fn new(prefix: Vec<u8>, layout: Layout, backward: bool) -> Self {
        Self {
            range: KeyRange {
                from: prefix.clone(),
                to: prefix_end(&prefix),
            },
            prefix,
            layout,
            direction: if backward {
                Direction::Backward
            } else {
                Direction::Forward
            },
            missing: None,
        }
    }

    /// Whether the walk can give the order; finds out what it must know from the start.
    pub fn prepare(
        &mut self,
        run: &PageRun<'_>,
        snapshot: &PartitionSnapshot,
        counters: &Counters,
    ) -> Result<bool, Error> {
        let Layout::Single {
            path,
            nodes,
            is_defined,
        } = &self.layout
        else {
            self.missing = Some(DocIds::default());
            return Ok(true);
        };
        let is_narrowed = self.range.from.len() > self.prefix.len();
        if is_narrowed || (*nodes && *is_defined) {
            self.missing = Some(DocIds::default());
            return Ok(true);
        }
        if *nodes && self.direction == Direction::Backward {
            return Ok(true);
        }
        let ground = Ground { run, snapshot };
        self.missing = super::missing::find(ground, &self.prefix, path, *nodes, counters)?;
        Ok(self.missing.is_some())
    }

    fn is_reversed_in_values(&self) -> bool {
        matches!(
            &self.layout,
            Layout::Composite {
                is_reversed: true,
                ..
            }
        )
    }

    /// How much of an entry's value is the same in the whole run that only the items put in
    /// order; `None` for an entry that says all.
    fn run_length(&self, value: &[u8]) -> Option<usize> {
        match &self.layout {
            Layout::Single { .. } => match value.first() {
                Some(&tag) if tag == Tag::Array as u8 || tag == Tag::Object as u8 => Some(1),
                _ => ordered::is_cut(value).then_some(value.len()),
            },
            Layout::Composite { parts, .. } => {
                if !value
                    .windows(2)
                    .any(|two| matches!(two, [0x00, 0x02] | [0xff, 0xfd]))
                {
                    return None;
                }
                let mut at = 0;
                for part in parts {
                    let mut rest = value.get(at..)?.to_vec();
                    if part.descending {
                        complement(&mut rest);
                    }
                    let (decoded, left) = ordered::decode(&rest)?;
                    at += rest.len() - left.len();
                    if matches!(decoded, Decoded::CutString(_)) {
                        return Some(at);
                    }
                }
                None
            }
        }
    }

    /// The value of the entries of a place, and how much of it is the same in the whole run that
    /// only the items put in order; `None` where the item has no entry.
    fn value_at(&self, place: &SortPlace) -> Option<(Vec<u8>, Option<usize>)> {
        let mut value = Vec::new();
        match &self.layout {
            Layout::Single { .. } => {
                let key = place.keys().first()?;
                match key.first() {
                    Some(&tag) if tag == Tag::Undefined as u8 => return None,
                    Some(&tag) if tag == Tag::Array as u8 || tag == Tag::Object as u8 => {
                        value.push(tag);
                    }
                    _ => {
                        ordered::encode_cut(key, STRING_LIMIT, &mut value);
                        // A place keeps less of a string than entries do: any of those that start
                        // like it may be the place's.
                        if ordered::is_cut(key) {
                            let length = value.len().saturating_sub(ordered::END_LENGTH);
                            return Some((value, Some(length)));
                        }
                    }
                }
            }
            Layout::Composite { parts, .. } => {
                for part in parts {
                    let start = value.len();
                    let key = place.keys().get(part.key)?;
                    ordered::encode_cut(key, COMPOSITE_STRING_LIMIT, &mut value);
                    if part.descending {
                        complement(value.get_mut(start..).unwrap_or_default());
                    }
                }
            }
        }
        let run = self.run_length(&value);
        Some((value, run))
    }

    fn key_at(&self, value: &[u8], docid: DocId) -> Vec<u8> {
        let mut key = self.prefix.clone();
        key.extend_from_slice(value);
        key.extend_from_slice(&docid.0.to_be_bytes());
        key
    }
}

fn complement(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

/// The rest of a walk.
pub struct Walk {
    way: OrderedWalk,
    /// Items without an entry that are still to come; `None` when they were not asked for yet.
    missing: Option<std::vec::IntoIter<DocId>>,
    /// The entries that are still to come.
    scan: Option<Scan>,
    /// A run of one value on the way, the other way round.
    inner: Option<Scan>,
    /// A run that was put in order.
    sorted: VecDeque<DocId>,
    /// What comes before all that.
    waiting: Waiting,
}

/// What a walk reads from.
#[derive(Clone, Copy)]
pub struct Ground<'g> {
    /// The page.
    pub run: &'g PageRun<'g>,
    /// The partition.
    pub snapshot: &'g PartitionSnapshot,
}

impl Walk {
    /// The walk from a place on.
    pub fn new(
        way: OrderedWalk,
        start: Option<&SortPlace>,
        ground: Ground<'_>,
    ) -> Result<Self, Error> {
        let mut scan = Scan::range(way.range.from.clone(), way.range.to.clone());
        scan.direction = way.direction;
        let mut new = Self {
            missing: None,
            scan: Some(scan),
            inner: None,
            sorted: VecDeque::new(),
            waiting: Waiting::default(),
            way,
        };
        match start {
            None => new.start_missing(None),
            Some(place) => new.resume(place, ground)?,
        }
        Ok(new)
    }

    fn is_backward(&self) -> bool {
        self.way.direction == Direction::Backward
    }

    /// Lines up the items without an entry, as far as they are known, from one on.
    fn start_missing(&mut self, from: Option<DocId>) {
        let Some(all) = &self.way.missing else {
            return;
        };
        let list: Vec<DocId> = match (self.is_backward(), from) {
            (false, None) => all.iter().collect(),
            (false, Some(first)) => all.from(first).to_vec(),
            (true, None) => all.from(DocId(0)).iter().rev().copied().collect(),
            (true, Some(last)) => {
                let end = DocId(last.0.saturating_add(1));
                all.before(end).iter().rev().copied().collect()
            }
        };
        self.missing = Some(list.into_iter());
    }

    fn resume(&mut self, place: &SortPlace, ground: Ground<'_>) -> Result<(), Error> {
        let docid = DocId(place.doc());
        let again = place.rows() != SortPlace::ALL_ROWS;
        let Some((value, run)) = self.way.value_at(place) else {
            // Among the items without an entry.
            if self.is_backward() {
                self.scan = None;
                self.find_missing(ground)?;
            }
            let next = |docid: DocId| {
                let next = if self.is_backward() {
                    docid.0.checked_sub(1)
                } else {
                    docid.0.checked_add(1)
                };
                next.map(DocId)
            };
            match if again { Some(docid) } else { next(docid) } {
                Some(from) => self.start_missing(Some(from)),
                None => self.missing = Some(Vec::new().into_iter()),
            }
            return Ok(());
        };
        if self.is_backward() {
            self.start_missing(None);
        } else {
            self.missing = Some(Vec::new().into_iter());
        }
        if let Some(length) = run {
            return self.enter_run(value.get(..length).unwrap_or_default(), Some(place), ground);
        }
        let key = self.way.key_at(&value, docid);
        if self.way.is_reversed_in_values() {
            self.enter_value(&value);
            if let Some(inner) = &mut self.inner {
                resume_at(inner, key, again);
            }
        } else if let Some(scan) = &mut self.scan {
            resume_at(scan, key, again);
        }
        Ok(())
    }

    /// The next items, about `chunk` of them; empty at the end.
    pub fn next(&mut self, ground: Ground<'_>, chunk: usize) -> Result<Vec<Fetched>, Error> {
        loop {
            if self.waiting.is_empty() {
                match self.next_docids(ground, chunk)? {
                    Some(docids) => self.waiting.refill(docids),
                    None => return Ok(Vec::new()),
                }
            }
            // An item may be gone that a list still names.
            let fetched = self.waiting.fetch(ground)?;
            if !fetched.is_empty() {
                return Ok(fetched);
            }
        }
    }

    /// The next docids, maybe none yet; `None` at the end.
    fn next_docids(
        &mut self,
        ground: Ground<'_>,
        chunk: usize,
    ) -> Result<Option<Vec<DocId>>, Error> {
        if !self.is_backward()
            && let Some(missing) = &mut self.missing
        {
            let docids: Vec<DocId> = missing.by_ref().take(chunk).collect();
            if !docids.is_empty() {
                return Ok(Some(docids));
            }
        }
        if !self.sorted.is_empty() {
            let count = chunk.min(self.sorted.len());
            return Ok(Some(self.sorted.drain(..count).collect()));
        }
        if let Some(inner) = &mut self.inner {
            inner.max_rows = chunk;
            let page = ground.snapshot.reader().scan(inner)?;
            let docids = page.rows.iter().map(docid_of).collect::<Result<_, _>>()?;
            match page.resume {
                Some(key) => inner.resume = Some(key.to_vec()),
                None => self.inner = None,
            }
            return Ok(Some(docids));
        }
        if self.scan.is_some() {
            return self.read(ground, chunk).map(Some);
        }
        if !self.is_backward() {
            return Ok(None);
        }
        if self.missing.is_none() {
            self.find_missing(ground)?;
            self.start_missing(None);
        }
        let missing = self.missing.iter_mut().flatten();
        let docids: Vec<DocId> = missing.take(chunk).collect();
        Ok((!docids.is_empty()).then_some(docids))
    }

    fn find_missing(&mut self, ground: Ground<'_>) -> Result<(), Error> {
        if self.way.missing.is_some() {
            return Ok(());
        }
        let Layout::Single { path, nodes, .. } = &self.way.layout else {
            self.way.missing = Some(DocIds::default());
            return Ok(());
        };
        let counters = ground.snapshot.counters()?;
        let prefix = &self.way.prefix;
        let found = super::missing::find(ground, prefix, path, *nodes, &counters)?;
        self.way.missing = Some(found.unwrap_or_default());
        Ok(())
    }

    /// Reads on, up to the next run that the index does not put in order.
    fn read(&mut self, ground: Ground<'_>, chunk: usize) -> Result<Vec<DocId>, Error> {
        let Some(scan) = &mut self.scan else {
            return Ok(Vec::new());
        };
        scan.max_rows = chunk;
        let page = ground.snapshot.reader().scan(scan)?;
        let value_at = self.way.prefix.len();
        let is_reversed = self.way.is_reversed_in_values();
        let value_of = |row: &Row| {
            let (_, docid) = term::parts(&row.key).ok_or(Error::Damaged("index term"))?;
            let end = row.key.len().saturating_sub(8);
            Ok::<_, Error>((
                row.key.get(value_at..end).unwrap_or_default().to_vec(),
                docid,
            ))
        };
        let mut ready = Vec::with_capacity(page.rows.len());
        let mut at = 0;
        while let Some(row) = page.rows.get(at) {
            let (value, docid) = value_of(row)?;
            let run = self.way.run_length(&value);
            if run.is_none() && !is_reversed {
                ready.push(docid);
                at += 1;
                continue;
            }
            let mut group = vec![docid];
            if run.is_none() {
                for row in page.rows.iter().skip(at + 1) {
                    let (next, docid) = value_of(row)?;
                    if next != value {
                        break;
                    }
                    group.push(docid);
                }
                if at + group.len() < page.rows.len() || page.resume.is_none() {
                    at += group.len();
                    ready.extend(group.into_iter().rev());
                    continue;
                }
            }
            // What was read before it goes out first.
            if let Some(last) = at.checked_sub(1).and_then(|last| page.rows.get(last)) {
                scan.resume = Some(last.key.to_vec());
                return Ok(ready);
            }
            match run {
                Some(length) => {
                    self.enter_run(value.get(..length).unwrap_or_default(), None, ground)?;
                }
                None => self.enter_value(&value),
            }
            return Ok(ready);
        }
        match page.resume {
            Some(key) => scan.resume = Some(key.to_vec()),
            None => self.scan = None,
        }
        Ok(ready)
    }

    /// Turns to the entries of one value, and leaves them behind in the scan.
    fn enter_value(&mut self, value: &[u8]) {
        let prefix = [self.way.prefix.as_slice(), value].concat();
        let mut inner = Scan::prefix(prefix.as_slice());
        inner.direction = match self.way.direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
        self.inner = Some(inner);
        self.pass(&prefix);
    }

    /// Lets the scan go on behind all keys of a prefix.
    fn pass(&mut self, prefix: &[u8]) {
        let Some(scan) = &mut self.scan else { return };
        scan.resume = None;
        match (scan.direction, prefix_end(prefix)) {
            (Direction::Backward, _) => {
                let end = scan.to.take();
                scan.to = Some(end.map_or(prefix.to_vec(), |end| end.min(prefix.to_vec())));
            }
            (Direction::Forward, Some(end)) => {
                let from = std::mem::take(&mut scan.from);
                scan.from = from.max(end);
            }
            (Direction::Forward, None) => self.scan = None,
        }
    }

    /// Puts the items of all entries that start like this in order, and leaves the entries behind
    /// in the scan.
    fn enter_run(
        &mut self,
        value: &[u8],
        start: Option<&SortPlace>,
        ground: Ground<'_>,
    ) -> Result<(), Error> {
        let prefix = [self.way.prefix.as_slice(), value].concat();
        let mut scan = Scan::prefix(prefix.as_slice()).max_rows(RUN_CHUNK);
        let program = &ground.run.prepared.program;
        let mut items: Vec<(Vec<Value<'static>>, u64)> = Vec::new();
        let mut bytes = 0;
        loop {
            let page = ground.snapshot.reader().scan(&scan)?;
            let docids: Vec<DocId> = page.rows.iter().map(docid_of).collect::<Result<_, _>>()?;
            fetch_each(ground, docids, |fetched| {
                let doc = fetched.docid.0;
                let text = fetched.item.json();
                let system = None;
                let keys = program.sort_values(Item { doc, text, system });
                bytes += 64 + keys.iter().map(weight).sum::<usize>();
                items.push((keys, doc));
            })?;
            if bytes > RUN_BYTES {
                return Err(Error::bad_request(
                    "The query needs more memory than is allowed for one request.",
                ));
            }
            match page.resume {
                Some(key) => scan.resume = Some(key.to_vec()),
                None => break,
            }
        }
        items.sort_by(|(left, left_doc), (right, right_doc)| {
            program.sort_order((left, *left_doc), (right, *right_doc))
        });
        if let Some(place) = start {
            items.retain(|(keys, doc)| place.standing(program, keys, *doc) != Standing::Before);
            let near = items
                .iter()
                .take_while(|(keys, doc)| place.standing(program, keys, *doc) == Standing::Near);
            let near: Vec<u64> = near.map(|(_, doc)| *doc).collect();
            items.drain(..start_of(place, &near));
        }
        self.sorted = items.into_iter().map(|(_, doc)| DocId(doc)).collect();
        self.pass(&prefix);
        Ok(())
    }
}

/// Where a run goes on. Here each item is one, however many rows it has.
fn start_of(place: &SortPlace, near: &[u64]) -> usize {
    match near.iter().position(|&doc| doc == place.doc()) {
        Some(at) if place.rows() == SortPlace::ALL_ROWS => at + 1,
        Some(at) => at,
        None => 0,
    }
}

fn weight(value: &Value<'_>) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(|element| 32 + weight(element)).sum(),
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| 64 + name.len() + weight(value))
            .sum(),
        _ => 0,
    }
}

/// Lets a scan go on after a key, or with it.
fn resume_at(scan: &mut Scan, key: Vec<u8>, again: bool) {
    match (again, scan.direction) {
        (false, _) => scan.resume = Some(key),
        (true, Direction::Forward) => scan.from = std::mem::take(&mut scan.from).max(key),
        (true, Direction::Backward) => {
            let end = [key.as_slice(), &[0]].concat();
            scan.to = Some(match scan.to.take() {
                Some(to) => to.min(end),
                None => end,
            });
        }
    }
}

fn docid_of(row: &Row) -> Result<DocId, Error> {
    let parts = term::parts(&row.key);
    parts
        .map(|(_, docid)| docid)
        .ok_or(Error::Damaged("index term"))
}
