//! One round of one partition: read, decide, append, answer.

use std::sync::Arc;

use orrery_model::charge::Charge;
use orrery_model::ids::{DocId, Lsn};
use orrery_storage::{Begin, Head, PartId, StoreError, StoredBytes, Txn, Writes};
use rustc_hash::FxHashMap;

use super::decide::{Decided, Decider, Outcome};
use super::{Environment, Queued, Turn, Work, WriterState, lock};
use crate::answer::{Failure, Meta};
use crate::error::Error;
use crate::layout::entries::Counters;
use crate::layout::{family, keys};
use crate::partition::Partition;
use crate::read::hints::Hints;
use crate::write::overlay::Overlay;
use crate::write::prepare::{Action, Operation, Place, PreparedItem};

/// Most writes of one round: bounds memory and the wait of the first.
const MOST_WRITES: usize = 512;
/// Every part is of its first generation: a split makes new parts ([`crate::split`]).
pub(crate) const GENERATION: u64 = 1;

/// How a round ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The answers go out when the store says so.
    Later,
    /// On this thread, before the round returns.
    Wait,
}

/// Runs one round.
pub(crate) fn run(environment: &Environment, partition: &Arc<Partition>, finish: Finish) -> Turn {
    let waiting = partition.queue.take(MOST_WRITES);
    if waiting.is_empty() {
        return Turn::Idle;
    }
    let mut writer = lock(&partition.writer);
    if partition.is_retired() {
        return Turn::Moved(waiting);
    }
    let round = Round {
        environment,
        partition,
        finish,
    };
    if let Err(Abandoned) = round.serve(&mut writer, waiting) {
        *writer = None;
    }
    Turn::Served
}

/// The round failed, and everyone in it has been told.
struct Abandoned;

struct Round<'r> {
    environment: &'r Environment,
    partition: &'r Arc<Partition>,
    finish: Finish,
}

/// A partition held for writing, with what was read on the way.
struct Open {
    txn: Box<dyn Txn>,
    head: Head,
    known: FxHashMap<Vec<u8>, Option<StoredBytes>>,
}

impl Round<'_> {
    fn serve(
        &self,
        writer: &mut Option<WriterState>,
        waiting: Vec<Queued>,
    ) -> Result<(), Abandoned> {
        let open = match self.begin(writer, &waiting) {
            Ok(open) => open,
            Err(error) => return self.abandon(waiting, &error),
        };
        let Some(state) = writer.take() else {
            return Err(Abandoned);
        };
        let Open { txn, head, known } = open;
        let outcome = self.decide(&*txn, state, known, waiting);
        if let Some(again) = outcome.again {
            self.partition.queue.push_again(again);
        }
        let (lsn, counters) = (outcome.state.lsn, outcome.state.counters);
        let decided = outcome.decided;
        let mut writing = None;
        let pending = if outcome.writes.is_empty() {
            txn.release()
        } else {
            self.partition.journal.note(&outcome.writes);
            let part = self.partition.part();
            note_places(&self.environment.hints, part, &outcome.writes);
            writing = Some(self.environment.recent.begin(part, &outcome.writes));
            match txn.commit(
                outcome.writes,
                head.advanced(lsn.0, self.environment.token()),
            ) {
                Ok(pending) => pending,
                Err(error) => {
                    fail_all(decided, &Error::from(error.into_inner()));
                    return Err(Abandoned);
                }
            }
        };
        *writer = Some(outcome.state);
        let partition = Arc::clone(self.partition);
        let answer = move |durable: Result<(), StoreError>| match durable {
            Ok(()) => {
                partition.publish(lsn, counters);
                drop(writing);
                for Decided { done, result } in decided {
                    done(result);
                }
            }
            Err(error) => fail_all(decided, &Error::from(error)),
        };
        match self.finish {
            Finish::Later => pending.then(answer),
            Finish::Wait => answer(pending.wait()),
        }
        Ok(())
    }

    fn begin(&self, writer: &mut Option<WriterState>, waiting: &[Queued]) -> Result<Open, Error> {
        let keys = first_keys(waiting);
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let begin = self
            .environment
            .store
            .begin(self.partition.part(), GENERATION, &slices)?;
        let Begin::Open { txn, head, values } = begin else {
            return Err(Error::CompletingSplit);
        };
        if writer.as_ref().is_none_or(|state| state.lsn.0 != head.lsn) {
            let counters = match txn.get(&keys::COUNTERS)? {
                Some(value) => Counters::decode(&value)?,
                None => Counters::empty(),
            };
            let sizes = FxHashMap::default();
            *writer = Some(WriterState {
                lsn: Lsn(head.lsn),
                counters,
                sizes,
            });
        }
        Ok(Open {
            txn,
            head,
            known: keys.into_iter().zip(values).collect(),
        })
    }

    fn abandon(&self, waiting: Vec<Queued>, error: &Error) -> Result<(), Abandoned> {
        let meta = Meta::at(self.partition, self.partition.lsn(), Charge::ZERO);
        for queued in waiting {
            (queued.done)(Err(Failure {
                error: error.clone(),
                meta,
            }));
        }
        Err(Abandoned)
    }

    fn decide(
        &self,
        txn: &dyn Txn,
        state: WriterState,
        known: FxHashMap<Vec<u8>, Option<StoredBytes>>,
        waiting: Vec<Queued>,
    ) -> Outcome {
        let second = second_keys(&known);
        let mut overlay = Overlay::new(txn, state.counters, state.sizes);
        for (key, value) in known {
            overlay.remember(key, value);
        }
        // What cannot be read now will fail for the operation that needs it.
        let _ = overlay.prefetch(second);
        let now = self.environment.clock.now_seconds();
        let decider = Decider {
            environment: self.environment,
            partition: self.partition,
            overlay,
            lsn: state.lsn,
            ts: now.max(state.counters.last_ts),
            salt: self.environment.entropy.next_u64(),
        };
        decider.decide(waiting)
    }
}

