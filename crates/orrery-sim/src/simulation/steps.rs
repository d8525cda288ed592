//! What may happen next, and how often.

use std::collections::BTreeMap;

use orrery_engine::page::{Page, Target};
use orrery_engine::read::{ReadOptions, ReadOutcome};
use orrery_engine::split::Cut;
use orrery_engine::write::{
    BatchKind, BatchOperation, Conditions, IndexingDirective, ItemRef, WriteKind, WriteOutcome,
    WriteRequest,
};
use orrery_engine::{Error, MetadataOptions};
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;

use super::{CHECK_EVERY, Simulation, path};
use crate::model::{Address, Effects, Version};
use crate::scanner::addresses;

/// A write with what it is expected to do; `None` when it is to be refused.
struct Planned {
    request: WriteRequest,
    effects: Option<Effects>,
    what: String,
}

fn key(value: &str) -> Result<PartitionKey, String> {
    PartitionKey::parse_header(&format!("[\"{value}\"]")).map_err(|error| format!("{error:?}"))
}

impl Simulation {
    /// One step.
    pub(super) fn step(&mut self, step: u64) -> Result<(), String> {
        self.clock.advance_us(self.shape.pause_us(&self.random));
        match self.random.below(1_000) {
            0..550 => self.write()?,
            550..680 => self.read()?,
            680..720 => self.query()?,
            720..780 => {
                let count = self
                    .follower
                    .step(&self.engine, &self.container, &self.random)?;
                self.trace.line(format!("told {count} changes"));
            }
            780..840 => {
                let second = self.second();
                let count = self.scanner.step(
                    &self.engine,
                    &self.container,
                    &self.model,
                    second,
                    &self.random,
                )?;
                self.trace.line(format!("scanned {count} items"));
            }
            840..940 => self.work()?,
            940..965 => self.ask_reshape(),
            965..975 => self.change_throughput()?,
            975..985 => self.clean()?,
            985..989 => {
                self.counts.restarts += 1;
                self.trace.line("restart".to_owned());
                self.restart(None)?;
            }
            _ => {
                let writes = self.random.below(40);
                self.fuse.light(writes, self.random.one_in(2));
                self.trace.line(format!("crash in {writes} writes"));
            }
        }
        if step % CHECK_EVERY == CHECK_EVERY - 1 {
            self.check_all()?;
        }
        Ok(())
    }

    /// The store has ended in the middle of something: on with what it has.
    fn crash(&mut self, under_way: Option<Effects>) -> Result<(), String> {
        self.counts.crashes += 1;
        self.trace.line("crash".to_owned());
        self.restart(under_way)
    }

