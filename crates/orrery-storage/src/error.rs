//! What can go wrong, and what the caller should do about it.

use std::io;
use std::path::PathBuf;

use crate::part::PartId;

/// A failure of the store. The variants differ in what the reader of the message should do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process uses the folder.
    #[error(
        "the data folder {} is in use by another process; stop that process or choose another folder",
        folder.display()
    )]
    Locked {
        /// The data folder.
        folder: PathBuf,
    },
    /// The folder was written by another version of the program, or by another program.
    #[error("the data folder {} cannot be opened: {problem}", folder.display())]
    Format {
        /// The data folder.
        folder: PathBuf,
        /// What was found and what was expected.
        problem: String,
    },
    /// The folder cannot be written by this process.
    #[error("the data folder {} is not writable: {source}", folder.display())]
    ReadOnly {
        /// The data folder.
        folder: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The bytes on disk are not what was written.
    #[error("the data folder {} is damaged: {problem}", folder.display())]
    Damaged {
        /// The data folder.
        folder: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// The disk is full. The store accepts no more writes until it is opened again; reads work.
    #[error("the disk of the data folder is full; free space and start again")]
    DiskFull,
    /// An earlier write or sync failed. What reached the disk is unknown from that point, so the
    /// store accepts no more writes until it is opened again; reads work.
    #[error("the store stopped accepting writes after a failure: {reason}")]
    Stopped {
        /// The first failure.
        reason: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// There is no such part: never created, or dropped.
    #[error("there is no part {0}")]
    NoSuchPart(PartId),
    /// The number belongs to the store, or to a part whose drop is still reclaiming space.
    #[error("part number {0} cannot be used")]
    PartUnusable(PartId),
    /// A key is longer than [`crate::writes::MAX_KEY_BYTES`]. A mistake of the caller.
    #[error("a key of {0} bytes is over the limit of {max} bytes", max = crate::writes::MAX_KEY_BYTES)]
    KeyTooLong(usize),
    /// The head of a commit would go back. A mistake of the caller.
    #[error("a commit must not go back: {0}")]
    HeadGoesBack(String),
    /// The operating system refused something else.
    #[error("{doing}: {source}")]
    Io {
        /// What the store was doing.
        doing: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The engine under the store failed in a way that has no better variant.
    #[error("{doing}: {problem}")]
    Engine {
        /// What the store was doing.
        doing: &'static str,
        /// The engine's own words.
        problem: String,
    },
}

/// Why a commit did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Nothing happened and nothing will.
    #[error("nothing was written: {0}")]
    Aborted(#[source] StoreError),
    /// The commit may or may not have happened; [`crate::Store::resolve`] knows after the store
    /// is opened again.
    #[error("it is not known whether the write happened: {0}")]
    Unknown(#[source] StoreError),
}

impl CommitError {
    /// The failure, whatever became of the commit.
    pub fn into_inner(self) -> StoreError {
        match self {
            Self::Aborted(error) | Self::Unknown(error) => error,
        }
    }
}