/// Notes where the items of a commit are: new ones are read before long.
fn note_places(hints: &Hints, part: PartId, writes: &Writes) {
    for (key, value) in writes.iter() {
        if let Some((&family::ID, name)) = key.split_first()
            && let Some(docid) = value.and_then(keys::docid_of_value)
        {
            hints.note_written(part, name, docid);
        }
    }
}

fn fail_all(decided: Vec<Decided>, error: &Error) {
    for Decided { done, result } in decided {
        let meta = match result {
            Ok(answer) => answer.meta,
            Err(failure) => failure.meta,
        };
        done(Err(Failure {
            error: error.clone(),
            meta,
        }));
    }
}

/// What can be looked up before anything is known: ids, items named by rid, unique values.
fn first_keys(waiting: &[Queued]) -> Vec<Vec<u8>> {
    let mut keys = Vec::with_capacity(waiting.len());
    for queued in waiting {
        match &queued.work {
            Work::Single(operation) => operation_keys(operation, &mut keys),
            Work::Atomic(operations) | Work::Each { operations, .. } => {
                for operation in operations.iter().flatten() {
                    operation_keys(operation, &mut keys);
                }
            }
            Work::Expire(docids) => keys.extend(docids.iter().map(|&docid| keys::item(docid))),
            Work::DeleteKey { .. } | Work::CutHistory(_) | Work::Rebuild(_) => {}
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn operation_keys(operation: &Operation, keys: &mut Vec<Vec<u8>>) {
    let epk = &operation.epk;
    match &operation.action {
        Action::Create(item) | Action::Upsert(item) => {
            keys.push(keys::id(epk, &item.id));
            item_keys(item, keys);
        }
        Action::Replace(place, item) => {
            place_key(operation, place, keys);
            item_keys(item, keys);
        }
        Action::Patch(place, _) | Action::Delete(place) | Action::Read(place) => {
            place_key(operation, place, keys);
        }
    }
}

fn item_keys(item: &PreparedItem, keys: &mut Vec<Vec<u8>>) {
    let unique = item.unique.iter().enumerate();
    keys.extend(unique.map(|(at, values)| keys::unique(at as u8, &item.epk, values)));
}

fn place_key(operation: &Operation, place: &Place, keys: &mut Vec<Vec<u8>>) {
    keys.push(match place {
        Place::Id(id) => keys::id(&operation.epk, id),
        Place::DocId(docid) => keys::item(*docid),
    });
}

/// The items that id and unique entries point to.
fn second_keys(known: &FxHashMap<Vec<u8>, Option<StoredBytes>>) -> Vec<Vec<u8>> {
    let mut docids: Vec<DocId> = known
        .iter()
        .filter(|(key, _)| matches!(key.first(), Some(&(family::ID | family::UNIQUE))))
        .filter_map(|(_, value)| keys::docid_of_value(value.as_ref()?))
        .collect();
    docids.sort_unstable();
    docids.dedup();
    docids.into_iter().map(keys::item).collect()
}
