//! Deciding the writes of a round one after the other, each over what the ones before left.

use orrery_model::charge::{Charge, read_nothing};
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{DocId, Lsn};
use orrery_storage::{Scan, Writes};

use super::{Done, Environment, Queued, Work, WriterState};
use crate::answer::{Answer, Failure, Meta};
use crate::container::{Container, ContainerState};
use crate::error::Error;
use crate::layout::entries::{HistoryKind, RebuildEntry};
use crate::layout::{family, keys};
use crate::partition::Partition;
use crate::write::apply::{Applied, Refused, Transaction};
use crate::write::overlay::Overlay;
use crate::write::prepare::{Action, Operation};
use crate::write::{BatchOutcome, ItemOutcome, OperationResult, WriteOutcome};

/// Items that a delete by partition key, or entries that a cut of history, removes in one round.
const REMOVALS: usize = 500;

/// Items that a rebuild of the index looks at in one round.
const REBUILD_ROWS: usize = 200;

/// A write with its answer, not yet told.
pub(super) struct Decided {
    pub done: Done,
    pub result: Result<Answer<WriteOutcome>, Failure>,
}

/// What a round decided.
pub(super) struct Outcome {
    pub decided: Vec<Decided>,
    /// Work that goes on in the next round.
    pub again: Option<Queued>,
    pub writes: Writes,
    pub state: WriterState,
}

/// Decides.
pub(super) struct Decider<'d> {
    pub environment: &'d Environment,
    pub partition: &'d Partition,
    pub overlay: Overlay<'d>,
    /// The position after what is decided so far.
    pub lsn: Lsn,
    /// `_ts` of the round.
    pub ts: u64,
    /// Part of the round's etags.
    pub salt: u64,
}

/// Whether long work is at its end.
enum Progress<T> {
    Finished(T),
    GoesOn(Box<Work>),
}

impl<'d> Decider<'d> {
    pub fn decide(mut self, waiting: Vec<Queued>) -> Outcome {
        let mut decided = Vec::with_capacity(waiting.len());
        let mut again = None;
        for Queued {
            container,
            work,
            done,
        } in waiting
        {
            match self.work(&container, work) {
                Ok(Progress::Finished(answer)) => decided.push(Decided {
                    done,
                    result: Ok(answer),
                }),
                Ok(Progress::GoesOn(work)) => {
                    again = Some(Queued {
                        container,
                        work: *work,
                        done,
                    });
                }
                Err(failure) => decided.push(Decided {
                    done,
                    result: Err(failure),
                }),
            }
        }
        let (mut writes, mut counters, sizes) = self.overlay.into_parts();
        if !writes.is_empty() {
            counters.last_ts = self.ts;
            writes.put(&keys::COUNTERS, &counters.encode());
        }
        Outcome {
            decided,
            again,
            writes,
            state: WriterState {
                lsn: self.lsn,
                counters,
                sizes,
            },
        }
    }

    fn work(
        &mut self,
        container: &Container,
        work: Work,
    ) -> Result<Progress<Answer<WriteOutcome>>, Failure> {
        let state = container.state();
        match work {
            Work::Single(operation) => {
                let done = self.single(container, &state, &operation);
                match &done {
                    Ok(Progress::Finished(answer)) => {
                        let charge = answer.meta.charge;
                        self.settle(container, &operation, charge);
                        self.settle_replication(container, &operation, charge);
                    }
                    Ok(Progress::GoesOn(_)) => {}
                    Err(failure) => self.settle(container, &operation, failure.meta.charge),
                }
                done
            }
            Work::Atomic(operations) => {
                let results = self.atomic(container, &state, &operations);
                let written = written(&operations, &results);
                let done = self.batch(results);
                let first = operations.iter().flatten().next();
                if let (Some(first), Progress::Finished(answer)) = (first, &done) {
                    self.settle(container, first, answer.meta.charge);
                    self.settle_replication(container, first, written.rounded());
                }
                Ok(done)
            }
            Work::Each {
                operations,
                stop_on_error,
            } => Ok(self.each(container, &state, operations, stop_on_error)),
            Work::Expire(docids) => {
                let removed = self.remove(container, &state, &docids, HistoryKind::Expire);
                let (items, charge) = removed.map_err(|error| self.failure(error))?;
                Ok(Progress::Finished(
                    self.answer(WriteOutcome::Maintained { items }, charge),
                ))
            }
            Work::DeleteKey {
                key,
                removed,
                charge,
            } => self
                .delete_key(container, &state, key, removed, charge)
                .map_err(|error| self.failure(error)),
            Work::Rebuild(from) => self
                .rebuild(container, &state, from)
                .map_err(|error| self.failure(error)),
            Work::CutHistory(up_to) => self.cut_history(up_to).map_err(|error| self.failure(error)),
        }
    }

