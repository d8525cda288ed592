//! Read feed: the items of a target, page by page.
//!
//! A page never leaves its partition, so that its session token names one range; the
//! continuation leads on to the next partition. Whole ranges come in order of insertion, parts of
//! a range in order of keys (and of insertion within a key).

use std::collections::VecDeque;
use std::sync::Arc;

use orrery_model::charge::{self, Charge};
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::{DocId, Lsn, PartitionKeyRangeId};
use orrery_storage::Direction;

use crate::answer::{Answer, Failure, Meta};
use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;
use crate::page::{FeedPage, Page, Position, Target};
use crate::partition::{Partition, PartitionSnapshot, StoredItem};

/// Items of a page when the client leaves it to us (protocol: section 3.1).
const DEFAULT_ITEMS: u32 = 100;
/// Most items that one read of the store brings.
const CHUNK_ITEMS: usize = 200;
/// Most bytes that one read of the store brings.
const CHUNK_BYTES: usize = 1 << 20;

/// A target in terms of key space.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The key space that it covers.
    pub space: EpkRange,
    /// The partitions that own it, in order.
    pub partitions: Vec<Arc<Partition>>,
}

impl Scope {
    /// Whether the target has some of this space.
    fn covers_some(&self, space: &EpkRange) -> bool {
        self.space.overlaps(space)
    }

    /// Finds the partitions of a target. A range id that is gone is 410/1002; so is key space
    /// that the range does not own.
    pub fn resolve(
        container: &Container,
        state: &ContainerState,
        target: &Target,
    ) -> Result<Self, Error> {
        let definition = state.key_definition();
        match target {
            Target::Key(key) => {
                if key.len() > definition.paths().len() {
                    return Err(Error::PartitionKeyMismatch);
                }
                let key = if key.is_empty() {
                    definition.complete(key.clone())
                } else {
                    key.clone()
                };
                Ok(Self::of_space(container, definition.prefix_range(&key)))
            }
            Target::All => Ok(Self::of_space(container, EpkRange::full())),
            Target::Range { id, epk } => {
                let partition = container.partition(*id)?;
                let space = match epk {
                    None => partition.range().clone(),
                    Some(epk) => partition.range().intersect(epk).ok_or_else(|| {
                        Error::PartitionKeyRangeGone {
                            range: *id,
                            container: container.rid().to_string(),
                        }
                    })?,
                };
                Ok(Self {
                    space,
                    partitions: vec![partition],
                })
            }
        }
    }

    /// The partitions that have the key space of a range that is gone.
    pub fn of_gone(
        container: &Container,
        range: PartitionKeyRangeId,
        epk: Option<&EpkRange>,
    ) -> Option<Self> {
        let ranges = container.ranges();
        let gone = ranges.space_of_gone(range)?;
        let space = match epk {
            Some(epk) => gone.intersect(epk)?,
            None => gone.clone(),
        };
        Some(Self::of_space(container, space))
    }

    fn of_space(container: &Container, space: EpkRange) -> Self {
        let partitions = container.ranges().overlapping(&space).cloned().collect();
        Self { space, partitions }
    }
}

