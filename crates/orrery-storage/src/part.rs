//! Parts and their heads.

use std::fmt;

use crate::error::StoreError;
use crate::store::Resolution;

/// The number of a part. Numbers are chosen by the caller and never used twice, also after a
/// drop. [`PartId::MAX`] and below are usable; the top of the number space belongs to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub u64);

impl PartId {
    /// The greatest number that a caller may use. Keys that start with greater numbers are the
    /// store's own records.
    pub const MAX: PartId = PartId(u64::MAX - 1);
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What may happen to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartState {
    /// Serves reads and writes.
    Active,
    /// Being filled by a copy. The store treats it as [`PartState::Active`]; the engine does not
    /// route requests to it.
    Importing,
    /// Accepts nothing any more: [`Begin::Moved`](crate::Begin::Moved). Reads still work.
    Sealed,
}

/// Names one commit, so that its outcome can be asked for after a lost answer. Chosen at random
/// by the caller; zero in a part that has no commit yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommitToken(pub u128);

/// The state of a part after one of its commits. It travels with every commit and is stored
/// atomically with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Head {
    /// Raised when ownership or role changes; whoever writes with an older one is refused.
    pub generation: u64,
    /// What may happen to the part.
    pub state: PartState,
    /// The sequence number of the last change. Never goes back within a generation. Staying
    /// equal is allowed: sealing or filling a part is a commit but no change.
    pub lsn: u64,
    /// The last commit's name.
    pub token: CommitToken,
}

impl Head {
    /// The head of a new part: generation 1, LSN 0, no commit.
    pub const fn new(state: PartState) -> Self {
        Self {
            generation: 1,
            state,
            lsn: 0,
            token: CommitToken(0),
        }
    }

    /// The head that the next commit leaves behind, all else being equal.
    pub const fn advanced(self, lsn: u64, token: CommitToken) -> Self {
        Self { lsn, token, ..self }
    }

    /// Whether a commit may replace this head by `next`.
    pub(crate) fn check_successor(self, next: Head) -> Result<(), StoreError> {
        if next.generation < self.generation {
            return Err(StoreError::HeadGoesBack(format!(
                "generation {} after {}",
                next.generation, self.generation
            )));
        }
        if next.generation == self.generation && next.lsn < self.lsn {
            return Err(StoreError::HeadGoesBack(format!(
                "LSN {} after {}",
                next.lsn, self.lsn
            )));
        }
        Ok(())
    }

    /// The fate of the commit named `token`, as told by the present head.
    pub(crate) fn resolve(self, token: CommitToken, lsn: u64) -> Resolution {
        if self.token == token {
            Resolution::Committed
        } else if self.lsn < lsn {
            Resolution::Aborted
        } else {
            // Commits may share an LSN, so an equal one proves nothing either.
            Resolution::Overtaken
        }
    }
}
