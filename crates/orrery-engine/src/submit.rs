//! From a write request to work in the lines of its partitions.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use orrery_model::charge::Charge;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::partition_key::PartitionKey;

use crate::answer::{Answer, Failure, Meta};
use crate::committer::{Done, Queued, Work};
use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;
use crate::partition::Partition;
use crate::throughput::claim::Claim;
use crate::write::prepare::{Operation, Preparation};
use crate::write::{
    BatchKind, BatchOperation, BatchOutcome, OperationResult, WriteKind, WriteOutcome, WriteRequest,
};

type Prepared = Result<(Arc<Partition>, Work), Error>;

/// A batch whose operations stand for themselves.
struct Bulk {
    operations: Vec<BatchOperation>,
    key: Option<PartitionKey>,
    range: Option<PartitionKeyRangeId>,
    claim: Claim,
    stop_on_error: bool,
}

impl Engine {
    /// Hands in a write; `done` is called once, when it is durable or refused, maybe before this
    /// returns and maybe on a thread of the store.
    pub fn submit(
        &self,
        container: &Arc<Container>,
        request: WriteRequest,
        done: impl FnOnce(Result<Answer<WriteOutcome>, Failure>) + Send + 'static,
    ) {
        let done: Done = Box::new(done);
        if let Err(error) = self.check_replication() {
            return done(Err(error.into()));
        }
        let state = container.state();
        let preparation = self.preparation(container, &state);
        let WriteRequest {
            kind,
            key,
            range,
            conditions,
            indexing,
            claim,
        } = request;
        let prepared = match kind {
            WriteKind::Batch {
                operations,
                atomic: true,
                ..
            } => self
                .check_batch(&operations)
                .and_then(|()| atomic(container, &preparation, &operations, key.as_ref())),
            WriteKind::Batch {
                operations,
                continue_on_error,
                ..
            } => {
                let bulk = Bulk {
                    operations,
                    key,
                    range,
                    claim,
                    stop_on_error: !continue_on_error,
                };
                return self.submit_bulk(container, &state, bulk, done);
            }
            WriteKind::DeletePartitionKey => delete_key(container, &preparation, key.as_ref()),
            kind => preparation
                .write(&kind, key.as_ref(), conditions, indexing)
                .and_then(|operation| {
                    Ok((
                        container.partition_of(&operation.epk)?,
                        Work::Single(Box::new(operation)),
                    ))
                }),
        };
        match prepared {
            Ok((partition, mut work)) => {
                work.set_claim(claim);
                match self.admit(container, &partition, claim, work.key()) {
                    Ok(()) => self.line_up(container, &partition, work, done),
                    Err(failure) => done(Err(failure)),
                }
            }
            Err(error) => done(Err(self.refused(container, key.as_ref(), error))),
        }
    }

    /// [`Engine::submit`], waiting for the answer.
    pub fn write(
        &self,
        container: &Arc<Container>,
        request: WriteRequest,
    ) -> Result<Answer<WriteOutcome>, Failure> {
        let slot = Arc::new(Slot::default());
        let answer = Arc::clone(&slot);
        self.submit(container, request, move |result| answer.fill(result));
        slot.wait()
    }

    /// Hands in work of the engine itself and waits for it.
    pub(crate) fn work(
        &self,
        container: &Arc<Container>,
        partition: &Arc<Partition>,
        work: Work,
    ) -> Result<Answer<WriteOutcome>, Failure> {
        let slot = Arc::new(Slot::default());
        let answer = Arc::clone(&slot);
        self.line_up(
            container,
            partition,
            work,
            Box::new(move |result| answer.fill(result)),
        );
        slot.wait()
    }

    fn line_up(
        &self,
        container: &Arc<Container>,
        partition: &Arc<Partition>,
        work: Work,
        done: Done,
    ) {
        let container = Arc::clone(container);
        self.committer().submit(
            partition,
            Queued {
                container,
                work,
                done,
            },
        );
    }

