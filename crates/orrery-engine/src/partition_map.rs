//! The record of a container's partitions: which part of the store owns which part of the key
//! space. It also carries the definition, so that an engine that opens a store can serve all
//! containers before any catalog is asked.
//!
//! Key: `p`, database u32, container u32; value: canonical JSON.

use orrery_model::container::ContainerSpec;
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::value::{Object, Value};
use orrery_storage::PartId;

use crate::account::MAP;
use crate::container::ContainerState;
use crate::error::Error;
use crate::index::IndexPlan;
use crate::split::ReshapeKind;

/// A container as it is kept in the account's part.
#[derive(Debug, Clone)]
pub struct MapRecord {
    /// The database's number.
    pub database: u32,
    /// The container's number.
    pub container: u32,
    /// `dbs/a/colls/b`.
    pub alt_path: String,
    /// The definition as JSON.
    pub spec: Value<'static>,
    /// Changes of the indexing policy so far.
    pub index_version: u32,
    /// Definitions whose indexing policies some items may still have terms of, with their
    /// versions.
    pub retired: Vec<(u32, Value<'static>)>,
    /// Changes of the map so far.
    pub version: u64,
    /// The id of the next new range.
    pub next_range: u32,
    /// The ranges that tile the key space.
    pub ranges: Vec<RangeRecord>,
    /// The key space of ranges that are gone, oldest first: some clients go on asking for them.
    pub gone: Vec<GoneRange>,
    /// Splits and merges that were asked for and are not over: a restart begins them again.
    pub asked: Vec<ReshapeKind>,
}

/// A range that was split or merged away.
#[derive(Debug, Clone, PartialEq)]
pub struct GoneRange {
    /// Its id.
    pub id: PartitionKeyRangeId,
    /// The key space that it owned.
    pub range: EpkRange,
}

/// So many ranges that are gone are remembered.
const MOST_GONE: usize = 1_024;

/// One partition.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeRecord {
    /// Its range's id.
    pub id: PartitionKeyRangeId,
    /// Its part.
    pub part: PartId,
    /// Its key space.
    pub range: EpkRange,
    /// All ancestors.
    pub parents: Vec<PartitionKeyRangeId>,
    /// The version of the map that brought it.
    pub since: u64,
    /// Up to this position the log is that of several merged ones: times go up and down in it.
    /// 0 where there was no merge.
    pub blended: Lsn,
    /// Merges behind it, of the ancestor that had most: session tokens carry the number.
    pub merges: u16,
    /// How far merged parents' history had been cut.
    pub floors: Vec<HistoryFloor>,
}

/// The end of what is lost of a part of the key space's history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryFloor {
    /// The part of the key space.
    pub range: EpkRange,
    /// Entries up to this position are gone.
    pub lsn: Lsn,
}

impl MapRecord {
    /// The record's key.
    pub fn key(database: u32, container: u32) -> Vec<u8> {
        let mut key = vec![MAP];
        key.extend_from_slice(&database.to_be_bytes());
        key.extend_from_slice(&container.to_be_bytes());
        key
    }

    /// The record's value.
    pub fn encode(&self) -> Vec<u8> {
        let ranges: Vec<Value<'_>> = self.ranges.iter().map(RangeRecord::to_value).collect();
        let retired = self.retired.iter().map(|(version, spec)| {
            let members = [
                ("version", Value::from(*version)),
                ("spec", spec.borrowed()),
            ];
            Value::Object(Object::from_iter(members))
        });
        let retired: Vec<Value<'_>> = retired.collect();
        let gone: Vec<Value<'_>> = self.gone.iter().map(GoneRange::to_value).collect();
        let asked: Vec<Value<'_>> = self.asked.iter().map(ReshapeKind::to_value).collect();
        let record = Object::from_iter([
            ("path", Value::from(self.alt_path.as_str())),
            ("spec", self.spec.borrowed()),
            ("indexVersion", Value::from(self.index_version)),
            ("retired", Value::Array(retired)),
            ("version", Value::from(self.version)),
            ("nextRange", Value::from(self.next_range)),
            ("ranges", Value::Array(ranges)),
            ("gone", Value::Array(gone)),
            ("asked", Value::Array(asked)),
        ]);
        let mut text = Vec::new();
        json::write(&Value::Object(record), &mut text);
        text
    }

