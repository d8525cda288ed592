//! What a physical partition serves, region by region: each region has the whole throughput of the
//! container, and what one has used the others do not miss (request units: section 1).

use super::gate::Gate;
use crate::regions::RegionId;
use crate::statistics::Activity;

/// The meters and statistics of one region.
#[derive(Debug, Default)]
pub struct Load {
    gate: Gate,
    activity: Activity,
}

impl Load {
    /// Its meters.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// What was asked of it.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }
}

/// Those of all regions.
#[derive(Debug)]
pub(crate) struct Loads {
    /// Apart, since most accounts have no others.
    first: Load,
    others: Box<[Load]>,
}

impl Loads {
    /// Those of so many regions.
    pub fn new(regions: usize) -> Self {
        Self {
            first: Load::default(),
            others: (1..regions).map(|_| Load::default()).collect(),
        }
    }

    /// That of one region.
    pub fn of(&self, region: RegionId) -> &Load {
        let other = region.0.checked_sub(1);
        other
            .and_then(|place| self.others.get(place))
            .unwrap_or(&self.first)
    }
}
