//! The trace of `orrery serve --trace` (docs/trace.md), line by line.

use std::hash::{BuildHasher as _, BuildHasherDefault};

use orrery_model::json;
use orrery_model::value::{Object, Value};
use rustc_hash::{FxHashSet, FxHasher};
use serde::Deserialize;
use serde_json::Value as Json;

use super::{Deed, Event, Observed, Traffic};
use crate::error::KeylabError;
use crate::generate::insert;

/// Reads a trace into traffic.
#[derive(Debug)]
pub struct TraceReader {
    origin: String,
    /// Only this container.
    wanted: Option<String>,
    /// The number of the line at hand; 0 before the first.
    line: u64,
    others: u64,
    items: Named,
}

/// Items that requests named, once each.
#[derive(Debug, Default)]
struct Named {
    known: FxHashSet<u64>,
    created: u64,
    texts: Vec<Vec<u8>>,
}

/// Items that are kept.
const MOST_ITEMS: usize = 200_000;

impl Named {
    /// An item with this key; a created one has no id in a trace, and is another each time.
    fn add(&mut self, paths: &[String], key: &[Json], id: Option<&str>) {
        if self.texts.len() >= MOST_ITEMS || paths.len() != key.len() {
            return;
        }
        let id = id.map_or_else(
            || {
                self.created += 1;
                format!("created-{}", self.created)
            },
            str::to_owned,
        );
        let hash = BuildHasherDefault::<FxHasher>::default()
            .hash_one((&id, key.iter().map(Json::to_string).collect::<Vec<_>>()));
        if !self.known.insert(hash) {
            return;
        }
        let mut item = Object::new();
        for (path, value) in paths.iter().zip(key) {
            let text = value.to_string();
            if let Ok(value) = json::parse_str(&text)
                && !value.as_object().is_some_and(Object::is_empty)
            {
                let path: Vec<String> = path.split('/').map(str::to_owned).collect();
                insert(&mut item, &path, value.into_owned());
            }
        }
        if item.get("id").is_none() {
            item.insert("id", id);
        }
        let mut text = Vec::new();
        json::write(&Value::Object(item), &mut text);
        self.texts.push(text);
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    orrery_trace: Option<u64>,
    container: Option<String>,
    partition_key: Option<KeyDefinition>,
    provision: Option<String>,
    rate: Option<f64>,
    ranges: Option<Vec<Json>>,
    t: Option<u64>,
    op: Option<String>,
    #[serde(rename = "in")]
    inside: Option<String>,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    ru: f64,
    key: Option<Vec<Json>>,
    id: Option<String>,
    sql: Option<String>,
    #[serde(default)]
    items: u64,
    #[serde(default)]
    more: bool,
    #[serde(default)]
    ops: Vec<Part>,
    corr: Option<String>,
}

#[derive(Deserialize)]
struct KeyDefinition {
    #[serde(default)]
    paths: Vec<String>,
}

#[derive(Deserialize)]
struct Part {
    op: String,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    ru: f64,
    key: Option<Vec<Json>>,
    id: Option<String>,
}

impl TraceReader {
    /// A reader; `container` (`database/container`) says whose requests count, if there are
    /// several.
    pub fn new(origin: &str, container: Option<&str>) -> Self {
        let path = |name: &str| match name.split_once('/') {
            Some((database, container)) if !name.starts_with("dbs/") => {
                format!("dbs/{database}/colls/{container}")
            }
            _ => name.to_owned(),
        };
        Self {
            origin: origin.to_owned(),
            wanted: container.map(path),
            line: 0,
            others: 0,
            items: Named::default(),
        }
    }

    fn error(&self, message: impl Into<String>) -> KeylabError {
        KeylabError::Data {
            origin: format!("{}: line {}", self.origin, self.line),
            message: message.into(),
        }
    }

    /// Takes a line with its number in the file. A broken one after the first is passed over, and
    /// the reason is returned: a server that is killed leaves one.
    pub fn line(
        &mut self,
        number: u64,
        text: &[u8],
        traffic: &mut Traffic,
    ) -> Result<Option<String>, KeylabError> {
        let is_first = std::mem::replace(&mut self.line, number) == 0;
        let line: Line = match serde_json::from_slice(text) {
            Ok(line) => line,
            Err(error) if !is_first => return Ok(Some(plain_words(&error))),
            Err(error) => return Err(self.error(format!("no trace: {}", plain_words(&error)))),
        };
        if is_first && line.orrery_trace != Some(1) {
            return Err(self.error("no trace of version 1; `orrery serve --trace FILE` writes one"));
        }
        if line.container.is_some() {
            return self.container(line, traffic).map(|()| None);
        }
        let Some(op) = &line.op else {
            return Ok(None);
        };
        if self.wanted.is_none() {
            self.wanted.clone_from(&line.inside);
        }
        if self.wanted == line.inside {
            if let Err(reason) = request(op, &line, traffic) {
                return Ok(Some(reason));
            }
            self.name_items(op, &line, &traffic.observed().key_paths);
        } else {
            self.others += 1;
        }
        Ok(None)
    }