    /// Reads a record.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Self, Error> {
        Self::read(key, value).ok_or(Error::Damaged("partition map"))
    }

    fn read(key: &[u8], value: &[u8]) -> Option<Self> {
        let (database, container) = key.strip_prefix(&[MAP])?.split_first_chunk::<4>()?;
        let record = json::parse(value).ok()?;
        let number = |name: &str| u64::try_from(record.member(name).as_i64()?).ok();
        let ranges = record.member("ranges").as_array()?.iter();
        // Records from before they were kept lack both.
        let optional = |name: &str| match record.member(name) {
            Value::Undefined => Some(&[][..]),
            there => there.as_array(),
        };
        let gone = optional("gone")?.iter().map(GoneRange::from_value);
        let gone = gone.collect::<Option<_>>()?;
        let asked = optional("asked")?.iter().map(ReshapeKind::from_value);
        let asked = asked.collect::<Option<_>>()?;
        Some(Self {
            database: u32::from_be_bytes(*database),
            container: u32::from_be_bytes(container.try_into().ok()?),
            alt_path: record.member("path").as_str()?.to_owned(),
            spec: record.member("spec").clone().into_owned(),
            index_version: number("indexVersion")?.try_into().ok()?,
            retired: record
                .member("retired")
                .as_array()?
                .iter()
                .map(retired_definition)
                .collect::<Option<_>>()?,
            version: number("version")?,
            next_range: number("nextRange")?.try_into().ok()?,
            ranges: ranges.map(RangeRecord::from_value).collect::<Option<_>>()?,
            gone,
            asked,
        })
    }

    /// Remembers the key space of a range that goes.
    pub fn remember(&mut self, range: &RangeRecord) {
        let excess = (self.gone.len() + 1).saturating_sub(MOST_GONE);
        self.gone.drain(..excess);
        self.gone.push(GoneRange {
            id: range.id,
            range: range.range.clone(),
        });
    }

    /// What the container serves by.
    pub fn state(&self, limits: &Limits) -> Result<ContainerState, Error> {
        let parse = |spec: &Value<'_>| {
            ContainerSpec::parse(spec, limits).map_err(|_| Error::Damaged("container"))
        };
        let retired = self
            .retired
            .iter()
            .map(|(version, spec)| Ok(IndexPlan::new(&parse(spec)?.indexing_policy, *version)))
            .collect::<Result<_, Error>>()?;
        Ok(ContainerState::new(
            parse(&self.spec)?,
            self.index_version,
            retired,
        ))
    }
}

fn retired_definition(value: &Value<'_>) -> Option<(u32, Value<'static>)> {
    let version = u32::try_from(value.member("version").as_i64()?).ok()?;
    Some((version, value.member("spec").clone().into_owned()))
}

/// The members that tell a stretch of key space.
fn space_of(value: &Value<'_>) -> Option<EpkRange> {
    let epk = |name: &str| EffectivePartitionKey::from_hex(value.member(name).as_str()?);
    Some(EpkRange::new(epk("min")?, epk("max")?))
}

fn number_of(value: &Value<'_>) -> Option<u64> {
    u64::try_from(value.as_i64()?).ok()
}

fn range_of(value: &Value<'_>) -> Option<PartitionKeyRangeId> {
    Some(PartitionKeyRangeId(number_of(value)?.try_into().ok()?))
}

impl GoneRange {
    fn to_value(&self) -> Value<'static> {
        Value::Object(Object::from_iter([
            ("id", Value::from(self.id.0)),
            ("min", Value::from(self.range.min.to_hex())),
            ("max", Value::from(self.range.max.to_hex())),
        ]))
        .into_owned()
    }

    fn from_value(value: &Value<'_>) -> Option<Self> {
        Some(Self {
            id: range_of(value.member("id"))?,
            range: space_of(value)?,
        })
    }
}

impl RangeRecord {
    fn to_value(&self) -> Value<'static> {
        let parents: Vec<Value<'_>> = self.parents.iter().map(|id| Value::from(id.0)).collect();
        let floors = self.floors.iter().map(|floor| {
            Value::Object(Object::from_iter([
                ("min", Value::from(floor.range.min.to_hex())),
                ("max", Value::from(floor.range.max.to_hex())),
                ("lsn", Value::from(floor.lsn.0)),
            ]))
        });
        let floors: Vec<Value<'_>> = floors.collect();
        Value::Object(Object::from_iter([
            ("id", Value::from(self.id.0)),
            ("part", Value::from(self.part.0)),
            ("min", Value::from(self.range.min.to_hex())),
            ("max", Value::from(self.range.max.to_hex())),
            ("parents", Value::Array(parents)),
            ("since", Value::from(self.since)),
            ("blended", Value::from(self.blended.0)),
            ("merges", Value::from(u32::from(self.merges))),
            ("floors", Value::Array(floors)),
        ]))
        .into_owned()
    }

    fn from_value(value: &Value<'_>) -> Option<Self> {
        let floor = |value: &Value<'_>| {
            Some(HistoryFloor {
                range: space_of(value)?,
                lsn: Lsn(number_of(value.member("lsn"))?),
            })
        };
        // Records from before there were merges lack the last members.
        let floors = match value.member("floors") {
            Value::Undefined => Vec::new(),
            floors => floors
                .as_array()?
                .iter()
                .map(floor)
                .collect::<Option<_>>()?,
        };
        Some(Self {
            id: range_of(value.member("id"))?,
            part: PartId(number_of(value.member("part"))?),
            range: space_of(value)?,
            parents: value
                .member("parents")
                .as_array()?
                .iter()
                .map(range_of)
                .collect::<Option<_>>()?,
            since: number_of(value.member("since"))?,
            blended: Lsn(number_of(value.member("blended")).unwrap_or(0)),
            merges: number_of(value.member("merges"))
                .unwrap_or(0)
                .try_into()
                .ok()?,
            floors,
        })
    }
}
