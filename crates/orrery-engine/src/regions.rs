//! Regions of the account. One region takes the writes; the others read, some time behind it.
//!
//! A read region has no copy of the data: it shows the write region's store as it was a while
//! ago, from snapshots that are taken all the time ([`history`]). So a region sees commits in
//! order and whole, a session is never shown less than its token, and no replication can lose
//! anything; only the delay of a real one is left, and that is what applications notice.
//!
//! [`Engine::in_region`] is the handle with which a region's endpoint reads. Metadata is the same
//! in all regions at once. Each region has the whole throughput of a container: reads use that of
//! the region that serves them, writes that of all regions.

mod history;

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use orrery_model::ids::Lsn;
use orrery_model::session::SessionToken;
use orrery_storage::Writes;

use crate::account::Account;
use crate::engine::Engine;
use crate::error::Error;
use crate::partition::{Partition, PartitionSnapshot, session_version};
pub(crate) use history::History;

/// Key of the record of the write region, in the account's part.
const RECORD: &[u8] = b"w";
/// Bounded staleness of an account of several regions: at most so many microseconds and writes
/// behind (protocol: section 1.2 names both as the service's minimum).
const BOUND_US: u64 = 300_000_000;
const BOUND_WRITES: u64 = 100_000;

/// Which regions an account has, and how far they may differ.
#[derive(Debug, Clone, Default)]
pub struct RegionsConfig {
    /// Their names; the first takes the writes until a failover. One region, or none named, is
    /// an account whose reads see all writes.
    pub names: Vec<String>,
    /// How far the read regions are behind, in milliseconds.
    pub lag_ms: u64,
    /// What the account's consistency level lets them be.
    pub staleness: Staleness,
}

/// How stale a read region may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Staleness {
    /// Not at all: a write counts when every region has it (strong).
    Never,
    /// By 300 s and 100,000 writes (bounded staleness).
    Bounded,
    /// By any time (session, consistent prefix, eventual).
    #[default]
    Any,
}

/// A region's place in [`RegionsConfig::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegionId(pub usize);

/// A region as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionInfo {
    /// Its name.
    pub name: String,
    /// Whether it takes the writes.
    pub writes: bool,
    /// How far behind it is meant to be, in milliseconds.
    pub lag_ms: u64,
    /// Whether it stands still.
    pub is_paused: bool,
}

/// The regions of an account.
#[derive(Debug)]
pub(crate) struct Regions {
    /// By their numbers.
    all: Vec<Region>,
    staleness: Staleness,
    lead: RwLock<Lead>,
}

#[derive(Debug)]
struct Region {
    name: String,
    replication: Mutex<Replication>,
}

#[derive(Debug, Clone, Copy)]
struct Replication {
    lag_us: u64,
    /// While it is paused: the moment that it shows.
    stands_at: Option<u64>,
    /// When it gave the writes away: it had everything until then.
    wrote_until: u64,
}

/// Who takes the writes, and the how-manieth that is. Session tokens carry the number: the regions
/// that a token lists are others after a failover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lead {
    region: RegionId,
    term: u32,
}

impl Regions {
    /// The regions of a configuration; who writes may have changed since the first start.
    pub fn open(config: &RegionsConfig, account: &Account) -> Result<Self, Error> {
        let region = |name: &String| Region {
            name: name.clone(),
            replication: Mutex::new(Replication {
                lag_us: config.lag_ms.saturating_mul(1_000),
                stands_at: None,
                wrote_until: 0,
            }),
        };
        let regions: Vec<Region> = config.names.iter().map(region).collect();
        let lead = match account.get(RECORD)? {
            None => Lead {
                region: RegionId(0),
                term: 0,
            },
            Some(value) => Lead::decode(&value, &regions)?,
        };
        Ok(Self {
            all: regions,
            staleness: config.staleness,
            lead: RwLock::new(lead),
        })
    }

