//! The sink that hands items to the engine in this process, many at once: the group committer
//! makes each sync serve all that wait.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use anyhow::{Result, bail};
use orrery_engine::write::{ItemOutcome, WriteKind, WriteOutcome, WriteRequest};
use orrery_engine::{Answer, Container, Engine, Error, Failure};
use orrery_model::resource_path::ResourcePath;

use super::Sink;
use super::tally::{Origin, Tally};
use crate::client::account::ContainerName;

/// Most items under way; enough that a sync never waits for input, few enough to bound memory.
const IN_FLIGHT: usize = 4096;
/// Most bytes under way.
const IN_FLIGHT_BYTES: usize = 64 << 20;

/// What all local sinks share.
pub struct Shared {
    engine: Engine,
    container: Arc<Container>,
    upsert: bool,
    tally: Arc<Tally>,
    gate: Arc<Gate>,
}

impl Shared {
    /// Looks the container up.
    pub fn new(
        engine: Engine,
        name: &ContainerName,
        upsert: bool,
        tally: Arc<Tally>,
    ) -> Result<Arc<Self>> {
        let path = ResourcePath::parse(&name.path())
            .map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let container = engine
            .container(&path)
            .map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok(Arc::new(Self {
            engine,
            container,
            upsert,
            tally,
            gate: Arc::default(),
        }))
    }
}

/// A worker's hold on the shared engine.
pub struct LocalSink(Arc<Shared>);

impl LocalSink {
    /// A sink.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl Sink for LocalSink {
    fn put(&mut self, origin: Origin, body: Vec<u8>) -> Result<()> {
        let shared = &self.0;
        let bytes = body.len();
        shared.gate.enter(bytes)?;
        let kind = if shared.upsert {
            WriteKind::Upsert { body }
        } else {
            WriteKind::Create { body }
        };
        let (tally, gate) = (Arc::clone(&shared.tally), Arc::clone(&shared.gate));
        shared.engine.submit(
            &shared.container,
            WriteRequest::new(kind, None),
            move |result| {
                let fatal = settle(&tally, origin, result);
                gate.leave(bytes, fatal);
            },
        );
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.0.gate.wait_empty()
    }
}

/// Counts an item's fate; a failure of the store ends the import and is answered.
fn settle(
    tally: &Tally,
    origin: Origin,
    result: Result<Answer<WriteOutcome>, Failure>,
) -> Option<String> {
    match result {
        Ok(answer) => {
            tally.add_charge(answer.meta.charge.units());
            match answer.value {
                WriteOutcome::Item(ItemOutcome::Created(_) | ItemOutcome::Replaced(_)) => {
                    tally.add_written();
                }
                _ => tally.broken_line(origin, "the engine answered something else"),
            }
            None
        }
        Err(failure) => {
            tally.add_charge(failure.meta.charge.units());
            match failure.error {
                // Another item has these values: this one is not there.
                Error::UniqueKey => tally.broken_line(origin, &Error::UniqueKey.to_string()),
                Error::Conflict(_) => tally.add_skipped(),
                error @ (Error::Storage(_) | Error::Damaged(_)) => {
                    tally.stop();
                    return Some(error.to_string());
                }
                error => tally.broken_line(origin, &error.to_string()),
            }
            None
        }
    }
}

/// Bounds what is under way, and remembers the first failure that ends everything.
#[derive(Default)]
struct Gate {
    state: Mutex<Load>,
    changed: Condvar,
}

#[derive(Default)]
struct Load {
    items: usize,
    bytes: usize,
    fatal: Option<String>,
}

impl Gate {
    fn enter(&self, bytes: usize) -> Result<()> {
        let mut load = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while load.fatal.is_none()
            && load.items > 0
            && (load.items >= IN_FLIGHT || load.bytes + bytes > IN_FLIGHT_BYTES)
        {
            load = self
                .changed
                .wait(load)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(fatal) = &load.fatal {
            bail!("{fatal}");
        }
        load.items += 1;
        load.bytes += bytes;
        Ok(())
    }

    fn leave(&self, bytes: usize, fatal: Option<String>) {
        let mut load = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        load.items -= 1;
        load.bytes -= bytes;
        if load.fatal.is_none() {
            load.fatal = fatal;
        }
        drop(load);
        self.changed.notify_all();
    }

    fn wait_empty(&self) -> Result<()> {
        let mut load = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while load.items > 0 {
            load = self
                .changed
                .wait(load)
                .unwrap_or_else(PoisonError::into_inner);
        }
        match &load.fatal {
            Some(fatal) => bail!("{fatal}"),
            None => Ok(()),
        }
    }
}
