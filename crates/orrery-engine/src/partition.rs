//! A physical partition: the owner of one partition key range, with its own log.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::{DocId, Lsn, PartitionKeyRangeId};
use orrery_model::json;
use orrery_model::session::SessionToken;
use orrery_storage::{Direction, PartId, Reader, Scan, Store, StoredBytes};

use crate::committer::{Journal, Queue, WriterState};
use crate::error::Error;
use crate::layout::entries::{Counters, RebuildEntry};
use crate::layout::record::{Header, ItemRecord};
use crate::layout::{family, keys, term};
use crate::maintenance::PurgeCursor;
use crate::partition_map::RangeRecord;
use crate::query::MissingCache;
use crate::regions::{History, RegionId};
use crate::statistics::sizes::KeySizesCache;
use crate::throughput::loads::{Load, Loads};
use crate::write::ItemBody;

/// Session tokens of an account with one region carry this version until ranges are merged
/// (protocol: section 3.4).
const FIRST_VERSION: i64 = -1;
/// The versions of one term of an account of several regions: it has room for all merges, so that
/// tokens of equal version always list the same regions.
const TERM: i64 = 1 << 16;

/// The version in the session tokens of a range with so many merges behind it. `term` is that of
/// an account of several regions.
pub(crate) fn session_version(term: Option<u32>, merges: u16) -> i64 {
    let base = term.map_or(FIRST_VERSION, |term| i64::from(term) * TERM);
    base + i64::from(merges)
}

/// A physical partition.
#[derive(Debug)]
pub struct Partition {
    record: RangeRecord,
    lsn: AtomicU64,
    statistics: Mutex<Counters>,
    pub(crate) queue: Queue,
    pub(crate) writer: Mutex<Option<WriterState>>,
    pub(crate) journal: Journal,
    /// Set under the lock of `writer`, once: other partitions own the key space now.
    retired: AtomicBool,
    /// The size at which the partition was found to be one logical partition; 0 for never.
    indivisible_bytes: AtomicU64,
    purge: Mutex<PurgeCursor>,
    missing: Mutex<MissingCache>,
    rebuild: Mutex<RebuildEntry>,
    loads: Loads,
    key_sizes: KeySizesCache,
    history: History,
}

impl Partition {
    /// A partition whose part exists, on an account of so many regions.
    pub(crate) fn new(record: RangeRecord, regions: usize) -> Self {
        Self {
            record,
            lsn: AtomicU64::new(0),
            statistics: Mutex::new(Counters::empty()),
            queue: Queue::default(),
            writer: Mutex::new(None),
            journal: Journal::default(),
            retired: AtomicBool::new(false),
            indivisible_bytes: AtomicU64::new(0),
            purge: Mutex::new(PurgeCursor::default()),
            missing: Mutex::new(MissingCache::default()),
            rebuild: Mutex::new(RebuildEntry::start_of(0)),
            loads: Loads::new(regions),
            key_sizes: KeySizesCache::default(),
            history: History::default(),
        }
    }

    /// Its entry in the partition map.
    pub fn record(&self) -> &RangeRecord {
        &self.record
    }

    /// Its number in the store.
    pub fn part(&self) -> PartId {
        self.record.part
    }

    /// The id of the partition key range.
    pub fn id(&self) -> PartitionKeyRangeId {
        self.record.id
    }

    /// The key space that it owns.
    pub fn range(&self) -> &EpkRange {
        &self.record.range
    }

    /// All ancestors of the range.
    pub fn parents(&self) -> &[PartitionKeyRangeId] {
        &self.record.parents
    }

    /// The version of the range map in which it appeared.
    pub fn since(&self) -> u64 {
        self.record.since
    }

    /// Whether others own its key space by now. Reads that began before go on.
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Ends its service. The caller holds the lock of the writer.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Whether it was found indivisible at about its present size.
    pub(crate) fn is_indivisible(&self) -> bool {
        let known = self.indivisible_bytes.load(Ordering::Relaxed);
        known > 0 && self.statistics().total_bytes() < known.saturating_add(known / 4)
    }