    fn lead(&self) -> Lead {
        *self.lead.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// How many there are; an account of which none is named has one.
    pub fn count(&self) -> usize {
        self.all.len().max(1)
    }

    /// The one that takes the writes.
    pub fn writer(&self) -> RegionId {
        if self.are_several() {
            self.lead().region
        } else {
            RegionId(0)
        }
    }

    /// The others.
    pub fn readers(&self) -> impl Iterator<Item = RegionId> {
        let writer = self.writer();
        let all = (0..self.count()).map(RegionId);
        all.filter(move |&region| region != writer)
    }

    fn find(&self, name: &str) -> Result<RegionId, Error> {
        let same = |region: &Region| same_region(&region.name, name);
        let place = self.all.iter().position(same);
        place
            .map(RegionId)
            .ok_or_else(|| Error::bad_request(format!("The account has no region '{name}'.")))
    }
}

impl Region {
    fn replication(&self) -> MutexGuard<'_, Replication> {
        self.replication
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Replication {
    /// The moment that the region shows.
    fn shows(&self, now_us: u64) -> u64 {
        let moving = || now_us.saturating_sub(self.lag_us).max(self.wrote_until);
        self.stands_at.unwrap_or_else(moving)
    }
}

impl Lead {
    fn encode(self, regions: &[Region]) -> Vec<u8> {
        let name = &regions[self.region.0].name;
        [&self.term.to_be_bytes(), name.as_bytes()].concat()
    }

    /// A region that the account no longer has leaves the writes to the first one, in a new term.
    fn decode(value: &[u8], regions: &[Region]) -> Result<Self, Error> {
        let damaged = || Error::Damaged("the write region's record");
        let (term, name) = value.split_first_chunk().ok_or_else(damaged)?;
        let term = u32::from_be_bytes(*term);
        let place = regions
            .iter()
            .position(|region| region.name.as_bytes() == name);
        Ok(match place {
            Some(place) => Self {
                region: RegionId(place),
                term,
            },
            None => Self {
                region: RegionId(0),
                term: term.saturating_add(1),
            },
        })
    }
}

/// Whether two spellings name one region: SDKs compare without case and spaces.
fn same_region(left: &str, right: &str) -> bool {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|letter| !letter.is_whitespace());
        letters.flat_map(char::to_lowercase).collect()
    };
    letters(left) == letters(right)
}

impl Engine {
    /// The account as this region sees it. The handle follows failovers: it sees every write while
    /// its region takes them.
    #[must_use]
    pub fn in_region(&self, region: RegionId) -> Self {
        let mut handle = self.clone();
        handle.region = Some(region);
        handle
    }

    /// The regions in their order; empty on an account of which none was named.
    pub fn regions(&self) -> Vec<RegionInfo> {
        let regions = self.all_regions();
        let lead = regions.lead();
        let info = |(place, region): (usize, &Region)| {
            let replication = *region.replication();
            RegionInfo {
                name: region.name.clone(),
                writes: lead.region == RegionId(place),
                lag_ms: replication.lag_us / 1_000,
                is_paused: replication.stands_at.is_some(),
            }
        };
        regions.all.iter().enumerate().map(info).collect()
    }

    /// The region whose throughput this handle uses.
    pub(crate) fn serving(&self) -> RegionId {
        let regions = self.all_regions();
        match self.region {
            Some(region) => region,
            None => regions.writer(),
        }
    }

    /// The name of the region that this handle's reports are of; `None` where there is one alone.
    pub fn reported_region(&self) -> Option<String> {
        let regions = self.all_regions();
        let region = regions.all.get(self.serving().0)?;
        regions.are_several().then(|| region.name.clone())
    }

    /// Whether this is the handle of a region that takes no writes.
    pub fn is_read_region(&self) -> bool {
        self.replica().is_some()
    }

    /// What a session token says behind the range and before the position, and behind the
    /// position: the version, and how far each read region is (protocol: section 3.4). `None` on
    /// an account of one region.
    pub fn session_vector(&self, merges: u16, lsn: Lsn) -> Option<(i64, String)> {
        let regions = self.all_regions();
        if !regions.are_several() {
            return None;
        }
        let lead = regions.lead();
        let mine = self.region.unwrap_or(lead.region);
        let places = (0..regions.all.len()).map(RegionId);
        let others = places.filter(|&region| region != lead.region);
        let local = |region: RegionId| {
            if region == mine {
                format!("#{}={lsn}", region.0 + 1)
            } else {
                format!("#{}=-1", region.0 + 1)
            }
        };
        let version = session_version(Some(lead.term), merges);
        Some((version, others.map(local).collect()))
    }

    /// Sets how far a region is behind, and whether it stands still; what is not given stays.
    pub fn set_replication(
        &self,
        name: &str,
        lag_ms: Option<u64>,
        paused: Option<bool>,
    ) -> Result<(), Error> {
        let regions = self.all_regions();
        let region = &regions.all[regions.find(name)?.0];
        let now = self.clock().now_us();
        let mut replication = region.replication();
        if let Some(lag_ms) = lag_ms {
            replication.lag_us = lag_ms.saturating_mul(1_000);
        }
        match paused {
            Some(true) if replication.stands_at.is_none() => {
                replication.stands_at = Some(replication.shows(now));
            }
            Some(false) => replication.stands_at = None,
            _ => {}
        }
        Ok(())
    }

