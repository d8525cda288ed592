//! A commit on its way to the disk.

use std::sync::Arc;

use crate::error::StoreError;

/// Told when a commit is durable, or that it will never be known whether it is.
pub type Callback = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The durability of an appended commit. Dropping it loses nothing but the knowledge.
///
/// A committer that works for many parts appends, hands the [`Pending`]s on with
/// [`Pending::then`] and goes on with the next batch; all commits appended meanwhile share one
/// sync. A caller with nothing else to do calls [`Pending::wait`].
#[must_use = "a commit is only durable once its Pending has resolved"]
pub struct Pending {
    state: State,
}

enum State {
    Durable,
    Waiting {
        queue: Arc<dyn SyncQueue>,
        ticket: u64,
    },
}

/// The queue of commits behind a sync.
pub(crate) trait SyncQueue: Send + Sync {
    /// Blocks until everything up to `ticket` is durable.
    fn wait(&self, ticket: u64) -> Result<(), StoreError>;

    /// Calls back when everything up to `ticket` is durable.
    fn then(&self, ticket: u64, callback: Callback);

    /// True when everything up to `ticket` is durable.
    fn is_durable(&self, ticket: u64) -> bool;
}

impl Pending {
    /// Already durable, or as durable as it gets.
    pub(crate) fn durable() -> Self {
        Self {
            state: State::Durable,
        }
    }

    pub(crate) fn waiting(queue: Arc<dyn SyncQueue>, ticket: u64) -> Self {
        Self {
            state: State::Waiting { queue, ticket },
        }
    }

    /// True when nothing has to be waited for.
    pub fn is_durable(&self) -> bool {
        match &self.state {
            State::Durable => true,
            State::Waiting { queue, ticket } => queue.is_durable(*ticket),
        }
    }

    /// Blocks until the commit is durable. The first waiter syncs for all that have been
    /// appended. An error means [`CommitError::Unknown`](crate::CommitError::Unknown).
    pub fn wait(self) -> Result<(), StoreError> {
        match self.state {
            State::Durable => Ok(()),
            State::Waiting { queue, ticket } => queue.wait(ticket),
        }
    }

    /// Calls back once the commit is durable: at once on this thread if it already is, else on
    /// the thread that synced. Callbacks run in the order of the commits. They hold up the next
    /// sync, so they only hand the news on.
    pub fn then(self, callback: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        match self.state {
            State::Durable => callback(Ok(())),
            State::Waiting { queue, ticket } => queue.then(ticket, Box::new(callback)),
        }
    }
}
