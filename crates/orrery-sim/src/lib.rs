//! The engine under a virtual clock: seeded workloads, splits, merges, throughput that goes up and
//! down, and crashes at any write, checked step by step against a plain map.
//!
//! Everything runs on one thread, and time, randomness and disk are the simulation's own: equal
//! seeds give equal runs, and the hash of the [`trace`] says whether they did. Start at
//! [`simulation::run`].

pub mod ambient;
pub mod crash;
pub mod follower;
pub mod model;
pub mod scanner;
pub mod simulation;
pub mod trace;
pub mod workload;
