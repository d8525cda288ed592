//! Ordered bytes on disk: atomic batches, snapshots and durability, part by part.
//!
//! Start at [`Store`]: it is the whole contract, and the engine holds an `Arc<dyn Store>`.
//! [`FjallStore`] keeps a folder, [`MemoryStore`] keeps nothing; `tests/it/conformance.rs` holds
//! the checks that every engine must pass.
//!
//! A *part* is one independent, totally ordered log of commits over its own ordered keys. The
//! crate knows nothing of items, indexes or SQL: what the keys mean is the caller's business.
//! That wall is what lets crash safety be argued over bytes alone.
//!
//! # What readers see
//!
//! A commit passes two points: it is *appended* (it has its place in the total order) and later
//! it is *durable* (a power cut cannot undo it).
//!
//! * [`Store::head`], [`Store::get_many`], [`Store::scan`] and [`Store::snapshot`] see durable
//!   commits only, and every commit whose [`Pending`] has resolved. Nothing that a reader has
//!   ever seen is lost by a crash.
//! * A [`Txn`] sees everything appended to its part, durable or not. This is what lets a
//!   committer append batch n + 1 while batch n is still on its way to the disk.
//!
//! An answer that was derived inside a transaction, a refusal included, therefore must not leave
//! the house before the transaction's [`Pending`] resolves.

pub mod bytes;
pub mod error;
mod fjall_store;
mod folder;
pub mod intercept;
mod lock;
mod memory;
pub mod part;
pub mod pending;
pub mod scan;
pub mod store;
pub mod writes;

pub use bytes::StoredBytes;
pub use error::{CommitError, StoreError};
pub use fjall_store::{Durability, FjallStore, Metrics, Options};
pub use memory::MemoryStore;
pub use part::{CommitToken, Head, PartId, PartState};
pub use pending::Pending;
pub use scan::{Direction, Page, Row, Scan};
pub use store::{Begin, Import, Reader, Resolution, Store, Txn};
pub use writes::Writes;