impl Engine {
    /// One page of the items of a target.
    pub fn read_feed(
        &self,
        container: &Container,
        target: &Target,
        page: &Page,
    ) -> Result<Answer<FeedPage>, Failure> {
        let state = container.state();
        let scope = Scope::resolve(container, &state, target)?;
        let mut positions = match &page.continuation {
            None => VecDeque::new(),
            Some(token) => Position::parse_all(token)?,
        };
        // Positions in key space that the target does not have are others' to go on with.
        while positions.len() > 1 && !scope.covers_some(&positions[0].space()) {
            positions.pop_front();
        }
        let direction = if page.reverse {
            Direction::Backward
        } else {
            Direction::Forward
        };
        let mut partitions = scope.partitions.clone();
        if page.reverse {
            partitions.reverse();
        }
        let mut filling = Filling {
            page: FeedPage::default(),
            charge: Charge::ZERO,
            most_items: page.max_items.unwrap_or(DEFAULT_ITEMS).max(1),
            most_bytes: self.limits().response_bytes,
            now: self.environment().clock.now_seconds(),
            default_ttl: state.default_ttl(),
            cost: self.environment().read_cost,
        };
        let key = target.logical_partition(&state);
        let key = key.as_ref().map(EffectivePartitionKey::as_bytes);
        let mut served: Option<(Arc<Partition>, Lsn)> = None;
        let mut position = positions.pop_front();
        let is_range = matches!(target, Target::Range { .. });
        loop {
            let begin = |(at, partition): (usize, &Arc<Partition>)| {
                Some((
                    at,
                    entry(partition, &scope.space, position.as_ref(), direction)?,
                ))
            };
            let Some((at, begin)) = partitions.iter().enumerate().find_map(begin) else {
                break;
            };
            let partition = &partitions[at];
            let refuse = |error| Failure {
                error,
                meta: Meta::at(partition, partition.lsn(), Charge::ONE),
            };
            self.check_session(partition, &page.session)
                .map_err(refuse)?;
            if served.is_none() {
                self.admit(container, partition, page.claim, key)?;
            }
            let snapshot = self.snapshot(partition).map_err(refuse)?;
            served = Some((Arc::clone(partition), snapshot.lsn()));
            let rest = filling.fill(&snapshot, &begin, direction).map_err(refuse)?;
            let is_full = rest.is_some();
            let left = position
                .as_ref()
                .and_then(|position| position.left_behind(partition.range(), direction))
                .filter(|left| scope.covers_some(&left.space()));
            let later = std::mem::take(&mut positions);
            positions.extend(rest.into_iter().chain(left).chain(later));
            if positions.is_empty() {
                // A client that asks range by range looks after the others by itself.
                let merged = position
                    .filter(|_| !is_range)
                    .and_then(|position| position.merged_behind(partition.range(), direction))
                    .filter(|merged| scope.covers_some(&merged.space()));
                let next = || {
                    let next = partitions.get(at + 1)?;
                    Some(Position::start_of(next.range().clone()))
                };
                positions.extend(merged.or_else(next));
            }
            if is_full || filling.page.count > 0 || positions.is_empty() {
                filling.page.continuation = Position::join(positions.make_contiguous());
                break;
            }
            position = positions.pop_front();
        }
        let last = served.as_ref().map(|(partition, _)| Arc::clone(partition));
        let answer = Ok(filling.answer(served));
        match last {
            Some(partition) => self.settled(container, &partition, page.claim, key, answer),
            None => answer,
        }
    }
}

/// How to go through one partition.
enum Entry {
    /// There is nothing to go through.
    Nothing,
    Insertion {
        space: EpkRange,
        whole: bool,
        part: EpkRange,
        after: Option<DocId>,
    },
    Keys {
        space: EpkRange,
        after: Option<(EffectivePartitionKey, DocId)>,
    },
}

/// Where a page begins in a partition; `None` when the partition is done.
fn entry(
    partition: &Partition,
    space: &EpkRange,
    position: Option<&Position>,
    direction: Direction,
) -> Option<Entry> {
    let forward = direction == Direction::Forward;
    let range = partition.range();
    let space = range.intersect(space)?;
    let whole = space == *range;
    let fresh = || {
        let part = range.clone();
        if whole {
            Entry::Insertion {
                space: space.clone(),
                whole,
                part,
                after: None,
            }
        } else {
            Entry::Keys {
                space: space.clone(),
                after: None,
            }
        }
    };
    match position {
        None => Some(fresh()),
        Some(Position::Insertion { space: part, after }) => {
            if range.overlaps(part) {
                // Of a range that was merged into this one, only its part is half done.
                let part = range.intersect(part)?;
                let is_all = part == *range;
                if after.is_none() && is_all {
                    return Some(fresh());
                }
                let Some(space) = space.intersect(&part) else {
                    return Some(Entry::Nothing);
                };
                Some(Entry::Insertion {
                    space,
                    whole: whole && is_all,
                    part,
                    after: *after,
                })
            } else {
                let done = if forward {
                    range.max <= part.min
                } else {
                    range.min >= part.max
                };
                (!done).then(fresh)
            }
        }
        Some(Position::Key { key, after }) => {
            if range.contains(key) {
                Some(Entry::Keys {
                    space: space.clone(),
                    after: Some((key.clone(), *after)),
                })
            } else {
                let done = if forward {
                    range.max <= *key
                } else {
                    range.min > *key
                };
                (!done).then(fresh)
            }
        }
    }
}

