//! The engine: account > database > container > physical partition. Synchronous, without HTTP;
//! clock, randomness and store are handed in, so that the same inputs give the same outputs.
//!
//! Where to start: [`Engine`]. A write goes [`submit`] > [`write::prepare`] > [`committer`] >
//! [`write::apply`]; a point read is [`read`]; feeds are [`feed`] and [`change_feed`]. How a
//! partition lies in the store: [`layout`].
//!
//! Where other modules plug in:
//!
//! * The [`catalog`] (databases, containers by name, users, permissions, offers) keeps its
//!   records in the account's part ([`account::Account`]) and makes containers with
//!   [`Engine::add_container`], whose `writes` argument commits the catalog's own records
//!   together with the partition map. It resolves names to numbers and asks
//!   [`Engine::container_by_number`].
//! * The [`query`] module reads through [`partition::Partition::snapshot`]; what is indexed says
//!   [`index::IndexPlan::tree`], index keys are built by [`layout::term`].
//! * [`split`] turns partitions into others while they serve, and swaps
//!   [`container::RangeMap`].
//! * [`regions`] are handles of the same engine that read some time behind.
//! * What requests may use is decided in [`throughput`], what they used is kept in
//!   [`statistics`].

pub mod account;
pub mod answer;
pub mod catalog;
pub mod change_feed;
pub mod clock;
pub mod committer;
pub mod container;
pub mod engine;
pub mod error;
pub mod feed;
pub mod index;
pub mod layout;
pub mod maintenance;
pub mod page;
pub mod partition;
pub mod partition_map;
pub mod patch;
pub mod pk_ranges;
pub mod query;
pub mod read;
pub mod rebuild;
pub mod regions;
pub mod split;
pub mod statistics;
pub mod submit;
pub mod throughput;
pub mod write;

pub use answer::{Answer, Failure, Meta};
pub use catalog::{Catalog, MetadataOptions, Resource};
pub use clock::{Clock, Entropy};
pub use committer::CommitMode;
pub use container::Container;
pub use engine::{ContainerDraft, Engine, EngineConfig};
pub use error::Error;
pub use throughput::Metering;
