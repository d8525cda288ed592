//! Another definition for a container, and the way of its items to another indexing policy.
//!
//! A new policy counts at once for new writes. Items that are there keep their terms, and the
//! record keeps the policy that made them, until the rebuild has passed; meanwhile queries rely
//! only on what all policies index ([`crate::container::ContainerState::coverage`]). Each step notes
//! in its commit how far it came, so a restart goes on from there.

use std::sync::Arc;

use orrery_model::container::ContainerSpec;
use orrery_storage::Writes;

use crate::answer::Failure;
use crate::committer::Work;
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;
use crate::partition::Partition;
use crate::partition_map::MapRecord;
use crate::write::WriteOutcome;

impl Container {
    /// How much of the way to the current indexing policy is done, in percent: 100 when the index
    /// is whole (protocol: section 3.2, `x-ms-documentdb-collection-index-transformation-progress`).
    pub fn index_progress(&self) -> u8 {
        let state = self.state();
        if !state.is_rebuilding() {
            return 100;
        }
        let version = state.index().version();
        let (mut looked, mut items) = (0, 0);
        for partition in self.ranges().partitions() {
            let own = partition.statistics().items;
            let entry = partition.rebuild();
            looked += match entry.version == version {
                true if entry.is_done => own,
                true => entry.looked.min(own),
                false => 0,
            };
            items += own;
        }
        // Not whole before the last step, whatever the counts say.
        let percent = (looked * 100).checked_div(items).unwrap_or(0).min(99);
        u8::try_from(percent).unwrap_or(99)
    }
}

impl Engine {
    /// Gives a container another definition, in one commit with the caller's `writes`. The
    /// caller has checked what may change.
    pub fn redefine_container(
        &self,
        container: &Container,
        spec: ContainerSpec,
        writes: Writes,
    ) -> Result<(), Error> {
        let _turn = self.records();
        let mut record = self.record(container)?;
        let state = container.state();
        if spec.indexing_policy != state.spec().indexing_policy {
            record
                .retired
                .push((record.index_version, record.spec.clone()));
            record.index_version += 1;
        }
        record.spec = spec.to_value();
        self.put_record(container, &record, writes)
    }

    /// Moves about `budget` items to the current indexing policies of their containers. Answers
    /// how many it looked at; less than the budget means that nothing is left to do. Queries and
    /// writes go on meanwhile: the partitions' committers move some items between two writes.
    pub fn rebuild_indexes(&self, budget: usize) -> Result<usize, Failure> {
        let mut looked = 0;
        for container in self.containers() {
            let state = container.state();
            if !state.is_rebuilding() {
                continue;
            }
            let version = state.index().version();
            for partition in container.ranges().partitions() {
                while looked < budget && !is_rebuilt(partition, version) {
                    looked += self.rebuild_some(&container, partition)?;
                }
            }
            if looked >= budget {
                break;
            }
            self.end_rebuild(&container, version)?;
        }
        Ok(looked)
    }

    fn rebuild_some(
        &self,
        container: &Arc<Container>,
        partition: &Arc<Partition>,
    ) -> Result<usize, Failure> {
        let before = partition.rebuild();
        let answer = self.work(container, partition, Work::Rebuild(before))?;
        let WriteOutcome::Rebuilt(entry) = answer.value else {
            return Err(Error::Damaged("the rebuild of an index").into());
        };
        partition.set_rebuild(entry);
        let passed = if entry.version == before.version {
            entry.looked.saturating_sub(before.looked)
        } else {
            entry.looked
        };
        // An empty step counts too, so that the loop ends whatever comes between.
        Ok(usize::try_from(passed.max(1)).unwrap_or(usize::MAX))
    }

    /// Forgets the former policies, unless another change has come meanwhile: then its own
    /// rebuild ends this one's work.
    fn end_rebuild(&self, container: &Container, version: u32) -> Result<(), Error> {
        let _turn = self.records();
        let mut record = self.record(container)?;
        let ranges = container.ranges();
        let is_whole = || {
            ranges
                .partitions()
                .iter()
                .all(|one| is_rebuilt(one, version))
        };
        // A copy under way still has to tell the terms of every policy.
        let is_copied = self.is_reshaping(container);
        if record.index_version == version && !is_copied && is_whole() {
            record.retired.clear();
            self.put_record(container, &record, Writes::new())?;
            // Older moments may lack terms that queries now rely on.
            for partition in ranges.partitions() {
                partition.history().clear();
            }
        }
        Ok(())
    }

    pub(crate) fn record(&self, container: &Container) -> Result<MapRecord, Error> {
        let key = MapRecord::key(container.database(), container.number());
        let value = self.account().get(&key)?.ok_or(Error::NotFound)?;
        MapRecord::decode(&key, &value)
    }

    fn put_record(
        &self,
        container: &Container,
        record: &MapRecord,
        mut writes: Writes,
    ) -> Result<(), Error> {
        let state = record.state(self.limits())?;
        let key = MapRecord::key(container.database(), container.number());
        writes.put(&key, &record.encode());
        self.account().commit(writes)?;
        container.set_state(state);
        Ok(())
    }
}

fn is_rebuilt(partition: &Partition, version: u32) -> bool {
    let entry = partition.rebuild();
    entry.version == version && entry.is_done
}