    fn transaction<'c>(&self, container: &Container, state: &'c ContainerState) -> Transaction<'c>
    where
        'd: 'c,
    {
        Transaction {
            state,
            container: container.rid(),
            range: self.partition.id().0,
            limits: &self.environment.limits,
            profile: self.environment.profile,
            read_cost: self.environment.read_cost,
            lsn: Lsn(self.lsn.0 + 1),
            ts: self.ts,
            salt: self.salt,
            next_ordinal: 0,
        }
    }

    fn meta(&self, charge: Charge) -> Meta {
        Meta::at(self.partition, self.lsn, charge.rounded())
    }

    fn answer(&self, value: WriteOutcome, charge: Charge) -> Answer<WriteOutcome> {
        Answer {
            value,
            meta: self.meta(charge),
        }
    }

    fn failure(&self, error: Error) -> Failure {
        Failure {
            error,
            meta: self.meta(read_nothing(self.environment.read_cost)),
        }
    }

    /// Takes an operation's charge off the budget of its partition.
    fn settle(&self, container: &Container, operation: &Operation, charge: Charge) {
        self.environment.settle(
            container,
            self.partition,
            self.environment.regions.writer(),
            operation.claim,
            Some(operation.epk.as_bytes()),
            charge,
        );
    }

    /// Takes what an operation wrote off the budgets of the other regions.
    fn settle_replication(&self, container: &Container, operation: &Operation, charge: Charge) {
        let key = operation.epk.as_bytes();
        self.environment
            .settle_replication(container, self.partition, key, charge);
    }

    /// One operation of a bulk, which shares the budget with its siblings: the first ones may use
    /// it up.
    fn metered(
        &mut self,
        container: &Container,
        state: &ContainerState,
        operation: &Operation,
        room: &mut Room,
    ) -> Result<Applied, Refused> {
        let key = Some(operation.epk.as_bytes());
        let region = self.environment.regions.writer();
        self.environment
            .admit(container, self.partition, region, operation.claim, key)
            .map_err(|throttle| Refused {
                error: Error::TooManyRequests(throttle),
                charge: Charge::ZERO,
            })?;
        let applied = self.apply(container, state, operation, room);
        let charge = match &applied {
            Ok(applied) => applied.charge,
            Err(refused) => refused.charge,
        };
        self.settle(container, operation, charge.rounded());
        if applied.is_ok() && is_write(operation) {
            self.settle_replication(container, operation, charge.rounded());
        }
        applied
    }

    /// One operation as a transaction of its own.
    fn apply(
        &mut self,
        container: &Container,
        state: &ContainerState,
        operation: &Operation,
        room: &mut Room,
    ) -> Result<Applied, Refused> {
        let mark = self.overlay.mark();
        let mut transaction = self.transaction(container, state);
        let applied = transaction
            .apply(&mut self.overlay, operation)
            .and_then(|applied| room.take(operation, applied));
        if applied.is_err() {
            self.overlay.roll_back(mark);
        } else if self.overlay.has_changed_since(mark) {
            self.lsn = Lsn(self.lsn.0 + 1);
        }
        applied
    }

    fn single(
        &mut self,
        container: &Container,
        state: &ContainerState,
        operation: &Operation,
    ) -> Result<Progress<Answer<WriteOutcome>>, Failure> {
        match self.apply(container, state, operation, &mut Room(usize::MAX)) {
            Ok(applied) => {
                let mut answer = self.answer(WriteOutcome::Item(applied.outcome), applied.charge);
                answer.meta.item_lsn = Some(applied.item_lsn);
                Ok(Progress::Finished(answer))
            }
            Err(refused) => Err(Failure {
                error: refused.error,
                meta: self.meta(refused.charge),
            }),
        }
    }

    /// All operations in one transaction, or none.
    fn atomic(
        &mut self,
        container: &Container,
        state: &ContainerState,
        operations: &[Result<Operation, Error>],
    ) -> Vec<OperationResult> {
        let mark = self.overlay.mark();
        let count = operations.len();
        let mut results = Vec::with_capacity(count);
        let mut transaction = self.transaction(container, state);
        let mut room = self.room();
        let mut refused = None;
        for operation in operations {
            let applied = match operation {
                Ok(operation) => transaction
                    .apply(&mut self.overlay, operation)
                    .and_then(|applied| room.take(operation, applied))
                    .map_err(|refused| (refused.error, refused.charge)),
                Err(error) => Err((error.clone(), Charge::ZERO)),
            };
            match applied {
                Ok(applied) => results.push(done(applied)),
                Err(reason) => {
                    refused = Some(reason);
                    break;
                }
            }
        }
        if let Some((error, charge)) = refused {
            self.overlay.roll_back(mark);
            let culprit = results.len();
            results = (0..count).map(|_| dependent()).collect();
            results[culprit] = OperationResult {
                outcome: Err(error),
                charge,
            };
        } else if self.overlay.has_changed_since(mark) {
            self.lsn = Lsn(self.lsn.0 + 1);
        }
        results
    }

    /// Every operation for itself.
    fn each(
        &mut self,
        container: &Container,
        state: &ContainerState,
        operations: Vec<Result<Operation, Error>>,
        stop_on_error: bool,
    ) -> Progress<Answer<WriteOutcome>> {
        let mut results: Vec<OperationResult> = Vec::with_capacity(operations.len());
        let mut stopped = false;
        let mut room = self.room();
        for operation in operations {
            if stopped {
                results.push(dependent());
                continue;
            }
            let result = match operation {
                Ok(operation) => match self.metered(container, state, &operation, &mut room) {
                    Ok(applied) => done(applied),
                    Err(refused) => OperationResult {
                        outcome: Err(refused.error),
                        charge: refused.charge,
                    },
                },
                Err(error) => OperationResult {
                    outcome: Err(error),
                    charge: Charge::ZERO,
                },
            };
            stopped = stop_on_error && result.outcome.is_err();
            results.push(result);
        }
        self.batch(results)
    }

    fn room(&self) -> Room {
        Room(self.environment.limits.response_bytes)
    }

    fn batch(&self, results: Vec<OperationResult>) -> Progress<Answer<WriteOutcome>> {
        let charge = results.iter().map(|result| result.charge).sum();
        Progress::Finished(self.answer(WriteOutcome::Batch(BatchOutcome { results }), charge))
    }

    /// Items in one transaction, whatever conditions say.
    fn remove(
        &mut self,
        container: &Container,
        state: &ContainerState,
        docids: &[DocId],
        kind: HistoryKind,
    ) -> Result<(u64, Charge), Error> {
        let mark = self.overlay.mark();
        let before = self.overlay.counters.items;
        let mut transaction = self.transaction(container, state);
        let mut charge = Charge::ZERO;
        for &docid in docids {
            match transaction.remove_item(&mut self.overlay, docid, kind) {
                Ok(units) => charge += units,
                Err(error) => {
                    self.overlay.roll_back(mark);
                    return Err(error);
                }
            }
        }
        if self.overlay.has_changed_since(mark) {
            self.lsn = Lsn(self.lsn.0 + 1);
        }
        Ok((before.saturating_sub(self.overlay.counters.items), charge))
    }

    fn delete_key(
        &mut self,
        container: &Container,
        state: &ContainerState,
        key: EffectivePartitionKey,
        removed: u64,
        charge: Charge,
    ) -> Result<Progress<Answer<WriteOutcome>>, Error> {
        let (from, to) = keys::logical_partition(&key);
        let page = self
            .overlay
            .below()
            .scan(&Scan::range(from, Some(to)).max_rows(REMOVALS))?;
        let docids = page
            .rows
            .iter()
            .map(|row| keys::parts_of_key(&row.key).map(|(_, docid)| docid))
            .collect::<Option<Vec<_>>>()
            .ok_or(Error::Damaged("key entry"))?;
        let (items, units) = self.remove(container, state, &docids, HistoryKind::Delete)?;
        let (removed, charge) = (removed + items, charge + units);
        if docids.len() == REMOVALS {
            return Ok(Progress::GoesOn(Box::new(Work::DeleteKey {
                key,
                removed,
                charge,
            })));
        }
        Ok(Progress::Finished(
            self.answer(WriteOutcome::Removed { items: removed }, charge),
        ))
    }

    /// Moves items to the current indexing policy. To clients nothing changes, so the position
    /// stays.
    fn rebuild(
        &mut self,
        container: &Container,
        state: &ContainerState,
        from: RebuildEntry,
    ) -> Result<Progress<Answer<WriteOutcome>>, Error> {
        let version = state.index().version();
        let mut entry = if from.version == version {
            from
        } else {
            RebuildEntry::start_of(version)
        };
        let mut scan = Scan::prefix([family::ITEM]).max_rows(REBUILD_ROWS);
        // Docids start at 1.
        scan.resume = Some(keys::item(entry.last));
        let page = self.overlay.below().scan(&scan)?;
        let transaction = self.transaction(container, state);
        for row in &page.rows {
            let docid = keys::docid_of_item(&row.key).ok_or(Error::Damaged("item key"))?;
            transaction.reindex(&mut self.overlay, docid, &row.value)?;
            entry.last = docid;
        }
        entry.looked += page.rows.len() as u64;
        entry.is_done = page.resume.is_none();
        self.overlay.writes.put(&keys::REBUILD, &entry.encode());
        let value = WriteOutcome::Rebuilt(entry);
        Ok(Progress::Finished(self.answer(value, Charge::ZERO)))
    }

    /// Drops old history. A position is moved but not used up: nothing changes for readers
    /// within the retention.
    fn cut_history(&mut self, up_to: Lsn) -> Result<Progress<Answer<WriteOutcome>>, Error> {
        let end = keys::behind(family::HISTORY, up_to);
        let scan = Scan::range([family::HISTORY], Some(end)).max_rows(REMOVALS);
        let page = self.overlay.below().scan(&scan)?;
        for row in &page.rows {
            self.overlay.writes.delete(&row.key);
        }
        if page.rows.len() == REMOVALS {
            return Ok(Progress::GoesOn(Box::new(Work::CutHistory(up_to))));
        }
        self.overlay.counters.history_cut = self.overlay.counters.history_cut.max(up_to);
        let items = page.rows.len() as u64;
        Ok(Progress::Finished(
            self.answer(WriteOutcome::Maintained { items }, Charge::ZERO),
        ))
    }
}

