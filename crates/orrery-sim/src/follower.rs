//! A reader of the change feed that keeps its place by key space, and follows it through splits
//! and merges.

use std::collections::BTreeMap;

use orrery_engine::change_feed::{Mode, Start};
use orrery_engine::page::{Page, Target};
use orrery_engine::{Container, Engine};
use orrery_model::epk::EpkRange;
use orrery_model::json;
use orrery_model::value::Value;

use crate::ambient::Random;
use crate::model::{Address, Model};

/// See the module.
pub struct Follower {
    mode: Mode,
    /// Parts of the key space with their places; they tile it.
    places: Vec<(EpkRange, Option<String>)>,
    told: BTreeMap<Address, Vec<Option<u64>>>,
}

impl Follower {
    /// At the beginning; with all versions, before the first write.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            places: vec![(EpkRange::full(), None)],
            told: BTreeMap::new(),
        }
    }

    /// Reads a page somewhere; answers how many changes it had.
    pub fn step(
        &mut self,
        engine: &Engine,
        container: &Container,
        random: &Random,
    ) -> Result<u64, String> {
        let at = random.below(self.places.len() as u64) as usize;
        self.read(engine, container, at, 1 + random.below(12))
    }

    fn read(
        &mut self,
        engine: &Engine,
        container: &Container,
        at: usize,
        most: u64,
    ) -> Result<u64, String> {
        let (space, place) = self.places.swap_remove(at);
        let ranges = container.ranges();
        let owner = ranges
            .overlapping(&space)
            .next()
            .ok_or("a part of the key space has no owner")?;
        if !owner.range().covers(&space) {
            // The range was split: each child goes on with its part.
            let parts = ranges.overlapping(&space);
            let parts = parts.filter_map(|owner| owner.range().intersect(&space));
            self.places.extend(parts.map(|part| (part, place.clone())));
            return Ok(0);
        }
        let start = match (&place, self.mode) {
            (Some(etag), _) => Start::After(etag.clone()),
            (None, Mode::LatestVersion) => Start::Beginning,
            (None, Mode::AllVersionsAndDeletes) => Start::Now,
        };
        let target = Target::Range {
            id: owner.id(),
            epk: Some(space.clone()),
        };
        let page = Page {
            max_items: u32::try_from(most).ok(),
            ..Page::default()
        };
        let answer = engine
            .change_feed(container, &target, &start, self.mode, &page)
            .map_err(|failure| format!("change feed: {}", failure.error))?;
        let text = [b"[", answer.value.rows.as_slice(), b"]"].concat();
        let rows = json::parse(&text).map_err(|error| error.to_string())?;
        for row in rows.as_array().unwrap_or_default() {
            self.note(row)?;
        }
        self.places.push((space, Some(answer.value.etag)));
        Ok(u64::from(answer.value.count))
    }

    fn note(&mut self, row: &Value<'_>) -> Result<(), String> {
        let (item, number) = match self.mode {
            Mode::LatestVersion => (row, row.member("v").as_i64()),
            Mode::AllVersionsAndDeletes => {
                let metadata = row.member("metadata");
                // When an item's time is up is not the client's doing.
                if matches!(metadata.member("timeToLiveExpired"), Value::Bool(true)) {
                    return Ok(());
                }
                if metadata.member("operationType").as_str() == Some("delete") {
                    (row.member("previous"), None)
                } else {
                    let item = row.member("current");
                    (item, item.member("v").as_i64())
                }
            }
        };
        let text = |name: &str| item.member(name).as_str().map(str::to_owned);
        let address = text("pk")
            .zip(text("id"))
            .ok_or("a change without address")?;
        let number = number.and_then(|number| u64::try_from(number).ok());
        let told = self.told.entry(address.clone()).or_default();
        let before = told.iter().rev().flatten().next();
        if number.is_some() && before.is_some_and(|before| Some(*before) >= number) {
            return Err(format!("{address:?}: {number:?} is told after {before:?}"));
        }
        told.push(number);
        Ok(())
    }

    /// Reads on to the end and compares with what happened.
    pub fn finish(
        &mut self,
        engine: &Engine,
        container: &Container,
        model: &Model,
        second: u64,
    ) -> Result<(), String> {
        let mut quiet = 0;
        while quiet < self.places.len() {
            let before = self.places.len();
            // Taken from the front, put back at the end: all in turn.
            self.places.rotate_left(1);
            let last = self.places.len() - 1;
            let count = self.read(engine, container, last, 50)?;
            let is_quiet = count == 0 && self.places.len() == before;
            quiet = if is_quiet { quiet + 1 } else { 0 };
        }
        match self.mode {
            Mode::LatestVersion => {
                for (address, number) in model.all_live(second) {
                    let told = self.told.get(&address).and_then(|told| told.last());
                    if told != Some(&Some(number)) {
                        return Err(format!("{address:?} is {number}, told was {told:?}"));
                    }
                }
            }
            Mode::AllVersionsAndDeletes => {
                for (address, history) in model.history() {
                    let told = self.told.get(address);
                    if told != Some(history) {
                        return Err(format!("{address:?} was {history:?}, told {told:?}"));
                    }
                }
            }
        }
        Ok(())
    }
}
