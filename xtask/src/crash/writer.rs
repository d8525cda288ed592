//! One writer of the crash test: a random operation at a time on logical partitions of its own, and
//! a plain map of what the server acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::ITEMS;
use super::http::{Answer, Connection};
use crate::random::Random;

/// An item's address: partition key value and id.
pub type Address = (String, String);

/// What an operation makes of items: each becomes this version, or goes.
pub type Effects = Vec<(Address, Option<u64>)>;

/// A writer and what it knows.
pub struct Writer {
    /// Its number; its partition key values start with it.
    pub number: u64,
    random: Random,
    /// The number of its last operation; also the version of what that wrote.
    pub sequence: u64,
    /// Acknowledged state: address to version.
    pub items: BTreeMap<Address, u64>,
    /// The operation that was sent and not answered.
    pub pending: Option<Effects>,
}

struct Operation {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
    effects: Effects,
}

impl Writer {
    /// A writer that has written nothing.
    pub fn new(number: u64, random: Random) -> Self {
        Self {
            number,
            random,
            sequence: 0,
            items: BTreeMap::new(),
            pending: None,
        }
    }

    /// The partition key values that this writer uses.
    pub fn keys(&self) -> [String; 2] {
        [format!("w{}-a", self.number), format!("w{}-b", self.number)]
    }

    /// Writes until the connection breaks; counts the acknowledged operations.
    pub fn write_until_cut_off(&mut self, port: u16, acknowledged: &AtomicU64) -> Result<()> {
        let Ok(mut connection) = Connection::open(port) else {
            return Ok(());
        };
        loop {
            let operation = self.next_operation();
            self.pending = Some(operation.effects.clone());
            let headers: Vec<(&str, &str)> = operation
                .headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let answer =
                connection.send(operation.method, &operation.path, &headers, &operation.body);
            let Ok(answer) = answer else {
                return Ok(());
            };
            accepted(&operation, &answer)?;
            self.settle(true);
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends the pending operation: it happened, or it did not.
    pub fn settle(&mut self, happened: bool) {
        for (address, version) in self.pending.take().unwrap_or_default() {
            match version {
                _ if !happened => {}
                Some(version) => {
                    self.items.insert(address, version);
                }
                None => {
                    self.items.remove(&address);
                }
            }
        }
    }

    fn next_operation(&mut self) -> Operation {
        self.sequence += 1;
        let key = self.keys()[self.random.below(2) as usize].clone();
        let old = self.some_item(&key);
        match (self.random.below(10), old) {
            (0..3, Some(id)) => self.put(&key, &id),
            (3..5, Some(id)) => delete(&key, &id),
            (5..8, _) => self.batch(&key),
            _ => self.create(&key),
        }
    }

    fn some_item(&mut self, key: &str) -> Option<String> {
        let ids: Vec<&String> = self
            .items
            .keys()
            .filter(|(owner, _)| owner == key)
            .map(|(_, id)| id)
            .collect();
        if ids.is_empty() {
            return None;
        }
        let choice = self.random.below(ids.len() as u64) as usize;
        ids.get(choice).map(|id| (*id).clone())
    }

    fn body(&self, key: &str, id: &str) -> Value {
        let padding = "x".repeat((self.sequence % 700) as usize);
        json!({"id": id, "owner": key, "version": self.sequence, "padding": padding})
    }

    fn create(&self, key: &str) -> Operation {
        let id = format!("i{}", self.sequence);
        Operation {
            method: "POST",
            path: ITEMS.to_owned(),
            headers: vec![key_header(key)],
            body: self.body(key, &id).to_string(),
            effects: vec![((key.to_owned(), id), Some(self.sequence))],
        }
    }

    fn put(&self, key: &str, id: &str) -> Operation {
        Operation {
            method: "PUT",
            path: format!("{ITEMS}/{id}"),
            headers: vec![key_header(key)],
            body: self.body(key, id).to_string(),
            effects: vec![((key.to_owned(), id.to_owned()), Some(self.sequence))],
        }
    }

    /// A batch of creates, and sometimes an upsert and a delete of older items.
    fn batch(&mut self, key: &str) -> Operation {
        let mut operations = Vec::new();
        let mut effects: Effects = Vec::new();
        for number in 0..2 + self.random.below(6) {
            let id = format!("b{}-{number}", self.sequence);
            operations
                .push(json!({"operationType": "Create", "resourceBody": self.body(key, &id)}));
            effects.push(((key.to_owned(), id), Some(self.sequence)));
        }
        if let Some(id) = self.some_item(key) {
            operations
                .push(json!({"operationType": "Upsert", "resourceBody": self.body(key, &id)}));
            effects.push(((key.to_owned(), id), Some(self.sequence)));
        }
        if let Some(id) = self.some_item(key) {
            let address = (key.to_owned(), id.clone());
            if effects.iter().all(|(known, _)| *known != address) {
                operations.push(json!({"operationType": "Delete", "id": id}));
                effects.push((address, None));
            }
        }
        Operation {
            method: "POST",
            path: ITEMS.to_owned(),
            headers: vec![
                key_header(key),
                ("x-ms-cosmos-is-batch-request", "True".to_owned()),
                ("x-ms-cosmos-batch-atomic", "True".to_owned()),
                ("x-ms-cosmos-batch-ordered", "True".to_owned()),
            ],
            body: Value::Array(operations).to_string(),
            effects,
        }
    }
}

fn delete(key: &str, id: &str) -> Operation {
    Operation {
        method: "DELETE",
        path: format!("{ITEMS}/{id}"),
        headers: vec![key_header(key)],
        body: String::new(),
        effects: vec![((key.to_owned(), id.to_owned()), None)],
    }
}

fn key_header(key: &str) -> (&'static str, String) {
    ("x-ms-documentdb-partitionkey", json!([key]).to_string())
}

fn accepted(operation: &Operation, answer: &Answer) -> Result<()> {
    if matches!(answer.status, 200 | 201 | 204) {
        return Ok(());
    }
    bail!(
        "{} {} was refused: {} {}",
        operation.method,
        operation.path,
        answer.status,
        answer.body
    )
}
