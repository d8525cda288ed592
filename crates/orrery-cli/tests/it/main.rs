//! The binary as users run it: real processes, folders and loopback ports that the system chose.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test that fails says where by panicking

mod csv;
mod failures;
mod harness;
mod help;
mod import_export;
mod keylab;
mod keylab_damage;
mod keylab_parquet;
mod keylab_traffic;
mod keylab_verify;
mod load;
mod partitions;
mod query;
mod regions;
mod serve;
mod throttle;
mod trace;
