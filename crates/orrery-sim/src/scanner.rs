//! A reader of all items, one page now and then: what is there from its first page to its last is
//! seen exactly once, whatever happens to the ranges meanwhile.

use std::collections::BTreeMap;

use orrery_engine::page::{Page, Target};
use orrery_engine::{Container, Engine};
use orrery_model::json;

use crate::ambient::Random;
use crate::model::{Address, Model};

/// See the module.
#[derive(Default)]
pub struct Scanner {
    pass: Option<Pass>,
}

struct Pass {
    continuation: Option<String>,
    reverse: bool,
    /// What was there at the start, with how often it had begun or ended.
    expected: BTreeMap<Address, u64>,
    seen: BTreeMap<Address, u64>,
}

impl Scanner {
    /// Reads a page; answers how many items it had.
    pub fn step(
        &mut self,
        engine: &Engine,
        container: &Container,
        model: &Model,
        second: u64,
        random: &Random,
    ) -> Result<u64, String> {
        let mut pass = self.pass.take().unwrap_or_else(|| {
            let live = model.all_live(second).into_keys();
            let lasting = live.filter(|address| model.is_lasting(address));
            Pass {
                continuation: None,
                reverse: random.one_in(3),
                expected: lasting
                    .map(|address| {
                        let moves = model.moves(&address);
                        (address, moves)
                    })
                    .collect(),
                seen: BTreeMap::new(),
            }
        });
        let page = Page {
            max_items: u32::try_from(1 + random.below(40)).ok(),
            continuation: pass.continuation.take(),
            reverse: pass.reverse,
            ..Page::default()
        };
        let answer = engine
            .read_feed(container, &Target::All, &page)
            .map_err(|failure| format!("feed: {}", failure.error))?
            .value;
        for (address, _) in addresses(&answer.rows)? {
            *pass.seen.entry(address).or_default() += 1;
        }
        let count = u64::from(answer.count);
        match answer.continuation {
            Some(token) => {
                pass.continuation = Some(token);
                self.pass = Some(pass);
            }
            None => pass.check(model)?,
        }
        Ok(count)
    }
}

impl Pass {
    fn check(&self, model: &Model) -> Result<(), String> {
        for (address, moves) in &self.expected {
            let stayed = model.moves(address) == *moves;
            let seen = self.seen.get(address).copied().unwrap_or(0);
            if stayed && seen != 1 {
                return Err(format!("a scan saw {address:?} {seen} times"));
            }
        }
        Ok(())
    }
}

/// Addresses and versions of the items of a page.
pub fn addresses(rows: &[u8]) -> Result<Vec<(Address, u64)>, String> {
    let text = [b"[", rows, b"]"].concat();
    let parsed = json::parse(&text).map_err(|error| error.to_string())?;
    let rows = parsed.as_array().unwrap_or_default().iter();
    rows.map(|row| {
        let text = |name: &str| row.member(name).as_str().map(str::to_owned);
        let address = text("pk")
            .zip(text("id"))
            .ok_or("an item without address")?;
        let number = row.member("v").as_i64().ok_or("an item without version")?;
        Ok((address, number as u64))
    })
    .collect()
}
