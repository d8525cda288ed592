//! Splits and merges ranges at random while others write, until the server is killed.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::http::{Answer, Connection};
use crate::random::Random;

const PARTITIONS: &str = "/_orrery/partitions/dbs/crash/colls/items";
/// Pause between two looks at an operation.
const PAUSE: Duration = Duration::from_millis(3);
/// Longer than any operation of this test takes.
const PATIENCE: Duration = Duration::from_secs(600);
/// With so many ranges, two are merged.
const MANY: usize = 6;
/// So many physical partitions the container's throughput needs: merges that leave fewer are
/// refused.
const FEWEST: usize = 3;

/// See the module.
pub struct Reshaper {
    random: Random,
    done: u64,
    /// The operation that was not over when the server was killed, and how far it was.
    open: Option<String>,
}

impl Reshaper {
    /// One that has done nothing.
    pub fn new(random: Random) -> Self {
        Self {
            random,
            done: 0,
            open: None,
        }
    }

    /// What happened.
    pub fn summary(&self) -> String {
        let open = self.open.as_deref().unwrap_or("nothing");
        format!("{} splits and merges; {open} was under way", self.done)
    }

    /// Whether the kill came into the middle of an operation.
    pub fn was_interrupted(&self) -> bool {
        self.open.is_some()
    }

    /// Splits and merges until the connection breaks.
    pub fn run_until_cut_off(&mut self, port: u16) -> Result<()> {
        let Ok(mut connection) = Connection::open(port) else {
            return Ok(());
        };
        loop {
            let Ok(shown) = connection.send("GET", PARTITIONS, &[], "") else {
                return Ok(());
            };
            let body = self.choose(&parsed(&shown, 200)?)?;
            self.open = Some(format!("{body}, not yet begun,"));
            let Ok(asked) = connection.send("POST", PARTITIONS, &[], &body.to_string()) else {
                return Ok(());
            };
            // What the kill before interrupted has been begun again by itself.
            if matches!(asked.status, 409 | 410) {
                std::thread::sleep(PAUSE);
                continue;
            }
            let asked = parsed(&asked, 202)?;
            loop {
                let Ok(shown) = connection.send("GET", PARTITIONS, &[], "") else {
                    return Ok(());
                };
                let shown = parsed(&shown, 200)?;
                let operations = shown["operations"].as_array().context("no operations")?;
                let mine = operations.iter().find(|one| one["id"] == asked["id"]);
                let mine = mine.context("the operation is gone")?;
                match mine["stage"].as_str() {
                    Some("done") => break,
                    Some("failed") => {
                        // A range of one logical partition cannot be cut by size.
                        if !mine["error"].to_string().contains("cannot be cut") {
                            bail!("{mine}");
                        }
                        break;
                    }
                    stage => self.open = Some(format!("{body}, {}", stage.unwrap_or_default())),
                }
                std::thread::sleep(PAUSE);
            }
            self.done += 1;
            self.open = None;
        }
    }

    fn choose(&mut self, shown: &Value) -> Result<Value> {
        let ranges = shown["partitions"].as_array().context("no partitions")?;
        let at = self.random.below(ranges.len() as u64) as usize;
        let id = |at: usize| ranges.get(at).map(|range| range["id"].clone());
        let merge = ranges.len() >= MANY || (ranges.len() > FEWEST && self.random.below(2) == 0);
        if merge {
            let first = at.min(ranges.len() - 2);
            return Ok(json!({"merge": {"ranges": [id(first), id(first + 1)]}}));
        }
        Ok(match self.random.below(3) {
            0 => json!({"split": {"range": id(at), "by": "size"}}),
            into => json!({"split": {"range": id(at), "into": into + 1}}),
        })
    }
}

/// Waits until the splits and merges that the kill interrupted, which the start has begun again,
/// are over.
pub fn await_rest(connection: &mut Connection) -> Result<()> {
    let since = Instant::now();
    loop {
        let shown = parsed(&connection.send("GET", PARTITIONS, &[], "")?, 200)?;
        let operations = shown["operations"].as_array().context("no operations")?;
        let stages = operations.iter().map(|one| one["stage"].as_str());
        let mut open = stages.filter(|stage| !matches!(stage, Some("done" | "failed")));
        if open.next().is_none() {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            bail!("a split or merge is not over after a restart: {shown}");
        }
        std::thread::sleep(PAUSE);
    }
}

fn parsed(answer: &Answer, status: u16) -> Result<Value> {
    if answer.status != status {
        bail!(
            "status {} instead of {status}: {}",
            answer.status,
            answer.body
        );
    }
    Ok(serde_json::from_str(&answer.body)?)
}