/// A page that is being filled.
struct Filling {
    page: FeedPage,
    charge: Charge,
    most_items: u32,
    most_bytes: usize,
    now: u64,
    default_ttl: Option<i32>,
    cost: charge::ReadCost,
}

impl Filling {
    /// Takes items until the page is full; answers where the next page goes on in this
    /// partition, `None` when the partition is done.
    fn fill(
        &mut self,
        snapshot: &PartitionSnapshot,
        entry: &Entry,
        direction: Direction,
    ) -> Result<Option<Position>, Error> {
        match entry {
            Entry::Nothing => Ok(None),
            Entry::Insertion {
                space,
                whole,
                part,
                after,
            } => {
                let mut after = *after;
                loop {
                    let rows = self.chunk();
                    let chunk = snapshot.scan_items(after, direction, rows, CHUNK_BYTES)?;
                    for (docid, stored) in chunk.entries {
                        let epk = || EffectivePartitionKey::from_bytes(stored.epk().to_vec());
                        if (*whole || space.contains(&epk())) && !self.take(&stored) {
                            let space = part.clone();
                            return Ok(Some(Position::Insertion { space, after }));
                        }
                        after = Some(docid);
                    }
                    if chunk.resume.is_none() {
                        return Ok(None);
                    }
                }
            }
            Entry::Keys { space, after } => {
                let mut after = after.clone();
                loop {
                    let from = after.as_ref().map(|(epk, docid)| (epk, *docid));
                    let chunk = snapshot.scan_keys(space, from, direction, self.chunk())?;
                    let docids: Vec<DocId> = chunk.entries.iter().map(|entry| entry.1).collect();
                    let items = snapshot.items(&docids)?;
                    for (place, stored) in chunk.entries.into_iter().zip(items) {
                        let stored = stored.ok_or(Error::Damaged("key entry"))?;
                        if !self.take(&stored) {
                            let position = after.map(|(key, after)| Position::Key { key, after });
                            // The first item of a page is always taken, so there is one before.
                            return Ok(position);
                        }
                        after = Some(place);
                    }
                    if chunk.resume.is_none() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn chunk(&self) -> usize {
        let wanted = self.most_items.saturating_sub(self.page.count) as usize + 1;
        wanted.min(CHUNK_ITEMS)
    }

    /// Whether the item is dealt with; `false` when it belongs to the next page.
    fn take(&mut self, stored: &StoredItem) -> bool {
        if !stored.is_live(self.now, self.default_ttl) {
            return true;
        }
        let json = stored.json();
        let full = self.page.count >= self.most_items
            || self.page.is_crossed_by(json.len(), self.most_bytes);
        if full {
            return false;
        }
        self.page.push(json);
        self.charge += charge::read(stored.header().user_bytes as usize, self.cost);
        true
    }

    fn answer(self, served: Option<(Arc<Partition>, Lsn)>) -> Answer<FeedPage> {
        let charge = Charge(self.charge.units().max(1.0)).rounded();
        let meta = match served {
            Some((partition, lsn)) => Meta::at(&partition, lsn, charge),
            None => Meta::of_charge(charge),
        };
        Answer {
            value: self.page,
            meta,
        }
    }
}