    /// A request that is wrong in itself. Where its key is good, the answer carries the position
    /// of the key's partition, for clients keep tokens of some failures (protocol: section 3.4).
    fn refused(&self, container: &Container, key: Option<&PartitionKey>, error: Error) -> Failure {
        let state = container.state();
        let partition = key
            .and_then(|key| self.preparation(container, &state).full_key(key).ok())
            .and_then(|key| {
                container
                    .partition_of(&state.key_definition().effective(&key))
                    .ok()
            });
        let meta = match partition {
            Some(partition) => Meta::at(&partition, partition.lsn(), Charge::ONE),
            None => Meta::of_charge(Charge::ONE),
        };
        Failure { error, meta }
    }

    fn check_batch(&self, operations: &[BatchOperation]) -> Result<(), Error> {
        let limits = self.limits();
        if operations.is_empty() {
            return Err(Error::bad_request("Batch request has no operations."));
        }
        if operations.len() > limits.batch_operations {
            return Err(Error::bad_request(
                "Batch request has more operations than what is supported.",
            ));
        }
        let bytes: usize = operations
            .iter()
            .map(|operation| operation.kind.body_bytes())
            .sum();
        if bytes > limits.batch_bytes {
            return Err(Error::TooLarge("Request size is too large".to_owned()));
        }
        Ok(())
    }

    fn submit_bulk(
        &self,
        container: &Arc<Container>,
        state: &ContainerState,
        bulk: Bulk,
        done: Done,
    ) {
        let wanted = bulk
            .range
            .map(|range| container.partition(range))
            .transpose();
        let wanted = match self.check_batch(&bulk.operations).and(wanted) {
            Ok(wanted) => wanted,
            Err(error) => return done(Err(self.refused(container, bulk.key.as_ref(), error))),
        };
        let preparation = self.preparation(container, state);
        let mut parts: Vec<BulkPart> = Vec::new();
        for (place, operation) in bulk.operations.iter().enumerate() {
            let key = operation.key.as_ref().or(bulk.key.as_ref());
            let operation = preparation.batch_operation(operation, key);
            let (partition, operation) = route(container, wanted.as_ref(), operation);
            let partition = match partition {
                Some(partition) => partition,
                // Refused operations keep their place in the order of some part.
                None => match parts.first() {
                    Some(part) => Arc::clone(&part.partition),
                    None => match container.ranges().partitions().first() {
                        Some(first) => Arc::clone(first),
                        None => return done(Err(Error::Damaged("partition map").into())),
                    },
                },
            };
            let known = parts
                .iter()
                .position(|part| part.partition.id() == partition.id());
            let at = known.unwrap_or_else(|| {
                parts.push(BulkPart::of(partition));
                parts.len() - 1
            });
            parts[at].places.push(place);
            parts[at].operations.push(operation);
        }
        let gathering = Arc::new(Gathering::new(bulk.operations.len(), parts.len(), done));
        for BulkPart {
            partition,
            places,
            operations,
        } in parts
        {
            let gathering = Arc::clone(&gathering);
            let mut work = Work::Each {
                operations,
                stop_on_error: bulk.stop_on_error,
            };
            work.set_claim(bulk.claim);
            let done = Box::new(move |result| gathering.add(&places, result));
            self.line_up(container, &partition, work, done);
        }
    }
}

/// The operations of a bulk for one partition, with their places in the request.
struct BulkPart {
    partition: Arc<Partition>,
    places: Vec<usize>,
    operations: Vec<Result<Operation, Error>>,
}

impl BulkPart {
    fn of(partition: Arc<Partition>) -> Self {
        Self {
            partition,
            places: Vec::new(),
            operations: Vec::new(),
        }
    }
}

fn atomic(
    container: &Container,
    preparation: &Preparation<'_>,
    operations: &[BatchOperation],
    key: Option<&PartitionKey>,
) -> Prepared {
    let full = preparation.full_key(key.ok_or(Error::PartitionKeyMissing)?)?;
    let differs = |own: &PartitionKey| preparation.full_key(own).ok().as_deref() != Some(&*full);
    if operations
        .iter()
        .filter_map(|operation| operation.key.as_ref())
        .any(differs)
    {
        return Err(Error::PartitionKeyMismatch);
    }
    let epk = preparation.state.key_definition().effective(&full);
    // An operation that is wrong in itself fails at its turn: one before it may fail first.
    let prepared = operations
        .iter()
        .map(|operation| preparation.batch_operation(operation, key))
        .collect();
    Ok((container.partition_of(&epk)?, Work::Atomic(prepared)))
}

