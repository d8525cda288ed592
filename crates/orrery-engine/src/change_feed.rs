//! The change feed of a partition key range, a part of it, or a logical partition
//! (protocol: section 9).
//!
//! A position is an LSN and nothing else, so that it stays right on the children of a split. A
//! page therefore never ends inside a transaction. An empty page is the wire's 304; its position
//! is usable all the same.

mod history;

use std::sync::Arc;

use orrery_model::charge::{self, Charge};
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::{DocId, Lsn};
use orrery_storage::{Reader, Row, Scan};

use crate::answer::{Answer, Failure, Meta};
use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;
use crate::feed::Scope;
use crate::layout::entries::ChangeEntry;
use crate::layout::{family, keys};
use crate::page::{FeedPage, Page, Target};
use crate::partition::{Partition, PartitionSnapshot};

/// Items of a page when the client leaves it to us.
const DEFAULT_ITEMS: u32 = 100;
/// Entries that one read of the store brings.
const CHUNK_ROWS: usize = 500;

/// Where a reader starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// With the first change.
    Beginning,
    /// With the next change.
    Now,
    /// With the first change at or after this second.
    Time(u64),
    /// After the position of an etag.
    After(String),
}

/// What a reader sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Each item once, in its latest version; no deletes.
    LatestVersion,
    /// Every version and every delete within the retention, in envelopes.
    AllVersionsAndDeletes,
}

/// A page of changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChangePage {
    /// The changes' JSON texts, joined by commas.
    pub rows: Vec<u8>,
    /// How many; none is a 304.
    pub count: u32,
    /// The position after them, as the `etag` header.
    pub etag: String,
}

/// What a page may hold, and from where it is read.
struct Reading<'r> {
    snapshot: &'r PartitionSnapshot,
    /// `None` when the whole partition is read.
    space: Option<EpkRange>,
    most_items: u32,
    most_bytes: usize,
    now: u64,
    state: &'r ContainerState,
    cost: charge::ReadCost,
}

/// A page with what it costs and the last position that it has dealt with.
struct Filled {
    page: FeedPage,
    charge: Charge,
    reached: Lsn,
}

impl Engine {
    /// One page of changes.
    pub fn change_feed(
        &self,
        container: &Container,
        target: &Target,
        start: &Start,
        mode: Mode,
        page: &Page,
    ) -> Result<Answer<ChangePage>, Failure> {
        let state = container.state();
        let scope = Scope::resolve(container, &state, target)?;
        let [partition] = scope.partitions.as_slice() else {
            return Err(Error::bad_request(
                "The change feed of several partition key ranges is read range by range.",
            )
            .into());
        };
        let meta = |lsn, charge| Meta::at(partition, lsn, charge);
        let refuse = |error| Failure {
            error,
            meta: meta(partition.lsn(), Charge::ONE),
        };
        self.check_session(partition, &page.session)
            .map_err(refuse)?;
        let key = target.logical_partition(&state);
        let key = key.as_ref().map(EffectivePartitionKey::as_bytes);
        self.admit(container, partition, page.claim, key)?;
        let snapshot = self.snapshot(partition).map_err(refuse)?;
        let reading = Reading {
            snapshot: &snapshot,
            space: (scope.space != *partition.range()).then_some(scope.space.clone()),
            most_items: page.max_items.unwrap_or(DEFAULT_ITEMS).max(1),
            most_bytes: self.limits().response_bytes,
            now: self.environment().clock.now_seconds(),
            state: &state,
            cost: self.environment().read_cost,
        };
        let after = reading.position(start, mode, partition).map_err(refuse)?;
        let filled = match mode {
            Mode::LatestVersion => reading.latest_versions(after),
            Mode::AllVersionsAndDeletes => reading.all_versions(after),
        }
        .map_err(refuse)?;
        let value = ChangePage {
            rows: filled.page.rows,
            count: filled.page.count,
            // A position may lie ahead of a partition that was restored; it must not go back.
            etag: format!("\"{}\"", filled.reached.max(after)),
        };
        let charge = Charge(filled.charge.units().max(1.0)).rounded();
        let answer = Ok(Answer {
            value,
            meta: meta(snapshot.lsn(), charge),
        });
        self.settled(container, partition, page.claim, key, answer)
    }
}

