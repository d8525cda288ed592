//! The plain map that the engine is compared with.

use std::collections::BTreeMap;

/// Partition key value and id.
pub type Address = (String, String);

/// A version of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Counts up over all writes of a run.
    pub number: u64,
    /// The second from which on nobody sees it.
    pub end: Option<u64>,
}

/// What a write does to items if it happens: a version, or none.
pub type Effects = Vec<(Address, Option<Version>)>;

/// See the module.
#[derive(Debug, Default)]
pub struct Model {
    items: BTreeMap<Address, Version>,
    /// All that ever happened to an item, in order; `None` is a delete that somebody asked for.
    history: BTreeMap<Address, Vec<Option<u64>>>,
    /// How often an item began or ended: its place in feeds changes then.
    moves: BTreeMap<Address, u64>,
}

impl Model {
    /// The version that a reader sees at this second.
    pub fn live(&self, address: &Address, second: u64) -> Option<Version> {
        let version = self.items.get(address).copied()?;
        version
            .end
            .is_none_or(|end| second < end)
            .then_some(version)
    }

    /// All that readers see at this second.
    pub fn all_live(&self, second: u64) -> BTreeMap<Address, u64> {
        let live = self.items.iter();
        live.filter(|(_, version)| version.end.is_none_or(|end| second < end))
            .map(|(address, version)| (address.clone(), version.number))
            .collect()
    }

    /// Whether the item has no end of its own.
    pub fn is_lasting(&self, address: &Address) -> bool {
        self.items
            .get(address)
            .is_some_and(|version| version.end.is_none())
    }

    /// How often the item began or ended.
    pub fn moves(&self, address: &Address) -> u64 {
        self.moves.get(address).copied().unwrap_or(0)
    }

    /// All versions of all items.
    pub fn history(&self) -> &BTreeMap<Address, Vec<Option<u64>>> {
        &self.history
    }

    /// Lets a write happen.
    pub fn apply(&mut self, effects: Effects, second: u64) {
        for (address, version) in effects {
            let was_there = self.live(&address, second).is_some();
            if was_there != version.is_some() || version.is_some_and(|new| new.end.is_some()) {
                *self.moves.entry(address.clone()).or_default() += 1;
            }
            let history = self.history.entry(address.clone()).or_default();
            history.push(version.map(|version| version.number));
            match version {
                Some(version) => self.items.insert(address, version),
                None => self.items.remove(&address),
            };
        }
    }
}
