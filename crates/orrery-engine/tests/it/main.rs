//! The engine from outside: one module per behaviour.

mod batches;
mod bounds;
mod catalog;
mod change_feed;
mod conditions;
mod crashes;
mod feeds;
mod golden;
mod harness;
mod index;
mod items;
mod keys;
mod point_reads;
mod query;
mod random;
mod recovery;
mod regions;
mod splits;
mod throughput;
mod ttl;
