//! The moment at which children take over: writers of the parents wait from the first line to
//! the last, and one commit of the partition map decides.

use std::sync::{Arc, PoisonError};

use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_storage::Writes;

use super::copying::{Failed, Running};
use super::operation::Stage;
use crate::container::RangeMap;
use crate::engine::Engine;
use crate::error::Error;
use crate::partition::Partition;
use crate::partition_map::{HistoryFloor, MapRecord, RangeRecord};

impl Running {
    /// Ends the parents.
    pub(super) fn cut_over(&mut self, engine: &Engine) -> Result<(), Failed> {
        let container = Arc::clone(self.reshape.container());
        for child in &mut self.children {
            child.settle()?;
        }
        let _records = engine.records();
        let mut record = engine.record(&container)?;
        let parents: Vec<Arc<Partition>> = self
            .sources
            .iter()
            .map(|source| Arc::clone(&source.partition))
            .collect();
        let started = engine.clock().now_us();
        let mut writers = Vec::with_capacity(parents.len());
        for parent in &parents {
            writers.push(parent.writer.lock().unwrap_or_else(PoisonError::into_inner));
        }
        self.catch_up(engine)?;
        for parent in &parents {
            // Announcements of the last commits may still be on their way.
            parent.load(&**engine.store())?;
        }
        let end = End::of(&parents);
        for child in &mut self.children {
            child.activate(engine.environment(), end.lsn, end.last_ts, end.history_cut)?;
        }
        for child in &mut self.children {
            child.settle()?;
        }
        let children = self.replace(engine, &mut record, &parents, &end)?;
        record.asked.retain(|asked| asked != self.reshape.kind());
        let mut writes = Writes::new();
        writes.put(
            &MapRecord::key(record.database, record.container),
            &record.encode(),
        );
        // From here on the map may name the children, whatever the answer is.
        let published = engine.account().commit(writes);
        published.map_err(|error| Failed {
            error,
            is_private: false,
        })?;
        let ids: Vec<PartitionKeyRangeId> = children.iter().map(|child| child.id()).collect();
        let mut partitions: Vec<Arc<Partition>> = container.ranges().partitions().to_vec();
        partitions.retain(|kept| parents.iter().all(|parent| parent.id() != kept.id()));
        partitions.extend(children);
        container.set_ranges(RangeMap::new(&record, partitions));
        for (parent, writer) in parents.iter().zip(&mut writers) {
            parent.retire();
            parent.journal.stop();
            **writer = None;
        }
        drop(writers);
        let now = engine.clock().now_us();
        engine.reshapes().state().retired.extend(parents);
        self.reshape.update(|progress| {
            progress.stage = Stage::Done;
            progress.children = ids;
            progress.pause_us = now.saturating_sub(started);
            progress.over_us = now;
        });
        Ok(())
    }

    /// Puts the children in the parents' place in the record; answers them.
    fn replace(
        &self,
        engine: &Engine,
        record: &mut MapRecord,
        parents: &[Arc<Partition>],
        end: &End,
    ) -> Result<Vec<Arc<Partition>>, Error> {
        let is_parent = |range: &RangeRecord| parents.iter().any(|parent| parent.id() == range.id);
        if record
            .ranges
            .iter()
            .filter(|range| is_parent(range))
            .count()
            != parents.len()
        {
            return Err(Error::Damaged("partition map"));
        }
        let (gone, kept): (Vec<_>, Vec<_>) = record.ranges.drain(..).partition(is_parent);
        record.ranges = kept;
        for range in &gone {
            record.remember(range);
        }
        record.version += 1;
        let mut ancestors: Vec<PartitionKeyRangeId> = parents
            .iter()
            .flat_map(|parent| parent.parents().iter().copied().chain([parent.id()]))
            .collect();
        ancestors.sort_unstable();
        ancestors.dedup();
        let regions = engine.all_regions().count();
        let mut children = Vec::with_capacity(self.children.len());
        for child in &self.children {
            let floors = end
                .floors
                .iter()
                .filter(|floor| floor.range.overlaps(&child.range));
            let own = RangeRecord {
                id: PartitionKeyRangeId(record.next_range),
                part: child.part,
                range: child.range.clone(),
                parents: ancestors.clone(),
                since: record.version,
                blended: end.blended,
                merges: end.merges,
                floors: floors.cloned().collect(),
            };
            record.next_range += 1;
            let partition = Partition::new(own.clone(), regions);
            partition.publish(end.lsn, child.counters);
            children.push(Arc::new(partition));
            record.ranges.push(own);
        }
        record.ranges.sort_by(|a, b| a.range.min.cmp(&b.range.min));
        Ok(children)
    }
}

/// What the children go on from.
struct End {
    lsn: Lsn,
    last_ts: u64,
    /// What no child has of anybody's history.
    history_cut: Lsn,
    blended: Lsn,
    merges: u16,
    floors: Vec<HistoryFloor>,
}

impl End {
    /// Of parents that stand still.
    fn of(parents: &[Arc<Partition>]) -> Self {
        let statistics = || parents.iter().map(|parent| parent.statistics());
        let lsn = parents
            .iter()
            .map(|parent| parent.lsn())
            .fold(Lsn(0), Ord::max);
        let cuts = statistics().map(|own| own.history_cut);
        let mut floors: Vec<HistoryFloor> = parents
            .iter()
            .flat_map(|parent| parent.record().floors.iter().cloned())
            .collect();
        let is_merge = parents.len() > 1;
        if is_merge {
            let own = parents.iter().map(|parent| HistoryFloor {
                range: parent.range().clone(),
                lsn: parent.statistics().history_cut,
            });
            floors.extend(own.filter(|floor| floor.lsn > Lsn(0)));
        }
        let inherited = parents.iter().map(|parent| parent.record().blended);
        let merges = parents.iter().map(|parent| parent.record().merges);
        let merges = merges.fold(0, Ord::max);
        Self {
            lsn,
            last_ts: statistics().map(|own| own.last_ts).fold(0, Ord::max),
            history_cut: cuts.min().unwrap_or_default(),
            blended: if is_merge {
                lsn
            } else {
                inherited.fold(Lsn(0), Ord::max)
            },
            // Protocol: section 3.4. A split keeps the version.
            merges: merges.saturating_add(u16::from(is_merge)),
            floors,
        }
    }
}
