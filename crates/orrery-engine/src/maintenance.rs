//! Work in the background: removing expired items and old history, and moving items to another
//! indexing policy (see [`crate::rebuild`]). Readers never wait for it: they do not see what has
//! expired, and look into an index only where it tells of all items.

use std::sync::Arc;

use orrery_model::ids::DocId;
use orrery_storage::Scan;

use crate::answer::Failure;
use crate::change_feed::before_second;
use crate::committer::Work;
use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;
use crate::layout::entries::{ChangeEntry, HistoryEntry};
use crate::layout::{family, keys};
use crate::partition::Partition;
use crate::write::WriteOutcome;

/// Items that one transaction removes.
const BATCH: usize = 200;

/// How far the search for expired items without a time to live of their own has come: they
/// expire in the order of the change feed. Starts again with the process, and when the container's
/// default changes.
#[derive(Debug, Clone, Default)]
pub struct PurgeCursor {
    default_ttl: Option<i32>,
    /// The last change entry that need not be looked at again.
    after: Option<Vec<u8>>,
}

impl Engine {
    /// All that is to be done in the background, a little of it: answers about how many items it
    /// was busy with; less than the budget means that nothing is left to do.
    pub fn maintain(&self, budget: usize) -> Result<usize, Failure> {
        // Partitions that others took over meanwhile are looked at again in their children.
        let later = |failure: Failure| match failure.error {
            Error::CompletingSplit => Ok(0),
            _ => Err(failure),
        };
        self.catalog().raise_for_storage()?;
        let removed = self.purge_expired(budget).or_else(later)?;
        let looked = self.rebuild_indexes(budget).or_else(later)?;
        Ok(removed.max(looked))
    }

    /// Removes up to `budget` expired items, and history beyond its retention. Answers how many
    /// items it removed; less than the budget means that nothing is left to do.
    pub fn purge_expired(&self, budget: usize) -> Result<usize, Failure> {
        let mut removed = 0;
        for container in self.containers() {
            let state = container.state();
            for partition in container.ranges().partitions() {
                self.cut_history(&container, &state, partition)?;
                while removed < budget && state.default_ttl().is_some() {
                    let most = BATCH.min(budget - removed);
                    let docids = self.expired(&state, partition, most)?;
                    if docids.is_empty() {
                        break;
                    }
                    let work = Work::Expire(docids);
                    let answer = self.work(&container, partition, work)?;
                    let WriteOutcome::Maintained { items } = answer.value else {
                        break;
                    };
                    if items == 0 {
                        break;
                    }
                    removed += items as usize;
                }
            }
        }
        Ok(removed)
    }

    fn expired(
        &self,
        state: &ContainerState,
        partition: &Partition,
        most: usize,
    ) -> Result<Vec<DocId>, Error> {
        let now = self.clock().now_seconds();
        let snapshot = partition.snapshot(&**self.store())?;
        let end = keys::expiry(now.saturating_add(1), DocId(0));
        let scan = Scan::range([family::EXPIRY], Some(end)).max_rows(most);
        let page = snapshot.reader().scan(&scan)?;
        let mut docids = Vec::with_capacity(most);
        for row in &page.rows {
            let (_, docid) =
                keys::parts_of_expiry(&row.key).ok_or(Error::Damaged("expiry entry"))?;
            docids.push(docid);
        }
        let Some(default) = state.default_ttl().and_then(|ttl| u64::try_from(ttl).ok()) else {
            return Ok(docids);
        };
        let mut cursor = partition.purge_cursor();
        if cursor.default_ttl != state.default_ttl() {
            *cursor = PurgeCursor {
                default_ttl: state.default_ttl(),
                after: None,
            };
        }
        let mut scan = Scan::prefix([family::CHANGE]).max_rows(most);
        scan.resume.clone_from(&cursor.after);
        loop {
            let page = snapshot.reader().scan(&scan)?;
            for row in &page.rows {
                let entry = ChangeEntry::decode(&row.key, &row.value)?;
                if docids.len() >= most {
                    return Ok(docids);
                }
                if entry.ts.saturating_add(default) > now {
                    // In a log that a merge blended, older ones may follow.
                    if is_blended(partition, &row.key) {
                        continue;
                    }
                    return Ok(docids);
                }
                let Some(stored) = snapshot.item(entry.docid)? else {
                    continue;
                };
                if stored.header().ttl == 0 {
                    docids.push(entry.docid);
                } else if docids.is_empty() && !is_blended(partition, &row.key) {
                    // Lives by its own time; the search need not look at it again.
                    cursor.after = Some(row.key.to_vec());
                }
            }
            match page.resume.filter(|key| is_blended(partition, key)) {
                Some(key) => scan.resume = Some(key.to_vec()),
                None => return Ok(docids),
            }
        }
    }

    fn cut_history(
        &self,
        container: &Arc<Container>,
        state: &ContainerState,
        partition: &Arc<Partition>,
    ) -> Result<(), Failure> {
        let Some(minutes) = state.spec().change_feed_retention_minutes else {
            return Ok(());
        };
        let retained = u64::from(minutes) * 60;
        let Some(oldest) = self.clock().now_seconds().checked_sub(retained) else {
            return Ok(());
        };
        let snapshot = partition.snapshot(&**self.store())?;
        let cut = before_second(
            snapshot.reader(),
            family::HISTORY,
            snapshot.lsn(),
            partition.record().blended,
            |row| Ok(HistoryEntry::decode(&row.key, &row.value)?.ts >= oldest),
        )?;
        if cut > partition.statistics().history_cut {
            self.work(container, partition, Work::CutHistory(cut))?;
        }
        Ok(())
    }
}

/// Whether a change entry lies in the part of the log where times go up and down.
fn is_blended(partition: &Partition, key: &[u8]) -> bool {
    keys::position_of(key).is_some_and(|lsn| lsn <= partition.record().blended)
}