    /// Remembers that there is no place to cut it.
    pub(crate) fn note_indivisible(&self) {
        let bytes = self.statistics().total_bytes().max(1);
        self.indivisible_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Positions up to this one or before may have lost history of this part of the key space.
    pub(crate) fn history_floor(&self, space: &EpkRange) -> Lsn {
        let floors = self.record.floors.iter();
        let inherited = floors
            .filter(|floor| floor.range.overlaps(space))
            .map(|floor| floor.lsn);
        inherited.fold(self.statistics().history_cut, Ord::max)
    }

    /// The last durable position.
    pub fn lsn(&self) -> Lsn {
        Lsn(self.lsn.load(Ordering::Acquire))
    }

    /// What it serves in a region.
    pub fn load_in(&self, region: RegionId) -> &Load {
        self.loads.of(region)
    }

    pub(crate) fn key_sizes(&self) -> &KeySizesCache {
        &self.key_sizes
    }

    /// Its past, for read regions.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Items and bytes as of that position.
    pub fn statistics(&self) -> Counters {
        *self
            .statistics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn purge_cursor(&self) -> MutexGuard<'_, PurgeCursor> {
        self.purge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far the items have moved to an indexing policy.
    pub(crate) fn rebuild(&self) -> RebuildEntry {
        *self.rebuild.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_rebuild(&self, entry: RebuildEntry) {
        *self.rebuild.lock().unwrap_or_else(PoisonError::into_inner) = entry;
    }

    pub(crate) fn missing_cache(&self) -> MutexGuard<'_, MissingCache> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that everything up to `lsn` is durable.
    pub(crate) fn publish(&self, lsn: Lsn, counters: Counters) {
        let mut statistics = self
            .statistics
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Commits may be announced by several threads; the later one wins whatever the order.
        if self.lsn.fetch_max(lsn.0, Ordering::AcqRel) <= lsn.0 {
            *statistics = counters;
        }
    }

    /// Reads position, counters and the state of a rebuild from the store.
    pub(crate) fn load(&self, store: &dyn Store) -> Result<(), Error> {
        let (head, values) = store.get_many(self.part(), &[&keys::COUNTERS, &keys::REBUILD])?;
        let mut values = values.iter().map(Option::as_ref);
        let counters = match values.next().flatten() {
            Some(value) => Counters::decode(value)?,
            None => Counters::empty(),
        };
        if let Some(value) = values.next().flatten() {
            self.set_rebuild(RebuildEntry::decode(value)?);
        }
        self.publish(Lsn(head.lsn), counters);
        Ok(())
    }

    /// Whether the partition at a position has everything that the session has seen. Tokens of
    /// other ranges say nothing; a token of a parent counts (protocol: section 3.4). One of a
    /// parent that was merged has a lower version and is always good: the partition began with all
    /// that its parents had. `term` is that of an account of several regions.
    pub(crate) fn check_session(
        &self,
        tokens: &[SessionToken],
        lsn: Lsn,
        term: Option<u32>,
    ) -> Result<(), Error> {
        let version = session_version(term, self.record.merges);
        let mine = |token: &&SessionToken| {
            token
                .range
                .is_none_or(|range| range == self.id() || self.parents().contains(&range))
        };
        let satisfied = |token: &SessionToken| token.is_satisfied_by(version, lsn);
        if tokens.iter().filter(mine).all(satisfied) {
            Ok(())
        } else {
            Err(Error::ReadSessionNotAvailable)
        }
    }

    /// One point of the partition's history, for the length of a page.
    pub fn snapshot(&self, store: &dyn Store) -> Result<PartitionSnapshot, Error> {
        Ok(PartitionSnapshot {
            reader: store.snapshot(self.part())?.into(),
        })
    }
}

/// An item read from the store.
#[derive(Debug, Clone)]
pub struct StoredItem {
    value: StoredBytes,
    header: Header,
    epk_length: usize,
    json_offset: usize,
}

impl StoredItem {
    /// Reads an item's value.
    pub fn decode(value: StoredBytes) -> Result<Self, Error> {
        let record = ItemRecord::decode(&value)?;
        let (header, epk_length) = (record.header, record.epk.len());
        let json_offset = record.json_offset();
        Ok(Self {
            value,
            header,
            epk_length,
            json_offset,
        })
    }

    /// The bytes as they are stored.
    pub(crate) fn value(&self) -> &StoredBytes {
        &self.value
    }

    /// A copy with memory of its own: as read, it keeps its whole block of the store alive.
    pub(crate) fn detached(&self) -> Self {
        Self {
            value: StoredBytes::from(&*self.value),
            ..self.clone()
        }
    }

    /// The engine's notes on the item.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The effective partition key's bytes.
    pub fn epk(&self) -> &[u8] {
        &self.value[self.json_offset - self.epk_length..self.json_offset]
    }

    /// Whether this is its id. Denies ids that have to be escaped in JSON.
    pub fn has_id(&self, id: &str) -> bool {
        // Without these two, text and id are the same letters.
        if id.bytes().any(|byte| matches!(byte, b'"' | b'\\')) {
            return false;
        }
        let behind_id = |text: &[u8]| {
            let rest = text.strip_prefix(b"{\"id\":\"")?;
            rest.strip_prefix(id.as_bytes())?.first().copied()
        };
        if behind_id(self.json()) == Some(b'"') {
            return true;
        }
        let text = json::member_slice(self.json(), "id");
        let own = text.and_then(|text| text.strip_prefix(b"\"")?.strip_suffix(b"\""));
        own == Some(id.as_bytes())
    }

    /// The JSON text with system properties, canonical.
    pub fn json(&self) -> &[u8] {
        &self.value[self.json_offset..]
    }

    /// Bytes in the store.
    pub fn stored_bytes(&self) -> u64 {
        self.value.len() as u64
    }

    /// Whether a reader at this second sees the item under this container default.
    pub fn is_live(&self, second: u64, container_default: Option<i32>) -> bool {
        crate::layout::record::expiry(self.header.ts, self.header.ttl, container_default)
            .is_none_or(|end| second < end)
    }

    /// The item as an answer, without a copy.
    pub fn into_body(self) -> ItemBody {
        ItemBody::new(self.value, self.json_offset, self.header.tag)
    }
}

/// One point of a partition's history: what the query and feed modules read from. Nothing here
/// hides expired items; callers ask [`StoredItem::is_live`].
pub struct PartitionSnapshot {
    reader: Arc<dyn Reader>,
}

/// A page of entries and where the next one starts.
#[derive(Debug, Clone)]
pub struct Entries<T> {
    /// In the order of the scan.
    pub entries: Vec<T>,
    /// Key to go on after; `None` at the end.
    pub resume: Option<StoredBytes>,
}

impl PartitionSnapshot {
    /// What this reader sees.
    pub(crate) fn new(reader: Arc<dyn Reader>) -> Self {
        Self { reader }
    }

    /// The position of the snapshot.
    pub fn lsn(&self) -> Lsn {
        Lsn(self.reader.head().lsn)
    }

    /// The raw reader, for families of other modules.
    pub fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    /// The sums at this position.
    pub fn counters(&self) -> Result<Counters, Error> {
        match self.reader.get(&keys::COUNTERS)? {
            Some(value) => Counters::decode(&value),
            None => Ok(Counters::empty()),
        }
    }

    /// The docid of an id.
    pub fn docid(&self, epk: &EffectivePartitionKey, id: &str) -> Result<Option<DocId>, Error> {
        let value = self.reader.get(&keys::id(epk, id))?;
        value
            .map(|value| keys::docid_of_value(&value).ok_or(Error::Damaged("id entry")))
            .transpose()
    }

    /// One item.
    pub fn item(&self, docid: DocId) -> Result<Option<StoredItem>, Error> {
        self.reader
            .get(&keys::item(docid))?
            .map(StoredItem::decode)
            .transpose()
    }

    /// Several items, in the order of the docids.
    pub fn items(&self, docids: &[DocId]) -> Result<Vec<Option<StoredItem>>, Error> {
        let keys: Vec<[u8; 9]> = docids.iter().map(|&docid| keys::item_key(docid)).collect();
        let slices: Vec<&[u8]> = keys.iter().map(<[u8; 9]>::as_slice).collect();
        let values = self.reader.get_many(&slices)?;
        values
            .into_iter()
            .map(|value| value.map(StoredItem::decode).transpose())
            .collect()
    }

    /// Items in order of insertion (or from the last back), after `after`, at most `max_rows`
    /// and about `max_bytes`.
    pub fn scan_items(
        &self,
        after: Option<DocId>,
        direction: Direction,
        max_rows: usize,
        max_bytes: usize,
    ) -> Result<Entries<(DocId, StoredItem)>, Error> {
        let mut scan = Scan::range([family::ITEM], Some(keys::family_end(family::ITEM)))
            .max_rows(max_rows)
            .max_bytes(max_bytes);
        scan.direction = direction;
        scan.resume = after.map(keys::item);
        let page = self.reader.scan(&scan)?;
        let entry = |row: orrery_storage::Row| {
            let docid = keys::docid_of_item(&row.key).ok_or(Error::Damaged("item key"))?;
            Ok((docid, StoredItem::decode(row.value)?))
        };
        let entries = page
            .rows
            .into_iter()
            .map(entry)
            .collect::<Result<_, Error>>()?;
        Ok(Entries {
            entries,
            resume: page.resume,
        })
    }

    /// The docids of a part of the key space in order of keys, with their effective partition
    /// keys; `after` is the last pair of the page before.
    pub fn scan_keys(
        &self,
        range: &EpkRange,
        after: Option<(&EffectivePartitionKey, DocId)>,
        direction: Direction,
        max_rows: usize,
    ) -> Result<Entries<(EffectivePartitionKey, DocId)>, Error> {
        let (from, to) = keys::key_span(range);
        let mut scan = Scan::range(from, Some(to)).max_rows(max_rows);
        scan.direction = direction;
        scan.resume = after.map(|(epk, docid)| keys::key(epk, docid));
        let page = self.reader.scan(&scan)?;
        let entry = |row: &orrery_storage::Row| {
            let (epk, docid) = keys::parts_of_key(&row.key)?;
            Some((EffectivePartitionKey::from_bytes(epk.to_vec()), docid))
        };
        let entries = page
            .rows
            .iter()
            .map(|row| entry(row).ok_or(Error::Damaged("key entry")))
            .collect::<Result<_, Error>>()?;
        Ok(Entries {
            entries,
            resume: page.resume,
        })
    }

    /// Index entries between two keys (see [`crate::layout::term`]); `resume` is the last key of
    /// the page before. The entries are the encoded value and the docid.
    pub fn scan_terms(
        &self,
        from: Vec<u8>,
        to: Option<Vec<u8>>,
        direction: Direction,
        resume: Option<Vec<u8>>,
        max_rows: usize,
    ) -> Result<Entries<(Vec<u8>, DocId)>, Error> {
        let mut scan = Scan::range(from, to).max_rows(max_rows);
        scan.direction = direction;
        scan.resume = resume;
        let page = self.reader.scan(&scan)?;
        let entry = |row: &orrery_storage::Row| {
            term::parts(&row.key).map(|(value, docid)| (value.to_vec(), docid))
        };
        let entries = page
            .rows
            .iter()
            .map(|row| entry(row).ok_or(Error::Damaged("index term")))
            .collect::<Result<_, Error>>()?;
        Ok(Entries {
            entries,
            resume: page.resume,
        })
    }
}
