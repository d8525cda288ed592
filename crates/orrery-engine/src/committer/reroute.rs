//! Work that waited for a partition which others have taken over: each piece goes on to the
//! partition that owns its key. Nothing of it has happened yet, so nobody need be told.

use std::sync::Arc;

use orrery_model::epk::EffectivePartitionKey;

use super::{Queued, Work};
use crate::container::Container;
use crate::error::Error;
use crate::partition::Partition;
use crate::submit::Gathering;
use crate::write::prepare::Operation;

/// Lines everything up with its owner; answers the partitions that must be scheduled.
pub(super) fn hand_over(waiting: Vec<Queued>) -> Vec<Arc<Partition>> {
    let mut schedule = Vec::new();
    for queued in waiting {
        for (owner, queued) in owners(queued) {
            if owner.queue.push(queued) {
                schedule.push(owner);
            }
        }
    }
    schedule
}

fn owners(queued: Queued) -> Vec<(Arc<Partition>, Queued)> {
    let Queued {
        container,
        work,
        done,
    } = queued;
    let owner = match &work {
        Work::Single(operation) => container.partition_of(&operation.epk),
        Work::Atomic(operations) => {
            // One logical partition; where all operations are wrong, any may say so.
            let first = operations.iter().flatten().next();
            container.partition_of(first.map_or(&EffectivePartitionKey::MIN, |first| &first.epk))
        }
        Work::DeleteKey { key, .. } => container.partition_of(key),
        Work::Each { .. } => {
            return each(Queued {
                container,
                work,
                done,
            });
        }
        // The engine's own work is found again in the new partitions.
        Work::Expire(_) | Work::CutHistory(_) | Work::Rebuild { .. } => Err(Error::CompletingSplit),
    };
    match owner {
        Ok(owner) => vec![(
            owner,
            Queued {
                container,
                work,
                done,
            },
        )],
        Err(error) => {
            done(Err(error.into()));
            Vec::new()
        }
    }
}

/// The operations of a bulk for one owner, with their places.
struct Share {
    owner: Arc<Partition>,
    places: Vec<usize>,
    operations: Vec<Result<Operation, Error>>,
}

/// A bulk may belong to several now.
fn each(queued: Queued) -> Vec<(Arc<Partition>, Queued)> {
    let Queued {
        container,
        work,
        done,
    } = queued;
    let Work::Each {
        operations,
        stop_on_error,
    } = work
    else {
        return Vec::new();
    };
    let count = operations.len();
    let shares = match shares(&container, operations) {
        Ok(shares) => shares,
        Err(error) => {
            done(Err(error.into()));
            return Vec::new();
        }
    };
    let gathering = Arc::new(Gathering::new(count, shares.len(), done));
    let queued = |share: Share| {
        let gathering = Arc::clone(&gathering);
        let places = share.places;
        let work = Work::Each {
            operations: share.operations,
            stop_on_error,
        };
        let queued = Queued {
            container: Arc::clone(&container),
            work,
            done: Box::new(move |result| gathering.add(&places, result)),
        };
        (share.owner, queued)
    };
    shares.into_iter().map(queued).collect()
}

fn shares(
    container: &Container,
    operations: Vec<Result<Operation, Error>>,
) -> Result<Vec<Share>, Error> {
    let mut shares: Vec<Share> = Vec::new();
    for (place, operation) in operations.into_iter().enumerate() {
        let owner = match (&operation, shares.first()) {
            (Ok(operation), _) => container.partition_of(&operation.epk)?,
            // One that is wrong in itself keeps its place in some order.
            (Err(_), Some(first)) => Arc::clone(&first.owner),
            (Err(_), None) => container.partition_of(&EffectivePartitionKey::MIN)?,
        };
        let known = shares
            .iter()
            .position(|share| share.owner.id() == owner.id());
        let at = known.unwrap_or_else(|| {
            shares.push(Share {
                owner,
                places: Vec::new(),
                operations: Vec::new(),
            });
            shares.len() - 1
        });
        shares[at].places.push(place);
        shares[at].operations.push(operation);
    }
    Ok(shares)
}
