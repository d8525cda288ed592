//! The partition-key laboratory: which key a container should have, told by computation.
//!
//! A [`scenario::Scenario`] or a profile of real data gives the values with their shares, a
//! workload gives the requests. For every candidate [`layout`] places them with the service's own
//! hash, [`outcome`] computes demand and throttling per physical partition at each horizon,
//! [`gates`] compare with the published limits, and [`simulate`] puts the rows together. Reports
//! are in [`report`].
//!
//! Everything is a pure function of its input: no clock, no disk, no randomness of its own.

pub mod analysis;
pub mod calendar;
pub mod candidates;
pub mod demand;
pub mod emit;
pub mod error;
pub mod evidence;
pub mod gate;
pub mod gates;
pub mod generate;
pub mod iac;
pub mod init;
pub mod layout;
pub(crate) mod names;
pub mod outcome;
pub(crate) mod parallel;
pub mod placement;
pub mod profile;
pub mod report;
pub mod roles;
pub mod routing;
pub mod scenario;
pub mod shares;
pub mod simulate;
pub mod table;
pub mod throttle;
pub mod traffic;
pub mod value_format;
pub mod verdict;
pub mod verify;
pub mod workload;
