//! The shared words of OrreryDB: values and their order, resource ids, partition keys and their
//! hash, ranges, tokens, limits and charges. Pure functions; no I/O, no time, no HTTP.
//!
//! Where to start: [`value`] and [`json`] for items, [`partition_key`] and [`epk`] for placement,
//! [`resource_path`] and [`rid`] for addressing, [`container`] for what a container promises,
//! [`index`] and [`geo`] for what finds items, [`charge`] and [`limits`] for what an operation costs and where it ends.

pub mod charge;
pub mod container;
pub mod distinct_hash;
pub mod epk;
pub mod geo;
pub mod ids;
pub mod index;
pub mod json;
pub mod limits;
pub mod murmur;
pub mod ordered;
pub mod partition_key;
pub mod path;
pub mod resource_path;
pub mod rid;
pub mod session;
pub mod throughput;
pub mod value;
