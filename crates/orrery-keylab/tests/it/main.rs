//! Behaviour of the laboratory, a module each.
#![allow(clippy::unwrap_used)] // a test that fails says where by panicking

mod analysis;
mod data;
mod emit;
mod generate;
mod init;
mod mutations;
mod profile;
mod properties;
mod refusals;
mod scenarios;
mod schemas;