    /// Gives the writes to another region, which has everything that was acknowledged. A region
    /// that stands still cannot get it, so it cannot take over.
    pub fn fail_over(&self, name: &str) -> Result<(), Error> {
        let regions = self.all_regions();
        let region = regions.find(name)?;
        let _turn = self.records();
        let lead = regions.lead();
        if region == lead.region {
            return Ok(());
        }
        if regions.all[region.0].replication().stands_at.is_some() {
            return Err(Error::Conflict(format!(
                "The replication to '{name}' is paused: resume it before it takes the writes."
            )));
        }
        let lead = Lead {
            region,
            term: lead.term.saturating_add(1),
        };
        let mut writes = Writes::new();
        writes.put(RECORD, &lead.encode(&regions.all));
        self.account().commit(writes)?;
        let former = &regions.all[regions.lead().region.0];
        former.replication().wrote_until = self.clock().now_us();
        self.replicate()?;
        *regions.lead.write().unwrap_or_else(PoisonError::into_inner) = lead;
        Ok(())
    }

    /// Takes note of the present state for the read regions. To be called often: what regions show
    /// moves on in steps of these calls. Does nothing on an account of one region.
    pub fn replicate(&self) -> Result<(), Error> {
        let regions = self.all_regions();
        if !regions.are_several() || regions.staleness == Staleness::Never {
            return Ok(());
        }
        let now = self.clock().now_us();
        let replications = || regions.all.iter().map(|region| *region.replication());
        let shown: Vec<u64> = replications().map(|one| one.shows(now)).collect();
        let moving = replications().filter(|one| one.stands_at.is_none());
        let slowest = moving.map(|one| one.shows(now)).min();
        for container in self.containers() {
            for partition in container.ranges().partitions() {
                let history = partition.history();
                if history.lsn() != Some(partition.lsn()) {
                    let snapshot = self.store().snapshot(partition.part())?;
                    history.record(now, snapshot.into());
                }
                history.forget(&shown, slowest.unwrap_or(now));
            }
        }
        Ok(())
    }

    /// The replication by which this handle reads; `None` where it sees every write.
    fn replica(&self) -> Option<&Region> {
        let region = self.region?;
        let regions = self.all_regions();
        (region != regions.lead().region).then(|| &regions.all[region.0])
    }

    /// A point of a partition's history, the last that this handle may see.
    pub(crate) fn snapshot(&self, partition: &Partition) -> Result<PartitionSnapshot, Error> {
        if let Some(region) = self.replica() {
            let staleness = self.all_regions().staleness;
            let now = self.clock().now_us();
            let mut moment = region.replication().shows(now);
            let mut least = Lsn(0);
            if staleness == Staleness::Bounded {
                moment = moment.max(now.saturating_sub(BOUND_US));
                least = Lsn(partition.lsn().0.saturating_sub(BOUND_WRITES));
            }
            let reader = partition.history().at(moment);
            let reader = reader.filter(|reader| Lsn(reader.head().lsn) >= least);
            if let Some(reader) = reader.filter(|_| staleness != Staleness::Never) {
                return Ok(PartitionSnapshot::new(reader));
            }
        }
        partition.snapshot(&**self.store())
    }

    /// Whether this handle sees everything of a partition that the session has seen.
    pub(crate) fn check_session(
        &self,
        partition: &Partition,
        tokens: &[SessionToken],
    ) -> Result<(), Error> {
        let lsn = match self.replica() {
            Some(_) if !tokens.is_empty() => self.snapshot(partition)?.lsn(),
            _ => partition.lsn(),
        };
        partition.check_session(tokens, lsn, self.session_term())
    }

    fn session_term(&self) -> Option<u32> {
        let regions = self.all_regions();
        regions.are_several().then(|| regions.lead().term)
    }

    /// Whether writes are taken: under strong consistency each region has to get them.
    pub(crate) fn check_replication(&self) -> Result<(), Error> {
        let regions = self.all_regions();
        if regions.staleness != Staleness::Never || !regions.are_several() {
            return Ok(());
        }
        let lead = regions.lead().region;
        let mut readers = regions.all.iter().enumerate();
        match readers.find(|(place, region)| {
            RegionId(*place) != lead && region.replication().stands_at.is_some()
        }) {
            None => Ok(()),
            Some((_, region)) => Err(Error::Unavailable(format!(
                "The write cannot be strongly consistent: the replication to '{}' is paused.",
                region.name
            ))),
        }
    }
}
