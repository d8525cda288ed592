//! Another definition for a container, and the way of its items to another indexing policy.
//!
//! A new policy counts at once for new writes. Items that are there keep their terms, and the
//! record keeps the policy that made them, until the rebuild has passed; meanwhile queries rely
//! only on what all policies index ([`crate::container::ContainerState::coverage`]). A rebuild
//! that a restart interrupts starts again, and skips what is done.

use std::sync::Arc;

use orrery_model::container::ContainerSpec;
use orrery_storage::Writes;

use crate::answer::Failure;
use crate::committer::Work;
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;
use crate::partition_map::MapRecord;

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

    /// Moves all items of all containers to their current indexing policies; answers how many
    /// items it changed. For a background thread: it comes back when everything is done.
    pub fn rebuild_indexes(&self) -> Result<u64, Failure> {
        let mut moved = 0;
        for container in self.containers() {
            if container.state().is_rebuilding() {
                moved += self.rebuild_index(&container)?;
            }
        }
        Ok(moved)
    }

    fn rebuild_index(&self, container: &Arc<Container>) -> Result<u64, Failure> {
        let version = container.state().index().version();
        let mut moved = 0;
        for partition in container.ranges().partitions() {
            let work = Work::Rebuild {
                after: None,
                moved: 0,
            };
            let answer = self.work(container, partition, work)?;
            if let crate::write::WriteOutcome::Maintained { items } = answer.value {
                moved += items;
            }
        }
        let _turn = self.records();
        let mut record = self.record(container)?;
        // Another change may have come meanwhile; then the next rebuild ends this one's work.
        if record.index_version == version {
            record.retired.clear();
            self.put_record(container, &record, Writes::new())?;
        }
        Ok(moved)
    }

    fn record(&self, container: &Container) -> Result<MapRecord, Error> {
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
