//! Splits that nobody asks for by name: a physical partition that is over its size, and
//! throughput that needs more partitions (request units: section 7).

use std::cmp::Reverse;
use std::sync::Arc;

use super::cut::{Cut, width};
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Lines up the splits that size and throughput want. One container's wait until those
    /// before are over.
    pub(super) fn line_up_wanted(&self) -> Result<(), Error> {
        for container in self.containers() {
            if !self.is_reshaping(&container) {
                self.line_up_by_size(&container)?;
            }
        }
        for (container, wanted) in self.catalog().short_of_partitions() {
            if !self.is_reshaping(&container) {
                self.line_up_by_throughput(&container, wanted)?;
            }
        }
        Ok(())
    }

    fn line_up_by_size(&self, container: &Arc<Container>) -> Result<(), Error> {
        let most = self.limits().physical_partition_bytes;
        for partition in container.ranges().partitions() {
            let bytes = partition.statistics().total_bytes();
            if bytes > most && !partition.is_indivisible() {
                self.split_range(container, partition.id(), Cut::Size, 2)?;
            }
        }
        Ok(())
    }

    /// Splits the widest ranges until there are as many as the throughput needs; three of two
    /// are one with half of the keys and two with a quarter.
    fn line_up_by_throughput(&self, container: &Arc<Container>, wanted: u32) -> Result<(), Error> {
        let ranges = container.ranges();
        let missing = (wanted as usize).saturating_sub(ranges.partitions().len());
        let state = container.state();
        let mut candidates: Vec<_> = ranges.partitions().iter().collect();
        candidates.retain(|partition| partition.range().midpoint(state.key_definition()).is_some());
        // Stable, so that the first of equals in key space comes first.
        candidates.sort_by_key(|partition| Reverse(width(partition.range())));
        for partition in candidates.into_iter().take(missing) {
            self.split_range(container, partition.id(), Cut::Hash, 2)?;
        }
        Ok(())
    }
}