impl Reading<'_> {
    /// The position after which the page starts.
    fn position(
        &self,
        start: &Start,
        mode: Mode,
        partition: &Arc<Partition>,
    ) -> Result<Lsn, Error> {
        let full = mode == Mode::AllVersionsAndDeletes;
        if full && !self.state.keeps_history() {
            return Err(Error::bad_request(
                "The change feed with all versions and deletes needs a change feed policy with a \
                 retention duration.",
            ));
        }
        match start {
            Start::Now => Ok(self.snapshot.lsn()),
            Start::After(etag) => {
                let after = parse_etag(etag)?;
                let space = self.space.as_ref().unwrap_or(partition.range());
                if full && after < partition.history_floor(space) {
                    return Err(Error::bad_request(
                        "The continuation is older than the retention of the change feed.",
                    ));
                }
                Ok(after)
            }
            Start::Beginning | Start::Time(_) if full => Err(Error::bad_request(
                "The change feed with all versions and deletes starts now or with a continuation.",
            )),
            Start::Beginning => Ok(Lsn(0)),
            Start::Time(second) => before_second(
                self.snapshot.reader(),
                family::CHANGE,
                self.snapshot.lsn(),
                partition.record().blended,
                |row| Ok(ChangeEntry::decode(&row.key, &row.value)?.ts >= *second),
            ),
        }
    }

    fn includes(&self, epk: &[u8]) -> bool {
        self.space
            .as_ref()
            .is_none_or(|space| space.contains(&EffectivePartitionKey::from_bytes(epk.to_vec())))
    }

    /// Whether a change of so many bytes belongs to the next page.
    fn is_full(&self, page: &FeedPage, bytes: usize) -> bool {
        page.count >= self.most_items || page.is_crossed_by(bytes, self.most_bytes)
    }

    fn latest_versions(&self, after: Lsn) -> Result<Filled, Error> {
        let mut filled = Filled::at(after);
        let mut scan = scan_after(family::CHANGE, after);
        loop {
            let chunk = self.snapshot.reader().scan(&scan)?;
            let mut wanted: Vec<(Lsn, DocId)> = Vec::with_capacity(chunk.rows.len());
            for row in &chunk.rows {
                let entry = ChangeEntry::decode(&row.key, &row.value)?;
                if self.includes(entry.epk) {
                    let lsn = position_of(&row.key)?;
                    wanted.push((lsn, entry.docid));
                }
            }
            for group in wanted.chunks(CHUNK_ITEMS) {
                let docids: Vec<DocId> = group.iter().map(|(_, docid)| *docid).collect();
                for (&(lsn, _), item) in group.iter().zip(self.snapshot.items(&docids)?) {
                    let stored = item.ok_or(Error::Damaged("change entry"))?;
                    let row = stored
                        .is_live(self.now, self.state.default_ttl())
                        .then(|| with_lsn(stored.json(), lsn));
                    let bytes = row.as_ref().map_or(0, Vec::len);
                    if lsn > filled.reached && self.is_full(&filled.page, bytes) {
                        return Ok(filled);
                    }
                    filled.reached = lsn;
                    let Some(row) = row else { continue };
                    filled.page.push(&row);
                    let bytes = stored.header().user_bytes as usize;
                    filled.charge += charge::read(bytes, self.cost);
                }
            }
            let Some(resume) = chunk.resume else {
                filled.reached = filled.reached.max(self.snapshot.lsn());
                return Ok(filled);
            };
            scan.resume = Some(resume.to_vec());
        }
    }
}

/// Items that are loaded at once.
const CHUNK_ITEMS: usize = 100;

impl Filled {
    fn at(reached: Lsn) -> Self {
        Self {
            page: FeedPage::default(),
            charge: Charge::ZERO,
            reached,
        }
    }
}

/// `"374"`, with or without quotes.
fn parse_etag(etag: &str) -> Result<Lsn, Error> {
    let text = etag.trim().trim_matches('"');
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.parse().ok().map(Lsn))
        .flatten()
        .ok_or_else(|| Error::bad_request("The If-None-Match value of a change feed is invalid."))
}

fn scan_after(letter: u8, after: Lsn) -> Scan {
    Scan::range(keys::behind(letter, after), Some(keys::family_end(letter))).max_rows(CHUNK_ROWS)
}

fn position_of(key: &[u8]) -> Result<Lsn, Error> {
    keys::position_of(key).ok_or(Error::Damaged("change entry"))
}

/// The last position before the first entry that is at or after a second. Time stamps never go
/// back along the log, so halving finds it; only in the part that a merge blended it takes a walk.
pub(crate) fn before_second(
    reader: &dyn Reader,
    letter: u8,
    head: Lsn,
    blended: Lsn,
    is_at_or_after: impl Fn(&Row) -> Result<bool, Error>,
) -> Result<Lsn, Error> {
    // Everything up to `low` is before; the first entry after `high`, if any, is not.
    let (mut low, mut high) = (blended.0.min(head.0), head.0);
    while low < high {
        let middle = low + (high - low) / 2;
        let page = reader.scan(&scan_after(letter, Lsn(middle)).max_rows(1))?;
        match page.rows.first() {
            Some(row) if !is_at_or_after(row)? => low = position_of(&row.key)?.0,
            _ => high = middle,
        }
    }
    if low > blended.0 || low == 0 {
        return Ok(Lsn(low));
    }
    // Nothing behind the blended part is before. Only what is really there counts as before: a
    // cut of history at a place without entries would tell readers of a loss that never was.
    let mut last_before = Lsn(0);
    let mut scan = scan_after(letter, Lsn(0));
    loop {
        let page = reader.scan(&scan)?;
        for row in &page.rows {
            let lsn = position_of(&row.key)?;
            if lsn.0 > low || is_at_or_after(row)? {
                return Ok(last_before.min(Lsn(lsn.0.saturating_sub(1))));
            }
            last_before = lsn;
        }
        match page.resume {
            Some(resume) => scan.resume = Some(resume.to_vec()),
            None => return Ok(last_before),
        }
    }
}

/// The item's text with its `_lsn`.
fn with_lsn(json: &[u8], lsn: Lsn) -> Vec<u8> {
    let members = json.strip_suffix(b"}").unwrap_or(json);
    [members, format!(",\"_lsn\":{lsn}}}").as_bytes()].concat()
}
