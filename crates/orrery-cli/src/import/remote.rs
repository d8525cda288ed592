//! The sink over HTTP: bulk batches to a server.

use std::sync::Arc;

use anyhow::Result;
use orrery_model::json;

use super::Sink;
use super::tally::{Origin, Tally};
use crate::client::account::{Account, ContainerInfo, ContainerName};
use crate::client::bulk::{BulkWriter, Outcome};

/// One connection's share of an import.
pub struct RemoteSink {
    writer: BulkWriter<Origin>,
    upsert: bool,
    tally: Arc<Tally>,
    info: ContainerInfo,
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
            writer: BulkWriter::new(account, name, info.clone()),
            upsert,
            tally,
            info,
        }
    }
}

fn settle(tally: &Tally, origin: Origin, outcome: &Outcome) {
    match outcome.status {
        200..=299 => tally.add_written(),
        409 => tally.add_skipped(),
        _ => tally.broken_line(origin, &outcome.message),
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
        let tally = Arc::clone(&self.tally);
        let verb = if self.upsert { "Upsert" } else { "Create" };
        self.writer
            .add(verb, &body, &key, origin, &mut |origin, outcome| {
                settle(&tally, origin, &outcome);
            })
    }

    fn finish(&mut self) -> Result<()> {
        let tally = Arc::clone(&self.tally);
        self.writer
            .flush(&mut |origin, outcome| settle(&tally, origin, &outcome))?;
        self.tally
            .add_charge(std::mem::take(&mut self.writer.charge));
        Ok(())
    }
}