/// Bytes that are left in the answer to a batch. An operation whose item does not fit is refused
/// with 413; clients of bulk reads try it again in another batch (.NET: BulkExecutionRetryPolicy).
struct Room(usize);

impl Room {
    /// What a result takes besides its item: status, charge, etag.
    const RESULT: usize = 256;

    fn take(&mut self, operation: &Operation, applied: Applied) -> Result<Applied, Refused> {
        let item = applied.outcome.body().map_or(0, |body| body.len());
        let is_shown = !operation.minimal || matches!(applied.outcome, ItemOutcome::Read(_));
        let bytes = if is_shown { item } else { 0 } + Self::RESULT;
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                Ok(applied)
            }
            None => Err(Refused {
                error: Error::TooLarge("Response size is too large".to_owned()),
                charge: applied.charge,
            }),
        }
    }
}

fn done(applied: Applied) -> OperationResult {
    OperationResult {
        outcome: Ok(applied.outcome),
        charge: applied.charge.rounded(),
    }
}

fn is_write(operation: &Operation) -> bool {
    !matches!(operation.action, Action::Read(_))
}

/// What the writes of a batch cost that was carried out; nothing if it was not.
fn written(operations: &[Result<Operation, Error>], results: &[OperationResult]) -> Charge {
    if results.iter().any(|result| result.outcome.is_err()) {
        return Charge::ZERO;
    }
    let both = operations.iter().zip(results);
    let writes = both.filter(|(operation, _)| operation.as_ref().is_ok_and(is_write));
    writes.map(|(_, result)| result.charge).sum()
}

fn dependent() -> OperationResult {
    OperationResult {
        outcome: Err(Error::FailedDependency),
        charge: Charge::ZERO,
    }
}