fn delete_key(
    container: &Container,
    preparation: &Preparation<'_>,
    key: Option<&PartitionKey>,
) -> Prepared {
    let key = preparation.full_key(key.ok_or(Error::PartitionKeyMissing)?)?;
    let key: EffectivePartitionKey = preparation.state.key_definition().effective(&key);
    let partition = container.partition_of(&key)?;
    Ok((
        partition,
        Work::DeleteKey {
            key,
            removed: 0,
            charge: Charge::ZERO,
        },
    ))
}

/// The partition of an operation; one that is not in the wanted range fails alone.
fn route(
    container: &Container,
    wanted: Option<&Arc<Partition>>,
    operation: Result<Operation, Error>,
) -> (Option<Arc<Partition>>, Result<Operation, Error>) {
    let owner = match &operation {
        Ok(operation) => container.partition_of(&operation.epk).ok(),
        Err(_) => None,
    };
    match (wanted, owner) {
        (Some(wanted), Some(owner)) if wanted.id() != owner.id() => {
            let error = Error::PartitionKeyRangeGone {
                range: wanted.id(),
                container: container.rid().to_string(),
            };
            (Some(Arc::clone(wanted)), Err(error))
        }
        (Some(wanted), _) => (Some(Arc::clone(wanted)), operation),
        (None, owner) => (owner, operation),
    }
}

impl BatchKind {
    fn body_bytes(&self) -> usize {
        match self {
            Self::Create { body }
            | Self::Upsert { body }
            | Self::Replace { body, .. }
            | Self::Patch { body, .. } => body.len(),
            Self::Read { .. } | Self::Delete { .. } => 0,
        }
    }
}

/// Puts the answers of a bulk's parts together.
pub(crate) struct Gathering {
    state: Mutex<Gathered>,
}

struct Gathered {
    results: Vec<Option<OperationResult>>,
    waiting: usize,
    meta: Meta,
    done: Option<Done>,
}

impl Gathering {
    pub(crate) fn new(operations: usize, parts: usize, done: Done) -> Self {
        let results = (0..operations).map(|_| None).collect();
        let meta = Meta::default();
        let state = Gathered {
            results,
            waiting: parts,
            meta,
            done: Some(done),
        };
        Self {
            state: Mutex::new(state),
        }
    }

    pub(crate) fn add(&self, places: &[usize], result: Result<Answer<WriteOutcome>, Failure>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (results, meta) = match result {
            Ok(Answer {
                value: WriteOutcome::Batch(batch),
                meta,
            }) => (batch.results, meta),
            Ok(Answer { meta, .. }) => (Vec::new(), meta),
            Err(Failure { error, meta }) => {
                let failed = |_| OperationResult {
                    outcome: Err(error.clone()),
                    charge: Charge::ZERO,
                };
                (places.iter().map(failed).collect(), meta)
            }
        };
        for (&place, result) in places.iter().zip(results) {
            if let Some(slot) = state.results.get_mut(place) {
                *slot = Some(result);
            }
        }
        let charge = state.meta.charge + meta.charge;
        state.meta = Meta {
            charge: charge.rounded(),
            ..meta
        };
        state.waiting -= 1;
        if state.waiting > 0 {
            return;
        }
        let results = state.results.drain(..).flatten().collect();
        let (meta, done) = (state.meta, state.done.take());
        drop(state);
        if let Some(done) = done {
            done(Ok(Answer {
                value: WriteOutcome::Batch(BatchOutcome { results }),
                meta,
            }));
        }
    }
}

/// Where a waiting caller gets its answer.
#[derive(Default)]
struct Slot {
    answer: Mutex<Option<Result<Answer<WriteOutcome>, Failure>>>,
    filled: Condvar,
}

impl Slot {
    fn fill(&self, result: Result<Answer<WriteOutcome>, Failure>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.filled.notify_one();
    }

    fn wait(&self) -> Result<Answer<WriteOutcome>, Failure> {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = answer.take() {
                return result;
            }
            answer = self
                .filled
                .wait(answer)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