    fn container(&mut self, line: Line, traffic: &mut Traffic) -> Result<(), KeylabError> {
        let is_ours = self.wanted.is_none() || self.wanted == line.container;
        if !is_ours {
            return Ok(());
        }
        let known = traffic.observed().container.clone();
        if let (Some(known), Some(other), None) = (&known, &line.container, &self.wanted)
            && known != other
        {
            return Err(self.error(format!(
                "requests of several containers, {known} and {other}: name one with --in"
            )));
        }
        let provision = line.provision.unwrap_or_default();
        let paths = line.partition_key.map(|key| key.paths).unwrap_or_default();
        traffic.tell(Observed {
            container: line.container,
            key_paths: paths
                .iter()
                .map(|path| path.trim_start_matches('/').to_owned())
                .collect(),
            rate: line.rate,
            is_autoscale: provision.ends_with("autoscale"),
            partitions: line
                .ranges
                .and_then(|ranges| u32::try_from(ranges.len()).ok()),
        });
        Ok(())
    }

    fn name_items(&mut self, op: &str, line: &Line, paths: &[String]) {
        const OF_ONE_ITEM: [&str; 5] = ["Create", "Read", "Upsert", "Replace", "Patch"];
        if line.status >= 400 {
            return;
        }
        if let Some(key) = &line.key
            && OF_ONE_ITEM.contains(&op)
        {
            self.items.add(paths, key, line.id.as_deref());
        }
        for part in &line.ops {
            if let Some(key) = part.key.as_ref().or(line.key.as_ref())
                && OF_ONE_ITEM.contains(&&*part.op)
                && part.status < 400
            {
                self.items.add(paths, key, part.id.as_deref());
            }
        }
    }

    /// The items that requests named, with the members that the trace tells: key and id.
    pub fn into_items(self) -> Vec<Vec<u8>> {
        self.items.texts
    }

    /// Requests of other containers that were passed over.
    pub fn others(&self) -> u64 {
        self.others
    }
}

/// What is wrong with a line, without the parser's own place: the line is told beside it.
fn plain_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    format!("{} at column {}", &text[..end], error.column())
}

fn request(op: &str, line: &Line, traffic: &mut Traffic) -> Result<(), String> {
    let key = |key: &Option<Vec<Json>>| {
        let text = |value: &Json| value.as_str().map(str::to_owned);
        key.as_ref().map(|values| values.iter().map(text).collect())
    };
    if op == "Batch" && !line.ops.is_empty() && line.key.is_none() {
        // A bulk: each operation for itself.
        for part in &line.ops {
            if let Some(deed) = deed(&part.op, part.status) {
                traffic.add(&Event {
                    time_us: line.t,
                    is_refused: part.status == 429,
                    key: key(&part.key),
                    ..Event::new(deed, part.ru)
                })?;
            }
        }
        return Ok(());
    }
    // A query that the server refused comes to no partition.
    let is_refused_text = line.status == 400 && line.sql.is_some();
    let Some(deed) = deed(op, line.status).filter(|_| !is_refused_text) else {
        traffic.skip();
        return Ok(());
    };
    traffic.add(&Event {
        time_us: line.t,
        is_refused: line.status == 429,
        text: line.sql.as_deref(),
        query: line.corr.as_deref().filter(|_| deed == Deed::Query),
        goes_on: line.more,
        items: line.items,
        key: key(&line.key),
        operations: line.ops.len() as u64,
        ..Event::new(deed, line.ru)
    })
}

/// The deed of an operation by its name in traces and logs; `None` for those that no key changes.
pub(super) fn deed(operation: &str, status: u16) -> Option<Deed> {
    Some(match operation {
        "Read" => Deed::Read,
        "Query" | "ReadFeed" => Deed::Query,
        "Create" => Deed::Create,
        // An upsert answers whether the item was new.
        "Upsert" if status == 201 => Deed::Create,
        "Replace" | "Upsert" => Deed::Replace,
        "Patch" => Deed::Patch,
        "Delete" => Deed::Delete,
        "Batch" => Deed::Batch,
        _ => return None,
    })
}