    fn body(&mut self, address: &Address) -> (String, Version) {
        self.last_version += 1;
        let number = self.last_version;
        let (key, id) = address;
        let padding = "x".repeat(self.random.below(120) as usize);
        let ttl = (self.has_ttl && self.random.one_in(12)).then(|| 1 + self.random.below(20));
        let end = ttl.map(|ttl| self.second() + ttl);
        let ttl = ttl.map_or_else(String::new, |ttl| format!(",\"ttl\":{ttl}"));
        let text =
            format!(r#"{{"id":"{id}","pk":"{key}","v":{number},"u":"{id}","p":"{padding}"{ttl}}}"#);
        (text, Version { number, end })
    }

    fn plan_write(&mut self) -> Result<Planned, String> {
        let second = self.second();
        let address = self.shape.address(&self.random, second);
        let exists = self.model.live(&address, second).is_some();
        if self.random.one_in(8) {
            return self.plan_batch(&address.0);
        }
        let item = ItemRef::Id(address.1.clone());
        let (kind, effects, name) = match self.random.below(10) {
            0..3 => {
                let (body, version) = self.body(&address);
                let body = body.into_bytes();
                let effects = (!exists).then(|| vec![(address.clone(), Some(version))]);
                (WriteKind::Create { body }, effects, "create")
            }
            3..7 => {
                let (body, version) = self.body(&address);
                let body = body.into_bytes();
                let effects = Some(vec![(address.clone(), Some(version))]);
                (WriteKind::Upsert { body }, effects, "upsert")
            }
            7..9 => {
                let (body, version) = self.body(&address);
                let body = body.into_bytes();
                let effects = exists.then(|| vec![(address.clone(), Some(version))]);
                (WriteKind::Replace { item, body }, effects, "replace")
            }
            _ => {
                let effects = exists.then(|| vec![(address.clone(), None)]);
                (WriteKind::Delete { item }, effects, "delete")
            }
        };
        Ok(Planned {
            request: WriteRequest::new(kind, Some(key(&address.0)?)),
            effects,
            what: format!("{name} {}/{}", address.0, address.1),
        })
    }

    /// Upserts and deletes of one logical partition, all or nothing.
    fn plan_batch(&mut self, key_value: &str) -> Result<Planned, String> {
        let second = self.second();
        let mut effects: BTreeMap<Address, Option<Version>> = BTreeMap::new();
        let mut operations = Vec::new();
        let mut fails = false;
        for _ in 0..=self.random.below(5) {
            let id = format!("i{}", self.random.below(30));
            let address = (key_value.to_owned(), id.clone());
            if effects.contains_key(&address) {
                continue;
            }
            let kind = if self.random.one_in(4) {
                fails |= self.model.live(&address, second).is_none();
                effects.insert(address, None);
                BatchKind::Delete { id }
            } else {
                let (body, version) = self.body(&address);
                effects.insert(address, Some(version));
                BatchKind::Upsert {
                    body: body.into_bytes(),
                }
            };
            operations.push(BatchOperation {
                kind,
                key: None,
                conditions: Conditions::default(),
                indexing: IndexingDirective::Default,
                minimal: false,
            });
        }
        let what = format!("batch of {} in {key_value}", operations.len());
        let kind = WriteKind::Batch {
            operations,
            atomic: true,
            continue_on_error: false,
        };
        Ok(Planned {
            request: WriteRequest::new(kind, Some(key(key_value)?)),
            effects: (!fails).then(|| effects.into_iter().collect()),
            what,
        })
    }

    fn write(&mut self) -> Result<(), String> {
        let Planned {
            request,
            effects,
            what,
        } = self.plan_write()?;
        let (error, meta) = match self.engine.write(&self.container, request) {
            Ok(answer) => {
                let failed = match answer.value {
                    WriteOutcome::Batch(batch) => {
                        let results = batch.results.into_iter();
                        results
                            .filter_map(|one| one.outcome.err())
                            .find(|error| !matches!(error, Error::FailedDependency))
                    }
                    _ => None,
                };
                (failed, answer.meta)
            }
            Err(failure) => (Some(failure.error), failure.meta),
        };
        if self.fuse.has_blown() {
            return self.crash(effects);
        }
        let range = meta.range.map_or(0, |range| range.0);
        let outcome = error.as_ref().map_or("done".to_owned(), Error::to_string);
        self.trace.line(format!(
            "{what}: {outcome}, range {range} lsn {} charge {:.2}",
            meta.lsn, meta.charge.0
        ));
        match (error, effects) {
            (None, Some(effects)) => {
                self.counts.writes += 1;
                let second = self.second();
                self.model.apply(effects, second);
                Ok(())
            }
            // The logical partition is full: nothing happened, whatever was planned.
            (Some(Error::LogicalPartitionFull { .. }), _) => Ok(()),
            (Some(Error::NotFound | Error::Conflict(_)), None) => Ok(()),
            (Some(error), _) => Err(format!("{what} was refused: {error}")),
            (None, None) => Err(format!("{what} should have been refused")),
        }
    }

    /// The version of an item as a point read finds it.
    pub(super) fn stored(&self, address: &Address) -> Result<Option<u64>, String> {
        let item = ItemRef::Id(address.1.clone());
        let options = ReadOptions::default();
        let read = self
            .engine
            .read_item(&self.container, &key(&address.0)?, &item, &options);
        match read {
            Ok(answer) => match answer.value {
                ReadOutcome::Item(body) => {
                    let item = json::parse(&body).map_err(|error| error.to_string())?;
                    Ok(item.member("v").as_i64().map(|number| number as u64))
                }
                ReadOutcome::NotModified(_) => Err("an answer to no condition".to_owned()),
            },
            Err(failure) if matches!(failure.error, Error::NotFound) => Ok(None),
            Err(failure) => Err(format!("read of {address:?}: {}", failure.error)),
        }
    }

    fn read(&mut self) -> Result<(), String> {
        let second = self.second();
        let address = self.shape.address(&self.random, second);
        let stored = self.stored(&address)?;
        let live = self.model.live(&address, second);
        self.trace.line(format!("read {address:?}: {stored:?}"));
        if stored == live.map(|live| live.number) {
            Ok(())
        } else {
            Err(format!("{address:?} is {stored:?}, not {live:?}"))
        }
    }

    /// All items of a logical partition.
    fn query(&mut self) -> Result<(), String> {
        let second = self.second();
        let (value, _) = self.shape.address(&self.random, second);
        let target = Target::Key(key(&value)?);
        let page = Page {
            max_items: Some(10_000),
            ..Page::default()
        };
        let answer = self
            .engine
            .read_feed(&self.container, &target, &page)
            .map_err(|failure| format!("feed of {value}: {}", failure.error))?;
        let found: BTreeMap<Address, u64> = addresses(&answer.value.rows)?.into_iter().collect();
        let mut expected = self.model.all_live(second);
        expected.retain(|(key, _), _| *key == value);
        self.trace
            .line(format!("{value} has {} items", found.len()));
        if found == expected {
            Ok(())
        } else {
            Err(format!("{value} has {found:?}, not {expected:?}"))
        }
    }

    /// A little of the work on splits and merges.
    fn work(&mut self) -> Result<(), String> {
        let budget = 1 + self.random.below(60);
        let done = self.engine.advance_reshapes(budget as usize);
        if self.fuse.has_blown() {
            return self.crash(None);
        }
        let done = done.map_err(|error| format!("a split or merge failed: {error}"))?;
        let version = self.container.ranges().version();
        self.trace.line(format!("worked {done}, map {version}"));
        Ok(())
    }

    fn ask_reshape(&mut self) {
        let ranges = self.container.ranges();
        let count = ranges.partitions().len() as u64;
        let at = self.random.below(count) as usize;
        let partition = &ranges.partitions()[at];
        let next = ranges.partitions().get(at + 1);
        let asked = match next {
            Some(next) if count > 6 || self.random.one_in(2) => {
                let pair = [partition.id(), next.id()];
                self.engine.merge_ranges(&self.container, &pair)
            }
            _ => {
                let by_size = self.random.one_in(3);
                let cut = if by_size { Cut::Size } else { Cut::Hash };
                let into = if by_size {
                    2
                } else {
                    2 + self.random.below(3) as u32
                };
                self.engine
                    .split_range(&self.container, partition.id(), cut, into)
            }
        };
        self.counts.reshapes += u64::from(asked.is_ok());
        self.trace.line(match asked {
            Ok(asked) => format!("asked for {:?}", asked.kind()),
            // Some are busy, and merges may be too big.
            Err(error) => format!("not asked for: {error}"),
        });
    }

    fn change_throughput(&mut self) -> Result<(), String> {
        let rate = 400 + 100 * self.random.below(350);
        let catalog = self.engine.catalog();
        let listed = catalog
            .list(&path("/offers")?, &Page::default())
            .map_err(|failure| failure.error.to_string())?;
        let mut offer = json::parse(&listed.value.page.rows)
            .map_err(|error| error.to_string())?
            .into_owned();
        let rid = offer.member("_rid").as_str().unwrap_or_default().to_owned();
        if let Some(content) = offer
            .as_object_mut()
            .and_then(|offer| offer.get_mut("content"))
            .and_then(|content| content.as_object_mut())
        {
            content.insert(
                "offerThroughput",
                orrery_model::value::Value::from(rate as i64),
            );
        }
        let link = path(&format!("/offers/{rid}"))?;
        let body = json::to_string(&offer);
        let replaced = catalog.replace(&link, body.as_bytes(), &MetadataOptions::default());
        if self.fuse.has_blown() {
            return self.crash(None);
        }
        let outcome = match replaced {
            Ok(answer) => format!("{:?}", answer.value.offer),
            // Below what the container has had before.
            Err(failure) => failure.error.to_string(),
        };
        self.trace.line(format!("throughput {rate}: {outcome}"));
        Ok(())
    }

    fn clean(&mut self) -> Result<(), String> {
        let cleaned = self.engine.maintain(100);
        if self.fuse.has_blown() {
            return self.crash(None);
        }
        let count = cleaned.map_err(|failure| format!("cleaning: {}", failure.error))?;
        self.trace.line(format!("cleaned {count}"));
        Ok(())
    }
}
