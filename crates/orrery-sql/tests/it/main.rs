//! Tests of the query language through its public interface.
#![allow(clippy::print_stderr)] // a skipped test says so

mod bounds;
mod findings;
mod logic;
mod mutations;
mod pipeline;
mod program;
mod run;
mod shared;
