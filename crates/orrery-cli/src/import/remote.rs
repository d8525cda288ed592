//! The sink over HTTP: bulk batches to a server.

use std::sync::Arc;

use anyhow::Result;
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;

use super::Sink;
use super::tally::{Origin, Tally};
use crate::client::account::{Account, ContainerInfo, ContainerName};
use crate::client::bulk::{BulkWriter, Outcome};

/// One connection's share of an import.
pub struct RemoteSink {
    writer: BulkWriter<Sent>,
    upsert: bool,
    tally: Arc<Tally>,
    info: ContainerInfo,
    name: ContainerName,
    /// To look at items that conflicts are about.
    account: Account,
    doubtful: Vec<Sent>,
}

/// An item on its way.
struct Sent {
    origin: Origin,
    /// Id and key, where a conflict may be another item's: with unique keys.
    item: Option<(String, PartitionKey)>,
}

impl RemoteSink {
    /// A sink with its own connection.
    pub fn new(
        account: Account,
        name: ContainerName,
        info: ContainerInfo,
        upsert: bool,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            account: account.another(),
            writer: BulkWriter::new(account, name.clone(), info.clone()),
            upsert,
            tally,
            info,
            name,
            doubtful: Vec::new(),
        }
    }

    fn has_unique_keys(&self) -> bool {
        self.info
            .spec
            .unique_keys
            .as_ref()
            .is_some_and(|keys| !keys.is_empty())
    }

    /// A conflict is about the id when an item of that id is there, else about a unique key.
    fn settle_doubtful(&mut self) -> Result<()> {
        for sent in self.doubtful.drain(..) {
            let Some((id, key)) = &sent.item else {
                continue;
            };
            if self.account.has_item(&self.name, id, key)? {
                self.tally.add_skipped();
            } else {
                let message = "another item has the same values of a unique key";
                self.tally.broken_line(sent.origin, message);
            }
        }
        Ok(())
    }
}

fn settle(tally: &Tally, doubtful: &mut Vec<Sent>, sent: Sent, outcome: &Outcome) {
    match outcome.status {
        200..=299 => tally.add_written(),
        409 if sent.item.is_some() => doubtful.push(sent),
        409 => tally.add_skipped(),
        _ => tally.broken_line(sent.origin, &outcome.message),
    }
}

impl Sink for RemoteSink {
    fn put(&mut self, origin: Origin, body: Vec<u8>) -> Result<()> {
        let value = json::parse(&body)?;
        let key = match self.info.spec.partition_key.extract(&value) {
            Ok(key) => key,
            Err(error) => {
                self.tally.broken_line(origin, &error.to_string());
                return Ok(());
            }
        };
        let verb = if self.upsert { "Upsert" } else { "Create" };
        let id = value.member("id").as_str().unwrap_or_default();
        let sent = Sent {
            origin,
            item: self.has_unique_keys().then(|| (id.to_owned(), key.clone())),
        };
        let (tally, doubtful) = (&self.tally, &mut self.doubtful);
        self.writer
            .add(verb, &body, &key, sent, &mut |sent, outcome| {
                settle(tally, doubtful, sent, &outcome);
            })?;
        self.settle_doubtful()
    }

    fn finish(&mut self) -> Result<()> {
        let (tally, doubtful) = (&self.tally, &mut self.doubtful);
        self.writer
            .flush(&mut |sent, outcome| settle(tally, doubtful, sent, &outcome))?;
        self.settle_doubtful()?;
        self.tally
            .add_charge(std::mem::take(&mut self.writer.charge));
        Ok(())
    }
}
